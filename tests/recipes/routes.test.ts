import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { eraseAccount } from '#services/identity/erasure/erasure.ts';
import { newId } from '#services/platform/ids.ts';
import { recipeLimits } from '#services/recipes/contract.ts';
import type { Recipe, RecipeList } from '#services/recipes/contract.ts';
import { shippedRecipes } from '#services/recipes/shipped.ts';
import { erasureOf } from '#services/core.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { CallOptions, Person, TestApp } from '#tests/support/app.ts';

let app: TestApp;
let ann: Person;
let bob: Person;
beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
  bob = await app.signUp();
});
afterAll(async () => app.close());

const secondShop = {
  title: 'A second shop',
  category: 'operations',
  summary: 'Whether to open one more.',
  challenge: 'Should we open a second {kind of shop} in {town}?',
  objectives: ['More customers'],
  constraints: ['No loans'],
  strategy: 'fast',
} as const;

const ours = shippedRecipes[0]!;

async function create(person: Person, change: Partial<Recipe> = {}): Promise<Recipe> {
  return app.data('/recipes', { token: person.token, body: { ...secondShop, ...change } });
}

async function list(person: Person, path: string): Promise<RecipeList> {
  const response = await app.call(path, { token: person.token });
  expect(response.status).toBe(200);
  return (await response.json()) as RecipeList;
}

async function refusal(path: string, options: CallOptions): Promise<[number, unknown]> {
  const response = await app.call(path, options);
  return [response.status, ((await response.json()) as { code: unknown }).code];
}

describe('shipped recipes', () => {
  test('shipped recipes are listed ten per page, each of them once', async () => {
    const first = await list(ann, '/recipes');
    expect(first.pagination).toEqual({
      page: 1,
      limit: 10,
      total: shippedRecipes.length,
      total_pages: Math.ceil(shippedRecipes.length / 10),
    });
    const ids: string[] = [];
    for (let page = 1; page <= first.pagination.total_pages; page += 1)
      ids.push(...(await list(ann, `/recipes?page=${page}`)).data.map(({ id }) => id));
    expect(ids).toEqual(shippedRecipes.map(({ id }) => id));
    expect((await list(ann, '/recipes?page=99')).data).toEqual([]);
  });

  test('shipped recipes are found by category and by words, in any case', async () => {
    const { data } = await list(ann, '/recipes?category=hiring&limit=100');
    expect(new Set(data.map(({ category }) => category))).toEqual(new Set(['hiring']));
    const found = await list(ann, '/recipes?search=RAISE%20my');
    expect(found.data.map(({ id }) => id)).toEqual([ours.id]);
    expect((await list(ann, '/recipes?search=no-such-words')).pagination.total).toBe(0);
  });

  test('shipped recipes can be read by every signed-in user, and changed by none', async () => {
    const path = `/recipes/${ours.id}`;
    const { token } = bob;
    expect(await app.data(path, { token })).toMatchObject({ owner: 'ours', title: ours.title });
    for (const call of [{ method: 'PATCH', body: { title: 'Mine' } }, { method: 'DELETE' }])
      expect(await refusal(path, { token, ...call })).toEqual([403, 'not-your-recipe']);
    expect(await app.data(path, { token })).toMatchObject({ title: ours.title });
  });

  test('the list of shipped recipes holds no recipe of a user', async () => {
    const { id } = await create(ann);
    const { data } = await list(ann, '/recipes?limit=100');
    expect(data.map((recipe) => recipe.id)).not.toContain(id);
  });
});

