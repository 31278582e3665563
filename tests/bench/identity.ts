import { randomBytes, randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readEnv } from '#services/platform/process/env.ts';
import type { Log } from '#services/platform/process/log.ts';
import { openCore } from '#services/core.ts';
import { testPassword } from '#tests/support/password.ts';
import { milliseconds, percentile, printTable, ratio } from './report.ts';
import { openHttp } from '#services/http/open.ts';

/**
 * Logins through the real application in this process: how similar the times of known and unknown accounts
 * are, how many succeed per second, and how far 64 at once delay the event loop for all other requests.
 */
export async function benchIdentity(options: {
  appUrl: string;
  log: Log;
  logins: number;
}): Promise<void> {
  const resources = new AsyncDisposableStack();
  try {
    const logIn = await openLogin(options.appUrl, options.log, resources);
    await compareAnswers(logIn, options.logins);
    await loginsAtOnce(logIn);
  } finally {
    await resources.disposeAsync();
  }
}

/** Returns the status. */
type LogIn = (email: string, password: string) => Promise<number>;

const known = `bench-${randomUUID()}@example.com`;

async function openLogin(
  appUrl: string,
  log: Log,
  resources: AsyncDisposableStack,
): Promise<LogIn> {
  const env = {
    ...readEnv({ RATE_LIMITS: 'off', REQUIRE_EMAIL_CONFIRMATION: 'false' }),
    databaseUrl: appUrl,
    dataKeys: [randomBytes(32)],
    jwtKeys: [randomBytes(32)],
  };
  const context = { env, log, resources };
  const { app } = await openHttp(context, await openCore('bench', context, 20));
  const post = async (path: string, body: object) => {
    const response = await app.request(`${env.publicUrl}/api/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.text();
    return response.status;
  };
  await post('signup', { name: 'Bench', email: known, password: testPassword });
  return async (email, password) => post('login', { email, password });
}

/** Alternates, so that other load on the machine affects all of them equally. */
async function compareAnswers(logIn: LogIn, logins: number): Promise<void> {
  const wrong = 'Wrong-pass-1';
  const kinds = [
    { name: 'known, wrong password', email: () => known, password: wrong, times: [] as number[] },
    {
      name: 'unknown account',
      email: () => `nobody-${randomUUID()}@example.com`,
      password: wrong,
      times: [] as number[],
    },
    { name: 'signed in', email: () => known, password: testPassword, times: [] as number[] },
  ];
  for (let number = 0; number <= logins; number += 1)
    for (const { email, password, times } of kinds) {
      const begun = performance.now();
      await logIn(email(), password);
      // The first one warms up.
      if (number > 0) times.push(performance.now() - begun);
    }
  const peer = percentile(kinds[0]?.times ?? [], 0.5);
  printTable('Logins, one after another', [
    ['', 'logins', 'median ms', 'p99 ms', 'of known'],
    ...kinds.map(({ name, times }) => [
      name,
      times.length,
      milliseconds(percentile(times, 0.5)),
      milliseconds(percentile(times, 0.99)),
      ratio(percentile(times, 0.5), peer),
    ]),
  ]);
}

async function loginsAtOnce(logIn: LogIn): Promise<void> {
  const rows: (string | number)[][] = [
    [
      'at once',
      'per second',
      'all done ms',
      'loop lag p50 ms',
      'loop lag p99 ms',
      'loop lag max ms',
    ],
  ];
  for (const atOnce of [1, 4, 16, 64]) {
    const lag = monitorEventLoopDelay({ resolution: 1 });
    lag.enable();
    const begun = performance.now();
    await Promise.all(Array.from({ length: atOnce }, async () => logIn(known, testPassword)));
    const took = performance.now() - begun;
    lag.disable();
    const inMs = (nanoseconds: number) => milliseconds(nanoseconds / 1e6);
    rows.push([
      atOnce,
      Math.round((atOnce * 1000) / took),
      milliseconds(took),
      inMs(lag.percentile(50)),
      inMs(lag.percentile(99)),
      inMs(lag.max),
    ]);
  }
  printTable('Logins at once, and the event loop meanwhile (its own tick is 1 ms)', rows);
}
