import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '#services/platform/process/log.ts';

/**
 * Frees the jobs of dead queue runners. graphile-worker marks a job with the id of its runner and leaves the
 * jobs of a killed runner marked for hours. Here every runner holds a session advisory lock named by its
 * id, which Postgres releases as soon as its process or connection ends. Jobs whose runner's lock is free
 * are freed. One connection per process holds the locks of all its runners.
 *
 * A job of a living runner may be lost, too: when Postgres dies between taking a job and the reply, or
 * between a job's end and the statement that removes it. So each process also frees jobs of its own
 * runners that it is not working on.
 *
 * A queue is locked with its job. When a runner that was presumed dead ends a job that another has taken
 * over, the job is gone and the queue stays locked by the other. So a queue is freed like a job.
 *
 * Both must last for `settleMs`: a lock is free for a moment while its holder reconnects, as all do after a
 * restart of Postgres, and a reply may be on its way.
 */
export type JobLocks = {
  hold(runnerId: string): void;
  release(runnerId: string): void;
  /** A job is under way until it has ended. `queueId` is null for a job without a queue. */
  began(jobId: string, queueId: number | null): void;
  ended(jobId: string): void;
  close(): Promise<void>;
};

export const lockLimits = {
  /** How often jobs are checked whose worker may be gone. */
  sweepEveryMs: 10_000,
  /** How long a free lock, or a job without a worker, must last before it counts. */
  settleMs: 3_000,
  reconnectMs: 250,
  /** For one statement of the session that holds the locks, and for opening it. */
  sessionTimeoutMs: 10_000,
} as const;

type JobLocksOptions = { url: string; log: Log; sweepEveryMs?: number; settleMs?: number };

