import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

/** The headers that a browser sends from our own page. */
const own = { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-origin' };
const cookie = 'sf_refresh=canary';
const json = { 'content-type': 'application/json' };

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ env: { CORS_ORIGINS: 'https://partner.example' } });
});
afterAll(async () => app.close());

async function send(
  path: string,
  headers: Record<string, string>,
  { method = 'POST', body }: { method?: string; body?: string } = {},
): Promise<string> {
  const response = await app.app.request(`http://127.0.0.1:3000/api${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  if (response.ok) return String(response.status);
  const { code } = (await response.json()) as { code: string };
  return `${response.status} ${code}`;
}

describe('a call with a cookie that changes something', () => {
  test.each<[string, Record<string, string>]>([
    ['with a foreign origin', { origin: 'https://foreign.example' }],
    ['with the origin null', { origin: 'null' }],
    ['with an origin that begins like ours', { origin: 'http://127.0.0.1:3000.foreign.example' }],
    ['with our name and another scheme', { origin: 'https://127.0.0.1:3000' }],
    ['with our name and another port', { origin: 'http://127.0.0.1:3001' }],
    ['from a partner, who may bring a token only', { origin: 'https://partner.example' }],
    ['across sites, whatever the origin', { ...own, 'sec-fetch-site': 'cross-site' }],
    ['from a neighbour of our domain', { ...own, 'sec-fetch-site': 'same-site' }],
    ['across sites, without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['from a typed address', { 'sec-fetch-site': 'none' }],
    ['without any origin header', {}],
    ['with credentials that browsers send automatically', { authorization: 'Basic Y2FuYXJ5' }],
  ])('a change with a cookie is refused %s', async (_what, headers) => {
    for (const path of ['/auth/logout', '/auth/refresh', '/auth/login', '/nowhere'])
      expect(await send(path, { ...json, ...headers, cookie })).toBe('403 cross-site');
  });

  test.each(['PUT', 'PATCH', 'DELETE'])(
    'a change with a cookie and no origin is refused for %s',
    async (method) => {
      expect(await send('/users/me', { cookie }, { method })).toBe('403 cross-site');
    },
  );
});

describe('a call with a cookie from an own page', () => {
  test.each<[string, Record<string, string>]>([
    ['from our own page', own],
    ['from our own page by the other name of this machine', { origin: 'http://localhost:3000' }],
    ['with an own origin alone', { origin: 'http://127.0.0.1:3000' }],
    ['without an origin, when the browser says it is ours', { 'sec-fetch-site': 'same-origin' }],
  ])('a change with a cookie is allowed %s', async (_what, headers) => {
    expect(await send('/auth/logout', { ...headers, cookie })).toBe('200');
  });

  test('a read with a cookie is allowed from any origin', async () => {
    expect(
      await send('/health', { cookie, origin: 'https://foreign.example' }, { method: 'GET' }),
    ).toBe('200');
  });
});

describe('the type of a body', () => {
  test.each([
    'text/plain',
    'text/plain; charset=application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/json-patch+json',
    'application/jsonx',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/problem+json',
    'text/json',
    '',
  ])("a body of the type '%s' is refused", async (type) => {
    const body = JSON.stringify({ email: 'a@example.com', password: 'Canary-123' });
    const headers = { ...own, cookie, 'content-type': type };
    expect(await send('/auth/login', headers, { body })).toBe('415 unsupported-media-type');
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('a body of the type %s is accepted', async (type) => {
    const body = JSON.stringify({ email: 'a@example.com', password: 'Canary-123' });
    const headers = { ...own, cookie, 'content-type': type };
    expect(await send('/auth/login', headers, { body })).toBe('401 wrong-credentials');
  });

  test('a body without a type is refused', async () => {
    const response = await app.app.request('http://127.0.0.1:3000/api/auth/login', {
      method: 'POST',
      headers: { ...own, cookie },
      body: new TextEncoder().encode('{"email":"a@example.com","password":"Canary-123"}'),
    });
    expect(response.status).toBe(415);
  });
});

describe('a call without a cookie', () => {
  const body = JSON.stringify({ email: 'a@example.com', password: 'Canary-123' });
  test.each<[string, Record<string, string>, string]>([
    ['a login from a program is answered', {}, '401 wrong-credentials'],
    [
      'a login from a listed origin is answered',
      { origin: 'https://partner.example' },
      '401 wrong-credentials',
    ],
    [
      "a login from a stranger's page is refused, because it would sign in as the stranger",
      { origin: 'https://foreign.example' },
      '403 cross-site',
    ],
    [
      'a login across sites without an origin is refused',
      { 'sec-fetch-site': 'cross-site' },
      '403 cross-site',
    ],
  ])('%s', async (_what, headers, answer) => {
    expect(await send('/auth/login', { ...json, ...headers }, { body })).toBe(answer);
  });
});

describe('a call with a bearer token', () => {
  test('a bearer token makes origin and cookie irrelevant', async () => {
    const { token } = await app.signUp();
    const headers = {
      ...json,
      authorization: `Bearer ${token}`,
      origin: 'https://partner.example',
      'sec-fetch-site': 'cross-site',
      cookie,
    };
    const body = JSON.stringify({ name: 'Somebody Else' });
    expect(await send('/users/me', headers, { method: 'PATCH', body })).toBe('200');
  });

  test('a bearer token allows a picture as the body', async () => {
    const { token } = await app.signUp();
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'image/png',
      ...own,
      cookie,
    };
    const answer = await send('/users/me/avatar', headers, {
      method: 'PUT',
      body: 'not a picture',
    });
    expect(answer).toBe('415 avatar-not-an-image');
  });
});

test('another site cannot read the session', async () => {
  const headers = { cookie, 'sec-fetch-site': 'cross-site' };
  expect(await send('/auth/session', headers, { method: 'GET' })).toBe('403 cross-site');
});
