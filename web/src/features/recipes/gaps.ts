import * as v from 'valibot';
import { keep, readKept } from '#web/consent/device.ts';

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

function gapsKey(userId: string) {
  return `sevenfold.draft.${userId}.recipe` as const;
}

/** Nothing for another recipe than the last one. */
export function readGaps(userId: string, recipeId: string): GapValues {
  const result = v.safeParse(Stored, readKept(gapsKey(userId)));
  if (!result.success || result.output.id !== recipeId) return new Map();
  return new Map(Object.entries(result.output.values));
}

export function writeGaps(userId: string, recipeId: string, values: GapValues): void {
  keep(gapsKey(userId), JSON.stringify({ id: recipeId, values: Object.fromEntries(values) }));
}
