import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestApp } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { keyScopes } from '#services/platform/contract.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import { credentials, entries, keyOf, methodOf, newCaller, pretendWorker, send } from './calls.ts';
import type { Caller, RouteEntry, Sample } from './calls.ts';

/**
 * Every route of the application, called by a visitor, a user whose session has ended, a user whose account
 * is being erased, another user, and last the owner, for whom it must still work.
 */
let app: TestApp;
let revoked: Caller;
let erasing: Caller;

beforeAll(async () => {
  app = await createTestShop();
  await pretendWorker(app);
  revoked = await newCaller(app);
  erasing = await newCaller(app);
  const { ownerPool } = app.database;
  await ownerPool.query('update sessions set revoked_at = now() where user_id = $1', [
    revoked.userId,
  ]);
  // Set directly, because the route also ends the sessions: the account's state must be enough.
  await ownerPool.query('update users set erasing_at = now() where id = $1', [erasing.userId]);
});
afterAll(async () => app.close());

test('every route of the application has an entry here, and every entry its route', () => {
  const routes = app.app.routes
    .filter(({ method, path }) => method !== 'ALL' && path !== '/*')
    .map(({ method, path }) => `${method} ${path}`);
  expect([...new Set(routes)].toSorted()).toEqual(Object.keys(entries).toSorted());
});

test('a route that names an object checks its owner', () => {
  const named = Object.entries(entries).filter(([route]) => /:\w+/.test(route));
  const others = named.filter(([, { isOwned }]) => isOwned !== true).map(([route]) => route);
  // A viewer file and a model have no owner, links have their tokens, a picture's address cannot be guessed,
  // and every user has the same months.
  expect(others).toEqual([
    'GET /api-docs/:file',
    'GET /v1/models/:id',
    'POST /api/auth/links/:kind',
    'GET /api/avatars/:id',
    'GET /api/credits/statements/:month',
    'GET /api/shared/:token',
  ]);
});

