import type pg from 'pg';
import {
  newestDecisions,
  newestRuns,
  readChain,
  readEndings,
} from '#projections/optimization-list.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { searchable } from '#services/optimizations/reading/list.ts';
import { withTicks } from '#services/optimizations/reading/next-steps.ts';
import type { ReadRun } from '#services/optimizations/reading/read-run.ts';
import { divergencesOf } from '#services/optimizations/reading/words/doubts.ts';
import { headingWords, stepFacts } from '#services/optimizations/reading/words/result.ts';
import { dashboardLimits } from '#services/optimizations/contract/dashboard.ts';
import type { Brief, BriefRun } from '#services/optimizations/contract/dashboard.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { isCompetitive } from './competitive.ts';

/** What a person decided lately, from stored results: no model is called and nothing is charged. */

export type BriefDependencies = {
  pool: pg.Pool;
  sealer: Pick<Sealer, 'open'>;
  readRun: ReadRun;
  clock: () => number;
};

export async function readBrief(dependencies: BriefDependencies, userId: string): Promise<Brief> {
  const { briefDays, briefRuns } = dashboardLimits;
  const now = dependencies.clock();
  const to = new Date(now).toISOString();
  const from = new Date(now - briefDays * 86_400_000).toISOString();
  const period = { from, to };
  const endings = await readEndings(dependencies.pool, userId, period);
  const { ids, total } = await newestDecisions(dependencies.pool, userId, period, briefRuns);
  const runs: BriefRun[] = [];
  // One after the other: each opens many texts, and other calls wait for the same process.
  for (const id of ids) {
    const run = await readDecision(dependencies, id);
    if (run !== null) runs.push(run);
  }
  return { ...period, runs, left_out: total - runs.length, ...endings };
}

/** The newest decision about competitors, of the runs that are searched; null without one. */
export async function readCompetitive(
  dependencies: BriefDependencies,
  userId: string,
): Promise<BriefRun | null> {
  const { pool, sealer } = dependencies;
  const rows = await newestRuns(pool, userId, {
    status: 'completed',
    strategy: null,
    sort: 'newest',
    most: dashboardLimits.searchedRuns,
  });
  for (const row of rows) {
    if (!isCompetitive(await searchable(sealer, row))) continue;
    const chain = await readChain(pool, row.run_id);
    const newest = chain?.refinements.findLast(({ status }) => status === 'completed');
    const run = await readDecision(dependencies, newest?.run_id ?? row.run_id);
    if (run !== null) return run;
  }
  return null;
}

/** Null for a run without a result, and for one whose texts cannot be read. */
export async function readDecision(
  { pool, readRun, clock }: BriefDependencies,
  runId: string,
): Promise<BriefRun | null> {
  const open = await readRun(runId).catch((error: unknown) => {
    if (error instanceof IntegrityError) return null;
    throw error;
  });
  if (open === null) return null;
  return decisionOf(await withTicks(pool, describeRun(open.view, clock())));
}

function decisionOf(run: Optimization): BriefRun | null {
  const { result, ended_at: endedAt } = run;
  if (result === null || endedAt === null) return null;
  const { briefPoints } = dashboardLimits;
  const { bias } = run.evolution;
  // The vote in words already says how a decided question split.
  const open = (bias === null ? [] : divergencesOf(bias)).filter(
    ({ about }) => about !== 'decision' || result.heading === 'no_majority',
  );
  const consensus = bias?.consensus_points ?? [];
  return {
    id: run.id,
    title: run.title,
    ended_at: endedAt,
    outcome: headingWords(result),
    decision: result.decision,
    agreement_score: bias?.agreement_score ?? null,
    agreement_band: bias?.agreement_band ?? null,
    simulated: run.simulated,
    consensus: consensus.slice(0, briefPoints).map(({ text }) => text),
    consensus_total: consensus.length,
    open: open.slice(0, briefPoints).map(({ text, settled_by }) => ({ text, settled_by })),
    open_total: open.length,
    next_steps: result.next_steps
      .filter(({ done }) => !done)
      .map((step) => ({ action: step.action, facts: stepFacts(step, endedAt, 'en-US') })),
    credits: run.credits.charged,
  };
}
