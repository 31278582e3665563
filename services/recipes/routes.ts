import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { answer, answerWhole, bodyOf, queryOf } from '#services/platform/http/endpoints.ts';
import { createRouter, requireNoFields } from '#services/platform/http/http.ts';
import { answerOnce } from '#services/platform/http/idempotency.ts';
import { newId } from '#services/platform/ids.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { recipeEndpoints } from './endpoints.ts';
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
  dependencies: RecipeDependencies & { rateLimits: RateLimits },
  authenticate: Authenticate,
) {
  const { pool, clock } = dependencies;
  const signedIn = requireUser(authenticate);
  /** Every change takes a turn, the deletion too: else one person could write without end. */
  const takeTurn = async (userId: string) =>
    dependencies.rateLimits.take('recipes', userId, { userId });
  return createRouter()
    .get('/recipes', signedIn, async (context) => {
      const endpoint = recipeEndpoints['GET /recipes'];
      return answerWhole(context, endpoint, await listShipped(pool, queryOf(context, endpoint)));
    })
    .get('/recipes/me', signedIn, async (context) => {
      const endpoint = recipeEndpoints['GET /recipes/me'];
      const query = queryOf(context, endpoint);
      return answerWhole(
        context,
        endpoint,
        await listOwn(dependencies, context.get('userId'), query),
      );
    })
    .post('/recipes', signedIn, async (context) => {
      const endpoint = recipeEndpoints['POST /recipes'];
      const body = await bodyOf(context, endpoint);
      const userId = context.get('userId');
      return answerOnce(
        context,
        endpoint,
        {
          pool,
          route: 'POST /recipes',
          body,
          newResourceId: () => newId('rec', clock()),
          remake: async (id) => readRecipe(dependencies, userId, id),
        },
        async ({ resourceId: id }) => {
          await takeTurn(userId);
          return createRecipe(dependencies, { id, userId }, body);
        },
      );
    })
    .get('/recipes/:id', signedIn, async (context) =>
      answer(
        context,
        recipeEndpoints['GET /recipes/{id}'],
        await readRecipe(dependencies, context.get('userId'), context.req.param('id')),
      ),
    )
    .patch('/recipes/:id', signedIn, async (context) => {
      const endpoint = recipeEndpoints['PATCH /recipes/{id}'];
      const change = await bodyOf(context, endpoint);
      const userId = context.get('userId');
      await takeTurn(userId);
      const recipe = await changeRecipe(dependencies, userId, context.req.param('id'), change);
      return answer(context, endpoint, recipe);
    })
    .delete('/recipes/:id', signedIn, async (context) => {
      await requireNoFields(context);
      const userId = context.get('userId');
      const id = context.req.param('id');
      await takeTurn(userId);
      await deleteRecipe(pool, userId, id);
      return answer(context, recipeEndpoints['DELETE /recipes/{id}'], { id, deleted: true });
    });
}
