import { afterAll, beforeAll, expect, test } from 'vitest';
import { originsOf } from '#services/platform/http/cors.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({
    env: { PUBLIC_URL: 'http://127.0.0.1:3000', CORS_ORIGINS: 'https://partner.example' },
  });
});
afterAll(async () => app.close());

const listed = ['http://127.0.0.1:3000', 'http://localhost:3000', 'https://partner.example'];
const refused = [
  'null',
  'https://foreign.example',
  'https://partner.example.foreign.example',
  'https://notpartner.example',
  'https://sub.partner.example',
  'http://partner.example',
  'https://partner.example:8443',
  'https://partner.example.',
  'https://PARTNER.example',
  'https://partner.example/',
  'https://partner.example, https://foreign.example',
  'http://localhost:3001',
  'https://localhost:3000',
  'http://127.0.0.1',
  'http://[::1]:3000',
  'file://',
  '*',
];

/** The origin that a browser would let read the response, and whether with credentials. */
function allowedBy({ headers }: Response) {
  return [
    headers.get('access-control-allow-origin'),
    headers.get('access-control-allow-credentials'),
  ];
}

test.each(listed)(
  'the listed origin %s is allowed by its name, without credentials',
  async (origin) => {
    const response = await app.call('/health', { headers: { origin } });
    expect(allowedBy(response)).toEqual([origin, null]);
    expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
  },
);

test.each(refused)('the origin %s is not on the list and is not allowed', async (origin) => {
  const preflight = await app.call('/users/me', {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'PATCH' },
  });
  const calls = ['/health', '/users/me', '/nowhere'].map(async (path) =>
    app.call(path, { headers: { origin } }),
  );
  for (const response of [preflight, ...(await Promise.all(calls))]) {
    expect(allowedBy(response)).toEqual([null, null]);
    expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
  }
});

test('a preflight is answered without authentication, and repeats no header that was asked for', async () => {
  const response = await app.call('/users/me', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://partner.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization, content-type, x-canary',
    },
  });
  expect(response.status).toBe(204);
  expect(allowedBy(response)).toEqual(['https://partner.example', null]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE',
    'access-control-allow-headers': 'Authorization,Content-Type,Idempotency-Key,Last-Event-ID',
    'access-control-max-age': '600',
  });
});

test('a listed origin may read a refusal, too', async () => {
  const response = await app.call('/users/me', { headers: { origin: 'https://partner.example' } });
  expect(response.status).toBe(401);
  expect(allowedBy(response)).toEqual(['https://partner.example', null]);
  expect(response.headers.get('access-control-expose-headers')).toBe('Retry-After,X-Request-Id');
});

test('a call without an origin is allowed nothing, and caches learn that the answer varies', async () => {
  const response = await app.call('/health');
  expect(allowedBy(response)).toEqual([null, null]);
  expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
});

test('in production the loopback names are not own origins', () => {
  const { own, foreign } = originsOf({
    publicUrl: 'https://sevenfold.example',
    corsOrigins: ['https://partner.example', 'https://sevenfold.example'],
    isLocal: false,
  });
  expect([...own]).toEqual(['https://sevenfold.example']);
  expect([...foreign]).toEqual(['https://partner.example']);
});
