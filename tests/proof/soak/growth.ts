import { median } from '#tests/bench/report.ts';

/** What was measured at a moment, in milliseconds since the start. */
export type Sample = { atMs: number; value: number };

/**
 * How much a figure grows from the first sample to the last, by the median of the slopes between all pairs
 * (Theil and Sen): up to a quarter of the samples may be outliers.
 */
export function growthOf(samples: readonly Sample[]): number {
  const slopes = samples.flatMap((from, index) =>
    samples
      .slice(index + 1)
      .filter((to) => to.atMs > from.atMs)
      .map((to) => (to.value - from.value) / (to.atMs - from.atMs)),
  );
  const lengthMs = (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0);
  return median(slopes) * lengthMs;
}
