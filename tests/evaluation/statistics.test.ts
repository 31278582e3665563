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
import { drawnRows, shareCovering } from './simulated-wins.ts';

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

  // Two standard errors of a share of 95% are 4.4 points here. `tests/proof` checks more closely.
  test('cover a win rate in about 95 of 100 evaluations of 40 cases', () => {
    const share = shareCovering(0.65, { cases: 40, evaluations: 100, resamples: 500 });
    expect(share).toBeGreaterThan(0.9);
    expect(share).toBeLessThan(1);
  });
});

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
