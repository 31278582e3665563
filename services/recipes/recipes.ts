import type pg from 'pg';
import * as v from 'valibot';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { notFound } from '#services/platform/http/http.ts';
import { idPattern } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { recipeLimits, RecipeText } from './contract.ts';
import type { Recipe, RecipeChange, RecipeList, RecipeQuery, RecipeRequest } from './contract.ts';
import { shippedRecipe, shippedRecipes } from './shipped.ts';
import type { ShippedRecipe } from './shipped.ts';

/**
 * A user's recipes are rows of a plain table. Each row holds its text sealed with the account's key. There
 * are few, so a search opens them all.
 */
export type RecipeDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  clock: () => number;
};

type Row = { id: string; sealed: string; created_at: Date; updated_at: Date; times_used: number };

const columns = `id, sealed, created_at, updated_at,
  (select count(*)::integer from recipe_use where recipe_id = recipe.id) as times_used`;

/** @throws Problem 404, the same for a recipe that does not exist and for another person's */
export async function readRecipe(
  dependencies: RecipeDependencies,
  userId: string,
  id: string,
): Promise<Recipe> {
  const shipped = shippedRecipe(id);
  if (shipped) return describeShipped(shipped, await usesOf(dependencies.pool, [id]));
  return ownRecipe(dependencies, userId, requireId(id));
}

async function ownRecipe(
  { pool, sealer }: RecipeDependencies,
  userId: string,
  id: string,
): Promise<Recipe> {
  const { rows } = await pool.query<Row>(
    `select ${columns} from recipe where id = $1 and user_id = $2`,
    [id, userId],
  );
  if (!rows[0]) throw noSuchRecipe();
  return describeOwn(sealer, rows[0]);
}

export async function listShipped(pool: Queryable, query: RecipeQuery): Promise<RecipeList> {
  const { data, pagination } = pageOf(shippedRecipes, query);
  const uses = await usesOf(
    pool,
    data.map(({ id }) => id),
  );
  return { data: data.map((recipe) => describeShipped(recipe, uses)), pagination };
}

export async function listOwn(
  { pool, sealer }: Pick<RecipeDependencies, 'pool' | 'sealer'>,
  userId: string,
  query: RecipeQuery,
): Promise<RecipeList> {
  return pageOf(await ownRecipes(pool, sealer, userId), query);
}

/** All of them, newest first; there are at most `recipeLimits.own`. */
export async function ownRecipes(
  pool: Queryable,
  sealer: Sealer,
  userId: string,
): Promise<Recipe[]> {
  const { rows } = await pool.query<Row>(
    `select ${columns} from recipe where user_id = $1 order by created_at desc, id desc`,
    [userId],
  );
  return Promise.all(rows.map(async (row) => describeOwn(sealer, row)));
}

/** A repeat with the same id creates nothing. @throws Problem 409 `too-many-recipes` */
export async function createRecipe(
  dependencies: RecipeDependencies,
  { id, userId }: { id: string; userId: string },
  request: RecipeRequest,
): Promise<Recipe> {
  const { pool, sealer, clock } = dependencies;
  await sealer.createDataKey('account', userId, userId);
  const sealed = await sealRecipe(sealer, userId, id, request);
  await inTransaction(pool, async (client) => {
    // One user's creations take turns here, so that the limit holds.
    await client.query('select from users where id = $1 for no key update', [userId]);
    const { rows } = await client.query<{ others: number }>(
      'select count(*)::integer as others from recipe where user_id = $1 and id <> $2',
      [userId, id],
    );
    if ((rows[0]?.others ?? 0) >= recipeLimits.own)
      throw new Problem(
        'too-many-recipes',
        `You have ${recipeLimits.own} recipes, the most you can keep. Delete one to make room.`,
      );
    await client.query(
      `insert into recipe (id, user_id, sealed, created_at, updated_at)
       values ($1, $2, $3, $4, $4) on conflict (id) do nothing`,
      [id, userId, sealed, new Date(clock())],
    );
  });
  return ownRecipe(dependencies, userId, id);
}

/** @throws Problem 403 for a shipped recipe, 404 for one that is not this user's */
export async function changeRecipe(
  dependencies: RecipeDependencies,
  userId: string,
  id: string,
  change: RecipeChange,
): Promise<Recipe> {
  const { pool, sealer, clock } = dependencies;
  requireChangeable(id);
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ sealed: string }>(
      'select sealed from recipe where id = $1 and user_id = $2 for update',
      [id, userId],
    );
    if (!rows[0]) throw noSuchRecipe();
    const before = await openRecipe(sealer, id, rows[0].sealed);
    const sealed = await sealRecipe(sealer, userId, id, changed(before, change));
    await client.query('update recipe set sealed = $2, updated_at = $3 where id = $1', [
      id,
      sealed,
      new Date(clock()),
    ]);
  });
  return ownRecipe(dependencies, userId, id);
}

