import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import pg from 'pg';
import { createPool } from '#db/connect.ts';
import { createAudit } from '#services/platform/audit.ts';
import { readEnv, SettingsError } from '#services/platform/process/env.ts';
import type { Env, Mode } from '#services/platform/process/env.ts';
import { rateLimits } from '#services/platform/limits.ts';
import { createLog } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { createRateLimits, purgeExpiredLimits } from '#services/platform/http/rate-limits.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { CallOptions } from '#tests/support/app.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import { testPassword } from '#tests/support/password.ts';
import { give } from '#tests/support/processes/service.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
let pool: pg.Pool;
const logged: string[] = [];
const log = createLog({
  level: 'info',
  process: 'test',
  destination: { write: (line) => void logged.push(line) },
});

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(database.appUrl, {
    max: 10,
    applicationName: 'test',
    onError: (error) => database.lost.push(error),
  });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  logged.splice(0);
  await pool.query('delete from rate_limit');
});

function limitsIn(
  mode: Mode = 'production',
  overrides: Env['rateLimits'] = {},
  over = pool,
  apiProcesses = 1,
) {
  const audit = createAudit(pool);
  return createRateLimits({ pool: over, mode, overrides, apiProcesses, log, audit });
}

type Outcome = 'taken' | Problem;
async function outcome(turn: Promise<void>): Promise<Outcome> {
  return turn.then(
    () => 'taken' as const,
    (error: unknown) => {
      if (error instanceof Problem) return error;
      throw error;
    },
  );
}
const taken = (all: readonly Outcome[]) => all.filter((one) => one === 'taken').length;
async function outcomes(count: number, turn: () => Promise<void>): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: count }, async () => outcome(turn())));
}

describe('200 concurrent turns over two processes', () => {
  test.each(
    Object.keys(rateLimits).filter((name) => rateLimits[name as 'login'].store === 'postgres'),
  )('of 200 concurrent turns exactly as many pass as %s allows', async (name) => {
    const limits = [limitsIn(), limitsIn()];
    const all = await Promise.all(
      limits.map(async (one) => outcomes(100, async () => one.take(name as 'login', 'key'))),
    );
    expect(taken(all.flat())).toBe(rateLimits[name as 'login'].production[0]);
  });
});

test('the limits equal the requirement, and local mode is looser in each', () => {
  const { login, signup, reset, checkout, drafts, runs, reads } = rateLimits;
  expect(
    [login, signup, reset, checkout, drafts, runs, reads].map(({ production }) => production),
  ).toEqual([
    [5, 60],
    [3, 3600],
    [3, 3600],
    [10, 3600],
    [60, 3600],
    [20, 3600],
    [600, 60],
  ]);
  expect([signup.local, drafts.local, runs.local]).toEqual([
    [100, 3600],
    [600, 3600],
    [300, 3600],
  ]);
  for (const { production, local } of Object.values(rateLimits)) {
    expect(local[0] / local[1]).toBeGreaterThan(production[0] / production[1]);
  }
});

test('another key and another limit are counted separately', async () => {
  const limits = limitsIn();
  await outcomes(10, async () => limits.take('login', 'one'));
  expect(await outcome(limits.take('login', 'two'))).toBe('taken');
  expect(await outcome(limits.take('signup', 'one'))).toBe('taken');
});

test('an IPv6 customer is counted by the /64, the /56 and the /48, each with a larger limit', async () => {
  const limits = limitsIn('production', { signup: { limit: 2, windowSeconds: 60 } });
  const from = async (subnet: number) =>
    outcome(limits.takeFrom('signup', `2001:db8:5:${subnet.toString(16)}::7`));
  // A /64 over its limit uses up no more than its own two turns of the larger networks.
  expect(taken(await outcomes(20, async () => limits.takeFrom('signup', '2001:db8:5:0::9')))).toBe(
    2,
  );
  // The /56 holds 256 of them and has four times as many turns.
  const near: Outcome[] = [];
  for (let subnet = 1; subnet <= 10; subnet += 1) near.push(await from(subnet));
  expect(taken(near)).toBe(6);
  // The /48 holds 256 of those and has sixteen times as many.
  const far: Outcome[] = [];
  for (let subnet = 0x1_00; subnet < 0xff_00; subnet += 0x1_00) far.push(await from(subnet));
  expect(taken(far)).toBe(24);
  expect(await outcome(limits.takeFrom('signup', '2001:db8:6::7'))).toBe('taken');
});

