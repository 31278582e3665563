import { workdayMinutes } from '#services/platform/numbers.ts';

/** The formulas of the elite dashboard. The server ranks by them, and the page explains them. */

/** Timed runs before a speed says anything. */
export const leastTimedRuns = 3;
/** Points of the impossibility index for each different model. */
export const pointsPerModel = 2;

/** How many runs of the usual length fit in a working day; null before enough were timed. */
export function speedOf({
  average_minutes: minutes,
  timed_optimizations: timed,
}: {
  average_minutes: number | null;
  timed_optimizations: number;
}): number | null {
  if (timed < leastTimedRuns || minutes === null || minutes <= 0) return null;
  return workdayMinutes / minutes;
}

/** 0–100; null before the first run has completed or failed. */
export function impossibilityIndex({
  success_rate: rate,
  models_total: models,
}: {
  success_rate: number | null;
  models_total: number;
}): number | null {
  return rate === null ? null : Math.min(100, rate * 100 + models * pointsPerModel);
}

/** The greatest whole step of `step` that `count` reaches: 29 in steps of 10 is 20. */
export function roundDownTo(count: number, step: number): number {
  return Math.floor(count / step) * step;
}

/** The mean of the middle half of the values, so that no single one decides it; null of none. */
export function middleMean(values: readonly number[]): number | null {
  const cut = Math.floor(values.length / 4);
  const middle = values.toSorted((one, other) => one - other).slice(cut, values.length - cut);
  if (middle.length === 0) return null;
  return middle.reduce((all, value) => all + value, 0) / middle.length;
}

/** The nine values that cut sorted values into ten parts of equal size; empty of none. */
export function decilesOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((one, other) => one - other);
  if (sorted.length === 0) return [];
  return Array.from(
    { length: 9 },
    (_, index) => sorted[Math.ceil(((index + 1) / 10) * sorted.length) - 1] ?? 0,
  );
}

/** Percent of the group that a value is above, in tens. */
export function percentileRank(value: number, deciles: readonly number[]): number {
  return deciles.filter((decile) => value > decile).length * 10;
}
