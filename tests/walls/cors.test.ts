import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

function allowOf(response: Response): string[] {
  return [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
}

describe('H4: an origin of the list is let in by its own name, without credentials:', () => {
  test.each(listed)('%s', async (origin) => {
    const response = await app.call('/health', { headers: { origin } });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
  });
});

describe('H4: an origin that only looks like one of the list is not:', () => {
  test.each(refused)('%s', async (origin) => {
    for (const path of ['/health', '/users/me', '/nowhere']) {
      const response = await app.call(path, { headers: { origin } });
      expect(allowOf(response)).toEqual([]);
      expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
    }
    const preflight = await app.call('/users/me', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'PATCH' },
    });
    expect(allowOf(preflight)).toEqual([]);
    expect(preflight.headers.get('vary')).toMatch(/\bOrigin\b/);
  });
});

test('H4: a preflight is answered before anybody is asked who they are', async () => {
  const response = await app.call('/users/me', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://partner.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization, content-type, x-canary',
    },
  });
  expect(response.status).toBe(204);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'access-control-allow-origin': 'https://partner.example',
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, Last-Event-ID',
    'access-control-max-age': '600',
  });
  expect(response.headers.get('access-control-allow-credentials')).toBeNull();
});

test('H4: a refusal can be read by those who may read the answer', async () => {
  const response = await app.call('/users/me', { headers: { origin: 'https://partner.example' } });
  expect(response.status).toBe(401);
  expect(response.headers.get('access-control-allow-origin')).toBe('https://partner.example');
  expect(response.headers.get('access-control-expose-headers')).toBe('Retry-After, X-Request-Id');
});

test('H4: without an origin nothing is allowed, and caches learn that it would differ', async () => {
  const response = await app.call('/health');
  expect(allowOf(response)).toEqual([]);
  expect(response.headers.get('vary')).toMatch(/\bOrigin\b/);
});

test('H4: in production the names of the loopback are no origins of ours', () => {
  const { own, foreign } = originsOf({
    publicUrl: 'https://sevenfold.example',
    corsOrigins: ['https://partner.example', 'https://sevenfold.example'],
    isLocal: false,
  });
  expect([...own]).toEqual(['https://sevenfold.example']);
  expect([...foreign]).toEqual(['https://partner.example']);
});
