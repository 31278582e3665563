import { queryOptions } from '@tanstack/react-query';
import type { ChallengeType } from '#services/optimizations/contract/summary.ts';
import {
  Recipe,
  type RecipeChange,
  RecipeDeleted,
  recipeLimits,
  type RecipeRequest,
} from '#services/recipes/contract.ts';
import type { InferOutput } from 'valibot';
import { read, readPage, write } from '#web/api/api.ts';

/** Every page of either list is cached below this key. */
export const recipesKey = ['recipes'] as const;

export type RecipeFilter = {
  readonly tab: 'all' | 'mine';
  readonly page: number;
  readonly category: InferOutput<typeof ChallengeType> | undefined;
  readonly search: string;
};

export function recipesQuery({ tab, page, category, search }: RecipeFilter) {
  const query = {
    page,
    limit: recipeLimits.pageSize,
    category,
    search: search === '' ? undefined : search,
  };
  return queryOptions({
    queryKey: [...recipesKey, tab, query],
    queryFn: ({ signal }) =>
      readPage(tab === 'all' ? '/recipes' : '/recipes/me', Recipe, { query, signal }),
  });
}

export function recipeQuery(id: string) {
  return queryOptions({
    queryKey: ['recipe', id],
    queryFn: ({ signal }) => read(pathOf(id), Recipe, { signal }),
  });
}

/** Sent again with the same key it creates one recipe. */
export function createRecipe(request: RecipeRequest, key?: string): Promise<Recipe> {
  return write('POST', '/recipes', request, Recipe, key === undefined ? {} : { key });
}

export function changeRecipe(id: string, change: RecipeChange): Promise<Recipe> {
  return write('PATCH', pathOf(id), change, Recipe);
}

export function deleteRecipe(id: string): Promise<InferOutput<typeof RecipeDeleted>> {
  return write('DELETE', pathOf(id), {}, RecipeDeleted);
}

function pathOf(id: string) {
  return `/recipes/${encodeURIComponent(id)}` as const;
}
