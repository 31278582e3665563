import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAccount } from '#projections/credit-account.ts';
import { revokeServiceToken } from '#services/identity/service-tokens.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { consume, give, issueToken } from '#tests/support/processes/service.ts';

let app: TestApp;
let ann: Person;
let now = Date.now();

beforeAll(async () => {
  app = await createTestApp({ clock: () => now });
  ann = await app.signUp();
  await give(app, ann.userId, 1_000);
});
afterAll(async () => app.close());

async function codeOf(answer: Response): Promise<[number, string]> {
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

async function refusals(): Promise<unknown[]> {
  const { rows } = await app.database.ownerPool.query<Record<string, unknown>>(
    `select actor, subject, user_id, detail from audit_log where action = 'access.refused' order by entry_id`,
  );
  return rows;
}

async function endedSession(): Promise<string> {
  const bob = await app.signUp();
  await app.database.ownerPool.query(
    'update sessions set revoked_at = created_at where user_id = $1',
    [bob.userId],
  );
  return bob.token;
}

test('only a service’s valid token consumes credits: a user gets 403, any other caller 401', async () => {
  const { secret } = await issueToken(app);
  const revoked = await issueToken(app);
  await revokeServiceToken(app.core.pool, revoked.id, new Date(now));
  const body = { user_id: ann.userId };
  const callers: [string, string | undefined, number, string | undefined][] = [
    ['a service', secret, 201, undefined],
    ['the person themselves', ann.token, 403, 'service-token-required'],
    ['another person', (await app.signUp()).token, 403, 'service-token-required'],
    ['nobody', undefined, 401, 'authentication-required'],
    ['a session that has ended', await endedSession(), 401, 'authentication-required'],
    ['a revoked token', revoked.secret, 401, 'authentication-required'],
    ['a token that was never issued', randomSecret(), 401, 'authentication-required'],
    ['a token without its prefix', secret.slice(5), 401, 'authentication-required'],
    ['a token with more to it', `${secret}A`, 401, 'authentication-required'],
    ['the id of a token', revoked.id, 401, 'authentication-required'],
  ];
  for (const [caller, bearer, status, code] of callers) {
    const answer = await app.call('/credits/consume', {
      key: `key-${caller.replaceAll(' ', '-')}`.replaceAll('’', ''),
      body: { ...body, credits: 1, reason: 'A report' },
      ...(bearer === undefined ? {} : { token: bearer }),
    });
    const problem = (await answer.json()) as { code?: string };
    expect([caller, answer.status, problem.code]).toEqual([caller, status, code]);
  }
  expect((await readAccount(app.core.pool, ann.userId)).consumed).toBe(1);
  expect(await refusals()).toEqual([
    {
      actor: ann.userId,
      subject: 'credits:consume',
      user_id: ann.userId,
      detail: { reason: 'person' },
    },
    expect.objectContaining({ detail: { reason: 'person' } }),
    { actor: revoked.id, subject: 'credits:consume', user_id: null, detail: { reason: 'revoked' } },
  ]);
});

function randomSecret(): string {
  return `svct_${randomBytes(32).toString('base64url')}`;
}

test('a caller without the right is refused before the request is parsed', async () => {
  for (const [bearer, status] of [
    [ann.token, 403],
    [randomSecret(), 401],
  ] as const) {
    const answer = await app.call('/credits/consume', { token: bearer, body: { canary: 1 } });
    expect(answer.status).toBe(status);
  }
});

test('a service’s token opens no other endpoint', async () => {
  const { secret } = await issueToken(app);
  const routes = app.app.routes
    .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/'))
    .map(({ method, path }) => `${method} ${path.slice('/api'.length)}`);
  const others = [...new Set(routes)].filter((route) => route !== 'POST /credits/consume');
  expect(others.length).toBeGreaterThan(20);
  const refused: string[] = [];
  for (const route of others) {
    const [method = '', pattern = ''] = route.split(' ');
    const path = pattern.replaceAll(/:\w+(\{[^}]*\})?/g, 'usr_00000000000000000000000000');
    const asNobody = await app.call(path, { method });
    const asService = await app.call(path, { method, token: secret });
    await Promise.all([asNobody.body?.cancel(), asService.body?.cancel()]);
    // An endpoint for visitors answers without a token, and refuses one that belongs to no user.
    expect([asNobody.status, 401]).toContain(asService.status);
    if (asService.status === 401) refused.push(route);
  }
  expect(refused).toEqual(
    expect.arrayContaining([
      'GET /credits/balance',
      'GET /users/me',
      'GET /optimizations',
      'POST /optimizations',
      'GET /stream',
    ]),
  );
});

