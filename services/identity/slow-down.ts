/**
 * Makes guessers of one account's password wait without locking its owner out: a try beyond the limit
 * is answered like any other, only later. Those who wait are bounded; when there is no place left,
 * whoever has waited longest goes on, so that a flood never leads to a refusal either.
 */
export type SlowDown = {
  /** `over`: tries beyond the limit, this one included; 0 waits for nothing. */
  wait: (over: number) => Promise<void>;
};

const slowDownLimits = { stepMs: 250, longestMs: 4_000, places: 256 } as const;

export function createSlowDown(
  limits: { readonly [Name in keyof typeof slowDownLimits]: number } = slowDownLimits,
): SlowDown {
  const waiting = new Set<() => void>();
  return {
    async wait(over) {
      if (over <= 0) return;
      const [longest] = waiting;
      if (longest && waiting.size >= limits.places) longest();
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(goOn, Math.min(limits.longestMs, over * limits.stepMs));
      function goOn(): void {
        clearTimeout(timer);
        waiting.delete(goOn);
        resolve();
      }
      waiting.add(goOn);
      await promise;
    },
  };
}