export function startJobLocks(options: JobLocksOptions): JobLocks {
  const { url, log } = options;
  const { sweepEveryMs = lockLimits.sweepEveryMs, settleMs = lockLimits.settleMs } = options;
  const mine = new Set<string>();
  /** Queue by job. */
  const underWay = new Map<string, number | null>();
  const stopping = new AbortController();
  let isChanged = false;
  let wake: (() => void) | null = null;
  const change = () => {
    isChanged = true;
    wake?.();
  };

  const keep = async () => {
    while (!stopping.signal.aborted) {
      try {
        await inSession();
      } catch (error) {
        log.warn({ err: error }, 'The connection that holds the locks of jobs was lost');
      }
      await pause(lockLimits.reconnectMs);
    }
  };

  const inSession = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'sevenfold job locks',
      connectionTimeoutMillis: lockLimits.sessionTimeoutMs,
      // The next check notices a connection that was cut silently; TCP does not.
      query_timeout: lockLimits.sessionTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    const lost = new Promise<never>((_resolve, reject) => {
      client.on('error', reject);
      client.on('end', () => reject(new Error('ended')));
    });
    lost.catch(() => {});
    try {
      await client.connect();
      const held = new Set<string>();
      let suspects: Suspects = new Map();
      while (!stopping.signal.aborted) {
        isChanged = false;
        await Promise.race([holdAll(client, held), lost]);
        suspects = await Promise.race([check(client, suspects), lost]);
        const nextMs = suspects.size > 0 ? settleMs : sweepEveryMs;
        await Promise.race([pause(nextMs), lost]);
      }
    } finally {
      await client.end().catch(() => {});
    }
  };

  const holdAll = async (client: pg.Client, held: Set<string>) => {
    for (const id of mine)
      if (!held.has(id)) {
        await client.query(`select pg_advisory_lock(${lockName})`, [id]);
        held.add(id);
      }
    for (const id of held)
      if (!mine.has(id)) {
        await client.query(`select pg_advisory_unlock(${lockName})`, [id]);
        held.delete(id);
      }
  };

  /** Frees jobs that have seemed lost for long enough, and returns those that seem lost now. */
  const check = async (client: pg.Client, before: Suspects): Promise<Suspects> => {
    const { rows } = await client.query<{ id: string | null; queue: number; runner: string }>(
      `select id::text, job_queue_id as queue, locked_by as runner
       from graphile_worker._private_jobs where locked_by is not null
       union all
       select null, queue.id, queue.locked_by
       from graphile_worker._private_job_queues queue where ${isWithoutJob}`,
    );
    const now = performance.now();
    const suspects: Suspects = new Map();
    const isBelieved = (key: string) => {
      const since = before.get(key) ?? now;
      const believed = now - since >= settleMs;
      if (!believed) suspects.set(key, since);
      return believed;
    };
    for (const runner of new Set(rows.map((row) => row.runner)))
      if (!mine.has(runner)) await freeWhenDead(client, runner, isBelieved);
    const own = rows.filter((row) => mine.has(row.runner));
    const jobs = own
      .flatMap(({ id }) => (id === null || underWay.has(id) ? [] : [id]))
      .filter((id) => isBelieved(`job ${id}`));
    if (jobs.length > 0) await freeJobs(client, jobs);
    const busy = new Set(underWay.values());
    const queues = own
      .flatMap(({ id, queue }) => (id !== null || busy.has(queue) ? [] : [queue]))
      .filter((queue) => isBelieved(`queue ${queue}`));
    if (queues.length > 0) await freeQueues(client, queues);
    return suspects;
  };

  const freeWhenDead = async (
    client: pg.Client,
    runner: string,
    isBelieved: (key: string) => boolean,
  ) => {
    const { rows } = await client.query<{ free: boolean }>(
      `select pg_try_advisory_lock(${lockName}) as free`,
      [runner],
    );
    if (rows[0]?.free !== true) return;
    if (isBelieved(`runner ${runner}`)) {
      await client.query('select graphile_worker.force_unlock_workers(array[$1])', [runner]);
      log.warn({ reason: 'their worker is gone' }, 'Freed jobs');
    }
    await client.query(`select pg_advisory_unlock(${lockName})`, [runner]);
  };

  const freeJobs = async (client: pg.Client, jobs: readonly string[]) => {
    const { rowCount } = await client.query(
      `with freed as (
         update graphile_worker._private_jobs set locked_by = null, locked_at = null
         where id = any($1::bigint[]) and locked_by = any($2)
         returning job_queue_id),
       queues as (
         update graphile_worker._private_job_queues set locked_by = null, locked_at = null
         where id in (select job_queue_id from freed) and locked_by = any($2))
       select from freed`,
      [jobs, [...mine]],
    );
    log.warn({ reason: 'their worker does not run them', count: rowCount ?? 0 }, 'Freed jobs');
  };

  const freeQueues = async (client: pg.Client, queues: readonly number[]) => {
    const { rowCount } = await client.query(
      `update graphile_worker._private_job_queues queue set locked_by = null, locked_at = null
       where id = any($1::int[]) and locked_by = any($2) and ${isWithoutJob}`,
      [queues, [...mine]],
    );
    log.warn({ reason: 'no job holds them', count: rowCount ?? 0 }, 'Freed job queues');
  };

  /** Ends early when a runner starts or ends, or has done so since the last check. */
  const pause = async (ms: number) => {
    if (isChanged) return;
    const early = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const timer = sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});
    await Promise.race([timer, early]);
  };

  const running = keep();
  return {
    hold(runnerId) {
      mine.add(runnerId);
      change();
    },
    release(runnerId) {
      mine.delete(runnerId);
      change();
    },
    began: (jobId, queueId) => void underWay.set(jobId, queueId),
    ended: (jobId) => void underWay.delete(jobId),
    async close() {
      stopping.abort();
      await running;
    },
  };
}

/** Of a queue's row: it is locked, and no job of it is. */
const isWithoutJob = `queue.locked_by is not null and not exists (
  select from graphile_worker._private_jobs job
  where job.job_queue_id = queue.id and job.locked_by = queue.locked_by)`;

/** Runners, jobs and queues that seem lost, and since when (`performance.now()`). */
type Suspects = Map<string, number>;

/** 64 bits of the id's hash; the prefix separates it from other locks. */
const lockName = `hashtextextended('sevenfold worker ' || $1::text, 7)`;
