import { describe, expect, test } from 'vitest';
import {
  bestOf,
  estimateMeans,
  fewestCases,
  medianOf,
  scoreOf,
  tailOf,
} from '#services/evaluation/statistics.ts';
import type { Comparison } from '#services/evaluation/statistics.ts';
import { randomOf } from '#tests/support/chance.ts';

test('a judge that prefers another answer when the two change places has seen a tie', () => {
  expect(scoreOf('one', 'one')).toBe(1);
  expect(scoreOf('other', 'other')).toBe(0);
  expect(scoreOf('equal', 'equal')).toBe(0.5);
  expect(scoreOf('one', 'other')).toBe(0.5);
  expect(scoreOf('one', 'equal')).toBe(0.5);
  expect(scoreOf('equal', 'other')).toBe(0.5);
});

test('the median of an even number of values lies between the two in the middle', () => {
  expect(medianOf([])).toBeNull();
  expect(medianOf([3, 1, 2])).toBe(2);
  expect(medianOf([4, 1, 3, 2])).toBe(2.5);
});

describe('estimated means', () => {
  test('are the same for one seed, and their intervals differ for another', () => {
    const rows = drawnRows(40, 0.6, randomOf(3));
    const first = estimateMeans(rows, { seed: 1 });
    expect(estimateMeans(rows, { seed: 1 })).toEqual(first);
    const second = estimateMeans(rows, { seed: 2 });
    expect(second[0]?.mean).toBe(first[0]?.mean);
    expect(second[0]?.interval?.low).toBeCloseTo(first[0]?.interval?.low ?? 0, 1);
  });

  test('draw the same cases for every column', () => {
    const rows = drawnRows(30, 0.5, randomOf(5)).map(([value = 0]) => [value, 1 - value]);
    const [one, other] = estimateMeans(rows, { seed: 1 });
    expect(one?.interval?.low).toBeCloseTo(1 - (other?.interval?.high ?? 0), 10);
    expect(one?.interval?.high).toBeCloseTo(1 - (other?.interval?.low ?? 0), 10);
  });

  test('have no interval with one case, and no mean with none', () => {
    expect(estimateMeans([[1]], { seed: 1 })).toEqual([{ mean: 1, interval: null }]);
    expect(estimateMeans([], { seed: 1 })).toEqual([]);
  });

  test('leave out less at each end the fewer cases there are', () => {
    expect(tailOf(40)).toBeCloseTo(0.0203, 4);
    expect(tailOf(20)).toBeCloseTo(0.0159, 4);
    expect(tailOf(1e6)).toBeCloseTo(0.025, 4);
  });

  // 400 evaluations: two standard errors of a share of 95% are 2.2 points.
  test.each([0.5, 0.65, 0.8])(
    'cover a win rate of %f in about 95 of 100 evaluations of 40 cases',
    (rate) => {
      const next = randomOf(Math.round(rate * 100));
      const truth = meanScore(rate);
      const evaluations = 400;
      let covered = 0;
      for (let one = 0; one < evaluations; one += 1) {
        const rows = drawnRows(40, rate, next);
        const [found] = estimateMeans(rows, { seed: one, resamples: 2000 });
        const { low, high } = found?.interval ?? { low: 1, high: 0 };
        if (low <= truth && truth <= high) covered += 1;
      }
      expect(covered / evaluations).toBeGreaterThan(0.925);
      expect(covered / evaluations).toBeLessThan(0.985);
    },
  );
});

// docs/decisions/0054 states these.
test.each([
  { cases: 40, rate: 0.5, least: 0, most: 0.05 },
  { cases: 40, rate: 0.7, least: 0.8, most: 1 },
  { cases: 80, rate: 0.65, least: 0.8, most: 1 },
])(
  '$cases cases find a win rate of $rate as often as is promised',
  ({ cases, rate, least, most }) => {
    const next = randomOf(cases + rate * 1000);
    const evaluations = 300;
    let found = 0;
    for (let one = 0; one < evaluations; one += 1) {
      const [estimate] = estimateMeans(drawnRows(cases, shareFor(rate), next), {
        seed: one,
        resamples: 1000,
      });
      if ((estimate?.interval?.low ?? 0) > 0.5) found += 1;
    }
    expect(found / evaluations).toBeGreaterThanOrEqual(least);
    expect(found / evaluations).toBeLessThanOrEqual(most);
  },
);

describe('the best condition', () => {
  const names = ['a', 'b', 'c'];
  const compared = (one: string, other: string, low: number, high: number): Comparison<string> => ({
    one,
    other,
    winRate: { mean: (low + high) / 2, interval: { low, high } },
  });

  test('is the one whose interval against each other one excludes one half', () => {
    const comparisons = [
      compared('a', 'b', 0.2, 0.45),
      compared('a', 'c', 0.3, 0.7),
      compared('b', 'c', 0.55, 0.8),
    ];
    expect(bestOf(names, comparisons, 40)).toBe('b');
  });

  test('is none where one of its intervals reaches one half', () => {
    const comparisons = [
      compared('a', 'b', 0.2, 0.45),
      compared('a', 'c', 0.3, 0.7),
      compared('b', 'c', 0.5, 0.8),
    ];
    expect(bestOf(names, comparisons, 40)).toBeNull();
  });

  test('is none with few cases, whose intervals say too little', () => {
    const comparisons = [compared('a', 'b', 1, 1)];
    expect(bestOf(['a', 'b'], comparisons, fewestCases - 1)).toBeNull();
    expect(bestOf(['a', 'b'], comparisons, fewestCases)).toBe('a');
  });
});

/** Two judges, each with a win, a tie or a loss; wins of a case belong together. */
function drawnRows(cases: number, rate: number, next: () => number): number[][] {
  return Array.from({ length: cases }, () => {
    const own = Math.min(1, Math.max(0, rate + (next() - 0.5) * 0.4));
    const score = () => (next() < 0.2 ? 0.5 : Number(next() < own));
    return [(score() + score()) / 2];
  });
}

function meanScore(rate: number): number {
  return 0.2 * 0.5 + 0.8 * rate;
}

/** The rate of wins among what is no tie, for this win rate. */
function shareFor(winRate: number): number {
  return (winRate - 0.1) / 0.8;
}
