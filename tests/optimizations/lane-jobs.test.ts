import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger, run } from 'graphile-worker';
import type { Task, WorkerEvents } from 'graphile-worker';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { optimization } from '#services/optimizations/run/optimization.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { startJobLocks } from '#services/platform/jobs/job-locks.ts';
import { queuePool } from '#services/platform/jobs/queue-pool.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { create, schedule, sevenSeats, start } from './run/run-script.ts';

/** The calls of real runs in the real job queue, taken by two worker pools. */
let database: TestDatabase;
let bus: CommandBus;
let open: AsyncDisposableStack;
const log = createLog({ level: 'silent', process: 'test' });

beforeAll(async () => {
  database = await createTestDatabase({ max: 20 });
  const { pool, functionName } = database;
  bus = createCommandBus({ pool, functionName, clock: Date.now, log });
});
afterAll(async () => {
  await bus.close();
  await database.drop();
});
beforeEach(async () => {
  open = new AsyncDisposableStack();
  await database.ownerPool.query('truncate graphile_worker._private_jobs');
});
afterEach(async () => open.disposeAsync());

const seats = sevenSeats.map((seat, index) => ({
  ...seat,
  provider: 'ollama',
  model: `model-${index % 3}`,
}));

/** A run that began so many milliseconds ago; its seven first calls are in the queue. */
async function begun(runId: string, agoMs: number, concurrency: number): Promise<void> {
  const lanes = { ollama: { concurrency, secondsPerCall: 120 } };
  const commands: OptimizationCommand[] = [
    create({ seats, schedule: { ...schedule, lanes } }),
    start(new Date(Date.now() - agoMs).toISOString()),
  ];
  for (const command of commands)
    await bus.execute<RunState, OptimizationCommand, OptimizationEvent>(
      optimization,
      {
        streamId: streamOf(runId),
        command,
        commandId: uuidV5(runId, command.type),
        actor: 'test',
        correlationId: runId,
      },
      'job',
    );
}

type Call = { runId: string; slot: string };

/** A worker process's part for calls. */
async function startPool(callModel: (call: Call) => Promise<void>): Promise<void> {
  const locks = startJobLocks({ url: database.appUrl, log, sweepEveryMs: 20, settleMs: 100 });
  open.defer(async () => locks.close());
  const events: WorkerEvents = new EventEmitter();
  events.on('pool:create', ({ workerPool }) => locks.hold(workerPool.id));
  events.on('pool:release', ({ workerPool }) => locks.release(workerPool.id));
  events.on('job:start', ({ job }) => locks.began(job.id, job.job_queue_id));
  events.on('job:complete', ({ job }) => locks.ended(job.id));
  const task: Task = async (payload) => callModel(payload as Call);
  const runner = await run({
    pgPool: queuePool(database.pool),
    taskList: { 'call-model': task },
    concurrency: 4,
    pollInterval: 10,
    events,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
  });
  open.defer(async () => runner.stop());
}

const modelOf = ({ slot }: Call) => seats.find(({ seat }) => slot === `opinion.${seat}`)?.model;

test.each([
  ['one call', 1],
  ['three calls', 3],
])(
  'two workers never have more than %s under way at a provider that takes so many',
  async (_words, concurrency) => {
    let underWay = 0;
    let most = 0;
    let calls = 0;
    const callModel = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await sleep(20);
      underWay -= 1;
      calls += 1;
    };
    await Promise.all([startPool(callModel), startPool(callModel)]);
    await begun(`opt_most_${concurrency}_a`, 1000, concurrency);
    await begun(`opt_most_${concurrency}_b`, 1000, concurrency);
    await expect.poll(() => calls).toBe(14);
    expect(most).toBe(concurrency);
  },
);

test('the earlier run goes first, with its calls in the order of the models and its retry before the later run', async () => {
  const taken: (Call & { model: string | undefined })[] = [];
  await begun('opt_order_later', 1000, 1);
  await begun('opt_order_earlier', 700_000, 1);
  const callModel = async (call: Call) => {
    taken.push({ ...call, model: modelOf(call) });
    await sleep(2);
    if (taken.length === 2) {
      // As the run does after a failure whose retry is due at once.
      await database.pool.query(
        `select graphile_worker.add_job('call-model', $1, 'calls ollama 0', job_key := $2,
           priority := (select priority from graphile_worker.jobs where key = $2))`,
        [JSON.stringify(call), `${call.runId}:${call.slot}`],
      );
    }
  };
  await Promise.all([startPool(callModel), startPool(callModel)]);
  await expect.poll(() => taken.length).toBe(15);
  const [earlier, retry, later] = [taken.slice(0, 7), taken[7], taken.slice(8)];
  expect(retry).toEqual(taken[1]);
  const models = [0, 0, 0, 1, 1, 2, 2].map((number) => `model-${number}`);
  for (const [runId, calls] of [
    ['opt_order_earlier', earlier],
    ['opt_order_later', later],
  ] as const) {
    expect(new Set(calls.map((call) => call.runId))).toEqual(new Set([runId]));
    expect(calls.map(({ model }) => model)).toEqual(models);
  }
});

test('the lane of a killed worker is freed, and its call is the first to run again', async () => {
  await begun('opt_killed', 1000, 1);
  const holder = fork(
    fileURLToPath(import.meta.resolve('#tests/support/processes/lane-holder.ts')),
    [database.appUrl],
  );
  open.defer(() => void holder.kill('SIGKILL'));
  await once(holder, 'message');
  const taken: Call[] = [];
  await startPool(async (call) => void taken.push(call));
  await sleep(300);
  expect(taken).toEqual([]);
  holder.kill('SIGKILL');
  await expect.poll(() => taken.length).toBe(7);
  expect(taken[0]).toMatchObject({ slot: 'opinion.S1' });
});
