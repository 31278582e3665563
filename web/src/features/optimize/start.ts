import type { CheckUsageReply } from '#services/credits/contract.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract.ts';
import { ApiProblem, isTransient } from '#web/api/api.ts';
import type { Attempt } from './question/draft.ts';

/** The three calls of a start; tests bring their own. */
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
   * The price moved between the page and the start; nothing has been reserved. A run that was created
   * at an `outdated` price cannot begin any more: the next start needs a new attempt.
   */
  | { readonly kind: 'price-changed'; readonly price: number; readonly outdated: boolean };

/** Milliseconds before each further try of a call whose answer did not arrive. */
const waitsMs = [500, 1_500, 3_000] as const;

export function newAttempt(): Attempt {
  return { createKey: crypto.randomUUID(), processKey: crypto.randomUUID(), runId: null };
}

/**
 * Creates a run and lets it begin, as one: both calls carry keys that stay the same for each try, so
 * a lost answer, a second press or a reload leads to the same run and one reservation.
 * `price` is what the person has agreed to, in credits.
 *
 * @throws ApiProblem when it could not be started, or when nobody can say whether it was
 */
export async function startRun(
  {
    request,
    price,
    attempt,
  }: { request: CreateOptimizationRequest; price: number; attempt: Attempt },
  onCreated: (id: string) => void,
  calls: StartCalls,
): Promise<Started> {
  // A run that exists may hold its credits already, and the balance then lacks exactly those.
  if (attempt.runId === null) {
    const usage = await repeated(() => calls.checkUsage(price), calls);
    if (usage.refusal !== null) return refusedBefore(usage, usage.refusal);
  }
  const run = await repeated(() => calls.createRun(request, attempt.createKey), calls);
  onCreated(run.id);
  if (run.credits.price !== price)
    return { kind: 'price-changed', price: run.credits.price, outdated: false };
  try {
    await repeated(() => calls.processRun(run.id, attempt.processKey), calls);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    // It began in an earlier try and has ended since: the place to go is the same.
    if (error.code !== 'concluded') return refused(error);
  }
  return { kind: 'started', id: run.id };
}

/** Credits that lack are shown with their figures; any other refusal in its own words. */
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

/** A refusal that carries figures becomes them; any other stays a problem. */
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

/** Tries again while the answer is unknown or the first try is still running. */
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
