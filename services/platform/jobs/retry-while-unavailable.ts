import { setTimeout as sleep } from 'node:timers/promises';
import { isTransient } from '#db/transaction.ts';

/**
 * Repeats an attempt that fails because the database is unavailable, for at most `timeoutMs` and until the
 * signal aborts. Throws any other error, and the last one when it stops.
 */
export async function retryWhileUnavailable<Result>(
  attempt: () => Promise<Result>,
  {
    timeoutMs = Number.POSITIVE_INFINITY,
    signal,
  }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Result> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransient(error) || performance.now() > end || signal?.aborted === true) throw error;
      await sleep(betweenMs);
    }
  }
}

const betweenMs = 250;
