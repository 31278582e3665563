import pLimit from 'p-limit';
import { Problem } from '#services/platform/problem.ts';

/**
 * One file at a time, and one place for each user, so that slow files of one user delay another user by
 * one file at most. A place ends with the request that took it.
 */
export type FileQueue = {
  /**
   * @param read gets its turn unless `signal` comes first, and ends soon after it
   * @throws Problem 400 `aborted` after `signal`, 503 `busy` without a place
   */
  inTurn<Read>(userId: string, signal: AbortSignal, read: () => Promise<Read>): Promise<Read>;
};

/** With the one that is read: the last waits 50 s at most, and a silent connection lives for 60 s. */
const places = 5;
const retryAfterSeconds = 5;

export function createFileQueue(): FileQueue {
  const oneAtATime = pLimit(1);
  const users = new Set<string>();
  return {
    async inTurn(userId, signal, read) {
      if (signal.aborted) throw aborted();
      if (users.has(userId)) throw busy('Another file of yours is being read. Please try again.');
      if (users.size >= places)
        throw busy('Too many files are being read right now. Please try again.');
      users.add(userId);
      const turn = Promise.withResolvers<void>();
      const end = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => turn.reject(aborted()), { once: true });
      // The limiter cannot drop what waits, so it holds a turn and never the bytes of a file.
      void oneAtATime(async () => {
        turn.resolve();
        await end.promise;
      });
      try {
        await turn.promise;
        const outcome = await read();
        if (signal.aborted) throw aborted();
        return outcome;
      } finally {
        end.resolve();
        users.delete(userId);
      }
    },
  };
}

function aborted(): Problem {
  return new Problem('aborted', 'The request ended before its file was read.');
}

function busy(message: string): Problem {
  return new Problem('busy', message, { retryAfterSeconds });
}
