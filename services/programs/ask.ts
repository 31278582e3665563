import type pg from 'pg';
import { executeOn, processRun, startRefusal } from '#services/optimizations/commands.ts';
import type { Payer, StartDependencies } from '#services/optimizations/commands.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { createCommand, knownStrategy } from '#services/optimizations/create.ts';
import type { CreateDependencies } from '#services/optimizations/create.ts';
import type { ReadState } from '#services/optimizations/reading/read-run.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { findAskedRun, forgetAskedRun, keepForGood, runOfRequest } from './asked-runs.ts';
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

/**
 * A refusal leaves neither a draft nor a row.
 *
 * @throws Problem whatever creating and starting a run is refused with, and as `runOfRequest`
 */
export async function askRun(
  dependencies: AskDependencies,
  payer: Payer,
  request: CreateOptimizationRequest,
  asking: Asking,
): Promise<{ runId: string; joined: boolean }> {
  const { pool, clock, readState } = dependencies;
  const now = () => new Date(clock());
  const joined = await findAskedRun(pool, asking, now());
  const state = joined === null ? initialState() : await readState(joined);
  const isDeleted = 'hiddenAt' in state && state.hiddenAt !== null;
  if (joined !== null && hasBegun(state) && !isDeleted) return { runId: joined, joined: true };
  const { credits } = knownStrategy(dependencies.catalogue, request.strategy);
  const refusal = await startRefusal(dependencies, payer, credits);
  if (refusal) throw refusal;
  if (joined !== null && isDeleted)
    await forgetAskedRun(pool, { apiKeyId: asking.apiKeyId, runId: joined });
  const newRunId = newId('opt', clock());
  const runId = await runOfRequest(pool, asking, newRunId, now());
  await beginRun(dependencies, payer, runId, request);
  await keepForGood(pool, asking);
  return { runId, joined: runId !== newRunId };
}

const hasBegun = ({ stage }: RunState): boolean => stage !== 'none' && stage !== 'draft';

/** Creates and starts a run of this id. A repeat continues where the first one ended. */
export async function beginRun(
  dependencies: AskDependencies,
  payer: Payer,
  runId: string,
  request: CreateOptimizationRequest,
): Promise<void> {
  const { bus, sealer, clock, rateLimits, readState } = dependencies;
  const { userId } = payer;
  const state = await readState(runId);
  if (hasBegun(state)) return;
  await rateLimits.take('runs', userId, { userId });
  if (state.stage === 'none') {
    await rateLimits.take('drafts', userId, { userId });
    const draft = { runId, userId, now: clock() };
    const command = await createCommand(dependencies, sealer, draft, request);
    const commandId = uuidV5(runId, 'create');
    const asked = { command, commandId, fingerprint: commandId, actor: userId };
    await executeOn(bus, runId, asked, 'http');
  }
  await processRun(dependencies, payer, runId, await readState(runId));
}