function changed(before: RecipeRequest, change: RecipeChange): RecipeRequest {
  return {
    title: change.title ?? before.title,
    category: change.category ?? before.category,
    summary: change.summary ?? before.summary,
    challenge: change.challenge ?? before.challenge,
    objectives: change.objectives ?? before.objectives,
    constraints: change.constraints ?? before.constraints,
    strategy: change.strategy ?? before.strategy,
  };
}

/** @throws Problem 403 for a shipped recipe, 404 for one that is not this user's */
export async function deleteRecipe(pool: pg.Pool, userId: string, id: string): Promise<void> {
  requireChangeable(id);
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('delete from recipe where id = $1 and user_id = $2', [
      id,
      userId,
    ]);
    if (rowCount === 0) throw noSuchRecipe();
    await client.query('delete from recipe_use where recipe_id = $1', [id]);
  });
}

/**
 * Counts a run for the recipe that it was started from; a repeat counts nothing. A missing or deleted
 * recipe is ignored, because no run is refused for it.
 */
export async function recordUse(
  pool: Queryable,
  use: { recipeId: string; runId: string; userId: string; now: number },
): Promise<void> {
  await pool.query(
    `insert into recipe_use (run_id, recipe_id, user_id, used_at)
     select $1, $2, users.id, $4 from users
     where users.id = $3
       and ($5 or exists (select from recipe where id = $2 and user_id = $3))
     for key share of users
     on conflict (run_id) do nothing`,
    [
      use.runId,
      use.recipeId,
      use.userId,
      new Date(use.now),
      shippedRecipe(use.recipeId) !== undefined,
    ],
  );
}

// --- replies ---

async function usesOf(pool: Queryable, ids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ recipe_id: string; uses: number }>(
    `select recipe_id, count(*)::integer as uses from recipe_use
     where recipe_id = any ($1) group by recipe_id`,
    [ids],
  );
  return new Map(rows.map(({ recipe_id: id, uses }) => [id, uses]));
}

function pageOf<Of extends Pick<Recipe, 'title' | 'summary' | 'category'>>(
  all: readonly Of[],
  { page, limit, category, search }: RecipeQuery,
) {
  const words = search.toLowerCase();
  const found = all.filter(
    (recipe) =>
      (category === undefined || recipe.category === category) &&
      `${recipe.title}\n${recipe.summary}`.toLowerCase().includes(words),
  );
  return {
    data: found.slice((page - 1) * limit, page * limit),
    pagination: {
      page,
      limit,
      total: found.length,
      total_pages: Math.ceil(found.length / limit),
    },
  };
}

function describeShipped(recipe: ShippedRecipe, uses: ReadonlyMap<string, number>): Recipe {
  return { ...recipe, owner: 'ours', times_used: uses.get(recipe.id) ?? 0 };
}

async function describeOwn(sealer: Sealer, row: Row): Promise<Recipe> {
  return {
    id: row.id,
    ...(await openRecipe(sealer, row.id, row.sealed)),
    strategy_reason: null,
    owner: 'mine',
    times_used: row.times_used,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

// --- the sealed text ---

const place = (id: string) => ({ stream: `recipe-${id}`, field: 'recipe' });

async function sealRecipe(
  sealer: Sealer,
  userId: string,
  id: string,
  recipe: RecipeRequest,
): Promise<string> {
  return sealer.seal(userId, place(id), JSON.stringify(recipe));
}

const Stored = v.pipe(v.string(), v.parseJson(), RecipeText);

/** An unreadable recipe is listed as such, so that it can be deleted or rewritten. */
async function openRecipe(sealer: Sealer, id: string, sealed: string): Promise<RecipeRequest> {
  try {
    const opened = await sealer.open(sealed, place(id));
    return 'text' in opened ? v.parse(Stored, opened.text) : unreadable;
  } catch (error) {
    if (error instanceof IntegrityError) return unreadable;
    throw error;
  }
}

const unreadable: RecipeRequest = {
  title: 'A recipe that cannot be read',
  category: 'other',
  summary: '',
  challenge: '',
  objectives: [],
  constraints: [],
  strategy: 'balanced',
};

function requireChangeable(id: string): void {
  if (shippedRecipe(id))
    throw new Problem('not-your-recipe', 'This recipe is built in. Copy it to make changes.');
  requireId(id);
}

function requireId(id: string): string {
  if (!idPattern('rec').test(id)) throw noSuchRecipe();
  return id;
}

const noSuchRecipe = () => notFound('Failed to get recipe');
