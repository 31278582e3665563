import type { Recipe } from '#services/recipes/contract.ts';

/** By category: the names of the challenge types, as in the form. */
export type CategoryWords = Readonly<Record<Recipe['category'], string>>;

type StrategyPrice = {
  readonly id: Recipe['strategy'];
  readonly name: string;
  readonly credits: number;
};
export type StrategyPrices = readonly StrategyPrice[] | undefined;

export function usesInWords(times: number): string {
  if (times === 0) return 'Not used yet';
  return times === 1 ? 'Used once' : `Used ${times.toLocaleString()} times`;
}
