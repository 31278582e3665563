import { figure } from '#services/platform/numbers.ts';
import type { Recipe } from '#services/recipes/contract.ts';

type StrategyPrice = {
  readonly id: Recipe['strategy'];
  readonly name: string;
  readonly credits: number;
};
export type StrategyPrices = readonly StrategyPrice[] | undefined;

export function usesInWords(times: number): string {
  if (times === 0) return 'Not used yet';
  return times === 1 ? 'Used once' : `Used ${figure(times)} times`;
}
