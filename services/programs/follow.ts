import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { shownRun } from '#projections/optimization-list.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { isOpenStatus } from '#services/optimizations/contract/summary.ts';

/** How often a followed run is looked up: one row by its id. */
const pollMs = 500;

/** A run that changes quickly is read in full at most this often. */
const readEveryMs = 2_000;

export type FollowDependencies = {
  pool: pg.Pool;
  /** Null where there is none, or it is deleted. */
  readDetail: (runId: string) => Promise<Optimization | null>;
};

/**
 * The run whenever it has changed, last as it ended; nothing for one that does not exist. Ends early when
 * `signal` aborts or the run is deleted.
 */
export async function* followRun(
  { pool, readDetail }: FollowDependencies,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<Optimization> {
  let version = -1;
  let readAt = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const standing = await shownRun(pool, runId);
    if (standing === null) return;
    const hasEnded = !isOpenStatus(standing.status);
    const isDue = performance.now() - readAt >= readEveryMs;
    if (hasEnded || (standing.version !== version && isDue)) {
      version = standing.version;
      readAt = performance.now();
      const run = await readDetail(runId);
      if (run === null) return;
      yield run;
      if (hasEnded) return;
    }
    await sleep(pollMs, null, { signal }).catch(() => null);
  }
}
