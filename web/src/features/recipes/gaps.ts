import * as v from 'valibot';

/**
 * The values for the gaps of the last opened recipe, kept on the device for the form that follows.
 * Signing out removes every key that starts with `sevenfold.draft.`.
 */
export type GapValues = ReadonlyMap<string, string>;

const Stored = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ id: v.string(), values: v.record(v.string(), v.string()) }),
);

function gapsKey(userId: string): string {
  return `sevenfold.draft.${userId}.recipe`;
}

/** Nothing for another recipe than the last one. */
export function readGaps(userId: string, recipeId: string): GapValues {
  if (!navigator.cookieEnabled) return new Map();
  const result = v.safeParse(Stored, localStorage.getItem(gapsKey(userId)));
  if (!result.success || result.output.id !== recipeId) return new Map();
  return new Map(Object.entries(result.output.values));
}

/** Without storage the gaps stay open in the form. */
export function writeGaps(userId: string, recipeId: string, values: GapValues): void {
  if (!navigator.cookieEnabled) return;
  const stored = { id: recipeId, values: Object.fromEntries(values) };
  try {
    localStorage.setItem(gapsKey(userId), JSON.stringify(stored));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}
