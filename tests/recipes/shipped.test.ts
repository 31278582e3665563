import { expect, test } from 'vitest';
import * as v from 'valibot';
import { challengeTypes } from '#services/optimizations/run/events.ts';
import { strategyIds } from '#services/models/strategy-list.ts';
import { idPattern } from '#services/platform/ids.ts';
import {
  filledChallenge,
  placeholdersOf,
  recipeLimits,
  RecipeRequest,
} from '#services/recipes/contract.ts';
import { shippedRecipe, shippedRecipes } from '#services/recipes/shipped.ts';

test('each of the eight challenge types has three recipes or more', () => {
  const few = challengeTypes.filter(
    (type) => shippedRecipes.filter(({ category }) => category === type).length < 3,
  );
  expect([shippedRecipes.length >= 24, few]).toEqual([true, []]);
});

test('titles and ids are distinct, and an id never changes', () => {
  const titles = shippedRecipes.map(({ title }) => title.toLowerCase());
  const ids = shippedRecipes.map(({ id }) => id);
  expect([new Set(titles).size, new Set(ids).size]).toEqual([titles.length, ids.length]);
  expect(ids.filter((id) => !idPattern('rec').test(id))).toEqual([]);
  // Addresses of recipes are kept as bookmarks, and uses are counted by them.
  expect(shippedRecipes[0]).toMatchObject({
    id: 'rec_5k46qwvad9a0ts4sjbww1g1b1b',
    title: 'Should I raise my prices?',
  });
});

test.each(shippedRecipes)(
  'the shipped recipe $title passes the rules for users’ recipes',
  (recipe) => {
    const { title, category, summary, challenge, objectives, constraints, strategy } = recipe;
    const written = { title, category, summary, challenge, objectives, constraints, strategy };
    expect(v.parse(RecipeRequest, written)).toEqual(written);
    expect(strategyIds).toContain(strategy);
    expect(recipe.strategy_reason).toMatch(/^[A-Z].+\.$/);
    expect(summary).toMatch(/^[A-Z][^.]+\.$/);
    expect(shippedRecipe(recipe.id)).toBe(recipe);
  },
);

test.each(shippedRecipes)(
  'the recipe $title has a challenge of 2 to 5 sentences with placeholders',
  (recipe) => {
    const names = placeholdersOf(recipe.challenge);
    // Each brace belongs to a gap, and no gap is there twice.
    expect(recipe.challenge.split(/[{}]/).length - 1).toBe(names.length * 2);
    expect(names.length).toBeGreaterThanOrEqual(2);
    expect(names.length).toBeLessThanOrEqual(5);
    const whole = filledChallenge(recipe.challenge, new Map(names.map((name) => [name, 'x'])));
    expect(whole).not.toMatch(/[{}]/);
    const sentences = whole.split(/[.?!](?:\s|$)/).filter((text) => text !== '');
    expect(sentences.length).toBeGreaterThanOrEqual(2);
    expect(sentences.length).toBeLessThanOrEqual(5);
    for (const list of [recipe.objectives, recipe.constraints]) {
      expect(list.length).toBeGreaterThanOrEqual(2);
      expect(list.length).toBeLessThanOrEqual(4);
    }
  },
);

test('a placeholder stays until it has a value, and the value is not a placeholder', () => {
  const challenge = 'I sell { my product } at {price}, and {my product} sells well. {} {\n}';
  expect(placeholdersOf(challenge)).toEqual(['my product', 'price']);
  const filled = filledChallenge(
    challenge,
    new Map([
      ['my product', ' {price} $& bread '],
      ['price', '  '],
    ]),
  );
  expect(filled).toBe(
    'I sell {price} $& bread at {price}, and {price} $& bread sells well. {} {\n}',
  );
});

test('a name longer than the limit is not a placeholder', () => {
  const most = 'a'.repeat(recipeLimits.placeholder);
  expect(placeholdersOf(`{${most}} {${most}a}`)).toEqual([most]);
});

test('braces beyond the limit are text', () => {
  const names = Array.from({ length: recipeLimits.placeholders + 1 }, (_, at) => `gap ${at}`);
  const challenge = names.map((name) => `{${name}}`).join(' ');
  expect(placeholdersOf(challenge)).toEqual(names.slice(0, -1));
});
