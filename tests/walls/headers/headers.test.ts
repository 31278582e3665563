import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { securityHeaders } from '#services/platform/http/security-headers.ts';
import { createRouter, requestLog } from '#services/platform/http/http.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestApp, request } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { buildPages } from '#tests/web/support/site.ts';
import { entries, methodOf, newCaller, send, credentials } from '#tests/walls/calls.ts';

let app: TestApp;
beforeAll(async () => {
  await buildPages();
  app = await createTestShop();
}, 120_000);
afterAll(async () => app.close());

/** The headers of every response. */
const always = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': expect.stringMatching(
    /^accelerometer=\(\), .*camera=\(\), .*geolocation=\(\), .*microphone=\(\), .*payment=\(\)/,
  ) as unknown,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-permitted-cross-domain-policies': 'none',
  'x-request-id': expect.stringMatching(/^[\w-]{36}$/) as unknown,
};

const nothingAllowed = "default-src 'none'; frame-ancestors 'none'";

/** All headers but those of length, time and encoding. */
function headersOf(response: Response): Record<string, string> {
  const { 'content-length': _length, etag: _etag, ...rest } = Object.fromEntries(response.headers);
  return rest;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return request(app.app, `http://127.0.0.1:3000${path}`, { headers });
}

describe('the exact headers', () => {
  test('a response of the API has exactly its headers', async () => {
    expect(headersOf(await get('/api/health'))).toEqual({
      ...always,
      'cache-control': 'no-store',
      'content-security-policy': nothingAllowed,
      'content-type': 'application/json',
      vary: 'Origin',
    });
  });

  test('a refusal has exactly its headers', async () => {
    for (const path of ['/api/users/me', '/api/nowhere'])
      expect(headersOf(await get(path))).toEqual({
        ...always,
        'cache-control': 'no-store',
        'content-security-policy': nothingAllowed,
        'content-type': 'application/problem+json',
        vary: 'Origin',
      });
  });

  test('a response to a page that names its origin exposes two headers', async () => {
    const response = await get('/api/health', { origin: 'https://foreign.example' });
    expect(headersOf(response)).toMatchObject({
      'access-control-expose-headers': 'Retry-After,X-Request-Id',
      vary: 'Origin',
    });
  });

  test('a preflight has exactly its headers', async () => {
    const response = await app.app.request('http://127.0.0.1:3000/api/users/me', {
      method: 'OPTIONS',
      headers: { origin: 'https://foreign.example', 'access-control-request-method': 'PUT' },
    });
    expect(headersOf(response)).toEqual({
      ...always,
      'access-control-expose-headers': 'Retry-After,X-Request-Id',
      'access-control-allow-headers': 'Authorization,Content-Type,Idempotency-Key,Last-Event-ID',
      'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE',
      'access-control-max-age': '600',
      'content-security-policy': nothingAllowed,
      vary: 'Origin, Access-Control-Request-Headers',
    });
  });

  test('the stream has exactly its headers', async () => {
    const { token } = await app.signUp();
    const response = await get('/api/stream', { authorization: `Bearer ${token}` });
    await response.body?.cancel();
    expect(headersOf(response)).toEqual({
      ...always,
      'cache-control': 'no-cache, no-transform',
      'content-security-policy': nothingAllowed,
      'content-type': 'text/event-stream; charset=utf-8',
      vary: 'Origin',
      'x-accel-buffering': 'no',
    });
  });

  test('an uploaded picture has exactly its headers', async () => {
    const owner = await newCaller(app);
    const sample = await entries['GET /api/avatars/:id']?.sample(app, owner);
    if (sample === undefined) throw new Error('Pictures have no route');
    expect(headersOf(await send(app, 'GET', sample))).toEqual({
      ...always,
      'cache-control': 'private, max-age=3600',
      'content-disposition': 'inline',
      'content-security-policy': "sandbox; default-src 'none'",
      'content-type': 'image/webp',
      vary: 'Origin',
    });
  });

  test('the public token keys have exactly their headers', async () => {
    expect(headersOf(await get('/.well-known/jwks.json'))).toEqual({
      ...always,
      'cache-control': 'public, max-age=300',
      'content-security-policy': nothingAllowed,
      'content-type': 'application/json',
    });
  });

  const page = {
    ...always,
    'cache-control': 'no-cache',
    'content-security-policy': expect.stringMatching(
      /^default-src 'self'; script-src 'self'; style-src 'self'(?: 'sha256-[\w+/=]+')*; img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https:\/\/checkout\.stripe\.com$/,
    ) as unknown,
    'content-type': 'text/html; charset=utf-8',
    vary: 'Accept-Encoding, Cookie',
  };

  test.each([
    ['a public page', '/', 200],
    ['a page of the application', '/dashboard', 200],
    ['the page of an unknown address', '/nowhere', 404],
  ])('%s has exactly its headers', async (_what, path, status) => {
    const response = await get(path);
    expect(response.status).toBe(status);
    expect(headersOf(response)).toEqual(page);
  });

  test.each([
    '/auth/link/confirm',
    '/auth/confirm?confirmed=true&access_token=a.b.c&refresh_token=a.b.c',
    '/?code=a',
    '/reset-password?reason=confirmed',
  ])('a page whose address may carry a token, such as %s, is not stored', async (path) => {
    expect(headersOf(await get(path))).toEqual({ ...page, 'cache-control': 'no-store' });
  });

  test('the page of a share link is neither stored nor indexed, and its token is in no log', async () => {
    const token = 'T'.repeat(43);
    expect(headersOf(await get(`/shared/${token}`))).toEqual({
      ...page,
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
    });
    expect(app.logged.join('')).not.toContain(token);
  });

  test('a file of the pages has exactly its headers', async () => {
    expect(headersOf(await get('/mark.svg'))).toEqual({
      ...always,
      'cache-control': 'no-cache',
      'content-security-policy': nothingAllowed,
      'content-type': 'image/svg+xml',
      vary: 'Accept-Encoding',
    });
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await (await get('/')).text())?.[1] ?? '';
    expect(headersOf(await get(script))).toEqual({
      ...always,
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': nothingAllowed,
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
    });
  });
});