test('a refusal says when to try again, in the words that old and new clients read', async () => {
  const limits = limitsIn();
  const all = await outcomes(6, async () => limits.take('login', 'words'));
  const refused = all.find((one) => one !== 'taken');
  if (refused === undefined) throw new Error('None was refused');
  expect(refused).toMatchObject({
    status: 429,
    code: 'rate-limited',
    message: expect.stringContaining('rate limit') as string,
    extras: {
      title: 'Too many attempts',
      detail: 'Please wait a moment before trying again.',
    },
  });
  expect(refused.extras.retryAfterSeconds).toBeGreaterThan(50);
  expect(refused.extras.retryAfterSeconds).toBeLessThanOrEqual(60);
});

test('a limit opens again after its window, and refusals do not extend it', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const limits = limitsIn();
    expect(taken(await outcomes(20, async () => limits.take('login', 'window')))).toBe(5);
    vi.advanceTimersByTime(30_000);
    expect(taken(await outcomes(5, async () => limits.take('login', 'window')))).toBe(0);
    vi.advanceTimersByTime(30_001);
    expect(taken(await outcomes(20, async () => limits.take('login', 'window')))).toBe(5);
  } finally {
    vi.useRealTimers();
  }
});

test('counting returns the number of turns over the limit and refuses nothing', async () => {
  const limits = limitsIn('production', { 'login-account': { limit: 2, windowSeconds: 60 } });
  const over = [];
  for (let turn = 0; turn < 5; turn += 1) over.push(await limits.count('login-account', 'key'));
  expect(over).toEqual([0, 0, 1, 2, 3]);
});

test('one limit can be overridden or switched off, and so can all', async () => {
  const { rateLimits: overrides } = readEnv({ RATE_LIMITS: 'login=2/m,signup=off' });
  const limits = limitsIn('production', overrides);
  expect(taken(await outcomes(9, async () => limits.take('login', 'overridden')))).toBe(2);
  expect(taken(await outcomes(9, async () => limits.take('signup', 'overridden')))).toBe(9);
  expect(taken(await outcomes(9, async () => limits.take('reset', 'overridden')))).toBe(3);
  const none = limitsIn('production', 'off');
  expect(taken(await outcomes(9, async () => none.take('login', 'off')))).toBe(9);
  expect(logged.join()).toContain('No rate limit is on');
});

test('an unknown limit in the settings is refused with the names of all limits', () => {
  const read = () => readEnv({ RATE_LIMITS: 'canary=1/h' });
  expect(read).toThrow(SettingsError);
  expect(read).toThrow(
    /^RATE_LIMITS names an unknown limit. Known limits: login, .*runs, pages, address$/,
  );
});

test('only the hash of a key is stored', async () => {
  const limits = limitsIn();
  await limits.take('login', 'canary@example.com 203.0.113.7');
  const { rows } = await pool.query<{ key: string }>('select key from rate_limit');
  expect(rows).toEqual([{ key: expect.stringMatching(/^login:[\w-]{43}$/) as string }]);
});

test('exceeding a limit of identity is audited once per window, without its key', async () => {
  const limits = [limitsIn(), limitsIn()];
  const about = { address: '203.0.113.7' };
  for (const one of limits)
    await outcomes(30, async () => one.take('login', 'canary@example.com', about));
  const { rows } = await pool.query<{ subject: string; detail: unknown }>(
    `select subject, detail from audit_log where action = 'limit.reached'
     and detail->>'network' = '203.0.113.0/24'`,
  );
  expect(rows).toEqual([
    { subject: 'unknown', detail: { limit: 'login', network: '203.0.113.0/24' } },
  ]);
  expect(logged.join()).not.toContain('canary');
});

test('counters whose window is over are deleted', async () => {
  const limits = limitsIn();
  await limits.take('login', 'old');
  await limits.take('signup', 'still counted');
  expect(await purgeExpiredLimits(pool, Date.now() + 61_000)).toBe(1);
  const { rows } = await pool.query<{ key: string }>('select key from rate_limit');
  expect(rows.map(({ key }) => key.split(':')[0])).toEqual(['signup']);
});

