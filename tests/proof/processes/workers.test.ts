import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { lockLimits } from '#services/platform/jobs/job-locks.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { operateJson } from '#tests/support/processes/operator.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { beginRun, expectWhole } from '#tests/processes/support/check.ts';
import { startGate } from '#tests/processes/support/gate.ts';
import type { Gate } from '#tests/processes/support/gate.ts';

/** Worker processes over one database, whose answers come when the test says so. */
let folder: ReturnType<typeof temporaryFolder>;
let sandbox: OwnProcess;
let database: TestDatabase;
let settings: Settings;
let url: string;
let client: Client;
let started: AsyncDisposableStack;
let workers: OwnProcess[];

// It keeps nothing of what it is asked. All else is a test's own, which may end in the middle of a run.
beforeAll(async () => {
  folder = temporaryFolder();
  sandbox = await startProcess('sandbox/server.ts', { DATA_DIR: folder.path });
}, 300_000);

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  folder.remove();
}, 300_000);

beforeEach(async () => {
  started = new AsyncDisposableStack();
  workers = [];
  database = await createTestDatabase();
  started.defer(async () => database.drop());
  const data = temporaryFolder();
  started.defer(() => data.remove());
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: data.path,
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: '0',
  };
  const api = started.use(await startProcess('api.ts', settings));
  url = String(api.details['address']);
  client = createClient(url, settings);
}, 300_000);

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') for (const worker of workers) console.error(worker.output());
  await started.disposeAsync();
}, 300_000);

async function gateOf(...together: (number | 'hold')[]): Promise<Gate> {
  return started.use(await startGate(String(sandbox.details['url']), together));
}

async function startWorker(gate: Gate, more: Settings = {}): Promise<OwnProcess> {
  const worker = await startProcess('worker.ts', { ...settings, SANDBOX_URL: gate.url, ...more });
  workers.push(worker);
  return started.use(worker);
}

type ShownEvent = { type: string; data: { slot?: string; attempt?: number } };

async function eventsOf(runId: string): Promise<ShownEvent[]> {
  return operateJson<ShownEvent[]>(settings, 'events', 'show', `optimization-${runId}`);
}

function countByType(events: readonly ShownEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

/** Slots whose answers a worker has brought, as its log says. */
function answeredBy(worker: OwnProcess): string[] {
  return worker
    .log()
    .filter(({ msg }) => msg === 'A model call ended')
    .map(({ seat }) => String(seat));
}

function complaints(...of: OwnProcess[]): unknown[] {
  return of
    .flatMap((worker) => worker.log())
    .filter(({ level }) => level !== 'info' && level !== 'debug');
}

/** Jobs that have failed or are taken. */
async function leftovers(): Promise<unknown[]> {
  const { rows } = await database.ownerPool.query<Record<string, unknown>>(
    `select task_identifier, key, last_error, locked_by from graphile_worker.jobs
     where last_error is not null or locked_at is not null or task_identifier = 'call-model'`,
  );
  return rows;
}

test(
  '12 seats that answer at the same moment in two workers are all recorded, with one decision each',
  { timeout: 300_000 },
  async () => {
    // Opinions, the extractor, reviews, the draft, its verifiers.
    const gate = await gateOf(12, 1, 12, 1, 2);
    const slots = { CALL_SLOTS: '6', WORKER_PROCESSES: '2' };
    const [left, right, person] = await Promise.all([
      startWorker(gate, slots),
      startWorker(gate, slots),
      client.signUp(),
    ]);
    await using watched = await beginRun(url, client, { person, strategy: 'comprehensive' });
    await expectWhole(client, settings, watched, 49);

    // With six slots each and twelve answers held back, each worker held six of them.
    for (const worker of [left, right])
      for (const kind of ['opinion.', 'review.'])
        expect(answeredBy(worker).filter((slot) => slot.startsWith(kind))).toHaveLength(6);
    expect(gate.requests()).toBe(12 + 1 + 12 + 1 + 2);
    expect(countByType(await eventsOf(watched.runId))).toEqual({
      OptimizationCreated: 1,
      ProcessingStarted: 1,
      CallStarted: 28,
      CallSucceeded: 28,
      OpinionsClosed: 1,
      ClaimsFixed: 1,
      ReviewsClosed: 1,
      ScoresComputed: 1,
      DraftChecked: 1,
      SynthesisJudged: 1,
      RunConcluded: 1,
      OptimizationCompleted: 1,
    });
    expect(complaints(left, right)).toEqual([]);
    await eventually('an empty queue', async () => (await leftovers()).length === 0);
  },
);

describe('a worker that hangs while its calls are answered', { timeout: 300_000 }, () => {
  test('a hung worker keeps its jobs while it lives, and records the answers when it wakes', async () => {
    const gate = await gateOf('hold');
    const [hung, person] = await Promise.all([startWorker(gate), client.signUp()]);
    await using watched = await beginRun(url, client, { person });
    await eventually('seven answers', () => gate.waiting() === 7);
    hung.signal('SIGSTOP');
    gate.release();
    const other = await startWorker(gate);
    // Longer than another worker waits before it frees what it takes for lost.
    await sleep(lockLimits.settleMs * 1.5);
    expect(gate.requests()).toBe(7);
    expect(watched.follower.run()?.stage).toBe('opinions');
    expect(complaints(other)).toEqual([]);

    hung.signal('SIGCONT');
    await expectWhole(client, settings, watched);
    const attempts = (await eventsOf(watched.runId)).map(({ data }) => data.attempt ?? 1);
    expect(new Set(attempts)).toEqual(new Set([1]));
  });

  test('a hung worker does no harm when it wakes after others have ended the run', async () => {
    const gate = await gateOf('hold');
    const [hung, person] = await Promise.all([startWorker(gate), client.signUp()]);
    await using watched = await beginRun(url, client, { person });
    await eventually('seven answers', () => gate.waiting() === 7);
    hung.signal('SIGSTOP');
    // As when the machine of a worker is cut off: Postgres ends its session and with it the locks.
    await database.ownerPool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'sevenfold job locks' and datname = current_database()`,
    );
    gate.release();
    await startWorker(gate);
    await watched.follower.until('the end of the run', (run) => run.stage === 'closed');
    const before = countByType(await eventsOf(watched.runId));
    expect(before).toMatchObject({ CallLost: 7, CallSucceeded: 7 + 1 + 7 + 1 + 2 });

    hung.signal('SIGCONT');
    await eventually('its seven answers', () => answeredBy(hung).length === 7);
    await eventually('an empty queue', async () => (await leftovers()).length === 0);
    await expectWhole(client, settings, watched);
    const { CallCostRecorded: recorded = 0, ...after } = countByType(await eventsOf(watched.runId));
    expect(after).toEqual(before);
    expect(recorded).toBeLessThanOrEqual(7);
  });

  test('a hung worker loses its jobs to another worker when it is killed', async () => {
    const gate = await gateOf('hold');
    const [hung, person] = await Promise.all([startWorker(gate), client.signUp()]);
    await using watched = await beginRun(url, client, { person });
    await eventually('seven answers', () => gate.waiting() === 7);
    hung.signal('SIGSTOP');
    const other = await startWorker(gate);
    hung.signal('SIGKILL');
    expect(await hung.ended).toBe(null);
    gate.release();
    await expectWhole(client, settings, watched);
    expect(countByType(await eventsOf(watched.runId))).toMatchObject({ CallLost: 7 });
    expect(answeredBy(other)).toHaveLength(7 + 1 + 7 + 1 + 2);
  });
});
