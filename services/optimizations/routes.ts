import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { readChain } from '#projections/optimization-list.ts';
import type { RunRow } from '#projections/optimization-list.ts';
import { notFound } from '#services/platform/http/http.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { createQuestionCheck, describeChecker, skippedCheck } from './check/check.ts';
import type { CheckDependencies } from './check/check.ts';
import {
  cancelIfOpen,
  cancelRun,
  creditRefusal,
  executeOn,
  isoNow,
  processRun,
} from './commands.ts';
import { optimizationEndpoints } from '#services/optimizations/contract/endpoints.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { nextRefinementId, refineRun } from './refinement/begin.ts';
import type { RefineDependencies } from './refinement/begin.ts';
import { openRefinement } from './refinement/offer.ts';
import { cheapestPrice, createCommand, describeStrategies, estimate, writtenOf } from './create.ts';
import type { CreateDependencies } from './create.ts';
import type { FileReader } from './files/reader.ts';
import { readUpload } from './files/upload.ts';
import { readDetail } from './detail.ts';
import { claimsCsv } from './reading/claims-csv.ts';
import { describeRun } from './reading/describe.ts';
import { listRuns } from './reading/list.ts';
import { draftsAlone, tick } from './reading/next-steps.ts';
import type { OpenRun, ReadRun } from './reading/read-run.ts';
import { claimRows } from './reading/words/claims.ts';
import { titleAlone } from './reading/view.ts';
import { findOwnRun } from './own-run.ts';
import { keyOf } from './run/key.ts';
import { streamOf } from './run/events.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import type { Known } from './run/state.ts';
import { usageHandlers } from './usage.ts';
import type { UsageDependencies } from './usage.ts';

export type OptimizationRouteDependencies = CreateDependencies &
  CheckDependencies &
  RefineDependencies & {
    /** Counts a run for the recipe that it was begun from. */
    recordRecipeUse: (use: { recipeId: string; runId: string; userId: string }) => Promise<void>;
    rateLimits: RateLimits;
    files: FileReader;
  };

