import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, run } from 'graphile-worker';
import type { WorkerEvents } from 'graphile-worker';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startJobLocks } from '#services/platform/jobs/job-locks.ts';
import type { JobLocks } from '#services/platform/jobs/job-locks.ts';
import { queuePool } from '#services/platform/jobs/queue-pool.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

const log = createLog({ level: 'silent', process: 'test' });

let database: TestDatabase;
let open: JobLocks[];

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => database.drop());

beforeEach(async () => {
  open = [];
  await database.pool.query('delete from graphile_worker._private_jobs');
});

afterEach(async () => {
  for (const locks of open) await locks.close();
});

/** As one worker process has them, but quicker. */
function start(): JobLocks {
  const locks = startJobLocks({
    url: database.appUrl,
    log,
    sweepEveryMs: 20,
    settleMs: 100,
  });
  open.push(locks);
  return locks;
}

/** A job that a runner has taken; its id. */
async function taken(runner: string): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    `select id::text from graphile_worker.add_job('settle-run', '{}')`,
  );
  await database.pool.query(
    `update graphile_worker._private_jobs set locked_by = $2, locked_at = now(), attempts = 1
     where id = $1::bigint`,
    [rows[0]?.id, runner],
  );
  return rows[0]?.id ?? '';
}

async function holders(): Promise<Record<string, string | null>> {
  const { rows } = await database.pool.query<{ id: string; holder: string | null }>(
    'select id::text, locked_by as holder from graphile_worker._private_jobs',
  );
  return Object.fromEntries(rows.map(({ id, holder }) => [id, holder]));
}

async function isLocked(runner: string): Promise<boolean> {
  const { rows } = await database.pool.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(
       hashtextextended('sevenfold worker ' || $1::text, 7)) as free`,
    [runner],
  );
  return rows[0]?.free === false;
}

const runnerId = () => `pool-${randomUUID()}`;

test('the jobs of a runner whose process has ended are freed, and others are kept', async () => {
  const [living, dead] = [runnerId(), runnerId()];
  const holder = start();
  holder.hold(living);
  await vi.waitFor(async () => expect(await isLocked(living)).toBe(true), 30_000);
  const [kept, lost] = [await taken(living), await taken(dead)];
  holder.began(kept, null);
  start();
  await vi.waitFor(
    async () => expect(await holders()).toEqual({ [kept]: living, [lost]: null }),
    30_000,
  );
});

test('runners that start at the same moment all get their locks', async () => {
  const holder = start();
  const runners = Array.from({ length: 20 }, runnerId);
  for (const runner of runners) {
    holder.hold(runner);
    await new Promise(setImmediate);
  }
  for (const runner of runners)
    await vi.waitFor(async () => expect(await isLocked(runner)).toBe(true), 30_000);
  for (const runner of runners) holder.release(runner);
  for (const runner of runners)
    await vi.waitFor(async () => expect(await isLocked(runner)).toBe(false), 30_000);
});

test('a process frees a job of its own runner that it is not working on', async () => {
  const runner = runnerId();
  const holder = start();
  holder.hold(runner);
  const [underWay, forgotten] = [await taken(runner), await taken(runner)];
  holder.began(underWay, null);
  await vi.waitFor(
    async () => expect(await holders()).toEqual({ [underWay]: runner, [forgotten]: null }),
    30_000,
  );
  holder.ended(underWay);
  await vi.waitFor(async () => expect((await holders())[underWay]).toBe(null), 30_000);
});

test('a job that is freed frees its queue, too', async () => {
  const runner = runnerId();
  const { rows } = await database.pool.query<{ id: string }>(
    `select id::text from graphile_worker.add_job('sweep', '{}', 'sweeps')`,
  );
  await database.pool.query(
    `update graphile_worker._private_jobs set locked_by = $2, locked_at = now() where id = $1`,
    [rows[0]?.id, runner],
  );
  await database.pool.query(
    'update graphile_worker._private_job_queues set locked_by = $1, locked_at = now()',
    [runner],
  );
  start().hold(runner);
  const held = async () =>
    (
      await database.pool.query<{ locked_by: string | null }>(
        'select locked_by from graphile_worker._private_job_queues',
      )
    ).rows;
  await expect.poll(held).toEqual([{ locked_by: null }]);
});

test('a queue whose job another worker has ended is freed, but not while the job is under way', async () => {
  const runner = runnerId();
  const { rows } = await database.pool.query<{ id: string; queue: number }>(
    `select id::text, job_queue_id as queue
     from graphile_worker.add_job('call-model', '{}', 'calls ollama 0')`,
  );
  const { id = '', queue = 0 } = rows[0] ?? {};
  await database.pool.query(
    'update graphile_worker._private_job_queues set locked_by = $2, locked_at = now() where id = $1',
    [queue, runner],
  );
  await database.pool.query('delete from graphile_worker._private_jobs');
  const holder = start();
  holder.hold(runner);
  holder.began(id, queue);
  const isFree = async () => {
    const { rows: found } = await database.pool.query<{ locked_by: string | null }>(
      'select locked_by from graphile_worker._private_job_queues where id = $1',
      [queue],
    );
    return found[0]?.locked_by === null;
  };
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await isFree()).toBe(false);
  holder.ended(id);
  await expect.poll(isFree).toBe(true);
});

test('a process whose connection was cut locks again before its jobs are freed', async () => {
  const runner = runnerId();
  // The usual limits, because a reconnect takes longer than a test's.
  const holder = startJobLocks({
    url: database.appUrl,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  open.push(holder);
  holder.hold(runner);
  await vi.waitFor(async () => expect(await isLocked(runner)).toBe(true), 30_000);
  const job = await taken(runner);
  holder.began(job, null);
  await database.ownerPool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'sevenfold job locks' and datname = current_database()`,
  );
  await vi.waitFor(async () => expect(await isLocked(runner)).toBe(true), 30_000);
  expect(await holders()).toEqual({ [job]: runner });
});

