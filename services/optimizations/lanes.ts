import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { longestRunMs } from '#services/models/strategies.ts';
import { hours, lanesOf, measuredSeconds, waitMs } from '#services/models/waiting.ts';
import type { Endpoint, Lanes } from '#services/models/waiting.ts';
import { Problem } from '#services/platform/problem.ts';
import { callsLeft } from './run/lanes.ts';
import type { Schedule } from './run/events.ts';
import type { RunState } from './run/state.ts';

/** What the database says of lanes: how long calls took there, and which runs have them. */
export type ReadLanes = (providers: readonly string[]) => Promise<Lanes>;

/** The lanes among providers, each with the seconds that were measured here; read once a minute. */
export function createReadLanes({
  pool,
  clock,
  endpoints,
}: {
  pool: pg.Pool;
  clock: () => number;
  endpoints: readonly Endpoint[];
}): ReadLanes {
  const measured = new LRUCache<string, { seconds: number | null }>({
    max: 100,
    ttl: 60_000,
    fetchMethod: async (provider) => {
      const since = new Date(clock() - measuredDays * dayMs).toISOString();
      return { seconds: measuredSeconds(await readLatencies(pool, provider, since)) };
    },
  });
  return async (providers) => {
    const lanes = Object.entries(lanesOf(providers, endpoints)).map(async ([provider, lane]) => {
      const { seconds } = await measured.forceFetch(provider);
      return [provider, { ...lane, secondsPerCall: seconds ?? lane.secondsPerCall }] as const;
    });
    return Object.fromEntries(await Promise.all(lanes));
  };
}

const measuredDays = 90;
const dayMs = 86_400_000;

/**
 * Milliseconds of the calls that a provider's models answered, in the latest runs with real models.
 *
 * @param since when the earliest run began, ISO 8601 UTC
 */
export async function readLatencies(
  client: Queryable,
  provider: string,
  since: string,
): Promise<number[]> {
  const { rows } = await client.query<{ latency: number }>(
    `with run as materialized (
       select 'optimization-' || run_id as stream_id from optimization_list
       where started_at >= $2 and simulated_seats < seats
       order by started_at desc limit $3
     ), call as materialized (
       select run.stream_id, event.*
       from run cross join lateral (
         select m.message_type as type, m.message_data as data, m.message_data ->> 'slot' as slot,
           m.message_data ->> 'attempt' as attempt
         from emt_messages m
         where m.stream_id = run.stream_id and m.is_archived = false
           and m.message_type in ('CallStarted', 'CallSucceeded')
         -- Keeps the planner from reading all events.
         offset 0
       ) event
     )
     select (ended.data ->> 'latencyMs')::float8 as latency
     from call began join call ended using (stream_id, slot, attempt)
     where began.type = 'CallStarted' and began.data ->> 'provider' = $1
       and began.data ->> 'simulated' = 'false' and ended.type = 'CallSucceeded'`,
    [provider, since, measuredRuns],
  );
  return rows.map(({ latency }) => latency);
}

/** Calls of a run are found by its stream, so the runs are bounded. */
const measuredRuns = 200;

/**
 * How long the runs under way may still have the lanes that a run needs, in milliseconds.
 *
 * @param lanes of the run that begins now
 */
export function waitBehind(lanes: Lanes, underWay: readonly RunState[]): number {
  const calls: Record<string, number> = {};
  for (const state of underWay)
    for (const [provider, count] of Object.entries(callsLeft(state)))
      calls[provider] = (calls[provider] ?? 0) + count;
  return waitMs(calls, lanes);
}

/** Milliseconds that the runs under way may still have the lanes of a run that begins now. */
export async function readWait(pool: pg.Pool, { lanes }: Pick<Schedule, 'lanes'>): Promise<number> {
  if (lanes === undefined) return 0;
  const { rows } = await pool.query<{ state: RunState }>(
    `select snapshot.state from optimization_list run
     join stream_snapshot snapshot on snapshot.stream_id = 'optimization-' || run.run_id
     where run.status = 'processing' and snapshot.state #> '{schedule,lanes}' ?| $1`,
    [Object.keys(lanes)],
  );
  return waitBehind(
    lanes,
    rows.map((row) => row.state),
  );
}

/** Whether a run under way calls models of a provider with lanes. */
export async function isLaneTaken(pool: pg.Pool, provider: string): Promise<boolean> {
  const { rows } = await pool.query(
    `select from optimization_list run
     join stream_snapshot snapshot on snapshot.stream_id = 'optimization-' || run.run_id
     where run.status = 'processing' and snapshot.state #> '{schedule,lanes}' ? $1
     limit 1`,
    [provider],
  );
  return rows.length > 0;
}

/** @throws Problem 503 `busy` when runs that began before would keep this one waiting too long */
export async function refuseLongWait(pool: pg.Pool, schedule: Schedule): Promise<void> {
  const behindMs = await readWait(pool, schedule);
  const overMs = behindMs + schedule.deadlinesMs.run - longestRunMs;
  if (behindMs > 0 && overMs > 0)
    throw new Problem(
      'busy',
      `Other runs may need the same models for ${hours(behindMs)}. Start this one later; nothing was charged.`,
      { retryAfterSeconds: Math.ceil(overMs / 1000) },
    );
}
