import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  discardDraft,
  executeOn,
  processRun,
  startRefusal,
} from '#services/optimizations/commands.ts';
import type { Payer, StartDependencies } from '#services/optimizations/commands.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { createCommand, knownStrategy } from '#services/optimizations/create.ts';
import type { CreateDependencies } from '#services/optimizations/create.ts';
import type { ReadState } from '#services/optimizations/reading/read-run.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import {
  anotherRequest,
  claimRun,
  claimSeconds,
  findAskedRun,
  forgetClaim,
  releaseClaim,
} from './asked-runs.ts';
import type { Asking, Claim } from './asked-runs.ts';

/** Creates and starts the run of a program's question, or joins the one that an equal request started. */
export type AskDependencies = StartDependencies &
  CreateDependencies & {
    pool: pg.Pool;
    sealer: Sealer;
    readState: ReadState;
    registry: Pick<ModelRegistry, 'provider'>;
  };

/** @throws Problem whatever creating and starting a run is refused with, and as `runOnce` */
export async function askRun(
  dependencies: AskDependencies & { rateLimits: Pick<RateLimits, 'take'> },
  payer: Payer,
  request: CreateOptimizationRequest,
  asking: Asking,
): Promise<{ runId: string; joined: boolean }> {
  const { rateLimits, catalogue, clock } = dependencies;
  const { userId } = payer;
  return runOnce(dependencies, asking, {
    newRunId: newId('opt', clock()),
    async allow() {
      const { credits } = knownStrategy(catalogue, request.strategy);
      const refusal = await startRefusal(dependencies, payer, credits);
      if (refusal) throw refusal;
      await rateLimits.take('runs', userId, { userId });
      await rateLimits.take('drafts', userId, { userId });
    },
    begin: async (runId) => beginRun(dependencies, payer, runId, request),
  });
}

type Once = {
  newRunId: string;
  /** Refuses before anything is created. */
  allow: () => Promise<void>;
  /** A repeat continues where the first one ended; what is refused leaves no draft. */
  begin: (runId: string) => Promise<void>;
};

/**
 * One run for equal requests. Of several at once one begins the run, and the others wait for it. An
 * Idempotency-Key stays with its run, and is free for another request only while no run was created for it.
 *
 * @throws Problem 409 `idempotency-mismatch`, and what `allow` and `begin` throw
 */
export async function runOnce(
  { pool, clock, readState }: Pick<AskDependencies, 'pool' | 'clock' | 'readState'>,
  asking: Asking,
  { newRunId, allow, begin }: Once,
): Promise<{ runId: string; joined: boolean }> {
  for (let wait = 0; wait < mostWaits; wait += 1) {
    const now = new Date(clock());
    const found = await findAskedRun(pool, asking, now);
    const state = found === null ? initialState() : await readState(found.runId);
    // A deleted run is joined by nobody; its Idempotency-Key stays with it.
    const isGone =
      asking.idempotencyKey === undefined && 'hiddenAt' in state && state.hiddenAt !== null;
    if (found?.isSame === true && hasBegun(state) && !isGone)
      return { runId: found.runId, joined: true };
    if (found?.isSame === false && state.stage !== 'none' && !found.isClaimed)
      throw anotherRequest();
    const continues = found?.isSame === true && !isGone;
    const claim =
      found?.isClaimed === true
        ? null
        : await claimRun(pool, asking, { newRunId, found: found?.runId ?? null, continues }, now);
    if (claim !== null) {
      await beginClaimed({ pool, readState }, asking, claim, async () => {
        await allow();
        await begin(claim.runId);
      });
      return { runId: claim.runId, joined: false };
    }
    await sleep(waitMs);
  }
  throw new Problem('busy', 'Please send this request again.', { retryAfterSeconds: 1 });
}

/** A little longer than a claim lasts. */
const waitMs = 100;
const mostWaits = ((claimSeconds + 5) * 1000) / waitMs;

/** A row is only forgotten when its run will never begin: a repeat would pay for a second one. */
async function beginClaimed(
  { pool, readState }: Pick<AskDependencies, 'pool' | 'readState'>,
  asking: Asking,
  claim: Claim,
  begin: () => Promise<void>,
): Promise<void> {
  try {
    await begin();
  } catch (error) {
    const isRefused = error instanceof Problem && !hasBegun(await readState(claim.runId));
    await (isRefused ? forgetClaim : releaseClaim)(pool, asking, claim);
    throw error;
  }
  await releaseClaim(pool, asking, claim);
}

function hasBegun(state: RunState): boolean {
  if (state.stage === 'none' || state.stage === 'draft') return false;
  return !('conclusion' in state && state.conclusion.reason === 'refused');
}

/** Creates and starts a run of this id. A repeat continues where the first one ended. */
export async function beginRun(
  dependencies: AskDependencies,
  payer: Payer,
  runId: string,
  request: CreateOptimizationRequest,
): Promise<void> {
  const { bus, sealer, clock, readState } = dependencies;
  const { userId } = payer;
  const state = await readState(runId);
  if (hasBegun(state)) return;
  if (state.stage === 'none') {
    const draft = { runId, userId, now: clock() };
    const command = await createCommand(dependencies, sealer, draft, request);
    const commandId = uuidV5(runId, 'create');
    const asked = { command, commandId, fingerprint: commandId, actor: userId };
    await executeOn(bus, runId, asked, 'http');
  }
  try {
    await processRun(dependencies, payer, runId, await readState(runId));
  } catch (error) {
    // The program learns of no draft, so nobody would start it.
    if (error instanceof Problem) await discardDraft(dependencies, runId);
    throw error;
  }
}
