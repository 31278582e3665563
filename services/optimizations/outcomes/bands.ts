import type { CountedOutcome } from '#projections/run-outcome.ts';
import { dashboardLimits, outcomeBands } from '#services/optimizations/contract/dashboard.ts';
import type { CountedBand } from '#services/optimizations/contract/dashboard.ts';
import { bandOf } from '#services/optimizations/council/agreement.ts';
import { currentMetric } from '#services/optimizations/council/metric.ts';
import { roundDownTo } from '#services/optimizations/dashboard/formulas.ts';

/**
 * `outcomes`: those first that were recorded first. Each contributor counts once in a band, and a band grows
 * in tens (`docs/decisions/0052-outcomes.md`).
 */
export function countBands(outcomes: readonly CountedOutcome[]): CountedBand[] {
  return outcomeBands.map((band) => {
    const all = outcomes.filter(({ score }) => (bandOf(score, currentMetric) ?? 'none') === band);
    const firsts = [...Map.groupBy(all, ({ userId }) => userId).values()].flatMap(
      ([first]) => first ?? [],
    );
    const counted = firsts.slice(0, roundDownTo(firsts.length, dashboardLimits.groupStep));
    return {
      band,
      outcomes: counted.length,
      favorable: counted.filter(({ happened }) => happened !== 'worse').length,
    };
  });
}

/**
 * The Wilson score interval of a share at 95%. Unlike the share plus or minus its standard error it stays
 * within 0 and 1 and holds for few outcomes.
 */
export function wilson(favorable: number, count: number): { low: number; high: number } {
  const share = favorable / count;
  const square = z95 ** 2;
  const middle = share + square / (2 * count);
  const reach = z95 * Math.sqrt((share * (1 - share)) / count + square / (4 * count ** 2));
  const scale = 1 + square / count;
  return {
    low: Math.max(0, (middle - reach) / scale),
    high: Math.min(1, (middle + reach) / scale),
  };
}

/** 95% of a normal distribution lie within so many standard deviations. */
const z95 = 1.96;
