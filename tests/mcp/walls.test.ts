import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpLimits } from '#services/mcp/contract.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { keyOf } from './clients.ts';

/** What reaches `POST /mcp`, and what is refused before any tool is called. */
let app: TestApp;
let ann: Person;
let key: string;

beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
  ({ key } = await keyOf(app, ann, ['read']));
});
afterAll(async () => app.close());

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

async function send({
  method = 'POST',
  bearer = key,
  headers = {},
  body = JSON.stringify(list),
  path = '/mcp',
}: {
  method?: string;
  bearer?: string | null;
  headers?: Record<string, string>;
  body?: string;
  path?: string;
} = {}): Promise<Response> {
  return app.app.request(`http://localhost${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...headers,
    },
    ...(method === 'POST' ? { body } : {}),
  });
}

const answerOf = async (response: Response) =>
  `${response.status} ${((await response.json()) as { code?: string }).code ?? ''}`;

test('a program with a key is answered over a stream that no proxy keeps back', async () => {
  const response = await send();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  expect(response.headers.get('cache-control')).toContain('no-cache');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  expect(response.headers.get('mcp-session-id')).toBeNull();
  expect(await response.text()).toContain('"name":"follow"');
});

test('cookies are refused, with a key or without', async () => {
  const headers = { cookie: 'theme=dark' };
  expect(await answerOf(await send({ headers }))).toBe('400 cookies-refused');
  expect(await answerOf(await send({ headers, bearer: null }))).toBe('400 cookies-refused');
  expect(await answerOf(await send({ headers, path: '/mcp/' }))).toBe('400 cookies-refused');
});

test('a page of another origin is refused, and none gets an answer that it can read', async () => {
  for (const origin of ['https://evil.example', 'null', 'http://evil.example:3000']) {
    const response = await send({ headers: { origin } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(await answerOf(response)).toBe('403 cross-site');
  }
  const own = await send({ headers: { origin: app.context.env.publicUrl } });
  expect(own.headers.get('access-control-allow-origin')).toBeNull();
  expect(own.status).toBe(200);
  await own.body?.cancel();
});

test('a preflight of a browser is refused', async () => {
  const headers = { origin: app.context.env.publicUrl, 'access-control-request-method': 'POST' };
  const response = await send({ method: 'OPTIONS', bearer: null, headers });
  expect(response.status).toBe(405);
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
});

test.each(['GET', 'DELETE', 'PUT'])('%s names the one method', async (method) => {
  const response = await send({ method });
  expect(response.headers.get('allow')).toBe('POST');
  expect(await answerOf(response)).toBe('405 method-not-allowed');
});

test('only a live API key opens the door', async () => {
  for (const bearer of [null, 'sk_x', `${key.slice(0, -1)}x`]) {
    const response = await send({ bearer });
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await answerOf(response)).toBe('401 authentication-required');
  }
  expect(await answerOf(await send({ bearer: ann.token }))).toBe('403 api-key-required');
});

test('what is no single message of the protocol is refused', async () => {
  const deep = '['.repeat(30) + ']'.repeat(30);
  for (const [body, answer] of [
    ['{', '400 validation'],
    [JSON.stringify([list, list]), '400 validation'],
    ['{"jsonrpc":"1.0"}', '400 validation'],
    [`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${deep}}`, '400 validation'],
    ['"\\u0000"', '400 validation'],
    [JSON.stringify({ ...list, params: 'x'.repeat(mcpLimits.bodyBytes) }), '413 too-large'],
  ] as const)
    expect(await answerOf(await send({ body }))).toBe(answer);
  const text = { 'content-type': 'text/plain' };
  expect(await answerOf(await send({ headers: text }))).toBe('415 unsupported-media-type');
  expect(await answerOf(await send({ path: '/mcp?key=x' }))).toBe('400 validation');
});

test('there is nothing to subscribe to', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const method = 'subscriptions/listen';
  const params = { _meta: meta, notifications: { toolsListChanged: true } };
  const response = await send({
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
  });
  expect(await response.text()).toContain('Subscription limit reached');
});

test('an internal error reaches the log, and of it only a sentence the caller', async () => {
  await using broken = await createBroken();
  const body = { name: 'strategies', arguments: {} };
  const call = { ...list, method: 'tools/call', params: body };
  const bearer = (await keyOf(broken.app, await broken.app.signUp(), ['read'])).key;
  const response = await broken.app.app.request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${bearer}`,
    },
    body: JSON.stringify(call),
  });
  const text = await response.text();
  expect(text).toContain('"isError":true');
  expect(text).toContain('Code: internal');
  expect(text).not.toContain('The catalogue burns');
  expect(broken.app.logged.join('')).toContain('The catalogue burns');
});

async function createBroken(): Promise<AsyncDisposable & { app: TestApp }> {
  const burning = await createTestApp({
    replace: () => ({
      readLanes: async () => {
        throw new Error('The catalogue burns');
      },
    }),
  });
  return { app: burning, [Symbol.asyncDispose]: async () => burning.close() };
}