test('a service with other scopes is refused with the scope that it lacks', async () => {
  const { id, secret } = await issueToken(app);
  await app.database.ownerPool.query(`update service_token set scope = 'runs:read' where id = $1`, [
    id,
  ]);
  const answer = await consume(app, secret, { user_id: ann.userId });
  expect(await codeOf(answer)).toEqual([403, 'scope-missing']);
});

test('a revoked token is refused from the next call on', async () => {
  const { id, secret } = await issueToken(app);
  expect((await consume(app, secret, { user_id: ann.userId }, 'once')).status).toBe(201);
  expect(await revokeServiceToken(app.core.pool, id, new Date(now))).toBe('revoked');
  expect(await revokeServiceToken(app.core.pool, id, new Date(now))).toBe('already');
  expect(await revokeServiceToken(app.core.pool, 'svc_none', new Date(now))).toBeNull();
  // Not even the response to a repeated key.
  expect((await consume(app, secret, { user_id: ann.userId }, 'once')).status).toBe(401);
});

test('the last use of a token is recorded to the minute, and a refused call is not a use', async () => {
  const { id, secret } = await issueToken(app);
  const lastUse = async () => {
    const { rows } = await app.core.pool.query<{ last: Date | null }>(
      'select last_used_at as last from service_token where id = $1',
      [id],
    );
    return rows[0]?.last?.getTime() ?? null;
  };
  expect(await lastUse()).toBeNull();
  await consume(app, secret, { user_id: ann.userId });
  const first = await lastUse();
  expect(first).toBe(now);
  now += 59_999;
  await consume(app, secret, { user_id: ann.userId });
  expect(await lastUse()).toBe(first);
  now += 1;
  await consume(app, secret, { user_id: ann.userId });
  expect(await lastUse()).toBe(now);
  await revokeServiceToken(app.core.pool, id, new Date(now));
  now += 120_000;
  await consume(app, secret, { user_id: ann.userId });
  expect(await lastUse()).toBe(now - 120_000);
});

test('the secret is in no table, no line of the log and no response', async () => {
  const { secret } = await issueToken(app, 6);
  const answers = [
    await consume(app, secret, { user_id: ann.userId }),
    await consume(app, secret, { user_id: ann.userId }),
    await consume(app, secret, {}),
    await app.call('/credits/balance', { token: secret }),
  ];
  const bodies = await Promise.all(answers.map(async (answer) => answer.text()));
  expect(answers.map(({ status }) => status)).toEqual([201, 403, 400, 401]);
  // As it is, without its prefix, and as the bytes of either: bytea is shown in hexadecimal.
  const core = secret.slice(5);
  const traces = [
    core,
    Buffer.from(core).toString('hex'),
    Buffer.from(core, 'base64url').toString('hex'),
  ];
  const { rows: tables } = await app.database.ownerPool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  for (const { name } of tables)
    for (const trace of traces) {
      const { rows } = await app.database.ownerPool.query<{ found: number }>(
        `select count(*)::integer as found from ${name} t where position($1 in t::text) > 0`,
        [trace],
      );
      expect([name, rows[0]?.found]).toEqual([name, 0]);
    }
  for (const trace of traces) expect([...bodies, ...app.logged].join('\n')).not.toContain(trace);
});