test('a job that a busy worker has fetched goes back in time, and another worker runs it once', async () => {
  // As in `worker.ts`: a fetched job waits for less than it takes to seem lost.
  const [fetchedJobMs, settleMs] = [200, 600];
  const ran: string[] = [];
  const over = Promise.withResolvers<void>();
  const startWorker = async (name: string) => {
    const events: WorkerEvents = new EventEmitter();
    const locks = startJobLocks({ url: database.appUrl, log, sweepEveryMs: 20, settleMs });
    open.push(locks);
    events.on('pool:create', ({ workerPool }) => locks.hold(workerPool.id));
    events.on('job:start', ({ job }) => locks.began(job.id, job.job_queue_id));
    events.on('job:complete', ({ job }) => locks.ended(job.id));
    return run({
      pgPool: queuePool(database.pool),
      taskList: {
        'settle-run': async (payload) => {
          ran.push(`${name} ${String(payload)}`);
          await over.promise;
        },
      },
      concurrency: 2,
      pollInterval: 100,
      events,
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      preset: { worker: { localQueue: { size: 2, ttl: fetchedJobMs } } },
    });
  };
  const add = async (payloads: readonly number[]) =>
    database.pool.query(
      `select graphile_worker.add_job('settle-run', to_json(payload))
       from unnest($1::int[]) as payload`,
      [payloads],
    );
  const busy = await startWorker('busy');
  await add([1]);
  await vi.waitFor(() => expect(ran).toEqual(['busy 1']), 30_000);
  await add([2, 3]);
  await vi.waitFor(() => expect(ran).toHaveLength(2), 30_000);
  const other = await startWorker('other');
  await vi.waitFor(() => expect(ran).toContain('other 3'), 30_000);
  await sleep(2 * settleMs);
  over.resolve();
  await Promise.all([busy.stop(), other.stop()]);
  expect(ran).toEqual(['busy 1', 'busy 2', 'other 3']);
  // The statement that removes a job is not awaited.
  await vi.waitFor(async () => expect(await holders()).toEqual({}), 10_000);
});
