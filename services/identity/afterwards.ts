import pLimit from 'p-limit';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * Work that is done after the answer, so that neither its result nor the time it takes can be read
 * from the answer: it must not reveal whether an address has an account. What is lost when the
 * process dies in between is a mail that was asked for, and that can be asked for again.
 */
export type Afterwards = {
  /** @throws Problem 503 `busy` when too much waits already */
  begin(work: () => Promise<void>): void;
  /** Resolves once everything that was begun so far has ended. */
  settled(): Promise<void>;
};

const afterwardsLimits = { atOnce: 4, waiting: 500, retryAfterSeconds: 5 } as const;

export function createAfterwards(log: Log): Afterwards {
  const fewAtOnce = pLimit(afterwardsLimits.atOnce);
  const underWay = new Set<Promise<void>>();
  return {
    begin(work) {
      if (underWay.size >= afterwardsLimits.waiting)
        throw new Problem('busy', 'Too much is under way right now. Please try again.', {
          retryAfterSeconds: afterwardsLimits.retryAfterSeconds,
        });
      const ended = fewAtOnce(work)
        .catch((error: unknown) => log.error({ err: error }, 'Work after an answer failed'))
        .finally(() => underWay.delete(ended));
      underWay.add(ended);
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
