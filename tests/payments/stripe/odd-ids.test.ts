import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import type { Person } from '#tests/support/app.ts';

/** An invalid id in an address is refused before the provider is asked. */
let shop: TestShop;
let ann: Person;

beforeAll(async () => {
  shop = await createTestShop();
  ann = await shop.signUp();
});
afterAll(async () => shop.close());

const odd = ['%00', 'pur_%00', 'cs_%0a', '%ff', '%F0%9F%92%A9', 'x'.repeat(300), '%', '%5c'];

test.each(
  odd.flatMap((id) => [
    ['POST', `/credits/purchases/${id}/refund`] as const,
    ['POST', `/credits/purchases/${id}/forget`] as const,
    ['GET', `/credits/checkout-sessions/${id}`] as const,
  ]),
)('%s %s is 404', async (method, path) => {
  expect((await shop.call(path, { method, token: ann.token })).status).toBe(404);
});

test.each([
  ...odd.map((id) => `/credits/statements/${id}`),
  '/credits/statements/2026-11%00',
  '/credits/statements/2026-11%0a',
  '/credits/purchases?before=%00',
])('GET %s is 400', async (path) => {
  expect((await shop.call(path, { token: ann.token })).status).toBe(400);
});
