import { derivedId } from '#services/platform/ids.ts';
import { financeRecipes } from './shipped/finance.ts';
import { hiringRecipes } from './shipped/hiring.ts';
import { marketingRecipes } from './shipped/marketing.ts';
import { operationsRecipes } from './shipped/operations.ts';
import { otherRecipes } from './shipped/other.ts';
import { productRecipes } from './shipped/product.ts';
import { salesRecipes } from './shipped/sales.ts';
import { strategyRecipes } from './shipped/business-strategy.ts';
import type { Recipe } from './contract.ts';

/**
 * The shipped recipes, by category. A recipe's id is derived from its name, so the name never changes; its
 * texts may.
 */
export type Written = Omit<
  Recipe,
  'id' | 'category' | 'owner' | 'strategy_reason' | 'times_used' | 'created_at' | 'updated_at'
> & {
  name: string;
  strategy_reason: string;
};

export type ShippedRecipe = Omit<Recipe, 'owner' | 'times_used'>;

const shippedAt = '2026-11-22T00:00:00.000Z';

const describe =
  (category: Recipe['category']) =>
  ({ name, ...recipe }: Written): ShippedRecipe => ({
    id: derivedId('rec', 'shipped', name),
    category,
    ...recipe,
    created_at: shippedAt,
    updated_at: shippedAt,
  });

export const shippedRecipes: readonly ShippedRecipe[] = [
  ...strategyRecipes.map(describe('business_strategy')),
  ...marketingRecipes.map(describe('marketing')),
  ...operationsRecipes.map(describe('operations')),
  ...financeRecipes.map(describe('finance')),
  ...productRecipes.map(describe('product')),
  ...salesRecipes.map(describe('sales')),
  ...hiringRecipes.map(describe('hiring')),
  ...otherRecipes.map(describe('other')),
];

const byId = new Map(shippedRecipes.map((recipe) => [recipe.id, recipe]));

/** Undefined for an id that is not ours. */
export function shippedRecipe(id: string): ShippedRecipe | undefined {
  return byId.get(id);
}
