import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { costSince, newestRuns, ownerOfRun, readRunPage } from '#projections/optimization-list.ts';
import type { RunChoice, RunRow } from '#projections/optimization-list.ts';
import type { Ledger, Price } from '#services/credits/ledger/ledger.ts';
import { strategies } from '#services/models/strategies.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { notFound } from '#services/platform/http/http.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import { idPattern, newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { ErasedKeyError, IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { optimizationEndpoints, optimizationLimits } from './contract.ts';
import type { Optimization, OptimizationList, OptimizationSummary, RunsQuery } from './contract.ts';
import { createCommand, describeStrategy, estimate, knownStrategy } from './create.ts';
import type { Seating } from './create.ts';
import type { OptimizationEvent } from './run/events.ts';
import { optimization } from './run/optimization.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import type { RunState } from './run/state.ts';
import type { OpenRun, ReadRun } from './reading/read-run.ts';
import { issue, startRun } from './commands.ts';
import { describeRun, erased, summarize } from './reading/describe.ts';
import { withStreamed } from './reading/view.ts';
import type { RunView } from './reading/view.ts';
import { streamOf } from './run/events.ts';
import { usageHandlers } from './usage.ts';
import type { UsageDependencies } from './usage.ts';

export type OptimizationRouteDependencies = Seating & {
  pool: pg.Pool;
  bus: CommandBus;
  ledger: Ledger;
  readRun: ReadRun;
  /** Counts a run for the recipe that it was begun from. */
  recordRecipeUse: (use: { recipeId: string; runId: string; userId: string }) => Promise<void>;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  monthlyLimitOf: (userId: string) => Promise<number>;
  /** What models may cost a day, over all people; null is no limit. */
  dailyCostLimitUsd: number | null;
  sealer: Sealer;
  rateLimits: RateLimits;
  clock: () => number;
};

export function optimizationRoutes(
  dependencies: OptimizationRouteDependencies & UsageDependencies & ServeDependencies,
) {
  const { pool, sealer, registry, clock, rateLimits } = dependencies;
  const takeTurn = async (userId: string) => rateLimits.take('run-changes', userId, { userId });
  const texts = {
    sealer,
    afterErasure: async (runId: string) => detail(dependencies, runId),
  };
  return serve(
    optimizationEndpoints,
    {
      ...usageHandlers(dependencies),
      'GET /optimizations/strategies': () => ({
        strategies: strategies.map((strategy) => describeStrategy(registry, strategy)),
      }),
      'POST /optimizations/estimate': ({ body }) => ({
        estimate: estimate(registry, body, isoNow(clock)),
      }),
      'GET /optimizations': async ({ userId, query }) => listRuns(dependencies, userId, query),
      'POST /optimizations': async ({ userId, body }) => {
        if (body.retry_of !== undefined) await ownRun(dependencies, userId, body.retry_of);
        return {
          newResourceId: () => newId('opt', clock()),
          texts,
          work: async ({ resourceId: runId, commandId, fingerprint }) => {
            // A draft costs nothing and stays: without a limit one person could fill the disk.
            await rateLimits.take('drafts', userId, { userId });
            const draft = { runId, userId, now: clock() };
            const command = await createCommand(dependencies, sealer, draft, body);
            await dependencies.bus.execute<RunState, OptimizationCommand, OptimizationEvent>(
              optimization,
              {
                streamId: streamOf(runId),
                command,
                commandId,
                fingerprint,
                actor: userId,
                correlationId: runId,
              },
              'http',
            );
            if (body.recipe_id !== undefined)
              await dependencies.recordRecipeUse({ recipeId: body.recipe_id, runId, userId });
            return detail(dependencies, runId);
          },
        };
      },
      'GET /optimizations/{id}': async ({ userId, path }) => {
        const { view } = await ownRun(dependencies, userId, path.id);
        return describeRun(await withProgress(pool, view), clock());
      },
      'PATCH /optimizations/{id}': async ({ userId, path, body }) => {
        const { runId, view } = await ownRun(dependencies, userId, path.id);
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            await takeTurn(userId);
            const title = await sealedTitle(sealer, runId, body.title);
            const same = view.title === body.title;
            await ask(dependencies, userId, runId, { type: 'Rename', title, same });
            return detail(dependencies, runId);
          },
        };
      },
      'DELETE /optimizations/{id}': async ({ userId, path }) => {
        const { runId } = await ownRun(dependencies, userId, path.id, 'hidden too');
        return {
          newResourceId: () => runId,
          work: async () => {
            await takeTurn(userId);
            await ask(dependencies, userId, runId, { type: 'Hide', now: isoNow(clock) });
            return { id: runId, deleted: true };
          },
        };
      },
      'POST /optimizations/{id}/restore': async ({ userId, path }) => {
        const { runId } = await ownRun(dependencies, userId, path.id, 'hidden too');
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            await takeTurn(userId);
            await ask(dependencies, userId, runId, { type: 'Restore', now: isoNow(clock) });
            return detail(dependencies, runId);
          },
        };
      },
      'POST /optimizations/{id}/process': async ({ userId, path }) => {
        const { runId, state } = await ownRun(dependencies, userId, path.id);
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            // A repeat for a run that has begun starts nothing and takes none of the turns of runs.
            if (state.stage === 'draft') await rateLimits.take('runs', userId, { userId });
            else await takeTurn(userId);
            await processRun(dependencies, userId, runId, state);
            return detail(dependencies, runId);
          },
        };
      },
      'POST /optimizations/{id}/cancel': async ({ userId, path }) => {
        const { runId, state } = await ownRun(dependencies, userId, path.id);
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            // A running run can always be cancelled; to cancel one that has ended is a repeat.
            if (state.stage === 'settling' || state.stage === 'closed') await takeTurn(userId);
            await cancelRun(dependencies, runId);
            return detail(dependencies, runId);
          },
        };
      },
    },
    dependencies,
  );
}

