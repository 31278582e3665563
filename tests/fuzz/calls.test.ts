import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { fuzz, usualSeed } from './calls.ts';

let shop: TestShop;
beforeAll(async () => {
  shop = await createTestShop();
});
afterAll(async () => shop.close());

test('F1: 300 random calls find no fault', { timeout: 300_000 }, async () => {
  const { answered, failures } = await fuzz(shop, { seed: usualSeed(), calls: 300 });
  expect(failures).toEqual([]);
  // Some calls passed the parsers, and some were refused by them.
  expect(Object.keys(answered)).toEqual(expect.arrayContaining(['200', '400', '401', '404']));
});
