import type { EndpointList } from '#services/platform/contract.ts';
import {
  Recipe,
  RecipeChange,
  RecipeDeleted,
  RecipeList,
  RecipeQuery,
  RecipeRequest,
} from './contract.ts';

/** Questions to start from. */
export const recipeEndpoints = {
  'GET /recipes': {
    summary: 'The recipes that come with the service',
    access: 'person',
    query: RecipeQuery,
    status: 200,
    whole: RecipeList,
  },
  'GET /recipes/me': {
    summary: 'Recipes of one’s own, newest first',
    access: 'person',
    query: RecipeQuery,
    status: 200,
    whole: RecipeList,
  },
  'POST /recipes': {
    summary: 'Writes down a recipe',
    description: 'At most 100 of one person; one more is refused with 409 `too-many-recipes`.',
    access: 'person',
    body: RecipeRequest,
    status: 201,
    reply: Recipe,
    refuses: [404, 409],
    isRepeatable: true,
  },
  'GET /recipes/{id}': {
    summary: 'One recipe, ours or one’s own',
    access: 'person',
    status: 200,
    reply: Recipe,
  },
  'PATCH /recipes/{id}': {
    summary: 'Changes a recipe of one’s own',
    description: 'Those that come with the service cannot be changed: 403 `not-your-recipe`.',
    access: 'person',
    body: RecipeChange,
    status: 200,
    reply: Recipe,
    refuses: [403],
  },
  'DELETE /recipes/{id}': {
    summary: 'Deletes a recipe of one’s own',
    description: 'Those that come with the service cannot be deleted: 403 `not-your-recipe`.',
    access: 'person',
    status: 200,
    reply: RecipeDeleted,
    refuses: [403],
  },
} as const satisfies EndpointList;