const fromOwnPage = { 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:3000' };
const known = Object.entries(entries);
const withSession = known.filter(([, { access }]) => access === 'person' || access === 'cookie');

test.each(withSession)('%s answers its owner alone', async (route, entry) => {
  const owner = await newCaller(app);
  const other = await newCaller(app);
  const sample = await entry.sample(app, owner);
  const method = methodOf(route);
  const show = async (headers: Record<string, string>) =>
    answerOf(await send(app, method, sample, { ...fromOwnPage, ...headers }));
  const ask = async (caller: Caller | null) => show(await credentials(app, entry.access, caller));
  const answers: Record<string, Answer> = {
    anonymous: await ask(null),
    revoked: await ask(revoked),
    erasing: await ask(erasing),
    other: await ask(other),
    service: await show(await credentials(app, 'service', null)),
  };
  const none = entry.withoutSession ?? 401;
  expect(Object.entries(answers).map(([who, { status }]) => `${who} ${status}`)).toEqual([
    `anonymous ${none}`,
    `revoked ${none}`,
    `erasing ${none}`,
    `other ${entry.isOwned === true ? 404 : entry.status}`,
    `service ${none}`,
  ]);
  for (const forgery of triedForgeries.has(route) ? forgeriesOf(owner) : []) {
    // With only a cookie, a body that is not JSON is refused before authentication.
    if (sample.raw !== undefined && 'cookie' in forgery) continue;
    const answer = await show(forgery);
    expect([forgery, answer.status]).toEqual([forgery, none]);
    answers[JSON.stringify(forgery)] = answer;
  }
  for (const { text } of Object.values(answers))
    for (const secret of [owner.userId, owner.email, owner.sessionId])
      expect(text).not.toContain(secret);
  expect((await ask(owner)).status).toBe(entry.status);
});

/** One function reads the token for all routes, and one the cookie. */
const triedForgeries = new Set([
  'GET /api/users/me',
  'POST /api/optimizations/:id/process',
  'GET /api/stream',
  'GET /api/auth/session',
  'POST /api/auth/refresh',
  'POST /api/auth/logout',
]);

/** Forged tokens and cookies that resemble the owner's. */
function forgeriesOf({ token, sessionId, email }: Caller): Record<string, string>[] {
  const [head = '', payload = ''] = token.split('.');
  const inCookie = [sessionId, token].map((value) => `sf_refresh=${value}`);
  return [
    { authorization: `Bearer ${head}.${payload}.` },
    { authorization: `Bearer ${token}x` },
    { authorization: `Bearer ${sessionId}` },
    { authorization: token },
    { authorization: `Basic ${Buffer.from(`${email}:x`).toString('base64')}` },
    ...inCookie.map((cookie) => ({ cookie, ...fromOwnPage })),
  ];
}

/** What a key of each scope may call; every other route takes no key. Tools of /mcp have scopes of their own. */
const routesOfKeys: Readonly<Record<KeyScope, readonly string[]>> = {
  read: [
    'GET /api/optimizations',
    'GET /api/optimizations/:id',
    'GET /api/optimizations/:id/claims',
    'GET /api/optimizations/:id/markdown',
    'GET /api/optimizations/brief',
    'GET /api/optimizations/competitive',
    'GET /api/optimizations/usage',
    'GET /api/recipes',
    'GET /api/recipes/:id',
    'GET /api/recipes/me',
    'GET /api/stream',
    'GET /v1/models',
    'GET /v1/models/:id',
    'POST /mcp',
  ],
  run: [
    'POST /api/optimizations',
    'POST /api/optimizations/:id/cancel',
    'POST /api/optimizations/:id/process',
    'POST /api/optimizations/:id/refine',
    'POST /api/optimizations/check',
    'POST /api/optimizations/estimate',
    'POST /api/optimizations/files',
    'POST /mcp',
    'POST /v1/chat/completions',
  ],
  'credits:read': [
    'GET /api/credits/analytics',
    'GET /api/credits/balance',
    'GET /api/credits/history',
    'POST /mcp',
  ],
};

/** A link works in one browser, and a call with a key brings no cookie of a browser. */
const ofBrowsers = new Set([
  'POST /api/auth/exchange',
  'POST /api/auth/links/:kind',
  'POST /api/auth/password/reset',
]);
const withKeys = known.filter(([route]) => !ofBrowsers.has(route));

test.each(withKeys)('%s takes an API key only with its scope', async (route, entry) => {
  const owner = await newCaller(app);
  const sample = await entry.sample(app, owner);
  const ask = async (bearer: string, of: Sample = sample) =>
    send(app, methodOf(route), of, {
      ...fromOwnPage,
      // Calls for keys alone refuse cookies; all others ignore them.
      ...(entry.access === 'key' ? {} : await credentials(app, 'cookie', owner)),
      authorization: `Bearer ${bearer}`,
    });
  const answers: Record<string, string> = {};
  for (const scope of keyScopes) {
    const { key } = await keyOf(app, owner, scope);
    // A call that is allowed changes what the sample names.
    const response = await ask(key, await entry.sample(app, owner));
    const { status } = response;
    answers[scope] = String(status);
    if (status === 403) {
      const body = (await response.json()) as { code?: string; error?: { code: string } };
      answers[scope] = body.error?.code ?? body.code ?? '';
    }
  }
  const allowed = keyScopes.filter((scope) => routesOfKeys[scope].includes(route));
  expect(answers).toEqual(
    Object.fromEntries(keyScopes.map((scope) => [scope, keyAnswer(entry, scope, allowed)])),
  );
  if (entry.access !== 'person' && entry.access !== 'key') return;
  const { id, key } = await keyOf(app, owner, ...keyScopes);
  await app.database.ownerPool.query('update api_key set revoked_at = now() where id = $1', [id]);
  const { key: ofErasing } = await keyOf(app, { userId: owner.userId }, ...keyScopes);
  await app.database.ownerPool.query('update users set erasing_at = now() where id = $1', [
    owner.userId,
  ]);
  const ended = [key, ofErasing, `${key.slice(0, -1)}x`, 'sk_', 'sk_x'];
  for (const bearer of ended) expect((await ask(bearer)).status).toBe(401);
});

/** Cookies of a call with a key are ignored. */
function keyAnswer(
  { access, status, withoutSession }: RouteEntry,
  scope: KeyScope,
  allowed: readonly KeyScope[],
): string {
  if (access === 'cookie') return String(withoutSession ?? 401);
  if (access === 'service') return 'service-token-required';
  if (access !== 'person' && access !== 'visitor' && access !== 'key') return String(status);
  if (allowed.includes(scope)) return String(status);
  return allowed.length > 0 ? 'scope-missing' : 'not-with-api-key';
}

const ofKeys = known.filter(([, { access }]) => access === 'key');

test.each(ofKeys)('%s answers API keys alone', async (route, entry) => {
  const owner = await newCaller(app);
  const sample = await entry.sample(app, owner);
  const ask = async (headers: Record<string, string>) =>
    (await send(app, methodOf(route), sample, headers)).status;
  expect([
    await ask({}),
    await ask(await credentials(app, 'person', revoked)),
    await ask(await credentials(app, 'person', owner)),
    await ask(await credentials(app, 'service', null)),
    await ask({
      ...(await credentials(app, 'key', owner)),
      ...(await credentials(app, 'cookie', owner)),
    }),
    await ask(await credentials(app, 'key', owner)),
  ]).toEqual([401, 401, 403, 401, 400, entry.status]);
});

const openToAll = known.filter(([, { access }]) => access === 'everyone' || access === 'local');

test.each(openToAll)('%s answers everyone alike', async (route, entry) => {
  const callers = [null, revoked, erasing, await newCaller(app)];
  const owner = await newCaller(app);
  const statuses = [];
  for (const caller of callers) {
    const sample = await entry.sample(app, owner);
    const headers = { ...(await credentials(app, 'person', caller)) };
    statuses.push((await send(app, methodOf(route), sample, headers)).status);
  }
  expect(statuses).toEqual(callers.map(() => entry.status));
});

const ofVisitors = known.filter(([, { access }]) => access === 'visitor');

test.each(ofVisitors)(
  '%s answers visitors, and refuses a token that has ended',
  async (route, entry) => {
    const owner = await newCaller(app);
    const statuses = [];
    for (const caller of [null, owner, revoked, erasing]) {
      const sample = await entry.sample(app, owner);
      const headers = await credentials(app, 'visitor', caller);
      statuses.push((await send(app, methodOf(route), sample, headers)).status);
    }
    expect(statuses).toEqual([entry.status, entry.status, 401, 401]);
  },
);

const ofServices = known.filter(([, { access }]) => access === 'service');

test.each(ofServices)('%s answers services alone', async (route, entry) => {
  const owner = await newCaller(app);
  const sample = await entry.sample(app, owner);
  const ask = async (headers: Record<string, string>) =>
    (await send(app, methodOf(route), sample, headers)).status;
  expect([
    await ask({}),
    await ask(await credentials(app, 'person', revoked)),
    await ask(await credentials(app, 'person', erasing)),
    await ask(await credentials(app, 'person', owner)),
    await ask(await credentials(app, 'cookie', owner)),
    await ask(await credentials(app, 'service', null)),
  ]).toEqual([401, 401, 401, 403, 401, entry.status]);
});

type Answer = { status: number; text: string };

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, text: await response.text() };
}