describe('while the counters in the database are unavailable', () => {
  test('without the database each limit counts in memory and refuses every call beyond it', async () => {
    const away = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 });
    const limits = limitsIn('production', {}, away);
    const all = await outcomes(50, async () => limits.take('login', 'away'));
    expect(taken(all)).toBe(5);
    expect(await outcome(limits.take('login', 'another'))).toBe('taken');
    expect(logged.filter((line) => line.includes('counts in memory'))).toHaveLength(1);
    await away.end();
  });

  test('without the database API processes divide a limit, each counting in its own memory', async () => {
    const away = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 });
    const limits = limitsIn('production', {}, away, 2);
    expect(taken(await outcomes(50, async () => limits.take('login', 'away')))).toBe(3);
    await away.end();
  });

  test('without the database a caller can try no more passwords than before', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'login=2/m' } });
    const { email } = await app.signUp();
    const role = new URL(app.database.appUrl).username;
    await app.database.ownerPool.query(`revoke all on rate_limit from "${role}"`);
    const statuses = [];
    for (const password of ['Wrong-1234', 'Wrong-1235', 'Wrong-1236', testPassword])
      statuses.push(
        (await app.call('/auth/login', { body: { email, password }, address: '203.0.113.7' }))
          .status,
      );
    expect(statuses).toEqual([401, 401, 429, 429]);
    const elsewhere = { body: { email, password: testPassword }, address: '198.51.100.7' };
    expect((await app.call('/auth/login', elsewhere)).status).toBe(200);
    // Reads still work.
    expect((await app.call('/optimizations/strategies')).status).toBe(200);
    await app.close();
  });

  test('limits of reads count in memory in any case', async () => {
    const away = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 });
    const limits = limitsIn('production', {}, away);
    expect(taken(await outcomes(1300, async () => limits.take('address', 'away')))).toBe(1200);
    expect(logged.join()).not.toContain('counts in memory');
    await away.end();
  });
});

