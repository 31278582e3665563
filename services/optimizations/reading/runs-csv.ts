import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { csvFile } from '#services/platform/csv.ts';
import { strategyName } from './words/names.ts';
import { runStatusWords } from './words/status.ts';

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
