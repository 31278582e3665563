import { setTimeout as sleep } from 'node:timers/promises';

/** Asks an API process for its readiness without a pause, past all faults. */
export type Readiness = AsyncDisposable & {
  answers(): readonly Answer[];
  /** Resolves once it answers 200. */
  regained(): Promise<void>;
};

/**
 * Times in milliseconds of `performance.now()`; status 0 when it did not answer in time. `healthMs` is how long
 * the same process took to say that it lives: long when the machine gives it no time.
 */
export type Answer = { askedAt: number; answeredAt: number; status: number; healthMs: number };

const everyMs = 250;
/** How long a load balancer waits. */
const patienceMs = 10_000;

export function watchReadiness(apiUrl: string): Readiness {
  const closing = new AbortController();
  const answers: Answer[] = [];
  const get = async (path: string): Promise<number> =>
    fetch(`${apiUrl}/api/${path}`, { signal: AbortSignal.timeout(patienceMs) })
      .then(async (response) => {
        await response.body?.cancel();
        return response.status;
      })
      .catch(() => 0);
  const ask = async (): Promise<void> => {
    const askedAt = performance.now();
    const healthMs = get('health').then(() => performance.now() - askedAt);
    const status = await get('ready');
    const answeredAt = performance.now();
    answers.push({ askedAt, answeredAt, status, healthMs: await healthMs });
  };
  const asking = (async () => {
    while (!closing.signal.aborted) {
      await ask();
      await sleep(everyMs);
    }
  })();
  return {
    answers: () => answers,
    async regained() {
      const since = performance.now();
      while (!answers.some(({ askedAt, status }) => askedAt > since && status === 200))
        await sleep(everyMs);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await asking;
    },
  };
}