/** Holds the price, then starts; the hold's own job starts it, too, should this process die between. */
export async function processRun(
  dependencies: StartDependencies & Pick<OptimizationRouteDependencies, 'bus' | 'registry'>,
  userId: string,
  runId: string,
  state: RunState,
): Promise<void> {
  if (state.stage === 'settling' || state.stage === 'closed')
    throw new Problem('concluded', 'The run has already ended.', {
      members: { outcome: state.outcome },
    });
  if (state.stage !== 'draft') return;
  const price = knownStrategy(state.strategy).credits;
  if (dependencies.clock() > Date.parse(state.priceUntil) && price !== state.price)
    throw new Problem(
      'price-changed',
      `The price of this strategy is now ${price} credits; it was ${state.price} when the run was created.`,
      { members: { price } },
    );
  const asked = await priceOfRun(dependencies, userId, state.price);
  if (asked instanceof Problem) throw asked;
  await dependencies.ledger.reserve({ ...asked, runId, actor: userId });
  await startRun(dependencies, runId, state, 'http');
}

/** What a run of this price, started now, would be refused with; null for nothing. */
export async function startRefusal(
  dependencies: StartDependencies,
  userId: string,
  credits: number,
): Promise<Problem | null> {
  const asked = await priceOfRun(dependencies, userId, credits);
  return asked instanceof Problem ? asked : dependencies.ledger.refusal(asked);
}

type StartDependencies = Pick<
  OptimizationRouteDependencies,
  'pool' | 'ledger' | 'clock' | 'monthlyLimitOf' | 'dailyCostLimitUsd'
>;

/**
 * What a run asks of the account; a Problem 503 `paused` until the next day (UTC) once today's models
 * have cost the limit.
 */
async function priceOfRun(
  { pool, clock, monthlyLimitOf, dailyCostLimitUsd }: StartDependencies,
  userId: string,
  credits: number,
): Promise<Price | Problem> {
  const now = clock();
  if (dailyCostLimitUsd !== null) {
    const midnight = Math.floor(now / dayMs) * dayMs;
    const spent = await costSince(pool, new Date(midnight).toISOString());
    if (spent >= dailyCostLimitUsd * 1_000_000)
      return new Problem(
        'paused',
        'No new runs can start today: the daily limit of this service is reached. Nothing was charged.',
        { retryAfterSeconds: Math.ceil((midnight + dayMs - now) / 1000) },
      );
  }
  const month = new Date(now).toISOString().slice(0, 7);
  return { userId, credits, month, limit: await monthlyLimitOf(userId) };
}

const dayMs = 86_400_000;

export async function cancelRun(
  dependencies: Pick<OptimizationRouteDependencies, 'bus' | 'clock'>,
  runId: string,
): Promise<void> {
  const now = isoNow(dependencies.clock);
  await issue(dependencies, runId, { type: 'Cancel', now }, ['cancel'], 'http');
}

/**
 * A command whose repeat finds nothing to do: what is hidden is not hidden again. Each has an id of
 * its own, because a run may be hidden, restored and hidden once more.
 */
async function ask(
  { bus }: Pick<OptimizationRouteDependencies, 'bus'>,
  userId: string,
  runId: string,
  command: OptimizationCommand,
): Promise<void> {
  const commandId = randomUUID();
  await bus.execute<RunState, OptimizationCommand, OptimizationEvent>(
    optimization,
    {
      streamId: streamOf(runId),
      command,
      commandId,
      fingerprint: commandId,
      actor: userId,
      correlationId: runId,
    },
    'http',
  );
}

async function sealedTitle(sealer: Sealer, runId: string, title: string): Promise<string> {
  try {
    return await sealer.seal(runId, { stream: streamOf(runId), field: 'title' }, title);
  } catch (error) {
    if (error instanceof ErasedKeyError) throw noSuchRun();
    throw error;
  }
}

function isoNow(clock: () => number): string {
  return new Date(clock()).toISOString();
}

