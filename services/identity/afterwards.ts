import pLimit from 'p-limit';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * Work that runs after the response, so that neither its result nor its time reveals whether an address
 * has an account. If the process dies in between, an email is lost that the user can request again.
 */
export type Afterwards = {
  /** @throws Problem 503 `busy` when too much work is waiting */
  begin(work: () => Promise<void>): void;
  /** Resolves once all work that was begun so far has ended. */
  settled(): Promise<void>;
};

const afterwardsLimits = { atOnce: 4, waiting: 500, retryAfterSeconds: 5 } as const;

export function createAfterwards(log: Log): Afterwards {
  const fewAtOnce = pLimit(afterwardsLimits.atOnce);
  const underWay = new Set<Promise<void>>();
  return {
    begin(work) {
      if (underWay.size >= afterwardsLimits.waiting)
        throw new Problem('busy', "We're busy right now. Please try again in a moment.", {
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