/** Public and often asked for: keys that verify tokens, prices, the description. */
const mayBeKept = new Set([
  'GET /.well-known/jwks.json',
  'GET /api/credits/packages',
  'GET /api/openapi.json',
]);

test.each(Object.entries(entries))(
  '%s sends the headers of every response, and no cacheable JSON',
  async (route, entry) => {
    const owner = await newCaller(app);
    const sample = await entry.sample(app, owner);
    const headers = await credentials(app, entry.access, owner);
    const refused = await send(app, methodOf(route), sample);
    const answered = await send(app, methodOf(route), sample, headers);
    for (const response of [refused, answered]) {
      expect(Object.fromEntries(response.headers)).toMatchObject(always);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/default-src '(?:none|self)'/);
      expect(policy).not.toMatch(/unsafe/);
      const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
      const keeping = response.headers.get('cache-control');
      const mustBe = isJson && !mayBeKept.has(route) ? 'no-store' : keeping;
      expect(keeping).toBe(mustBe);
    }
  },
);

test('a response to an unknown address may not be cached', async () => {
  for (const path of ['/api/nowhere', '/api/users/me/nothing', '/api/health/'])
    expect((await get(path)).headers.get('cache-control')).toBe('no-store');
});

test('no content policy allows foreign or inline scripts and styles, or framing', async () => {
  for (const path of ['/', '/dashboard', '/api/health', '/mark.svg']) {
    const policy = (await get(path)).headers.get('content-security-policy') ?? '';
    expect(policy).not.toMatch(/unsafe|\*|https?:(?!\/\/checkout\.stripe\.com$)|blob:/);
    expect(policy).toContain("frame-ancestors 'none'");
  }
});

test('no page holds an inline script or event handler', async () => {
  for (const path of [
    '/',
    '/login',
    '/signup',
    '/terms',
    '/privacy',
    '/method',
    '/dashboard',
    '/nowhere',
  ]) {
    const html = await (await get(path)).text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>/);
    expect(html).not.toMatch(/\son\w+=|javascript:/i);
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  }
});

test('HSTS is sent for at least a year, with subdomains, and only over https', async () => {
  const answerOf = async (isHttps: boolean) =>
    createRouter()
      .use(
        requestLog(createLog({ level: 'silent', process: 'test' })),
        securityHeaders({ isHttps }),
      )
      .get('/', (context) => context.text(''))
      .request('/');
  const header = (await answerOf(true)).headers.get('strict-transport-security') ?? '';
  expect(header).toMatch(/^max-age=\d+; includeSubDomains$/);
  expect(Number(/\d+/.exec(header)?.[0])).toBeGreaterThanOrEqual(365 * 86_400);
  expect((await answerOf(false)).headers.get('strict-transport-security')).toBeNull();
});

test('an application with an https address sends HSTS', async () => {
  const https = await createTestApp({
    env: { PUBLIC_URL: 'https://sevenfold.example', ALLOW_PUBLIC_SANDBOX: 'true' },
  });
  const response = await https.call('/health');
  expect(response.headers.get('strict-transport-security')).toContain('includeSubDomains');
  await https.close();
});
