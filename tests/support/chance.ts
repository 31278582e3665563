import { seededRandom as randomOf } from '#services/evaluation/records/random.ts';

export { randomOf };

/** What a simulation draws. */
export type Chance = {
  /** A whole number from 0 up to, and without, `bound`. */
  below(bound: number): number;
  between(least: number, most: number): number;
  of(probability: number): boolean;
  /** Undefined for an empty list. */
  pick<Item>(items: readonly Item[]): Item | undefined;
  /** By their weights; one of none is never drawn. */
  weighted<Item extends { readonly weight: number }>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
};

export function createChance(seed: number): Chance {
  const next = randomOf(seed);
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    of: (probability) => next() < probability,
    pick: (items) => items[below(items.length)],
    weighted(items) {
      let left = next() * items.reduce((sum, { weight }) => sum + weight, 0);
      const drawn = items.find(({ weight }) => (left -= weight) < 0) ?? items.at(-1);
      if (drawn === undefined) throw new Error('There is nothing to draw from');
      return drawn;
    },
    shuffled(items) {
      const left = [...items];
      return items.map(() => left.splice(below(left.length), 1)[0]!);
    },
  };
}
