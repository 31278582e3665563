import { describe, expect, it } from 'vitest';
import type { Recipe } from '#services/recipes/contract.ts';
import {
  failing,
  faultsInEveryLook,
  member,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { ok, problem, type Reply } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const recipeId = (number: number) => `rec_${String(number).padStart(26, '0')}`;

function recipeOf(number: number, change: Partial<Recipe> = {}): Recipe {
  return {
    id: recipeId(number),
    title: `Recipe ${number}`,
    category: 'sales',
    summary: 'Decide what to charge.',
    challenge: 'I sell {product} at {price}. Should I raise it?',
    objectives: ['Higher profit', 'Fewer refusals'],
    constraints: ['No tricks', 'No loans'],
    strategy: 'balanced',
    strategy_reason: 'Both sides should be heard.',
    owner: 'ours',
    times_used: number,
    created_at: '2026-11-22T00:00:00.000Z',
    updated_at: '2026-11-22T00:00:00.000Z',
    ...change,
  };
}

const mine = recipeOf(7, { title: 'My own', owner: 'mine', strategy_reason: null });

const list = (data: Recipe[], total: number = data.length): Reply => ({
  status: 200,
  body: {
    data,
    pagination: { page: 1, limit: 10, total, total_pages: Math.ceil(total / 10) },
  },
});

const api = (answers: Parameters<typeof member>[0] = {}) =>
  member({
    'GET /api/recipes': list([recipeOf(1), recipeOf(2)], 27),
    'GET /api/recipes/me': list([mine]),
    [`GET /api/recipes/${recipeId(1)}`]: ok(recipeOf(1)),
    [`GET /api/recipes/${mine.id}`]: ok(mine),
    ...answers,
  });

const sent = (method: string, path: string) =>
  site().calls.filter((call) => call.method === method && call.path === path);

/** The others are in the specification. */
const pages = ['/recipes?tab=mine', `/recipes/${mine.id}`, `/recipes/${mine.id}/edit`];

describe('recipes', () => {
  it.each(pages)('the page %s passes axe and fits every window, light and dark', async (path) => {
    const page = await open(path, { api: api() });
    await page
      .getByText(/Balanced, 14 credits|Suggested strategy/)
      .first()
      .waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('recipes are listed with the price of the suggested strategy, and the address holds the filter', async () => {
    const page = await open('/recipes', { api: api() });
    await page.getByText('Opportunity Patterns').first().waitFor();
    await page.getByText('Balanced, 14 credits').first().waitFor();
    await page.getByText('Used once').waitFor();
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByText('Page 2 of 3').waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe('?page=2');
    await page.getByLabel('Category').selectOption('hiring');
    await expect.poll(() => new URL(page.url()).search).toBe('?category=hiring');
    await page.getByRole('searchbox', { name: 'Search' }).fill('price');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?category=hiring&search=price');
    await expect
      .poll(() => sent('GET', '/api/recipes').at(-1)?.search)
      .toBe('?page=1&limit=10&category=hiring&search=price');
    await page.getByRole('link', { name: 'Mine' }).click();
    await page.getByRole('link', { name: 'My own' }).waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe('?tab=mine');
  });

  it('the list says when there are no recipes, when none matches, and when they could not be read', async () => {
    const none = api({ 'GET /api/recipes': list([]), 'GET /api/recipes/me': list([]) });
    const page = await open('/recipes?search=x', { api: none });
    await page.getByText('No matching recipes.').waitFor();
    await page.goto(`${site().origin}/recipes?tab=mine`);
    await page.getByRole('link', { name: 'Write your first recipe' }).waitFor();
    site().answer(api({ 'GET /api/recipes/me': failing }));
    await page.reload();
    await page.getByText('Failed to list recipes').first().waitFor();
    site().answer(api());
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('link', { name: 'My own' }).waitFor();
  });

  it('a shipped recipe cannot be changed, and a filled one is carried to the form, which names it', async () => {
    const page = await open(`/recipes/${recipeId(1)}`, { api: api() });
    await page.getByText('I sell {product} at {price}. Should I raise it?').waitFor();
    await page.getByRole('link', { name: 'Copy to my recipes' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await expect.poll(() => page.getByRole('link', { name: 'Edit', exact: true }).count()).toBe(0);
    await page.getByLabel('Product').fill('bread');
    await page.getByText('I sell bread at {price}. Should I raise it?').waitFor();
    await page.getByText('One blank left.').waitFor();
    await page.getByLabel('Price').fill('$4');
    await page.getByRole('link', { name: 'Use recipe' }).click();
    const challenge = page.getByLabel('What business challenge are you facing?');
    await challenge.waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe(`?recipe=${recipeId(1)}`);
    await expect.poll(() => challenge.inputValue()).toBe('I sell bread at $4. Should I raise it?');
    await expect
      .poll(() => page.locator('[name="challenge_type"]:checked').getAttribute('value'))
      .toBe('sales');
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Objective 2' }).inputValue())
      .toBe('Fewer refusals');
    await expect.poll(() => page.getByRole('radio', { name: /Balanced/ }).isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Start Optimization' }).click();
    await expect
      .poll(() => sent('POST', '/api/optimizations').at(-1)?.body)
      .toMatchObject({
        challenge: 'I sell bread at $4. Should I raise it?',
        recipe_id: recipeId(1),
      });
  });

  it('a recipe is copied, and a copy is saved once', async () => {
    const copy = { ...recipeOf(8), title: 'Recipe 1 (copy)', owner: 'mine' as const };
    const page = await open(`/recipes/${recipeId(1)}`, {
      api: api({
        'POST /api/recipes': { ...ok(copy), status: 201 },
        [`GET /api/recipes/${copy.id}`]: ok(copy),
      }),
    });
    await page.getByRole('link', { name: 'Copy to my recipes' }).click();
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Recipe 1 (copy)');
    await page.getByLabel('Title').fill('');
    await page.getByRole('button', { name: 'Save recipe' }).click();
    await page.getByText('Enter a title').waitFor();
    await page.getByLabel('Title').fill('Recipe 1 (copy)');
    await page.getByLabel('Objectives').fill('One\n\n  Two ');
    await page.getByRole('button', { name: 'Save recipe' }).click();
    await page.getByRole('heading', { name: 'Recipe 1 (copy)' }).waitFor();
    expect(sent('POST', '/api/recipes').map(({ body }) => body)).toMatchObject([
      {
        title: 'Recipe 1 (copy)',
        objectives: ['One', 'Two'],
        constraints: ['No tricks', 'No loans'],
        strategy: 'balanced',
      },
    ]);
  });

  it("a user's own recipe can be changed", async () => {
    const changed = { ...mine, title: 'Mine, changed' };
    const page = await open(`/recipes/${mine.id}`, {
      api: api({ [`PATCH /api/recipes/${mine.id}`]: ok(changed) }),
    });
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await expect.poll(() => page.title()).toBe('Edit recipe · Sevenfold');
    await page.getByLabel('Title').fill('Mine, changed');
    await page.getByRole('button', { name: 'Save recipe' }).click();
    await page.getByRole('heading', { name: 'Mine, changed' }).waitFor();
    expect(sent('PATCH', `/api/recipes/${mine.id}`)).toHaveLength(1);
  });

  it("a user's own recipe can be deleted and restored by Undo", async () => {
    const again = { ...mine, id: recipeId(9) };
    const page = await open(`/recipes/${mine.id}`, {
      api: api({
        [`DELETE /api/recipes/${mine.id}`]: ok({ id: mine.id, deleted: true }),
        'POST /api/recipes': { ...ok(again), status: 201 },
        [`GET /api/recipes/${again.id}`]: ok(again),
      }),
    });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Recipe deleted' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'My own' }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/recipes/${again.id}`);
    const [{ body } = { body: null }] = sent('POST', '/api/recipes');
    expect(body).toMatchObject({ title: 'My own', challenge: mine.challenge });
    expect(body).not.toHaveProperty('id');
  });

  it('Undo is offered for eight seconds', async () => {
    const page = await open(`/recipes/${mine.id}`, {
      api: api({ [`DELETE /api/recipes/${mine.id}`]: ok({ id: mine.id, deleted: true }) }),
      prepare: async (opened) => opened.clock.install(),
    });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.clock.runFor(8_100);
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('link', { name: 'My recipes' }).isVisible()).toBe(true);
  });

  it('a missing recipe is a page that does not exist', async () => {
    const missing = problem(404, 'not-found', 'Failed to get recipe');
    const page = await open(`/recipes/${recipeId(3)}/edit`, {
      api: api({ [`GET /api/recipes/${recipeId(3)}`]: missing }),
    });
    await page.getByRole('heading', { name: "We can't find that page" }).waitFor();
    await page.goto(`${site().origin}/recipes/${recipeId(3)}`);
    await page.getByRole('heading', { name: "We can't find that page" }).waitFor();
    await expect.poll(() => page.getByRole('heading', { level: 1 }).count()).toBe(1);
    await expect.poll(() => page.getByRole('button', { name: 'Try Again' }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('main').getByRole('link', { name: 'All recipes' }).click();
    await page.getByRole('heading', { name: 'Recipes' }).waitFor();
  });

  it('the editor starts empty when the recipe or run to copy is gone', async () => {
    const gone = problem(404, 'not-found', 'Failed to get it');
    const page = await open(`/recipes/new?from=${recipeId(3)}`, {
      api: api({
        [`GET /api/recipes/${recipeId(3)}`]: gone,
        'GET /api/optimizations/opt_gone': gone,
      }),
    });
    await page.getByText("We couldn't find the recipe to copy").waitFor();
    await expect.poll(() => page.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('');
    await page.goto(`${site().origin}/recipes/new?run=opt_gone`);
    await page.getByText("We couldn't find the run to copy").waitFor();
    await expect
      .poll(() => page.getByRole('button', { name: 'Save recipe' }).isVisible())
      .toBe(true);
  });

  it('a recipe that could not be read can be retried', async () => {
    const page = await open(`/recipes/${mine.id}/edit`, {
      api: api({ [`GET /api/recipes/${mine.id}`]: failing }),
    });
    await page.getByRole('alert').filter({ hasText: 'Failed to get recipe' }).waitFor();
    await page.getByRole('button', { name: 'Try Again' }).waitFor();
  });

  it('recipes are linked from the bar, the menu and the quick actions', async () => {
    const page = await open('/dashboard', { api: api() });
    await page.getByRole('link', { name: 'Browse Recipes' }).waitFor();
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Recipes' })
      .click();
    await page.getByText('Opportunity Patterns').first().waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Recipes' }).waitFor();
  });
});
