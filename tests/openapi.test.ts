import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as v from 'valibot';
import { apiExamples } from '#services/http/examples.ts';
import { endpoints } from '#services/http/endpoints.ts';
import { identityProblems } from '#services/identity/refusals.ts';
import { describeApi } from '#services/http/openapi.ts';
import type { Endpoint } from '#services/platform/contract.ts';
import { routeOf } from '#services/platform/http/serve.ts';
import { problems } from '#services/platform/problems.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';

/** The description of the API against the application that it describes. */
let app: TestApp;

beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

test('every route under /api is described, and nothing else is', () => {
  const routes = app.app.routes
    .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/'))
    .map(({ method, path }) => `${method} ${path}`);
  const described = Object.keys(endpoints).map((name) => routeOf(name.replace(' ', ' /api')));
  expect([...new Set(routes)].toSorted()).toEqual(described.toSorted());
});

test('the description is served', async () => {
  const response = await app.call('/openapi.json');
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    openapi: '3.1.0',
    paths: { '/optimizations/{id}/process': { post: { tags: ['optimizations'] } } },
  });
});

const document = describeApi({ productName: 'Sevenfold', publicUrl: 'https://example.com' });

test('a number in a query is described as a number, and so is its default', () => {
  expect(document).toMatchObject({
    paths: {
      '/recipes': {
        get: {
          parameters: expect.arrayContaining([
            expect.objectContaining({
              name: 'limit',
              schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
            }),
          ]) as unknown,
        },
      },
    },
  });
});

test('headers with a meaning are described where they are sent', () => {
  expect(document).toMatchObject({
    paths: {
      '/optimizations/{id}/process': {
        post: {
          parameters: [{ name: 'id' }, { name: 'Idempotency-Key', in: 'header' }],
          responses: { 429: { $ref: '#/components/responses/Refusal429' } },
        },
      },
    },
    components: {
      responses: {
        Refusal429: { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } },
      },
    },
  });
});

test('the stream is described with the header that resumes it', () => {
  expect(document).toMatchObject({
    paths: {
      '/stream': { get: { parameters: [{ name: 'optimization' }, { name: 'Last-Event-ID' }] } },
    },
  });
});

test('the session cookie is described by its real name', async () => {
  const { email } = await app.signUp();
  const response = await app.call('/auth/login', { body: { email, password: testPassword } });
  const described = await app.call('/openapi.json');
  const [cookie = ''] = response.headers.getSetCookie();
  expect(await described.json()).toMatchObject({
    components: { securitySchemes: { cookie: { in: 'cookie', name: cookie.split('=')[0] } } },
  });
});

test.each(Object.keys(apiExamples))('the example of %s is valid for its call', (name) => {
  const example = Object.entries(apiExamples).find(([found]) => found === name)?.[1];
  const endpoint = Object.entries<Endpoint>(endpoints).find(([found]) => found === name)?.[1];
  const issues = (['body', 'reply'] as const).flatMap((part) => {
    const value = example?.[part];
    return value === undefined
      ? []
      : (v.safeParse(endpoint?.[part] ?? v.never(), value).issues ?? []);
  });
  expect(issues).toEqual([]);
});

test('every problem code is thrown somewhere, and the published description names it', () => {
  const thrown = globSync('services/**/*.ts', {
    exclude: ['services/{cli,sandbox}/**', 'services/http/dev-pages.ts'],
  }).flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/(?:new Problem|fileProblem)\(\s*'([^']*)'/g)].map(
      ([, code]) => code,
    ),
  );
  const used = new Set<string | undefined>([...thrown, ...Object.keys(identityProblems)]);
  const text = JSON.stringify(document);
  const wrong = Object.keys(problems).filter(
    (code) => !used.has(code) || !text.includes(`\`${code}\``) || !/^[a-z]+(-[a-z]+)*$/.test(code),
  );
  expect(wrong).toEqual([]);
});