describe('a user’s own recipe', () => {
  test('a user’s recipe is created, read, listed, changed in parts, and deleted', async () => {
    const eve = await app.signUp();
    const { token } = eve;
    const made = await create(eve);
    expect(made).toMatchObject({ ...secondShop, owner: 'mine', times_used: 0 });
    const path = `/recipes/${made.id}`;
    const changed = await app.data<Recipe>(path, {
      token,
      method: 'PATCH',
      body: { title: 'A third shop', objectives: [] },
    });
    expect(changed).toMatchObject({ ...secondShop, title: 'A third shop', objectives: [] });
    expect(await app.data(path, { token })).toEqual(changed);
    expect((await list(eve, '/recipes/me')).data).toEqual([changed]);
    expect(await app.data(path, { token, method: 'DELETE' })).toEqual({
      id: made.id,
      deleted: true,
    });
    expect(await refusal(path, { token })).toEqual([404, 'not-found']);
    expect(await refusal(path, { token, method: 'DELETE' })).toEqual([404, 'not-found']);
    expect((await list(eve, '/recipes/me')).data).toEqual([]);
  });

  test('a user’s recipe is a 404 for another user and a 401 for a visitor', async () => {
    const { id } = await create(ann);
    const path = `/recipes/${id}`;
    const calls: CallOptions[] = [
      {},
      { method: 'PATCH', body: { title: 'Taken' } },
      { method: 'DELETE' },
    ];
    for (const call of calls) {
      const ofAnother = await app.call(path, { ...call, token: bob.token });
      const ofNobody = await app.call(`/recipes/${newId('rec')}`, { ...call, token: bob.token });
      const same = async (response: Response) => {
        const { request_id: _, ...rest } = (await response.json()) as Record<string, unknown>;
        return [response.status, rest];
      };
      expect(await same(ofAnother)).toEqual(await same(ofNobody));
      expect(ofAnother.status).toBe(404);
      expect((await app.call(path, call)).status).toBe(401);
    }
    expect(await app.data(path, { token: ann.token })).toMatchObject({ title: secondShop.title });
    expect((await list(bob, '/recipes/me')).data).toEqual([]);
    for (const anonymous of ['/recipes', '/recipes/me'])
      expect((await app.call(anonymous)).status).toBe(401);
    expect((await app.call('/recipes', { body: secondShop })).status).toBe(401);
  });

  test('a user’s recipes are listed newest first, and found by title and category', async () => {
    const eve = await app.signUp();
    for (const title of ['Bread', 'Cheese', 'Brown bread'])
      await create(eve, { title, category: title === 'Bread' ? 'sales' : 'product' });
    const titles = async (query: string) =>
      (await list(eve, `/recipes/me${query}`)).data.map(({ title }) => title);
    expect(await titles('')).toEqual(['Brown bread', 'Cheese', 'Bread']);
    expect(await titles('?search=BREAD')).toEqual(['Brown bread', 'Bread']);
    expect(await titles('?search=bread&category=sales')).toEqual(['Bread']);
    expect(await titles('?limit=2&page=2')).toEqual(['Bread']);
  });

  test('a recipe sent twice under one key is one recipe, and the repeat returns its current state', async () => {
    const eve = await app.signUp();
    const send = { token: eve.token, body: secondShop, key: 'once' };
    const first = await app.data<Recipe>('/recipes', send);
    expect(await app.data('/recipes', send)).toEqual(first);
    expect((await list(eve, '/recipes/me')).pagination.total).toBe(1);
  });

  test('a recipe with an invalid field is refused without an echo', async () => {
    const wrong: [string, unknown][] = [
      ['title', '  '],
      ['title', 'x'.repeat(recipeLimits.title + 1)],
      ['summary', 'x'.repeat(recipeLimits.summary + 1)],
      ['category', 'gardening'],
      ['challenge', ''],
      ['challenge', 'x'.repeat(4001)],
      ['objectives', ['x'.repeat(301)]],
      ['constraints', Array.from({ length: 21 }, () => 'x')],
      ['strategy', 'cheapest'],
      ['owner', 'ours'],
      ['id', ours.id],
      ['times_used', 5],
    ];
    const { id } = await create(ann);
    for (const [field, value] of wrong) {
      const { token } = ann;
      const body = { ...secondShop, [field]: value };
      expect([field, await refusal('/recipes', { token, body })]).toEqual([
        field,
        [400, 'validation'],
      ]);
      const change = { token, method: 'PATCH', body: { [field]: value } };
      expect([field, await refusal(`/recipes/${id}`, change)]).toEqual([
        field,
        [400, 'validation'],
      ]);
    }
    for (const query of ['page=0', 'page=x', 'limit=101', 'category=none', 'more=1'])
      for (const path of ['/recipes', '/recipes/me'])
        expect(await refusal(`${path}?${query}`, { token: ann.token })).toEqual([
          400,
          'validation',
        ]);
    for (const none of ['rec_', 'me2', 'rec_%00', 'opt_00000000000000000000000000'])
      expect(await refusal(`/recipes/${none}`, { token: ann.token })).toEqual([404, 'not-found']);
  });

  test('a recipe is stored sealed, and a damaged one hides no other', async () => {
    const eve = await app.signUp();
    const damaged = await create(eve, { title: 'Canary-title', challenge: 'Canary-challenge' });
    const other = await create(eve);
    const { pool } = app.database;
    const { rows } = await pool.query('select row_to_json(recipe)::text as text from recipe');
    expect(JSON.stringify(rows)).not.toMatch(/Canary|second/);
    await pool.query(
      'update recipe set sealed = (select sealed from recipe where id = $2) where id = $1',
      [damaged.id, other.id],
    );
    expect((await list(eve, '/recipes/me')).data.map(({ title }) => title)).toEqual([
      secondShop.title,
      'A recipe that cannot be read',
    ]);
    const rewritten = { token: eve.token, method: 'PATCH', body: secondShop };
    expect(await app.data(`/recipes/${damaged.id}`, rewritten)).toMatchObject(secondShop);
  });

  test('a user has at most a hundred recipes, even when many are sent at once', async () => {
    const eve = await app.signUp();
    const { sealer, pool } = app.core;
    const sealed = await sealer.seal(eve.userId, { stream: 'none', field: 'none' }, '{}');
    await pool.query(
      `insert into recipe (id, user_id, sealed, created_at, updated_at)
       select 'rec_' || lpad(n::text, 26, '0'), $1, $2, now(), now() from generate_series(1, 98) n`,
      [eve.userId, sealed],
    );
    const send = async () =>
      (await app.call('/recipes', { token: eve.token, body: secondShop })).status;
    const statuses = await Promise.all([send(), send(), send(), send()]);
    expect(statuses.toSorted((left, right) => left - right)).toEqual([201, 201, 409, 409]);
    const one = { token: eve.token, body: secondShop };
    expect(await refusal('/recipes', one)).toEqual([409, 'too-many-recipes']);
  });
});

