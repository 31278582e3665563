import type { CheckUsageReply } from '#services/credits/contract.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { ApiProblem, isTransient } from '#web/api/api.ts';
import type { Attempt } from './question/draft.ts';

/** The three calls of a start; tests pass their own. */
export type StartCalls = {
  checkUsage: (credits: number) => Promise<CheckUsageReply>;
  createRun: (
    request: CreateOptimizationRequest,
    key: string,
  ) => Promise<{ id: string; credits: { price: number } }>;
  processRun: (id: string, key: string) => Promise<unknown>;
  wait: (milliseconds: number) => Promise<void>;
};

export type Started =
  | { readonly kind: 'started'; readonly id: string }
  | {
      readonly kind: 'insufficient';
      readonly required: number;
      readonly balance: number;
      readonly shortfall: number;
    }
  /**
   * The price changed between the page and the start; nothing was reserved. An attempt at an
   * `outdated` price cannot succeed: the next start needs a new one.
   */
  | { readonly kind: 'price-changed'; readonly price: number; readonly outdated: boolean };

/** Milliseconds before each retry of a call without a response. */
const waitsMs = [500, 1_500, 3_000] as const;

/** @param catalogueVersion of the estimate that was shown; null while there was none */
export function newAttempt(catalogueVersion: string | null): Attempt {
  return {
    createKey: crypto.randomUUID(),
    processKey: crypto.randomUUID(),
    runId: null,
    catalogueVersion,
  };
}

/**
 * Creates a run and processes it, as one step. Both calls keep their keys on every attempt, so a
 * lost reply, a second press or a reload leads to the same run and one reservation. `price` is what
 * the user agreed to, in credits.
 *
 * @throws ApiProblem when it could not be started, or when the outcome is unknown
 */
export async function startRun(
  {
    request,
    price,
    attempt,
  }: { request: CreateOptimizationRequest; price: number; attempt: Attempt },
  onCreated: (id: string) => void | Promise<void>,
  calls: StartCalls,
): Promise<Started> {
  // An existing run may already hold its credits, and the balance then lacks exactly those.
  if (attempt.runId === null) {
    const usage = await repeated(() => calls.checkUsage(price), calls);
    if (usage.refusal !== null) return refusedBefore(usage, usage.refusal);
  }
  const agreed =
    attempt.catalogueVersion === null ? {} : { catalogue_version: attempt.catalogueVersion };
  let run: Awaited<ReturnType<StartCalls['createRun']>>;
  try {
    run = await repeated(
      () => calls.createRun({ ...request, ...agreed }, attempt.createKey),
      calls,
    );
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    console.warn('Failed to create optimization', error);
    return refused(error);
  }
  await onCreated(run.id);
  if (run.credits.price !== price)
    return { kind: 'price-changed', price: run.credits.price, outdated: false };
  try {
    await repeated(() => calls.processRun(run.id, attempt.processKey), calls);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    // An earlier attempt began it and it has ended since: the destination is the same.
    if (error.code !== 'concluded') return refused(error);
  }
  return { kind: 'started', id: run.id };
}

/** A shortage is shown with its figures; any other refusal in its own words. */
function refusedBefore(
  usage: CheckUsageReply,
  refusal: NonNullable<CheckUsageReply['refusal']>,
): Started {
  if (refusal.code !== 'insufficient-credits' && refusal.code !== 'debt')
    throw new ApiProblem(refusal);
  return {
    kind: 'insufficient',
    required: usage.required_credits,
    balance: usage.current_balance,
    shortfall: usage.shortfall,
  };
}

/** Converts a refusal with figures; any other stays a problem. */
function refused(problem: ApiProblem): Started {
  const {
    required_credits: required,
    current_balance: balance,
    shortfall,
    price,
  } = problem.members;
  if (
    problem.code === 'insufficient-credits' &&
    typeof required === 'number' &&
    typeof balance === 'number' &&
    typeof shortfall === 'number'
  ) {
    return { kind: 'insufficient', required, balance, shortfall };
  }
  if (problem.code === 'debt' && typeof required === 'number' && typeof balance === 'number') {
    return {
      kind: 'insufficient',
      required,
      balance,
      shortfall: Math.max(0, required - balance),
    };
  }
  if (problem.code === 'price-changed' && typeof price === 'number') {
    return { kind: 'price-changed', price, outdated: true };
  }
  throw problem;
}

/** Retries while the outcome is unknown or the first attempt is still running. */
async function repeated<T>(call: () => Promise<T>, { wait }: StartCalls): Promise<T> {
  for (const delayMs of waitsMs) {
    try {
      return await call();
    } catch (error) {
      if (!mayRepeat(error)) throw error;
      const asked = error instanceof ApiProblem ? error.retryAfterSeconds : null;
      await wait(Math.max(delayMs, Math.min(asked ?? 0, 5) * 1_000));
    }
  }
  return call();
}

function mayRepeat(error: unknown): boolean {
  if (error instanceof ApiProblem && error.code === 'models-unavailable') return false;
  return isTransient(error) || (error instanceof ApiProblem && error.code === 'in-progress');
}
