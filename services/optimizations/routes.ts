import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import * as v from 'valibot';
import { costSince, ownerOfRun, readRunPage } from '#projections/optimization-list.ts';
import type { RunRow } from '#projections/optimization-list.ts';
import type { Holds } from '#services/credits/holds.ts';
import { strategies } from '#services/models/strategies.ts';
import { requireUser } from '#services/platform/auth.ts';
import type { Authenticate } from '#services/platform/auth.ts';
import type { CommandBus } from '#services/platform/command.ts';
import {
  answerData,
  createRouter,
  notFound,
  parseBody,
  parseQuery,
  requireNoFields,
} from '#services/platform/http.ts';
import type { HttpContext } from '#services/platform/http.ts';
import { answerOnce } from '#services/platform/idempotency.ts';
import { idPattern, newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { CreateOptimizationRequest, EstimateRequest, optimizationLimits } from './contract.ts';
import type { Optimization, OptimizationList, OptimizationSummary } from './contract.ts';
import { createCommand, describeStrategy, estimate, knownStrategy } from './create.ts';
import type { Seating } from './create.ts';
import type { OptimizationEvent } from './events.ts';
import { optimization } from './optimization.ts';
import type { OptimizationCommand } from './optimization.ts';
import type { RunState } from './run-state.ts';
import { streamOf } from './reactions.ts';
import type { ReadRun } from './read-run.ts';
import type { OpenRun } from './run-texts.ts';
import { issue, issueStart } from './tasks.ts';
import { describeRun, erased, summarize } from './describe.ts';
import { withStreamed } from './view.ts';
import type { RunView } from './view.ts';

export type OptimizationRouteDependencies = Seating & {
  pool: pg.Pool;
  bus: CommandBus;
  holds: Holds;
  readRun: ReadRun;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  monthlyLimitOf: (userId: string) => Promise<number>;
  /** What models may cost a day, over all people; null is no limit. */
  dailyCostLimitUsd: number | null;
  sealer: Sealer;
  clock: () => number;
};

const PageQuery = v.object({
  page: v.optional(whole(1, 100_000), '1'),
  limit: v.optional(whole(1, optimizationLimits.pageSizeMost), String(optimizationLimits.pageSize)),
});

export function optimizationRoutes(
  dependencies: OptimizationRouteDependencies,
  authenticate: Authenticate,
) {
  const { pool, sealer, registry, clock } = dependencies;
  const signedIn = requireUser(authenticate);
  const texts = {
    sealer,
    afterErasure: async (runId: string) => detail(dependencies, runId),
  };
  return createRouter()
    .get('/optimizations/strategies', (context) =>
      answerData(context, {
        strategies: strategies.map((strategy) => describeStrategy(registry, strategy)),
      }),
    )
    .post('/optimizations/estimate', signedIn, async (context) => {
      const request = await parseBody(context, EstimateRequest);
      const now = new Date(clock()).toISOString();
      return answerData(context, { estimate: estimate(registry, request, now) });
    })
    .get('/optimizations', signedIn, async (context) => {
      const { page, limit } = parseQuery(context, PageQuery);
      context.header('Cache-Control', 'no-store');
      return context.json(await listRuns(dependencies, context.get('userId'), page, limit));
    })
    .post('/optimizations', signedIn, async (context) => {
      const body = await parseBody(context, CreateOptimizationRequest);
      const userId = context.get('userId');
      if (body.retry_of !== undefined) await ownRun(dependencies, context, body.retry_of);
      return answerOnce(
        context,
        {
          pool,
          route: 'POST /optimizations',
          body,
          newResourceId: () => newId('opt', clock()),
          status: 201,
          texts,
        },
        async ({ resourceId: runId, commandId, fingerprint }) => {
          const command = await createCommand(
            dependencies,
            sealer,
            { runId, userId, now: clock() },
            body,
          );
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
          return detail(dependencies, runId);
        },
      );
    })
    .get('/optimizations/:id', signedIn, async (context) => {
      const run = await ownRun(dependencies, context, context.req.param('id'));
      return answerData(context, describeRun(await withProgress(pool, run.view), clock()));
    })
    .post('/optimizations/:id/process', signedIn, async (context) => {
      await requireNoFields(context);
      const { runId, state } = await ownRun(dependencies, context, context.req.param('id'));
      return answerOnce(
        context,
        {
          pool,
          route: `POST /optimizations/${runId}/process`,
          body: {},
          newResourceId: () => runId,
          status: 202,
          texts,
        },
        async () => {
          await processRun(dependencies, context.get('userId'), runId, state);
          return detail(dependencies, runId);
        },
      );
    })
    .post('/optimizations/:id/cancel', signedIn, async (context) => {
      await requireNoFields(context);
      const { runId } = await ownRun(dependencies, context, context.req.param('id'));
      return answerOnce(
        context,
        {
          pool,
          route: `POST /optimizations/${runId}/cancel`,
          body: {},
          newResourceId: () => runId,
          status: 202,
          texts,
        },
        async () => {
          await cancelRun(dependencies, runId);
          return detail(dependencies, runId);
        },
      );
    });
}

/** Holds the price, then starts; the hold's own job starts it, too, should this process die between. */
export async function processRun(
  dependencies: Pick<
    OptimizationRouteDependencies,
    'pool' | 'bus' | 'holds' | 'registry' | 'clock' | 'monthlyLimitOf' | 'dailyCostLimitUsd'
  >,
  userId: string,
  runId: string,
  state: RunState,
): Promise<void> {
  if (state.stage === 'settling' || state.stage === 'closed')
    throw new Problem(409, 'concluded', 'The run has already ended.', {
      members: { outcome: state.outcome },
    });
  if (state.stage !== 'draft') return;
  const now = dependencies.clock();
  const price = knownStrategy(state.strategy).credits;
  if (now > Date.parse(state.priceUntil) && price !== state.price)
    throw new Problem(
      409,
      'price_changed',
      `The price of this strategy is now ${price} credits; it was ${state.price} when the run was created.`,
      { members: { price } },
    );
  await refuseWhenPaused(dependencies, now);
  await dependencies.holds.reserve({
    userId,
    runId,
    credits: state.price,
    month: new Date(now).toISOString().slice(0, 7),
    limit: await dependencies.monthlyLimitOf(userId),
    actor: userId,
  });
  await issueStart(dependencies, runId, 'http');
}

/** @throws Problem 503 `paused` until the next day (UTC) once today's models have cost the limit */
async function refuseWhenPaused(
  { pool, dailyCostLimitUsd }: Pick<OptimizationRouteDependencies, 'pool' | 'dailyCostLimitUsd'>,
  now: number,
): Promise<void> {
  if (dailyCostLimitUsd === null) return;
  const midnight = Math.floor(now / dayMs) * dayMs;
  const spent = await costSince(pool, new Date(midnight).toISOString());
  if (spent < dailyCostLimitUsd * 1_000_000) return;
  throw new Problem(
    503,
    'paused',
    'No new runs can start today: the daily limit of this service is reached. Nothing was charged.',
    { retryAfterSeconds: Math.ceil((midnight + dayMs - now) / 1000) },
  );
}

const dayMs = 86_400_000;

export async function cancelRun(
  dependencies: Pick<OptimizationRouteDependencies, 'bus' | 'clock'>,
  runId: string,
): Promise<void> {
  const now = new Date(dependencies.clock()).toISOString();
  await issue(dependencies, runId, { type: 'Cancel', now }, ['cancel'], 'http');
}

/** @throws Problem 404, the same for a run that does not exist and for another person's */
async function ownRun(
  { pool, readRun }: Pick<OptimizationRouteDependencies, 'pool' | 'readRun'>,
  context: HttpContext,
  runId: string | undefined,
): Promise<OpenRun> {
  if (runId === undefined || !idPattern('opt').test(runId)) throw noSuchRun();
  if ((await ownerOfRun(pool, runId)) !== context.get('userId')) throw noSuchRun();
  const run = await readRun(runId);
  if (!run || run.view.hidden) throw noSuchRun();
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

/** The view with how far the calls that are under way have come. */
export async function withProgress(client: Queryable, view: RunView): Promise<RunView> {
  if (view.stage === 'draft' || view.stage === 'closed') return view;
  const { rows } = await client.query<{ slot: string; progress: number }>(
    'select slot, max(progress)::integer as progress from live_text where run_id = $1 group by slot',
    [view.id],
  );
  return withStreamed(view, rows);
}

export async function listRuns(
  dependencies: Pick<OptimizationRouteDependencies, 'sealer' | 'readRun'> & { pool: Queryable },
  userId: string,
  page: number,
  limit: number,
): Promise<OptimizationList> {
  const { rows, total } = await readRunPage(dependencies.pool, userId, {
    offset: (page - 1) * limit,
    limit,
  });
  return {
    data: await Promise.all(rows.map((row) => describeRow(dependencies, row))),
    pagination: { page, limit, total, total_pages: Math.ceil(total / limit) },
  };
}

/** A run that goes on is folded, for its progress; an ended one is its row. */
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
  return {
    id: row.run_id,
    title,
    description: challenge.slice(0, 200),
    status: row.status,
    strategy: row.strategy as OptimizationSummary['strategy'],
    challenge_type: row.challenge_type as OptimizationSummary['challenge_type'],
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
      settlement: ended ? 'settled' : 'none',
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

function whole(least: number, most: number) {
  return v.pipe(
    v.string(),
    v.regex(/^\d{1,6}$/, `Enter a whole number from ${least} to ${most}`),
    v.transform(Number),
    v.minValue(least, `Enter a whole number from ${least} to ${most}`),
    v.maxValue(most, `Enter a whole number from ${least} to ${most}`),
  );
}
