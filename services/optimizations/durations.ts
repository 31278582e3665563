import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { readDurations } from '#projections/optimization-list.ts';
import type { RunDurations } from '#projections/optimization-list.ts';

/** How long runs took here, so that a duration is shown only once it was measured. */
export type ReadDurations = () => Promise<readonly RunDurations[]>;

/** Read at most once a minute: every look at the form asks for them. */
export function createReadDurations({
  pool,
  clock,
}: {
  pool: pg.Pool;
  clock: () => number;
}): ReadDurations {
  const measured = new LRUCache<'all', readonly RunDurations[]>({
    max: 1,
    ttl: 60_000,
    fetchMethod: async () => {
      const since = new Date(clock() - measuredDays * dayMs).toISOString();
      return readDurations(pool, { since, least: leastRuns });
    },
  });
  return async () => measured.forceFetch('all');
}

const measuredDays = 90;
const dayMs = 86_400_000;

/** Fewer runs say too little of the next one. */
const leastRuns = 20;
