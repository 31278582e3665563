import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { readChain } from '#projections/optimization-list.ts';
import type { RunRow } from '#projections/optimization-list.ts';
import { answerFile } from '#services/platform/http/files.ts';
import { notFound } from '#services/platform/http/http.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { exportPack } from './audit/pack/export.ts';
import type { GatherDependencies } from './audit/gather.ts';
import { createQuestionCheck, describeChecker, skippedCheck } from './check/check.ts';
import type { CheckDependencies } from './check/check.ts';
import {
  cancelIfOpen,
  cancelRun,
  creditRefusal,
  executeOn,
  isoNow,
  processRun,
  sealedText,
} from './commands.ts';
import { optimizationEndpoints } from '#services/optimizations/contract/endpoints.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
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
import { runMarkdown } from './reading/markdown/run-markdown.ts';
import { draftsAlone, tick } from './reading/next-steps.ts';
import type { OpenRun, ReadRun } from './reading/read-run.ts';
import { runsCsv } from './reading/runs-csv.ts';
import { claimRows } from './reading/words/claims.ts';
import { titleAlone } from './reading/view.ts';
import { dismissQuestion, recordOutcome } from './outcomes/record.ts';
import { findOwnRun } from './own-run.ts';
import { keyOf } from './run/key.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import type { Known } from './run/state.ts';
import { sharingHandlers } from './sharing/handlers.ts';
import type { SharingDependencies } from './sharing/handlers.ts';
import { usageHandlers } from './usage.ts';
import type { UsageDependencies } from './usage.ts';

export type OptimizationRouteDependencies = CreateDependencies &
  CheckDependencies &
  RefineDependencies &
  Omit<SharingDependencies, 'ownRun'> &
  GatherDependencies & {
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
      ...sharingHandlers({
        ...dependencies,
        ownRun: async (userId, runId) => ownRun(dependencies, userId, runId),
      }),
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
      'GET /optimizations': async ({ context, userId, query }) => {
        const { pageSize, fileRuns } = optimizationLimits;
        const limit = query.limit ?? (query.format === 'csv' ? fileRuns : pageSize);
        const list = await listRuns(dependencies, userId, { ...query, limit });
        if (query.format === 'json') return list;
        return answerFile(context, 'text/csv', 'sevenfold-optimizations.csv', runsCsv(list.data));
      },
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
        return answerFile(context, 'text/csv', `claims-${path.id}.csv`, claimsCsv(rows));
      },
      'GET /optimizations/{id}/markdown': async ({ context, userId, path }) => {
        await ownRun(dependencies, userId, path.id);
        const text = runMarkdown(await detail(dependencies, path.id));
        return answerFile(context, 'text/markdown', `${path.id}.md`, text);
      },
      'GET /optimizations/{id}/evidence': async ({ context, userId, path }) => {
        await ownRun(dependencies, userId, path.id);
        await rateLimits.take('evidence', userId, { userId });
        const pack = await exportPack(dependencies, path.id, { open: true });
        if (pack.outcome !== 'written')
          throw new Problem(
            'running',
            "The run hasn't ended. Its evidence is complete when it has.",
          );
        return context.body(pack.file, 200, {
          'Content-Type': 'application/x-ndjson; charset=utf-8',
          'Content-Disposition': `attachment; filename="sevenfold-${path.id}.evidence.ndjson"`,
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
            const place = { runId, keyId: keyOf(runId, state), field: 'title' };
            const title = await sealedText(sealer, place, body.title);
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
      'PUT /optimizations/{id}/outcomes/{day}': async ({ userId, path, body }) => {
        const { refines } = await ownRun(dependencies, userId, path.id);
        await takeTurn(userId);
        const asked = { runId: refines?.root ?? path.id, userId, asked: path.day };
        await recordOutcome(dependencies, asked, body);
        const { outcomes, outcome_question } = await detail(dependencies, path.id);
        return { outcomes, outcome_question };
      },
      'POST /optimizations/{id}/outcomes/{day}/dismiss': async ({ userId, path }) => {
        const { refines } = await ownRun(dependencies, userId, path.id);
        await takeTurn(userId);
        const runId = refines?.root ?? path.id;
        await dismissQuestion(dependencies, { runId, userId, asked: path.day });
        return { id: runId, asked: path.day, dismissed: true as const };
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
