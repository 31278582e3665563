import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Person } from '#tests/support/app.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  createClient,
  eventually,
  ownerUrlOf,
  signal,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application, Client, Settings } from '#tests/support/processes/processes.ts';
import {
  beginRun,
  expectEachOnce,
  expectVerified,
  expectWhole,
  isInTheMiddle,
} from '#tests/processes/support/check.ts';
import type { Watched } from '#tests/processes/support/check.ts';
import { follow } from '#tests/processes/support/follow.ts';

/**
 * The whole application as one command starts it, with a Postgres of its own, and kill -9 of each
 * part of it in the middle of a run: one seat answers slowly, so that there are answered and open calls.
 */
const slowSeat = { SANDBOX_PERSONAS: 'mistral-medium-2604=slow' };

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
  app = await startApplication({ dataDir, port, settings: slowSeat });
  client = createClient(app.url, settings);
}, 300_000);

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  folder.remove();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.error(app.output());
});

async function runInTheMiddle(person?: Person): Promise<Watched> {
  const watched = await beginRun(app.url, client, person === undefined ? {} : { person });
  await watched.follower.until('the middle of the run', isInTheMiddle);
  return watched;
}

/** Strikes in the middle of a run, and prints how long it took until the run continued and ended. */
async function strike(
  what: string,
  blow: () => Promise<void> | void,
  person?: Person,
): Promise<Watched> {
  const watched = await runInTheMiddle(person);
  const { follower } = watched;
  const before = follower.run();
  expect(before && isInTheMiddle(before)).toBe(true);
  const struckAt = Date.now();
  await blow();
  await follower.until('the end of the run', (run) => run.stage === 'closed', 180_000);
  const ofRun = follower.facts().filter(({ entity }) => entity.kind === 'run');
  const laterMs = ofRun.map(({ at }) => Date.parse(at) - struckAt);
  // What was being written at that moment does not count.
  const continuedMs = laterMs.find((ms) => ms > 100) ?? Number.NaN;
  const times = `continued after ${seconds(continuedMs)}, ended after ${seconds(laterMs.at(-1) ?? Number.NaN)}`;
  console.info(`kill -9 of ${what} in the middle of a run: ${times}`);
  return watched;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

async function only(part: Parameters<Application['pids']>[0]): Promise<number> {
  return eventually(`one ${part}`, async () => {
    const pids = await app.pids(part);
    return pids.length >= 1 ? (pids[0] ?? null) : null;
  });
}

/** A backend that works for the worker. */
async function backendPid(): Promise<number> {
  const owner = new pg.Client({ connectionString: ownerUrlOf(dataDir) });
  await owner.connect();
  try {
    const { rows } = await owner.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'sevenfold worker' limit 1`,
    );
    return rows[0]?.pid ?? 0;
  } finally {
    await owner.end();
  }
}

describe('kill -9 in the middle of a run', { timeout: 300_000 }, () => {
  test('after kill -9 of the worker, the next worker frees its jobs and continues the run', async () => {
    const worker = await only('worker');
    await using watched = await strike('the worker', () => signal(worker, 'SIGKILL'));
    expect(await app.pids('worker')).not.toContain(worker);
    expect(watched.follower.connections()).toBe(1);
    await expectWhole(client, settings, watched);
    await expectVerified(settings);
  });

  test('after kill -9 of the API, the run continues and its watcher catches up', async () => {
    const api = await only('api');
    await using watched = await strike('the API', () => signal(api, 'SIGKILL'));
    await eventually('another connection', () => watched.follower.connections() > 1);
    expect(await only('api')).not.toBe(api);
    await expectWhole(client, settings, watched);
    await expectVerified(settings);
  });

  test('after kill -9 of a Postgres backend, which restarts all of them, the run completes', async () => {
    const backend = await backendPid();
    const api = await only('api');
    await using watched = await strike('a backend', () => signal(backend, 'SIGKILL'));
    expect(await only('api')).toBe(api);
    await expectWhole(client, settings, watched);
    await expectVerified(settings);
  });

  test('after kill -9 of Postgres, only Postgres is started again', async () => {
    const [postmaster, api, worker] = [
      await only('postgres'),
      await only('api'),
      await only('worker'),
    ];
    const person = await client.signUp();
    await using others = new AsyncDisposableStack();
    const crowd = Array.from({ length: 5 }, () =>
      others.use(follow({ url: () => app.url, token: () => person.token })),
    );
    await eventually('the crowd', () => crowd.every((one) => one.snapshots() === 1));
    await using watched = await strike('Postgres', () => signal(postmaster, 'SIGKILL'), person);
    expect(await only('api')).toBe(api);
    expect(await only('worker')).toBe(worker);
    await expectWhole(client, settings, watched);
    await expectVerified(settings);

    // No client had to connect again, and each got the hold, the capture and the end.
    for (const one of [watched.follower, ...crowd]) {
      await eventually('the capture', () =>
        one.facts().some(({ type }) => type === 'CreditsCaptured'),
      );
      expect(one.connections()).toBe(1);
      expectEachOnce(one, ({ entity }) => entity.kind === 'account');
    }
    const [first, ...rest] = crowd.map((one) => one.facts());
    for (const facts of rest) expect(facts).toEqual(first);
  });

  test('after kill -9 of everything at once, the next start on the same data finishes the run', async () => {
    await using watched = await strike('everything', async () => {
      const family = await app.family();
      for (const { pid } of family) signal(pid, 'SIGKILL');
      await eventually('their end', async () => (await app.family()).length === 0);
      app = await startApplication({ dataDir, port, settings: slowSeat });
    });
    await expectWhole(client, settings, watched);
    await expectVerified(settings);
  });
});
