import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { workerLimits } from './limits.ts';
import type { Log } from './log.ts';

/**
 * Tells dead workers from living ones. graphile-worker leaves the jobs of a killed worker locked for
 * hours; here every worker holds a session advisory lock named by its id, which Postgres gives back
 * the moment its process or connection is gone, whatever the clocks say. Jobs whose worker's lock is
 * free are freed. One connection per process holds the locks of all its workers.
 */
export type JobLocks = {
  hold(workerId: string): void;
  release(workerId: string): void;
  close(): Promise<void>;
};

export function startJobLocks(options: { url: string; log: Log; sweepEveryMs?: number }): JobLocks {
  const { url, log, sweepEveryMs = workerLimits.sweepEveryMs } = options;
  const mine = new Set<string>();
  const stopping = new AbortController();
  let changed: (() => void) | null = null;

  const keep = async () => {
    while (!stopping.signal.aborted) {
      try {
        await inSession();
      } catch (error) {
        log.warn({ err: error }, 'The connection that holds the locks of jobs was lost');
      }
      await pause(workerLimits.reconnectMs);
    }
  };

  const inSession = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'sevenfold job locks',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    const lost = new Promise<never>((_resolve, reject) => {
      client.on('error', reject);
      client.on('end', () => reject(new Error('ended')));
    });
    lost.catch(() => {});
    await client.connect();
    try {
      const held = new Set<string>();
      const since = performance.now();
      while (!stopping.signal.aborted) {
        await Promise.race([holdAll(client, held), lost]);
        // After a restart of Postgres the others need a moment to take their locks again.
        if (performance.now() - since > workerLimits.settleMs)
          await Promise.race([freeDead(client), lost]);
        await Promise.race([pause(sweepEveryMs), lost]);
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

  const freeDead = async (client: pg.Client) => {
    const { rows } = await client.query<{ worker: string }>(
      `select distinct locked_by as worker from graphile_worker._private_jobs
       where locked_by is not null and not locked_by = any($1)
         and locked_at < now() - make_interval(secs => $2)`,
      [[...mine], workerLimits.settleMs / 1000],
    );
    for (const { worker } of rows) {
      const { rows: tried } = await client.query<{ free: boolean }>(
        `select pg_try_advisory_lock(${lockName}) as free`,
        [worker],
      );
      if (tried[0]?.free !== true) continue;
      await client.query('select graphile_worker.force_unlock_workers(array[$1])', [worker]);
      await client.query(`select pg_advisory_unlock(${lockName})`, [worker]);
      log.warn({ reason: 'its worker is gone' }, 'Freed the jobs of a worker');
    }
  };

  /** Ends early when a worker comes or goes. */
  const pause = async (ms: number) => {
    const early = new Promise<void>((resolve) => {
      changed = resolve;
    });
    const timer = sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});
    await Promise.race([timer, early]);
  };

  const running = keep();
  return {
    hold(workerId) {
      mine.add(workerId);
      changed?.();
    },
    release(workerId) {
      mine.delete(workerId);
      changed?.();
    },
    async close() {
      stopping.abort();
      await running;
    },
  };
}

/** 64 bits of the id's hash, in a space of its own by the prefix. */
const lockName = `hashtextextended('sevenfold worker ' || $1::text, 7)`;
