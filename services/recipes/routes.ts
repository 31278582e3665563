import { newId } from '#services/platform/ids.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { recipeEndpoints } from './contract.ts';
import {
  changeRecipe,
  createRecipe,
  deleteRecipe,
  listOwn,
  listShipped,
  readRecipe,
} from './recipes.ts';
import type { RecipeDependencies } from './recipes.ts';

export function recipeRoutes(
  dependencies: RecipeDependencies & ServeDependencies & { rateLimits: RateLimits },
) {
  const { pool, clock } = dependencies;
  /** Every change counts, deletions too; otherwise one user could write without limit. */
  const takeTurn = async (userId: string) =>
    dependencies.rateLimits.take('recipes', userId, { userId });
  return serve(
    recipeEndpoints,
    {
      'GET /recipes': async ({ query }) => listShipped(pool, query),
      'GET /recipes/me': async ({ userId, query }) => listOwn(dependencies, userId, query),
      'POST /recipes': ({ userId, body }) => ({
        newResourceId: () => newId('rec', clock()),
        remake: async (id) => readRecipe(dependencies, userId, id),
        work: async ({ resourceId: id }) => {
          await takeTurn(userId);
          return createRecipe(dependencies, { id, userId }, body);
        },
      }),
      'GET /recipes/{id}': async ({ userId, path }) => readRecipe(dependencies, userId, path.id),
      'PATCH /recipes/{id}': async ({ userId, path, body }) => {
        await takeTurn(userId);
        return changeRecipe(dependencies, userId, path.id, body);
      },
      'DELETE /recipes/{id}': async ({ userId, path: { id } }) => {
        await takeTurn(userId);
        await deleteRecipe(pool, userId, id);
        return { id, deleted: true as const };
      },
    },
    dependencies,
  );
}
