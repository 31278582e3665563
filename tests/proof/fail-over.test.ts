import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBalance } from '#projections/credit-account.ts';
import { openCore } from '#services/core.ts';
import type { Core } from '#services/core.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { readEnv } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import {
  beginRun,
  expectEndsWell,
  expectVerified,
  isInTheMiddle,
} from '#tests/processes/support/check.ts';
import type { Watched } from '#tests/processes/support/check.ts';
import type { Balance } from '#services/credits/contract.ts';
import type { Replay } from '#services/credits/audit/replay.ts';
import { operateJson } from '#tests/support/processes/operator.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Settings } from '#tests/support/processes/processes.ts';
import { startPair } from '#tests/support/processes/standby.ts';
import type { Pair } from '#tests/support/processes/standby.ts';

/**
 * Every process of the primary is killed while people run the council and writers grant credits; then the
 * standby takes over. `FAILOVER_RUNS` and `FAILOVER_WRITERS` say how many.
 */
const runCount = Number(process.env['FAILOVER_RUNS'] ?? 20);
const writerCount = Number(process.env['FAILOVER_WRITERS'] ?? 8);
/** How long nobody is the primary, as until Patroni has elected one. */
const outageMs = 5_000;

const folder = temporaryFolder();
const resources = new AsyncDisposableStack();
let pair: Pair;
let settings: Settings;
let url: string;

beforeAll(async () => {
  resources.defer(() => folder.remove());
  pair = resources.use(await startPair(folder.path));
  settings = {
    DATABASE_URL: pair.appUrl,
    MIGRATE_DATABASE_URL: pair.ownerUrl,
    DATA_DIR: join(folder.path, 'app'),
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
    PORT: '0',
    // Some calls take seconds, so that the primary dies in the middle of every run.
    SANDBOX_PERSONAS: 'mistral-medium-2604=slow',
  };
  const sandbox = resources.use(await startProcess('sandbox/server.ts', settings));
  settings = { ...settings, SANDBOX_URL: String(sandbox.details['url']) };
  resources.use(await startProcess('worker.ts', settings));
  resources.use(await startProcess('worker.ts', settings));
  const api = resources.use(await startProcess('api.ts', settings));
  url = String(api.details['address']);
}, 600_000);
afterAll(async () => resources.disposeAsync());

type Writer = { userId: string; given: () => number; stop: () => Promise<void> };

/** Grants one credit after another, and repeats each until it is acknowledged. */
function startWriter({ ledger }: Core): Writer {
  const userId = newId('usr', Date.now());
  const over = new AbortController();
  let given = 0;
  const grant = async (number: number) =>
    ledger.give({
      userId,
      credits: 1,
      source: 'other',
      reason: 'operator',
      actor: 'operator:test',
      commandId: uuidV5(userId, String(number)),
    });
  const writing = (async () => {
    while (!over.signal.aborted) {
      const acknowledged = await grant(given + 1).catch(() => null);
      if (acknowledged !== null) given += 1;
    }
  })();
  return {
    userId,
    given: () => given,
    async stop() {
      over.abort();
      await writing;
    },
  };
}

/** Returns what was charged: less than the price where a model could not answer in time. */
async function expectChargedOnce({ runId, person }: Watched): Promise<number> {
  const client = createClient(url, settings);
  const { token, email } = person;
  const run = await client.data<Optimization>(`/optimizations/${runId}`, { token });
  const { charged, price, refunded, settlement } = run.credits;
  expect(settlement).toBe('settled');
  expect((charged ?? 0) + (refunded ?? 0)).toBe(price);
  expect(await client.data<Balance>('/credits/balance', { token })).toMatchObject({
    reserved_credits: 0,
    debt_credits: 0,
    total_consumed: charged,
    available_credits: 50 - (charged ?? 0),
  });
  const replay = await operateJson<Replay>(settings, 'credits', 'replay', email);
  expect(replay.verified).toBe(true);
  const captured = replay.entries.filter(
    ({ cause, type }) => cause === runId && type === 'CreditsCaptured',
  );
  expect(captured).toHaveLength(1);
  await expectEndsWell(settings, 'optimizations', 'verify', runId);
  return charged ?? 0;
}

test(`with ${runCount} runs and ${writerCount} writers the standby takes over without a loss`, async () => {
  const client = createClient(url, settings);
  const env = readEnv(settings);
  const log = createLog({ level: 'silent', process: 'test' });
  const core = await openCore('writers', { env, log, resources }, writerCount);
  await using watching = new AsyncDisposableStack();
  const people = await Promise.all(Array.from({ length: runCount }, () => client.signUp()));
  const runs = await Promise.all(
    people.map(async (person) => watching.use(await beginRun(url, client, { person }))),
  );
  const writers = Array.from({ length: writerCount }, () => startWriter(core));
  await eventually('every writer at work', () => writers.every(({ given }) => given() > 5));
  const middle = await eventually('half of the runs in the middle', () => {
    const open = runs.filter(({ follower }) => {
      const run = follower.run();
      return run !== null && isInTheMiddle(run);
    });
    return open.length >= runCount / 2 && open.length;
  });

  const before = writers.map(({ given }) => given());
  const died = performance.now();
  await pair.killPrimary();
  await new Promise((wake) => setTimeout(wake, outageMs));
  pair.switchOver();
  await pair.promote();
  await eventually('an acknowledged command of each writer', () =>
    writers.every(({ given }, index) => given() > before[index]! + 1),
  );
  const backMs = Math.round(performance.now() - died) - outageMs;

  for (const { follower } of runs)
    await follower.until('the end of the run', (run) => run.stage === 'closed', 600_000);
  for (const writer of writers) await writer.stop();
  for (const { userId, given } of writers)
    expect(await readBalance(core.pool, userId)).toMatchObject({ available_credits: given() });
  let full = 0;
  for (const watched of runs) {
    // The stream resumed with a snapshot, because the standby began another timeline.
    expect(watched.follower.snapshots()).toBeGreaterThan(1);
    if ((await expectChargedOnce(watched)) === 14) full += 1;
  }
  await expectVerified(settings);
  console.info(
    `${middle} of ${runCount} runs in the middle, ${full} charged in full; ` +
      `${writers.reduce((sum, { given }) => sum + given(), 0)} commands acknowledged, ` +
      `${before.reduce((sum, count) => sum + count, 0)} of them before the kill; ` +
      `all writers again ${backMs} ms after the outage of ${outageMs} ms`,
  );
});
