import { setTimeout as sleep } from 'node:timers/promises';
import { isTransient } from '#db/transaction.ts';

/**
 * Repeats an attempt that fails because the database is unavailable, for at most `timeoutMs`. Throws any
 * other error, and the last one after the timeout.
 */
export async function retryWhileUnavailable<Result>(
  attempt: () => Promise<Result>,
  timeoutMs: number = Number.POSITIVE_INFINITY,
): Promise<Result> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransient(error) || performance.now() > end) throw error;
      await sleep(betweenMs);
    }
  }
}

const betweenMs = 250;
