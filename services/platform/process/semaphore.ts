/** Lets at most `limit` pieces of work through at a time; the rest wait in order. */
export type Semaphore = { run<Result>(work: () => Promise<Result>): Promise<Result> };

export function createSemaphore(limit: number): Semaphore {
  let free = limit;
  const waiting: (() => void)[] = [];
  return {
    async run(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else free += 1;
      }
    },
  };
}