/** @throws Problem 404, the same for a run that does not exist and for another person's */
async function ownRun(
  { pool, readRun }: Pick<OptimizationRouteDependencies, 'pool' | 'readRun'>,
  userId: string,
  runId: string,
  which: 'shown' | 'hidden too' = 'shown',
): Promise<OpenRun> {
  if (!idPattern('opt').test(runId)) throw noSuchRun();
  if ((await ownerOfRun(pool, runId)) !== userId) throw noSuchRun();
  const run = await readRun(runId);
  if (!run || (run.view.hidden && which === 'shown')) throw noSuchRun();
  return run;
}

const noSuchRun = () => notFound('Failed to get optimization');

async function detail(
  { readRun, clock }: Pick<OptimizationRouteDependencies, 'readRun' | 'clock'>,
  runId: string,
): Promise<Optimization> {
  const run = await readRun(runId);
  if (!run) throw noSuchRun();
  return describeRun(run.view, clock());
}

/** The view with how far the open attempts have come; a dead worker may leave text of others behind. */
export async function withProgress(client: Queryable, view: RunView): Promise<RunView> {
  if (view.stage === 'draft' || view.stage === 'closed') return view;
  const { rows } = await client.query<{ slot: string; attempt: number; progress: number }>(
    'select slot, attempt, progress from live_text where run_id = $1',
    [view.id],
  );
  const isOpen = ({ slot, attempt }: (typeof rows)[number]) =>
    view.calls[slot]?.attempts[attempt]?.status === 'open';
  return withStreamed(view, rows.filter(isOpen));
}

type ListDependencies = Pick<OptimizationRouteDependencies, 'sealer' | 'readRun'> & {
  pool: Queryable;
};

export async function listRuns(
  dependencies: ListDependencies,
  userId: string,
  query: RunsQuery,
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
    data: await Promise.all(rows.map((row) => describeRow(dependencies, row))),
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
): Promise<RunRow[]> {
  const words = plain(q).split(/\s+/);
  const rows = await newestRuns(pool, userId, { ...choice, most: optimizationLimits.searchedRuns });
  const found: RunRow[] = [];
  for (let at = 0; at < rows.length; at += openedAtOnce) {
    const some = rows.slice(at, at + openedAtOnce);
    const texts = await Promise.all(
      some.map(async ({ run_id, title, challenge }) => {
        const stream = streamOf(run_id);
        const all = await Promise.all([
          readable(sealer, stream, 'title', title),
          readable(sealer, stream, 'challenge', challenge),
        ]);
        return plain(all.join('\n'));
      }),
    );
    found.push(...some.filter((_, index) => words.every((word) => texts[index]?.includes(word))));
  }
  return found;
}

const openedAtOnce = 100;

/** Without case, and with one form of each letter. */
function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Nothing where the text was erased or damaged. */
async function readable(
  sealer: Sealer,
  stream: string,
  field: string,
  sealed: string,
): Promise<string> {
  const found = await sealer.open(sealed, { stream, field }).catch(nullWhenDamaged);
  return found !== null && 'text' in found ? found.text : '';
}

/** A running run is folded, for its progress; an ended one is its row. */
async function describeRow(
  { sealer, readRun }: Pick<OptimizationRouteDependencies, 'sealer' | 'readRun'>,
  row: RunRow,
): Promise<OptimizationSummary> {
  if (row.status === 'processing') {
    const run = await readRun(row.run_id).catch(nullWhenDamaged);
    if (run) return summarize(run.view);
  }
  const stream = streamOf(row.run_id);
  const [title, challenge] = await Promise.all([
    opened(sealer, stream, 'title', row.title),
    opened(sealer, stream, 'challenge', row.challenge),
  ]);
  const ended = row.status !== 'pending' && row.status !== 'processing';
  const isCancelledDraft = row.status === 'cancelled' && row.started_at === null;
  return {
    id: row.run_id,
    title,
    description: challenge.slice(0, 200),
    status: row.status,
    strategy: row.strategy,
    challenge_type: row.challenge_type,
    progress: ended ? 100 : 0,
    agreement_score: row.agreement_score,
    confidence_score: null,
    cost: row.cost_micros === null ? null : row.cost_micros / 1_000_000,
    cost_is_minimum: row.unpriced_calls > 0,
    credits: {
      price: row.price,
      reserved: 0,
      charged: row.captured === null ? null : row.captured - (row.refunded ?? 0),
      refunded: row.refunded,
      settlement: !ended || isCancelledDraft ? 'none' : 'settled',
    },
    simulated: row.simulated_seats > 0,
    simulated_seats: row.simulated_seats,
    created_at: row.created_at,
    createdAt: row.created_at,
    ended_at: row.ended_at,
  };
}

async function opened(
  sealer: Sealer,
  stream: string,
  field: string,
  sealed: string,
): Promise<string> {
  const found = await sealer.open(sealed, { stream, field }).catch(nullWhenDamaged);
  if (found === null) return unreadable;
  return 'erased' in found ? erased : found.text;
}

/** One text that was changed behind our back must not take the whole list with it. */
function nullWhenDamaged(error: unknown): null {
  if (error instanceof IntegrityError) return null;
  throw error;
}

const unreadable = 'Unreadable';
