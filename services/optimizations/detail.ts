import type pg from 'pg';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from './reading/describe.ts';
import { withTicks } from './reading/next-steps.ts';
import { withProgress } from './reading/read-run.ts';
import { withRefinements } from './refinement/facts.ts';

type DetailDependencies = Parameters<typeof withRefinements>[0] & {
  pool: pg.Pool;
  clock: () => number;
};

/** A run as its page shows it; null where there is none, or it is deleted. */
export async function readDetail(
  dependencies: DetailDependencies,
  runId: string,
): Promise<Optimization | null> {
  const { pool, readRun, clock } = dependencies;
  const run = await readRun(runId);
  if (run === null || run.state.stage === 'none' || run.view.hidden) return null;
  const view = await withProgress(pool, run.view);
  const shown = await withRefinements(dependencies, run.state.userId, view);
  return withTicks(pool, describeRun(shown, clock()));
}