describe('in the application', () => {
  test('every call counts for its address, and another address has its own limit', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'address=3/m' } });
    const status = async (address: string) => (await app.call('/health', { address })).status;
    const statuses = [];
    for (let call = 0; call < 4; call += 1) statuses.push(await status('203.0.113.7'));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await status('203.0.113.8')).toBe(200);
    const origin = { origin: 'http://127.0.0.1:3000' };
    const preflights = [];
    for (let call = 0; call < 4; call += 1)
      preflights.push(
        await app.call('/health', { method: 'OPTIONS', address: '203.0.113.9', headers: origin }),
      );
    expect(preflights.map((one) => one.status)).toEqual([204, 204, 204, 429]);
    const refused = await app.call('/auth/session', { address: '203.0.113.7', headers: origin });
    expect(refused.headers.get('access-control-allow-origin')).toBe(origin.origin);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({
      code: 'rate-limited',
      title: 'Too many attempts',
      detail: 'Please wait a moment before trying again.',
    });
    for (const last of ['1', '2', '3']) await status(`2001:db8::${last}`);
    expect(await status('2001:db8::4')).toBe(429);
    await app.close();
  });

  test('pages, files and the description have limits of their own', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'pages=2/m,address=3/m' } });
    const status = async (path: string, remoteAddress: string) => {
      const socket = { incoming: { socket: { remoteAddress } } };
      return (await app.app.request(`http://localhost${path}`, {}, socket)).status;
    };
    const paths = ['/', '/nothing.js', '/api-docs', '/api-docs/pages.css', '/dev/mail', '/login'];
    for (const [index, path] of paths.entries()) {
      const address = `203.0.113.${index}`;
      expect([await status(path, address), await status(path, address)]).not.toContain(429);
      expect(await status(path, address)).toBe(429);
      expect(await status('/api/openapi.json', address)).toBe(200);
    }
    const description = Array.from({ length: 4 }, async () =>
      status('/api/openapi.json', '203.0.113.99'),
    );
    expect(await Promise.all(description)).toEqual([200, 200, 200, 429]);
    await app.close();
  });

  test('a limit of one process is its part of the whole, rounded up', async () => {
    const env = { RATE_LIMITS: 'address=60/m,refresh=1/m', API_PROCESSES: '3' };
    const app = await createTestApp({ env });
    const { token } = await app.signUp();
    const statuses = [];
    for (let stream = 0; stream < 8; stream += 1)
      statuses.push((await app.call('/stream', { token })).status);
    // A user may have 20 open streams over all processes.
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 429]);
    const refresh = async () => (await app.call('/auth/refresh', { method: 'POST' })).status;
    expect([await refresh(), await refresh()]).toEqual([401, 429]);
    const calls = [];
    for (let call = 0; call < 10; call += 1) calls.push((await app.call('/health')).status);
    expect(calls.filter((status) => status === 200)).toHaveLength(9);
    await app.close();
  });

  test('reads are limited per user and minute, and writes still work', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'reads=3/m' } });
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    const paths = ['/optimizations', '/credits/balance', '/users/me', '/recipes/me'];
    const statusOf = async (path: string, { token }: typeof ann) =>
      (await app.call(path, { token })).status;
    const statuses = [];
    for (const path of paths) statuses.push(await statusOf(path, ann));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await app.call('/optimizations', { token: ann.token, method: 'HEAD' })).status).toBe(
      429,
    );
    // Public calls, reads of another user and changes do not count.
    expect(await statusOf('/optimizations/strategies', ann)).toBe(200);
    expect(await statusOf('/optimizations', bob)).toBe(200);
    const draft = { challenge: 'Should we open a second shop?', strategy: 'ultra-economy' };
    expect((await app.call('/optimizations', { token: ann.token, body: draft })).status).toBe(201);
    await app.close();
  });

  test('starts of runs are limited per user and hour, and repeats do not count', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'runs=2/h' } });
    const { token, userId } = await app.signUp();
    await give(app, userId, 150);
    const statuses = [];
    for (let run = 0; run < 3; run += 1) {
      const { id } = await app.data<{ id: string }>('/optimizations', {
        token,
        body: { challenge: 'Should we open a second shop?', strategy: 'ultra-economy' },
      });
      const process = `/optimizations/${id}/process`;
      for (let call = 0; call < 2; call += 1)
        statuses.push((await app.call(process, { method: 'POST', token })).status);
    }
    expect(statuses).toEqual([202, 202, 202, 202, 429, 429]);
    await app.close();
  });

  test('drafts are limited per user and hour, and repeats do not count', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'drafts=2/h' } });
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    const draft = async ({ token }: typeof ann, key: string) =>
      (
        await app.call('/optimizations', {
          token,
          key,
          body: { challenge: 'Should we open a second shop?', strategy: 'ultra-economy' },
        })
      ).status;
    const statuses = [];
    for (const key of ['one', 'one', 'one', 'two', 'two', 'three', 'one', 'three'])
      statuses.push(await draft(ann, key));
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429, 201, 429]);
    expect(await draft(bob, 'three')).toBe(201);
    await app.close();
  });

  test.each(['checks=2/h', 'checks-day=2/d'])(
    'question checks are limited per user (%s)',
    { tags: ['long'] },
    async (limit) => {
      const app = await createTestApp({ env: { RATE_LIMITS: limit } });
      const [ann, bob] = [await app.signUp(), await app.signUp()];
      for (const { userId } of [ann, bob]) await give(app, userId, 20);
      const check = async ({ token }: typeof ann, challenge: string) =>
        (await app.call('/optimizations/check', { token, body: { challenge } })).status;
      const statuses = [];
      for (const challenge of ['One?', 'Two?', 'Three?'])
        statuses.push(await check(ann, challenge));
      expect(statuses).toEqual([200, 200, 429]);
      expect(await check(bob, 'Three?')).toBe(200);
      await app.close();
    },
  );

  test('uploads of pictures are limited per user and hour', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'avatars=2/h' } });
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    const upload = async ({ token }: typeof ann) => {
      const headers = { 'content-type': 'image/png' };
      const raw = Uint8Array.of(1);
      return (await app.call('/users/me/avatar', { method: 'PUT', token, headers, raw })).status;
    };
    expect([await upload(ann), await upload(ann), await upload(ann)]).toEqual([415, 415, 429]);
    expect(await upload(bob)).toBe(415);
    await app.close();
  });

  test('changes of runs are limited per user and hour; repeats do not count, and a running run can always be cancelled', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'run-changes=5/h' } });
    const [{ token }, bob] = [await app.signUp(), await app.signUp()];
    const draft = async (whose: string) =>
      app.data<{ id: string }>('/optimizations', {
        token: whose,
        body: { challenge: 'Should we open a second shop?', strategy: 'ultra-economy' },
      });
    const [{ id }, other, theirs] = [
      await draft(token),
      await draft(token),
      await draft(bob.token),
    ];
    const status = async (method: string, path: string, options: CallOptions = {}) =>
      (await app.call(`/optimizations/${path}`, { method, token, ...options })).status;
    const rename = { body: { title: 'Second shop' } };
    const statuses = [
      await status('PATCH', id, { ...rename, key: 'one' }),
      await status('PATCH', id, { ...rename, key: 'one' }),
      // Calls on an ended run change nothing.
      await status('POST', `${id}/cancel`),
      await status('POST', `${id}/cancel`, { key: 'two' }),
      await status('POST', `${id}/process`),
      await status('PATCH', id, rename),
      await status('PATCH', other.id, rename),
    ];
    expect(statuses).toEqual([200, 200, 202, 202, 409, 200, 200]);
    for (const [method, path] of [
      ['PATCH', id],
      ['DELETE', other.id],
      ['POST', `${id}/restore`],
      ['POST', `${id}/cancel`],
      ['POST', `${id}/process`],
    ] as const)
      expect(await status(method, path, method === 'PATCH' ? rename : {})).toBe(429);
    expect(await status('POST', `${other.id}/cancel`)).toBe(202);
    expect(await status('PATCH', theirs.id, { ...rename, token: bob.token })).toBe(200);
    await app.close();
  });
});
