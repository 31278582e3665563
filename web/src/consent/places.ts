/**
 * Every key that pages keep on this device: where, and whether it needs consent. A name that ends with a
 * dot is the beginning of keys. `register.ts` says what each is for.
 */
export const places = {
  'sevenfold.consent': ['local', 'necessary'],
  'sevenfold.draft.': ['local', 'functional'],
  'sevenfold.unconfirmed': ['session', 'necessary'],
  'sevenfold.pkce': ['session', 'necessary'],
  // The router's own; its name holds its version.
  'tsr-scroll-restoration-v1_3': ['session', 'necessary'],
  'sevenfold.purchases-announced': ['session', 'functional'],
} as const satisfies Readonly<
  Record<string, readonly ['local' | 'session', 'necessary' | 'functional']>
>;

/** Half a year, after which the banner asks again. */
export const consentDays = 180;

export type PlaceName = keyof typeof places;
export type Key = PlaceName extends infer Name extends string
  ? Name extends `${string}.`
    ? `${Name}${string}`
    : Name
  : never;

export function placeOf(key: string): (typeof places)[PlaceName] | undefined {
  for (const [name, place] of Object.entries(places))
    if (name.endsWith('.') ? key.startsWith(name) : key === name) return place;
  return undefined;
}
