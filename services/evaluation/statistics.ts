import { seededRandom } from './records/random.ts';

/**
 * The arithmetic of an evaluation. A case is the unit that is drawn: its judgments belong together, so
 * intervals come from drawing whole cases again, the same cases for every figure. Pure.
 */

export type Interval = { low: number; high: number };
/** Null with too few cases. */
export type Estimate = { mean: number | null; interval: Interval | null };

/** With fewer cases an interval of resamples says too little, and no condition is named the best. */
export const fewestCases = 20;
const usualResamples = 10_000;
/** Standard deviations of a normal that hold 95%. */
const normalBound = 1.959_964;

/**
 * The mean of each column, with percentile intervals over resampled rows.
 *
 * @param rows one for each case, of equal length and without gaps
 */
export function estimateMeans(
  rows: readonly (readonly number[])[],
  { seed, resamples = usualResamples }: { seed: number; resamples?: number },
): Estimate[] {
  const columns = rows[0]?.length ?? 0;
  const means = Array.from({ length: columns }, (_, column) =>
    meanOf(rows.map((row) => row[column] ?? 0)),
  );
  if (rows.length < 2) return means.map((mean) => ({ mean, interval: null }));
  const drawn = resampledMeans(rows, columns, { seed, resamples });
  const tail = tailOf(rows.length);
  return means.map((mean, column) => ({ mean, interval: percentiles(drawn[column]!, tail) }));
}

function resampledMeans(
  rows: readonly (readonly number[])[],
  columns: number,
  { seed, resamples }: { seed: number; resamples: number },
): Float64Array[] {
  const next = seededRandom(seed);
  const flat = Float64Array.from(rows.flat());
  const drawn = Array.from({ length: columns }, () => new Float64Array(resamples));
  const sums = new Float64Array(columns);
  for (let sample = 0; sample < resamples; sample += 1) {
    sums.fill(0);
    for (let draw = 0; draw < rows.length; draw += 1) {
      const from = Math.floor(next() * rows.length) * columns;
      for (let column = 0; column < columns; column += 1) sums[column]! += flat[from + column]!;
    }
    for (let column = 0; column < columns; column += 1)
      drawn[column]![sample] = sums[column]! / rows.length;
  }
  return drawn;
}

/** @param tail share of the values that lie below, and above */
function percentiles(values: Float64Array, tail: number): Interval {
  const sorted = values.toSorted();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.max(0, share))]!;
  return {
    low: at(Math.floor(tail * sorted.length)),
    high: at(Math.ceil((1 - tail) * sorted.length) - 1),
  };
}

/**
 * The share that an interval of 95% leaves out at each end. Resamples of few cases vary too little, so
 * it is less than 2.5%: as much as Student's t allows for (the expanded percentile
 * interval). For 40 cases it is 2.03%.
 */
export function tailOf(cases: number): number {
  const freedom = cases - 1;
  const z = normalBound;
  const student =
    z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2);
  return normalBelow(-student * Math.sqrt(cases / freedom));
}

/** Share of a normal below a negative number (a polynomial, right to seven decimals). */
function normalBelow(x: number): number {
  const t = 1 / (1 - 0.231_641_9 * x);
  const sum =
    t *
    (0.319_381_53 +
      t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
  return (Math.exp(-(x ** 2) / 2) / Math.sqrt(2 * Math.PI)) * sum;
}

export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return null;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Which of two answers a judge preferred; `equal` for neither. */
export type Preference = 'one' | 'other' | 'equal';

/** The score of the first condition of a pair, 1, ½ or 0, of one judge who saw both orders. */
export function scoreOf(inOneOrder: Preference, inTheOther: Preference): number {
  if (inOneOrder !== inTheOther || inOneOrder === 'equal') return 0.5;
  return inOneOrder === 'one' ? 1 : 0;
}

export type Comparison<Name extends string> = {
  one: Name;
  other: Name;
  /** Share of wins of `one`, ties as halves. */
  winRate: Estimate;
};

/**
 * The condition that is better than every other one beyond chance: each of its intervals excludes one
 * half. Null where there is none, or too few cases to say.
 */
export function bestOf<Name extends string>(
  names: readonly Name[],
  comparisons: readonly Comparison<Name>[],
  cases: number,
): Name | null {
  if (cases < fewestCases || names.length < 2) return null;
  const beats = (name: Name, against: Name) =>
    comparisons.some(({ one, other, winRate: { interval } }) => {
      if (interval === null) return false;
      if (one === name && other === against) return interval.low > 0.5;
      return other === name && one === against && interval.high < 0.5;
    });
  return names.find((name) => names.every((other) => other === name || beats(name, other))) ?? null;
}
