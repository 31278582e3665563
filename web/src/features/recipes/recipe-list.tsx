import { challengeTypeWords } from '#web/run/words.ts';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Recipe } from '#services/recipes/contract.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { type StrategyPrices, usesInWords } from './words.ts';

/** Recipes as cards, each with the price of its suggested strategy. */
export function RecipeList({
  recipes,
  prices,
}: {
  recipes: readonly Recipe[];
  prices: StrategyPrices;
}): ReactNode {
  return (
    <ul className="grid grid-cols-1 gap-4 lg:grid-cols-2">
      {recipes.map((recipe) => (
        <li
          key={recipe.id}
          className="flex min-w-0 flex-col gap-2 rounded-card border border-line bg-surface p-4 sm:p-6"
        >
          <p className="text-sm text-ink-3">{challengeTypeWords[recipe.category]}</p>
          <h2 className="text-xl break-words">
            <Link
              to="/recipes/$id"
              params={{ id: recipe.id }}
              className="link inline-flex min-h-11 items-center"
            >
              {recipe.title}
            </Link>
          </h2>
          {recipe.summary === '' ? null : (
            <p className="break-words text-ink-2">{recipe.summary}</p>
          )}
          <p className="mt-auto flex flex-wrap gap-x-3 text-sm text-ink-2">
            <Price recipe={recipe} prices={prices} />
            <span>{usesInWords(recipe.times_used)}</span>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** "Balanced, 14 credits"; empty while prices are loading. */
export function Price({
  recipe,
  prices,
}: {
  recipe: Pick<Recipe, 'strategy'>;
  prices: StrategyPrices;
}): ReactNode {
  const found = prices?.find(({ id }) => id === recipe.strategy);
  return found ? (
    <span>
      {found.name}, {creditsInWords(found.credits)}
    </span>
  ) : null;
}
