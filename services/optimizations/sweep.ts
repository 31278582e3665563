import type pg from 'pg';
import { runsUnderway } from '#projections/optimization-list.ts';
import type { Log } from '#services/platform/process/log.ts';
import { forgetJob, owedJobs } from './run/reactions.ts';
import { discardDraft, issue } from './commands.ts';
import { addJob } from './tasks.ts';
import type { OptimizationDependencies } from './tasks.ts';

/**
 * Sweeps runs whose jobs have gone missing: a job that failed for good, or a queue that was restored
 * without them. It issues a nudge to the run, and adds every missing job that the run's state
 * owes, under the same keys. A refinement that never started is cancelled: one call creates and starts
 * it, so its process died between the two, and a draft would keep the next refinement waiting.
 */
export async function sweepRuns(dependencies: NudgeDependencies & { log: Log }): Promise<number> {
  const { pool, clock, log } = dependencies;
  const before = new Date(clock() - settledInMs).toISOString();
  const runs = await runsUnderway(pool, before);
  let added = 0;
  for (const runId of runs) added += await nudge(dependencies, runId);
  if (added > 0) log.warn({ count: added }, 'Jobs of runs had gone missing and were added again');
  await pool.query(`delete from live_text where changed < now() - make_interval(secs => $1)`, [
    forgottenTextSeconds,
  ]);
  return added;
}

/** A younger run is skipped: its jobs are being made. */
const settledInMs = 30_000;
const forgottenTextSeconds = 900;

/**
 * Finds deleted runs that still have the key of their texts but no job to erase them, and adds the
 * job. Each run already had one, so a missing job is rare and the sweep is, too.
 *
 * @returns how many jobs were added
 */
export async function sweepHidden({
  pool,
  readState,
  log,
}: Pick<OptimizationDependencies, 'pool' | 'readState' | 'log'>): Promise<number> {
  let added = 0;
  for (let after: string | null = ''; after !== null;) {
    const { rows }: { rows: { run_id: string }[] } = await pool.query(
      `select run_id from optimization_list join data_key on key_id = run_id
       where hidden and run_id > $1 and not exists (
         select from graphile_worker.jobs
         where key = run_id || ':forget' and (attempts < max_attempts or locked_at is not null))
       order by run_id limit $2`,
      [after, hiddenAtOnce],
    );
    for (const { run_id: runId } of rows) {
      const state = await readState(runId);
      // One that was restored since owes nothing.
      if (!('hiddenAt' in state) || state.hiddenAt === null) continue;
      await addJob(pool, forgetJob(runId, state.hiddenAt));
      added += 1;
    }
    after = rows.length < hiddenAtOnce ? null : (rows.at(-1)?.run_id ?? null);
  }
  if (added > 0) log.warn({ count: added }, 'Deleted runs had no job to erase them; now they do');
  return added;
}

const hiddenAtOnce = 1_000;

type NudgeDependencies = Pick<OptimizationDependencies, 'pool' | 'bus' | 'readState' | 'clock'>;

async function nudge(dependencies: NudgeDependencies, runId: string): Promise<number> {
  const { pool, readState, clock } = dependencies;
  const state = await readState(runId);
  if (state.stage === 'draft' && state.refines !== undefined) {
    await discardDraft(dependencies, runId);
    return 0;
  }
  const missing = await withoutJob(pool, owedJobs(runId, state));
  if (missing.length === 0) return 0;
  const now = new Date(clock()).toISOString();
  const after = await issue(dependencies, runId, { type: 'Nudge', now }, ['nudge', now]);
  // The nudge enqueued the jobs of its own events; the rest is owed as before.
  const owed = new Set(owedJobs(runId, after.state).map((job) => job.key));
  const again = missing.filter((job) => owed.has(job.key));
  for (const job of again) await addJob(pool, job);
  return again.length;
}

/** A job that has used up its attempts counts as missing. */
async function withoutJob<Job extends { key: string }>(
  pool: pg.Pool,
  jobs: readonly Job[],
): Promise<Job[]> {
  const { rows } = await pool.query<{ key: string }>(
    `select key from graphile_worker.jobs
     where key = any($1) and (attempts < max_attempts or locked_at is not null)`,
    [jobs.map((job) => job.key)],
  );
  const known = new Set(rows.map((row) => row.key));
  return jobs.filter((job) => !known.has(job.key));
}
