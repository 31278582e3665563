import { createHash } from 'node:crypto';

/**
 * Everything the responder decides is drawn from the sandbox's seed, the question and, where models
 * differ, the model: the same call gets the same answer in every run, and labels never matter.
 */
export type Draws = {
  /** From 0 up to, not including, 1. */
  fraction: (purpose: string) => number;
  /** A whole number from 0 up to, not including, `bound`. */
  below: (purpose: string, bound: number) => number;
  pick: <Item>(purpose: string, items: readonly [Item, ...Item[]]) => Item;
  shuffled: <Item>(purpose: string, items: readonly Item[]) => Item[];
};

export function drawsFor(...seeds: readonly string[]): Draws {
  const fraction = (purpose: string) =>
    createHash('sha256')
      .update([...seeds, purpose].join('\u001f'))
      .digest()
      .readUInt32BE(0) /
    2 ** 32;
  const below = (purpose: string, bound: number) => Math.floor(fraction(purpose) * bound);
  return {
    fraction,
    below,
    pick: (purpose, items) => items[below(purpose, items.length)] ?? items[0],
    shuffled: (purpose, items) =>
      items
        .map((item, index) => ({ item, place: fraction(`${purpose}:${index}`) }))
        .toSorted((one, other) => one.place - other.place)
        .map(({ item }) => item),
  };
}
