import * as v from 'valibot';
import { ChallengeType, StrategyId } from '#services/optimizations/contract/summary.ts';
import { optimizationLimits, Rows } from '#services/optimizations/contract/requests.ts';
import { Pagination, Time, visible, WholeText } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/** Recipes: questions to start from, ours and the user's own, with {placeholders} to fill in. */
export const recipeLimits = {
  title: 120,
  summary: 300,
  /** Placeholders that can be filled in; braces beyond this number are text. */
  placeholders: 12,
  /** Characters of a placeholder's name. */
  placeholder: 60,
  /** Recipes of one person. */
  own: 100,
  search: 100,
  pageSize: 10,
  pageSizeMost: 100,
} as const;

const placeholder = /\{([^{}\r\n]{1,60})\}/g;

/** The placeholders, each once, in the order of the text. */
export function placeholdersOf(challenge: string): string[] {
  const names = [...challenge.matchAll(placeholder)].map(([, name = '']) => name.trim());
  return [...new Set(names)].filter((name) => name !== '').slice(0, recipeLimits.placeholders);
}

/** The challenge with its placeholders filled in; one without a value stays. */
export function filledChallenge(challenge: string, values: ReadonlyMap<string, string>): string {
  return challenge.replaceAll(placeholder, (whole, name: string) => {
    const value = values.get(name.trim())?.trim() ?? '';
    return value === '' ? whole : value;
  });
}

const RecipeId = v.pipe(v.string(), v.description("The recipe's id: `rec_` and 26 characters"));

const requiredText = (what: string, most: number) =>
  v.pipe(
    v.string(`Enter ${what}.`),
    v.trim(),
    v.nonEmpty(`Enter ${what}.`),
    v.maxLength(most, `Use up to ${most} characters.`),
    visible,
    v.nonEmpty(`Enter ${what}.`),
  );

const entries = {
  title: requiredText('a title', recipeLimits.title),
  category: ChallengeType,
  summary: v.pipe(
    v.string(),
    v.trim(),
    v.maxLength(recipeLimits.summary, `Use up to ${recipeLimits.summary} characters.`),
    visible,
  ),
  challenge: requiredText('a challenge', optimizationLimits.challenge),
  objectives: Rows('objectives'),
  constraints: Rows('constraints'),
  strategy: StrategyId,
};

/** `POST /recipes`. */
export const RecipeRequest = v.strictObject({
  ...entries,
  summary: v.optional(entries.summary, ''),
  objectives: v.optional(entries.objectives, []),
  constraints: v.optional(entries.constraints, []),
});
export type RecipeRequest = v.InferOutput<typeof RecipeRequest>;

/** `PATCH /recipes/{id}`: omitted fields stay unchanged. */
export const RecipeChange = v.partial(v.strictObject(entries));
export type RecipeChange = v.InferOutput<typeof RecipeChange>;

/** `GET /recipes` and `GET /recipes/me`. */
export const RecipeQuery = v.strictObject({
  page: v.optional(v.pipe(WholeText(1, 100_000), v.description('The page number, from 1')), '1'),
  limit: v.optional(
    v.pipe(WholeText(1, recipeLimits.pageSizeMost), v.description('Rows per page')),
    String(recipeLimits.pageSize),
  ),
  category: v.optional(ChallengeType),
  search: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.maxLength(recipeLimits.search, `Use up to ${recipeLimits.search} characters.`),
      v.description('Words to find in the title or summary; case does not matter'),
    ),
    '',
  ),
});
export type RecipeQuery = v.InferOutput<typeof RecipeQuery>;

/** A stored recipe, without limits: they may have been different when it was written. */
export const RecipeText = v.object({
  title: v.string(),
  category: ChallengeType,
  summary: v.string(),
  challenge: v.pipe(v.string(), v.description('The question, with names in braces to fill in')),
  objectives: v.array(v.string()),
  constraints: v.array(v.string()),
  /** The suggested strategy. */
  strategy: StrategyId,
});

export const Recipe = v.object({
  id: RecipeId,
  ...RecipeText.entries,
  strategy_reason: v.pipe(
    v.nullable(v.string()),
    v.description("Why this strategy fits; null for the user's own recipes"),
  ),
  owner: v.picklist(['ours', 'mine']),
  times_used: v.pipe(
    v.number(),
    v.description('Runs started from it; for built-in recipes, by all users'),
  ),
  created_at: Time,
  updated_at: Time,
});
export type Recipe = v.InferOutput<typeof Recipe>;

export const RecipeList = v.object({
  data: v.array(Recipe),
  pagination: Pagination,
});
export type RecipeList = v.InferOutput<typeof RecipeList>;

export const RecipeDeleted = v.object({ id: RecipeId, deleted: v.literal(true) });

/** Questions to start from. */
export const recipeEndpoints = {
  'GET /recipes': {
    summary: 'List the built-in recipes',
    description: 'Questions to start from. Paginated.',
    access: 'person',
    scope: 'read',
    query: RecipeQuery,
    status: 200,
    whole: RecipeList,
  },
  'GET /recipes/me': {
    summary: "List the user's own recipes",
    description: 'Newest first. Paginated.',
    access: 'person',
    scope: 'read',
    query: RecipeQuery,
    status: 200,
    whole: RecipeList,
  },
  'POST /recipes': {
    summary: 'Create a recipe',
    description: 'A user can keep up to 100; one more fails with 409 `too-many-recipes`.',
    access: 'person',
    body: RecipeRequest,
    status: 201,
    reply: Recipe,
    refuses: [404, 409],
    idempotencyKey: 'optional',
  },
  'GET /recipes/{id}': {
    summary: 'Get one recipe',
    description: "A built-in recipe or one of the user's own.",
    access: 'person',
    scope: 'read',
    status: 200,
    reply: Recipe,
  },
  'PATCH /recipes/{id}': {
    summary: "Change one of the user's own recipes",
    description: 'Built-in recipes cannot be changed: 403 `not-your-recipe`.',
    access: 'person',
    body: RecipeChange,
    status: 200,
    reply: Recipe,
    refuses: [403],
  },
  'DELETE /recipes/{id}': {
    summary: "Delete one of the user's own recipes",
    description: 'Built-in recipes cannot be deleted: 403 `not-your-recipe`.',
    access: 'person',
    status: 200,
    reply: RecipeDeleted,
    refuses: [403],
  },
} as const satisfies EndpointList;