describe('the uses of a recipe', () => {
  const question = {
    challenge: 'Should we open a second shop?',
    strategy: 'ultra-economy',
    allow_simulated: true,
  };
  const ask = async (person: Person, recipeId: string, key?: string) =>
    app.data<Optimization>('/optimizations', {
      token: person.token,
      body: { ...question, recipe_id: recipeId },
      ...(key === undefined ? {} : { key }),
    });
  const uses = async (person: Person, id: string) =>
    (await app.data<Recipe>(`/recipes/${id}`, { token: person.token })).times_used;

  test('the uses count each run once, and over all users for a shipped recipe', async () => {
    const { id } = shippedRecipes[1]!;
    await ask(ann, id, 'first');
    await ask(ann, id, 'first');
    await ask(bob, id);
    expect(await uses(ann, id)).toBe(2);
    const listed = (await list(bob, '/recipes')).data.find((recipe) => recipe.id === id);
    expect(listed?.times_used).toBe(2);
  });

  test('a run with a foreign or missing recipe is created and counts no use', async () => {
    const { id } = await create(ann);
    await ask(ann, id);
    await ask(bob, id);
    await ask(bob, newId('rec'));
    expect(await uses(ann, id)).toBe(1);
    expect((await list(ann, '/recipes/me')).data.find((one) => one.id === id)?.times_used).toBe(1);
    const body = { ...question, recipe_id: 'rec_1' };
    expect(await refusal('/optimizations', { token: ann.token, body })).toEqual([
      400,
      'validation',
    ]);
  });
});

test('changing recipes has a rate limit, and reading them has none of its own', async () => {
  const limited = await createTestApp({ env: { RATE_LIMITS: 'recipes=2/h' } });
  try {
    const { token } = await limited.signUp();
    const { id } = await limited.data<Recipe>('/recipes', { token, body: secondShop });
    const change = { token, method: 'PATCH', body: { title: 'Another' } };
    const statuses = [];
    for (const call of [change, change, { token, method: 'DELETE' }, { token }, { token }])
      statuses.push((await limited.call(`/recipes/${id}`, call)).status);
    expect(statuses).toEqual([200, 429, 429, 200, 200]);
  } finally {
    await limited.close();
  }
});

test('an export holds the user’s recipes in plain text, and an erasure leaves none', async () => {
  const eve = await app.signUp();
  const { token, userId } = eve;
  const made = await create(eve);
  const body = {
    challenge: 'Is it time?',
    strategy: 'ultra-economy',
    allow_simulated: true,
    recipe_id: made.id,
  };
  const run = await app.data<Optimization>('/optimizations', { token, body });
  const { tables } = await app.data<{ tables: Record<string, object[]> }>('/users/me/export', {
    token,
  });
  expect(tables['recipes']).toEqual([
    {
      ...secondShop,
      id: made.id,
      times_used: 1,
      created_at: made.created_at,
      updated_at: made.updated_at,
    },
  ]);
  expect(tables['recipe_uses']).toMatchObject([{ run_id: run.id, recipe_id: made.id }]);
  const { pool } = app.core;
  await pool.query('update users set erasing_at = now() where id = $1', [userId]);
  await eraseAccount(erasureOf(app.core), userId);
  for (const table of ['recipe', 'recipe_use']) {
    const { rowCount } = await pool.query(`select from ${table} where user_id = $1`, [userId]);
    expect([table, rowCount]).toEqual([table, 0]);
  }
});
