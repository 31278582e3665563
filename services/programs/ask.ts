import type pg from 'pg';
import { executeOn, processRun } from '#services/optimizations/commands.ts';
import type { Payer, StartDependencies } from '#services/optimizations/commands.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { createCommand } from '#services/optimizations/create.ts';
import type { CreateDependencies } from '#services/optimizations/create.ts';
import type { ReadState } from '#services/optimizations/reading/read-run.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { forgetAskedRun, runOfRequest } from './asked-runs.ts';
import type { Asking } from './asked-runs.ts';

/** Creates and starts the run of a program's question, or joins the one that an equal request started. */
export type AskDependencies = StartDependencies &
  CreateDependencies & {
    pool: pg.Pool;
    sealer: Sealer;
    rateLimits: Pick<RateLimits, 'take'>;
    readState: ReadState;
    registry: Pick<ModelRegistry, 'provider'>;
  };

/** @throws Problem whatever creating and starting a run is refused with, and as `runOfRequest` */
export async function askRun(
  dependencies: AskDependencies,
  payer: Payer,
  request: CreateOptimizationRequest,
  asking: Asking,
): Promise<string> {
  const { pool, clock } = dependencies;
  const asked = async () => runOfRequest(pool, asking, newId('opt', clock()), new Date(clock()));
  let runId = await asked();
  const state = await dependencies.readState(runId);
  if ('hiddenAt' in state && state.hiddenAt !== null) {
    await forgetAskedRun(pool, { apiKeyId: asking.apiKeyId, runId });
    runId = await asked();
  }
  await beginRun(dependencies, payer, runId, request);
  return runId;
}

/** Creates and starts a run of this id. A repeat continues where the first one ended. */
export async function beginRun(
  dependencies: AskDependencies,
  payer: Payer,
  runId: string,
  request: CreateOptimizationRequest,
): Promise<void> {
  const { bus, sealer, clock, rateLimits, readState } = dependencies;
  const { userId } = payer;
  if ((await readState(runId)).stage === 'none') {
    await rateLimits.take('drafts', userId, { userId });
    const draft = { runId, userId, now: clock() };
    const command = await createCommand(dependencies, sealer, draft, request);
    const commandId = uuidV5(runId, 'create');
    await executeOn(
      bus,
      runId,
      { command, commandId, fingerprint: commandId, actor: userId },
      'http',
    );
  }
  const state = await readState(runId);
  if (state.stage !== 'draft') return;
  await rateLimits.take('runs', userId, { userId });
  await processRun(dependencies, payer, runId, state);
}
