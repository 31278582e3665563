import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestApp } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { credentials, entries, methodOf, newCaller, pretendWorker, send } from './calls.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestShop();
  await pretendWorker(app);
});
afterAll(async () => app.close());

/** What everybody may know and asks for again and again: keys that check our tokens, prices, the API. */
const mayBeKept = [
  'GET /.well-known/jwks.json',
  'GET /api/credits/packages',
  'GET /api/openapi.json',
];
const ofOnePerson = Object.entries(entries).filter(([route]) => !mayBeKept.includes(route));

test.each(ofOnePerson)('H3: no JSON of %s is kept anywhere on its way', async (route, entry) => {
  const owner = await newCaller(app);
  const sample = await entry.sample(app, owner);
  const refused = await send(app, methodOf(route), sample);
  const answered = await send(
    app,
    methodOf(route),
    sample,
    await credentials(app, entry.access, owner),
  );
  for (const response of [refused, answered]) {
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    const keeping = response.headers.get('cache-control');
    expect([isJson, keeping]).toEqual([isJson, isJson ? 'no-store' : keeping]);
  }
});

test('H3: neither is a page whose address may carry a token, nor what is not there', async () => {
  for (const path of ['/nowhere', '/users/me/nothing', '/health/']) {
    const response = await app.call(path);
    expect(response.headers.get('cache-control')).toBe('no-store');
  }
});