export function optimizationRoutes(
  dependencies: OptimizationRouteDependencies & UsageDependencies & ServeDependencies,
) {
  const { pool, sealer, clock, rateLimits } = dependencies;
  const checkQuestion = createQuestionCheck(dependencies);
  const takeTurn = async (userId: string) => rateLimits.take('run-changes', userId, { userId });
  const texts = {
    sealer,
    afterErasure: async (runId: string) => detail(dependencies, runId),
  };
  return serve(
    optimizationEndpoints,
    {
      ...usageHandlers(dependencies),
      'GET /optimizations/strategies': async ({ query }) => ({
        strategies: await describeStrategies(dependencies, query.allow_simulated === 'true'),
        checker: await describeChecker(dependencies, query.allow_simulated === 'true'),
      }),
      'POST /optimizations/files': async ({ context, userId }) => {
        await rateLimits.take('files', userId, { userId });
        return readUpload(context, userId, dependencies.files);
      },
      'POST /optimizations/estimate': async ({ body }) => ({
        estimate: await estimate(dependencies, body),
      }),
      'POST /optimizations/check': async ({ userId, apiKey, body }) => {
        const allowSimulated = body.allow_simulated ?? false;
        const cheapest = await cheapestPrice(dependencies, { ...writtenOf(body), allowSimulated });
        // Without a strategy that could answer, a check is of no use.
        if (cheapest === null) return skippedCheck;
        const refusal = await creditRefusal(dependencies, { userId, apiKey }, cheapest);
        if (refusal) throw refusal;
        return checkQuestion(userId, body, async () => {
          await rateLimits.take('checks', userId, { userId });
          await rateLimits.take('checks-day', userId, { userId });
        });
      },
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
            const asked = { command, commandId, fingerprint, actor: userId };
            await executeOn(dependencies.bus, runId, asked, 'http');
            if (body.recipe_id !== undefined)
              await dependencies.recordRecipeUse({ recipeId: body.recipe_id, runId, userId });
            return detail(dependencies, runId);
          },
        };
      },
      'GET /optimizations/{id}': async ({ userId, path }) => {
        await ownRun(dependencies, userId, path.id);
        return detail(dependencies, path.id);
      },
      'GET /optimizations/{id}/claims': async ({ context, userId, path, query }) => {
        await ownRun(dependencies, userId, path.id);
        const rows = claimRows((await detail(dependencies, path.id)).council);
        if (query.format === 'json') return rows;
        return context.body(claimsCsv(rows), 200, {
          'Content-Type': 'text/csv; charset=utf-8; header=present',
          'Content-Disposition': `attachment; filename="claims-${path.id}.csv"`,
          'Cache-Control': 'no-store',
        });
      },
      'PATCH /optimizations/{id}': async ({ userId, path, body }) => {
        await ownRun(dependencies, userId, path.id);
        const runId = path.id;
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            await takeTurn(userId);
            const { state, view } = await openRun(dependencies, runId, () => titleAlone);
            const title = await sealedTitle(
              sealer,
              { runId, keyId: keyOf(runId, state) },
              body.title,
            );
            const same = view.title === body.title;
            await ask(dependencies, userId, runId, { type: 'Rename', title, same });
            return detail(dependencies, runId);
          },
        };
      },
      'DELETE /optimizations/{id}': async ({ userId, path }) => {
        const state = await ownRun(dependencies, userId, path.id, 'hidden too');
        const runId = path.id;
        return {
          newResourceId: () => runId,
          work: async () => {
            await takeTurn(userId);
            if (state.hiddenAt === null) await refuseDeletion(dependencies, runId, state);
            await ask(dependencies, userId, runId, { type: 'Hide', now: isoNow(dependencies) });
            await cancelOpenRefinement(dependencies, runId);
            return { id: runId, deleted: true };
          },
        };
      },
      'POST /optimizations/{id}/restore': async ({ userId, path }) => {
        const state = await ownRun(dependencies, userId, path.id, 'hidden too');
        const runId = path.id;
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            await takeTurn(userId);
            refusePart(state, 'restored');
            await ask(dependencies, userId, runId, { type: 'Restore', now: isoNow(dependencies) });
            return detail(dependencies, runId);
          },
        };
      },
      'PUT /optimizations/{id}/next-steps/{index}': async ({ userId, path, body }) => {
        const { id: runId, index: step } = path;
        await ownRun(dependencies, userId, runId);
        await takeTurn(userId);
        const { view } = await openRun(dependencies, runId, () => draftsAlone);
        const { result } = describeRun(view, clock());
        if (result === null) throw new Problem('no-result', 'This run has no result.');
        if (result.next_steps[step] === undefined) throw notFound('There is no such step.');
        await tick(pool, { runId, step, userId, done: body.done, now: clock() });
        return { index: step, done: body.done };
      },
      'POST /optimizations/{id}/process': async ({ userId, apiKey, path }) => {
        const state = await ownRun(dependencies, userId, path.id);
        const runId = path.id;
        return {
          newResourceId: () => runId,
          texts,
          work: async () => {
            // A repeat for a run that has begun starts nothing and does not count as a run.
            if (state.stage === 'draft') await rateLimits.take('runs', userId, { userId });
            else await takeTurn(userId);
            await processRun(dependencies, { userId, apiKey }, runId, state);
            return detail(dependencies, runId);
          },
        };
      },
      'POST /optimizations/{id}/refine': async ({ userId, apiKey, path, body, context }) => {
        const state = await ownRun(dependencies, userId, path.id);
        const nextId = await nextRefinementId(pool, path.id, state);
        return {
          newResourceId: () => nextId,
          remake: async (id) => detail(dependencies, id),
          work: async ({ resourceId: id, ...attempt }) => {
            await rateLimits.take('runs', userId, { userId });
            // Two calls without a key are two refinements, although their id would be the same.
            const command =
              context.req.header('idempotency-key') === undefined
                ? { commandId: randomUUID(), fingerprint: id }
                : attempt;
            const asked = { userId, apiKey, runId: path.id, id, ...command };
            await refineRun(dependencies, asked, body);
            return detail(dependencies, id);
          },
        };
      },
      'POST /optimizations/{id}/cancel': async ({ userId, path }) => {
        const state = await ownRun(dependencies, userId, path.id);
        const runId = path.id;
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

/**
 * An idempotent command: a hidden run is not hidden again. Each has a new id, because a run may be
 * hidden, restored and hidden once more.
 */
async function ask(
  { bus }: Pick<OptimizationRouteDependencies, 'bus'>,
  userId: string,
  runId: string,
  command: OptimizationCommand,
): Promise<void> {
  const commandId = randomUUID();
  const asked = { command, commandId, fingerprint: commandId, actor: userId };
  await executeOn(bus, runId, asked, 'http');
}

async function sealedTitle(
  sealer: Sealer,
  { runId, keyId }: { runId: string; keyId: string },
  title: string,
): Promise<string> {
  try {
    return await sealer.seal(keyId, { stream: streamOf(runId), field: 'title' }, title);
  } catch (error) {
    if (error instanceof ErasedKeyError) throw noSuchRun();
    throw error;
  }
}

/** @throws Problem 404, the same for a run that does not exist and for another person's */
async function ownRun(
  dependencies: Pick<OptimizationRouteDependencies, 'readState'>,
  userId: string,
  runId: string,
  which: 'shown' | 'hidden too' = 'shown',
): Promise<Known> {
  const state = await findOwnRun(dependencies, userId, runId, which);
  if (state === null) throw noSuchRun();
  return state;
}

/** @throws Problem 409 `part-of-run` for a refinement */
function refusePart({ refines }: Known, what: 'deleted' | 'restored'): void {
  if (refines)
    throw new Problem(
      'part-of-run',
      `A refinement is ${what} together with the run that it refines.`,
    );
}

/** @throws Problem 409 `part-of-run`, or `running` for a run with a refinement in progress */
async function refuseDeletion(
  { pool }: Pick<OptimizationRouteDependencies, 'pool'>,
  runId: string,
  state: Known,
): Promise<void> {
  refusePart(state, 'deleted');
  if (await readOpenRefinement(pool, runId))
    throw new Problem('running', 'A refinement of this run has not ended; cancel it first.');
}

/** One may have begun while its root was being deleted. */
async function cancelOpenRefinement(
  dependencies: Pick<OptimizationRouteDependencies, 'pool' | 'bus' | 'clock'>,
  rootId: string,
): Promise<void> {
  const found = await readOpenRefinement(dependencies.pool, rootId);
  if (found) await cancelIfOpen(dependencies, found.run_id, 'http');
}

async function readOpenRefinement(pool: pg.Pool, rootId: string): Promise<RunRow | undefined> {
  return openRefinement((await readChain(pool, rootId))?.refinements ?? []);
}

const noSuchRun = () => notFound('Failed to get optimization');

async function detail(
  dependencies: OptimizationRouteDependencies,
  runId: string,
): Promise<Optimization> {
  const run = await readDetail(dependencies, runId);
  if (run === null) throw noSuchRun();
  return run;
}

async function openRun(
  { readRun }: Pick<OptimizationRouteDependencies, 'readRun'>,
  ...asked: Parameters<ReadRun>
): Promise<OpenRun> {
  const run = await readRun(...asked);
  if (!run) throw noSuchRun();
  return run;
}
