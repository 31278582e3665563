import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoints } from '#services/http/endpoints.ts';
import { createTestApp, type TestApp } from '#tests/support/app.ts';

/** A call with an unsupported method is answered with the supported ones. */
let app: TestApp;

beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const methodsOf = new Map<string, string[]>();
for (const name of Object.keys(endpoints)) {
  const [method = '', path = ''] = name.split(' ');
  methodsOf.set(path, [...(methodsOf.get(path) ?? []), method]);
}

/** The path with ids of objects that do not exist. */
const filled = (path: string) => path.replaceAll(/\{\w+\}/g, 'nothing');

test.each([...methodsOf].map(([path, methods]) => ({ path, methods })))(
  '$path accepts $methods, and answers every other method with 405 and that list',
  async ({ path, methods }) => {
    const response = await app.call(filled(path), { method: 'PROPFIND' });
    expect(response.status).toBe(405);
    expect(await response.json()).toMatchObject({ code: 'method-not-allowed' });
    const allowed = (response.headers.get('allow') ?? '').split(', ');
    expect(allowed).toEqual(expect.arrayContaining(methods));
    expect(new Set(allowed).size).toBe(allowed.length);
    expect(allowed.includes('HEAD')).toBe(allowed.includes('GET'));
  },
);

test.each(['GET', 'POST', 'DELETE'])('%s of an unknown path is answered 404', async (method) => {
  const response = await app.call('/nowhere', { method });
  expect(response.status).toBe(404);
  expect(response.headers.get('allow')).toBeNull();
});
