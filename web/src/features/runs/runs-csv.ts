import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { ListedRun } from '#services/optimizations/contract/run.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { readPage } from '#web/api/api.ts';
import { strategyName } from '#web/run/words.ts';
import { csvFile } from '#services/platform/csv.ts';
import type { RunChoice } from './queries.ts';

export const mostRunsOfFile = 1000;

/** The runs that a filter leaves, in its order: at most `mostRunsOfFile`, of `total`. */
export async function readRuns(choice: RunChoice): Promise<{ runs: ListedRun[]; total: number }> {
  const limit = optimizationLimits.pageSizeMost;
  const runs = new Map<string, ListedRun>();
  for (let page = 1; ; page += 1) {
    const query = { ...choice, page, limit };
    const { data, pagination } = await readPage('/optimizations', ListedRun, { query });
    // A run that begins meanwhile moves others to the next page.
    for (const run of data) runs.set(run.id, run);
    if (page >= pagination.total_pages || page * limit >= mostRunsOfFile)
      return { runs: [...runs.values()].slice(0, mostRunsOfFile), total: pagination.total };
  }
}

const columns = [
  'id',
  'title',
  'status',
  'outcome',
  'votes_for',
  'votes_total',
  'agreement_score',
  'strategy',
  'price',
  'charged',
  'refunded',
  'model_cost_usd',
  'refinements',
  'newest_refinement',
  'simulated',
  'created_at',
  'ended_at',
];

/** Status and outcome in the words of the list, amounts in credits. */
export function runsCsv(runs: readonly ListedRun[]): string {
  return csvFile([columns, ...runs.map(cellsOf)]);
}

function cellsOf(run: ListedRun): (string | number | null)[] {
  const { credits } = run;
  return [
    run.id,
    run.title,
    runStatusWords[run.status],
    run.outcome,
    run.votes_for,
    run.votes_total,
    run.agreement_score,
    strategyName(run.strategy),
    credits.price,
    credits.charged,
    credits.refunded,
    run.cost,
    run.refinements,
    run.newest_outcome,
    run.simulated ? 'yes' : 'no',
    run.created_at,
    run.ended_at,
  ];
}
