import { setTimeout as sleep } from 'node:timers/promises';
import { isTransient } from '#db/transaction.ts';

/**
 * Repeats what fails because the database is away, until it does not or `patienceMs` have passed.
 * Any other error, and then the last one, is thrown.
 */
export async function retryWhileUnavailable<Result>(
  attempt: () => Promise<Result>,
  patienceMs: number = Number.POSITIVE_INFINITY,
): Promise<Result> {
  const end = performance.now() + patienceMs;
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
