import { randomBytes, randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { decodeJwt } from 'jose';
import { readBalance } from '#projections/credit-account.ts';
import { authenticator } from '#services/identity/sessions/routes.ts';
import { createTokens, rememberedTokens } from '#services/identity/sessions/tokens.ts';
import { callerOf } from '#services/platform/http/auth.ts';
import { readEnv } from '#services/platform/process/env.ts';
import { createRouter } from '#services/platform/http/http.ts';
import type { Log } from '#services/platform/process/log.ts';
import { openCore } from '#services/core.ts';
import { testPassword } from '#tests/support/password.ts';
import {
  inTurns,
  loopFor,
  median,
  milliseconds,
  percentile,
  printTable,
  ratioByTurns,
} from './report.ts';
import { openHttp } from '#services/http/open.ts';

const atOnce = 16;

/**
 * Calls that only read, through the whole application and without sockets, beside a bare route with
 * the same query; and beside that route with our authentication, which is a statement, and a signature
 * where the token was not seen before.
 */
export async function benchCalls(options: {
  appUrl: string;
  log: Log;
  durationMs: number;
}): Promise<void> {
  const { appUrl, log, durationMs } = options;
  await using resources = new AsyncDisposableStack();
  const env = {
    // No provider runs; a run that is only created needs none.
    ...readEnv({
      RATE_LIMITS: 'off',
      REQUIRE_EMAIL_CONFIRMATION: 'false',
      SANDBOX_URL: 'http://127.0.0.1:1',
    }),
    databaseUrl: appUrl,
    dataKeys: [randomBytes(32)],
    jwtKeys: [randomBytes(32)],
  };
  const context = { env, log, resources };
  const core = await openCore('bench', context, 20);
  const { app } = await openHttp(context, core);
  const tokens = createTokens({ keys: env.jwtKeys, publicUrl: env.publicUrl, clock: core.clock });
  const people = await Promise.all(
    Array.from({ length: atOnce }, async () => signUp(env.publicUrl, app)),
  );
  // More than are remembered, one after the other: each is as new as on the first call.
  const newTokens: string[] = [];
  while (newTokens.length <= rememberedTokens) {
    const { userId, sessionId } = people[newTokens.length % atOnce]!;
    newTokens.push((await tokens.sign(userId, sessionId)).token);
  }
  let calls = 0;
  const known = (caller: number) => people[caller]!.token;
  const unknown = () => newTokens[(calls += 1) % newTokens.length] ?? '';
  const queries = {
    '/credits/balance': async (userId: string) => ({
      data: await readBalance(core.pool, userId),
    }),
    '/optimizations': async (userId: string) => {
      const { rows } = await core.pool.query(
        `select *, count(*) over () as total from optimization_list
         where user_id = $1 and not hidden order by created_at desc, run_id desc limit 20`,
        [userId],
      );
      return { data: rows };
    },
  };
  const authenticate = authenticator({ ...core, tokens });
  const rows: (string | number)[][] = [['', 'calls/s', 'p50 ms', 'p99 ms', 'of bare']];
  let answered = 0;
  const someone = () => people[(answered += 1) % atOnce]!.userId;
  for (const [path, query] of Object.entries(queries)) {
    const bare = new Hono().get('/api/*', async (call) => call.json(await query(someone())));
    const authenticated = createRouter()
      .use(async (call, next) => {
        await callerOf(authenticate, call.req.header('authorization'), undefined);
        await next();
      })
      .get('/api/*', async (call) => call.json(await query(someone())));
    const variants = (
      [
        ['bare route', bare, known],
        ['with authentication', authenticated, known],
        ['with authentication, tokens not seen before', authenticated, unknown],
        ['the application', app, known],
        ['the application, tokens not seen before', app, unknown],
      ] as const
    ).map(([name, application, token]) => ({
      name,
      run: async (ms: number) =>
        loopFor(ms, atOnce, async (caller) => {
          const response = await application.request(`${env.publicUrl}/api${path}`, {
            headers: { authorization: `Bearer ${token(caller)}` },
          });
          if (!response.ok) throw new Error(`${path} answered ${response.status}`);
          await response.arrayBuffer();
        }),
    }));
    const measured = await inTurns(variants, durationMs);
    for (const one of measured)
      rows.push([
        `GET ${path}, ${one.name}`,
        Math.round(median(one.rates)),
        milliseconds(percentile(one.latencies, 0.5)),
        milliseconds(percentile(one.latencies, 0.99)),
        ratioByTurns(one, measured[0]),
      ]);
  }
  printTable(`Calls that read, by ${atOnce} people at once, without sockets`, rows);
}

type Caller = { userId: string; sessionId: string; token: string };

/** A user with twenty drafts. */
async function signUp(publicUrl: string, app: Pick<Hono, 'request'>): Promise<Caller> {
  const post = async (path: string, body: unknown, token?: string) => {
    const response = await app.request(`${publicUrl}/api${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return response.json();
  };
  const email = `bench-${randomUUID()}@example.com`;
  const account = { name: 'Bench', email, password: testPassword };
  const { data } = (await post('/auth/signup', account)) as {
    data: { token: string; user: { id: string } };
  };
  const { token, user } = data;
  for (let run = 0; run < 20; run += 1) {
    const draft = { challenge: `Rent or buy workshop ${run}?`, strategy: 'balanced' };
    await post('/optimizations', draft, token);
  }
  return { userId: user.id, sessionId: decodeJwt<{ sid: string }>(token).sid, token };
}
