import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '#services/platform/process/listen.ts';
import {
  commandLine,
  createClient,
  eventually,
  signal,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { CreditAnalytics } from '#services/credits/contract.ts';
import type { Application, Client, Settings } from '#tests/support/processes/processes.ts';
import type { Person } from '#tests/support/app.ts';
import {
  beginRun,
  expectVerified,
  expectWhole,
  isInTheMiddle,
} from '#tests/processes/support/check.ts';
import type { Watched } from '#tests/processes/support/check.ts';

/** The whole application, stopped in the middle of a run and started again on the same data. */
let folder: ReturnType<typeof temporaryFolder>;
let dataDir: string;
let port: number;
let settings: Settings;
let app: Application;
let client: Client;

beforeAll(async () => {
  folder = temporaryFolder();
  dataDir = join(folder.path, 'data');
  port = await freePort();
  settings = { DATA_DIR: dataDir };
  app = await start();
  client = createClient(app.url, settings);
}, 300_000);

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  folder.remove();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.error(app.output());
});

async function start(): Promise<Application> {
  const slowSeat = { SANDBOX_PERSONAS: 'mistral-medium-2604=slow' };
  return startApplication({ dataDir, port, settings: slowSeat });
}

async function signInAsDemo(): Promise<Person> {
  const { email, password } = app.demo;
  const { token, user } = await client.data<{ token: string; user: { id: string } }>(
    '/auth/login',
    { body: { email, password } },
  );
  return { token, userId: user.id, email };
}

/** All that a user sees of the account. */
async function everythingOf({ token }: Person): Promise<unknown[]> {
  const paths = ['/users/me', '/credits/balance', '/credits/history'];
  // `as_of` differs each time.
  const { as_of: _, ...analytics } = await client.data<CreditAnalytics>('/credits/analytics', {
    token,
  });
  const runs = await client.call('/optimizations', { token });
  return [
    ...(await Promise.all(paths.map((path) => client.data(path, { token })))),
    analytics,
    await runs.json(),
  ];
}

async function demoRunInTheMiddle(): Promise<Watched> {
  const watched = await beginRun(app.url, client, { person: await signInAsDemo() });
  await watched.follower.until('the middle of the run', isInTheMiddle);
  return watched;
}

/** Every process ends within 20 s, and the supervisor with 0. */
async function stopBy(request: () => void): Promise<void> {
  expect((await app.family()).length).toBeGreaterThan(4);
  request();
  const gone = async () => (await app.family()).length === 0;
  await eventually('the end of every process', gone, 20_000);
  expect(await app.ended).toBe(0);
}

describe('a stop in the middle of a run', { timeout: 300_000 }, () => {
  test('SIGTERM ends everything, and the next start finishes the run', async () => {
    await using watched = await demoRunInTheMiddle();
    await stopBy(() => signal(app.supervisor, 'SIGTERM'));
    const { demo } = app;
    app = await start();
    expect(app.demo).toEqual(demo);
    await expectWhole(client, settings, watched);
  });

  test('Ctrl-C in the terminal ends everything, and the next start finishes the run', async () => {
    const person = await client.signUp();
    await using watched = await beginRun(app.url, client, { person });
    await watched.follower.until('the middle of the run', isInTheMiddle);
    await stopBy(() => signal(-app.supervisor, 'SIGINT'));
    app = await start();
    await expectWhole(client, settings, watched);
  });

  test('kill -9 of the supervisor alone ends the others and leaves Postgres, and the next start finishes the run', async () => {
    const person = await client.signUp();
    await using watched = await beginRun(app.url, client, { person });
    await watched.follower.until('the middle of the run', isInTheMiddle);
    const [postmaster] = await app.pids('postgres');
    signal(app.supervisor, 'SIGKILL');
    for (const part of ['api', 'worker', 'sandbox'] as const)
      await eventually(`the end of ${part}`, async () => (await app.pids(part)).length === 0);
    app = await start();
    expect(await app.pids('postgres')).toEqual([postmaster]);
    await expectWhole(client, settings, watched);
  });
});

test(
  'a second start on the same data finds everything as it was',
  { timeout: 300_000 },
  async () => {
    const before = await everythingOf(await signInAsDemo());
    const { demo } = app;
    signal(app.supervisor, 'SIGTERM');
    expect(await app.ended).toBe(0);
    expect(await app.family()).toEqual([]);
    app = await start();
    expect(app.demo).toEqual(demo);
    expect(await everythingOf(await signInAsDemo())).toEqual(before);
    // As an operator does it: each command a process of its own.
    await expectVerified(settings, commandLine);
  },
);
