import type { Queryable } from '#db/connect.ts';
import { newestRuns, readRunPage } from '#projections/optimization-list.ts';
import type { RootRow, RunChoice, RunRow } from '#projections/optimization-list.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { OptimizationList } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { RunsQuery } from '#services/optimizations/contract/requests.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { averageProgress, settlementOf, stageProgress } from './describe.ts';
import { erased } from './texts.ts';
import { outcomeOf } from './words/result.ts';

/** A person's runs as lists show them: the rows of the read model, with their two texts opened. */
type ListDependencies = { pool: Queryable; sealer: Pick<Sealer, 'open'> };

/** Which runs, in which order, and which page of them. */
type RunPage = Omit<RunsQuery, 'limit' | 'format'> & { limit: number };

export async function listRuns(
  dependencies: ListDependencies,
  userId: string,
  query: RunPage,
): Promise<OptimizationList> {
  const { page, limit, q } = query;
  const offset = (page - 1) * limit;
  const choice = {
    status: query.status ?? null,
    strategy: query.strategy ?? null,
    sort: query.sort,
  };
  const found = q === '' ? null : await searchRuns(dependencies, userId, choice, q);
  const { rows, total } = found
    ? { rows: found.slice(offset, offset + limit), total: found.length }
    : await readRunPage(dependencies.pool, userId, { ...choice, offset, limit });
  return {
    data: await aFewAtOnce(rows, async (row) => ({
      ...(await describeRow(dependencies.sealer, row)),
      refinements: row.refinements,
      newest_outcome: row.newest && outcomeOf(row.newest.heading, row.newest, row.newest.best_seat),
      running_refinement_id: row.open_refinement,
    })),
    pagination: { page, limit, total, total_pages: Math.ceil(total / limit) },
  };
}

/**
 * Titles and questions are sealed, so no database can search them: they are opened a few at a time,
 * of a person's newest runs, and nothing of them is kept.
 */
async function searchRuns(
  { pool, sealer }: ListDependencies,
  userId: string,
  choice: RunChoice & { sort: RunsQuery['sort'] },
  q: string,
): Promise<RootRow[]> {
  const words = plain(q).split(/\s+/);
  const rows = await newestRuns(pool, userId, { ...choice, most: optimizationLimits.searchedRuns });
  const texts = await aFewAtOnce(rows, async (row) => searchable(sealer, row));
  return rows.filter((_, index) => words.every((word) => texts[index]?.includes(word)));
}

/** Other calls wait for the same connections. */
async function aFewAtOnce<Read>(
  rows: readonly RootRow[],
  open: (row: RootRow) => Promise<Read>,
): Promise<Read[]> {
  const all: Read[] = [];
  for (let at = 0; at < rows.length; at += openedAtOnce)
    all.push(...(await Promise.all(rows.slice(at, at + openedAtOnce).map(open))));
  return all;
}

const openedAtOnce = 100;

/** Title and question of a run in lower case; empty where they were erased or damaged. */
export async function searchable(
  sealer: ListDependencies['sealer'],
  { run_id, title, challenge }: Pick<RunRow, 'run_id' | 'title' | 'challenge'>,
): Promise<string> {
  const stream = streamOf(run_id);
  const all = await Promise.all([
    readable(sealer, stream, 'title', title),
    readable(sealer, stream, 'challenge', challenge),
  ]);
  return plain(all.join('\n'));
}

/** In lower case and one Unicode form. */
function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Empty where the text was erased or damaged. */
async function readable(
  sealer: ListDependencies['sealer'],
  stream: string,
  field: string,
  sealed: string,
): Promise<string> {
  const found = await sealer.open(sealed, { stream, field }).catch(nullWhenDamaged);
  return found !== null && 'text' in found ? found.text : '';
}

export async function describeRow(
  sealer: ListDependencies['sealer'],
  row: RunRow,
): Promise<OptimizationSummary> {
  const stream = streamOf(row.run_id);
  const [title, challenge] = await Promise.all([
    opened(sealer, stream, 'title', row.title),
    opened(sealer, stream, 'challenge', row.challenge),
  ]);
  return summaryOf(row, { title, challenge });
}

/** The row's figures as `summarize` finds them in the run itself. */
export function summaryOf(
  row: RunRow,
  { title, challenge }: { title: string; challenge: string },
): OptimizationSummary {
  const isClosed = row.stage === 'closed';
  const hasEnded = isClosed || row.stage === 'settling';
  const isCancelledDraft = row.status === 'cancelled' && row.started_at === null;
  return {
    id: row.run_id,
    title,
    description: challenge.slice(0, 200),
    status: row.status,
    strategy: row.strategy,
    challenge_type: row.challenge_type,
    progress: progressOf(row),
    agreement_score: row.agreement_score,
    confidence_score: row.decision_share,
    votes_for: row.votes_for,
    votes_total: row.votes_total,
    outcome: outcomeOf(isClosed ? row.heading : null, row, row.best_seat),
    cost: row.cost_micros === null ? null : row.cost_micros / 1_000_000,
    // While it runs, no cost is missing for good.
    cost_is_minimum: hasEnded && row.unpriced_calls > 0,
    credits: {
      price: row.price,
      reserved: isClosed || row.stage === 'draft' ? 0 : row.price,
      charged: row.captured === null ? null : row.captured - (row.refunded ?? 0),
      refunded: row.refunded,
      settlement: isCancelledDraft ? 'none' : settlementOf(row.stage),
    },
    simulated: row.simulated_seats > 0,
    simulated_seats: row.simulated_seats,
    root_id: row.root_id,
    refinement_number: row.refinement,
    created_at: row.created_at,
    createdAt: row.created_at,
    ended_at: row.ended_at,
  };
}

function progressOf(row: RunRow): number {
  const { stage, seats, missing_seats: missing, answered, root_id: root } = row;
  // The whole table waits for one draft, and no other stage for a seat that dropped out.
  const done = stage === 'synthesis' ? (answered > 0 ? seats : 0) : missing + answered;
  return averageProgress(
    stage,
    Array.from({ length: seats }, (_, index) =>
      stageProgress(stage, { isAnswered: index < done, streamed: 0, isRefinement: root !== null }),
    ),
  );
}

async function opened(
  sealer: ListDependencies['sealer'],
  stream: string,
  field: string,
  sealed: string,
): Promise<string> {
  const found = await sealer.open(sealed, { stream, field }).catch(nullWhenDamaged);
  if (found === null) return unreadable;
  return 'erased' in found ? erased : found.text;
}

/** One damaged text must not break the whole list. */
function nullWhenDamaged(error: unknown): null {
  if (error instanceof IntegrityError) return null;
  throw error;
}

const unreadable = 'Unreadable';
