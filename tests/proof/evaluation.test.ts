import { describe, expect, test } from 'vitest';
import type { Report } from '#services/evaluation/report/report.ts';
import { meritOf, plantedBest, seenBy } from '#services/evaluation/planted/planted.ts';
import type { Planted } from '#services/evaluation/planted/planted.ts';
import { conditions } from '#services/evaluation/records/records.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { scoreOf } from '#services/evaluation/statistics.ts';
import { evaluateHere, newFolder } from '#tests/evaluation/evaluations.ts';

/** Evaluations of all 40 cases on the sandbox, whose truth is planted. */

const seeds = Array.from({ length: 10 }, (_, index) => index + 1);

async function evaluated(seed: number, ...more: string[]): Promise<Report> {
  using folder = newFolder();
  const words = ['--sandbox', '--out', folder.path, '--seed', String(seed), ...more];
  const { report } = await evaluateHere(words);
  expect(report.missing).toEqual([]);
  return report;
}

describe('with a condition planted as the best', () => {
  const reports = new Map<number, Report>();
  test.each(seeds)('seed %i finds it', async (seed) => {
    const report = await evaluated(seed);
    reports.set(seed, report);
    expect(report.figures.best).toBe(plantedBest(seed));
  });

  test('the seeds plant each condition', () => {
    expect(new Set(seeds.map(plantedBest))).toEqual(new Set(conditions));
  });

  test('the intervals of all pairs cover the planted win rates', () => {
    const found = seeds.flatMap((seed) => coverage(reports.get(seed)!, plantedBest(seed)));
    expect(found).toHaveLength(60);
    expect(found.filter((covers) => covers).length).toBeGreaterThanOrEqual(53);
  });
});

describe('with no difference planted', () => {
  const reports: Report[] = [];
  test('at most one of ten seeds names a best condition', async () => {
    for (const seed of seeds) reports.push(await evaluated(seed, '--plant', 'none'));
    expect(reports.filter(({ figures }) => figures.best !== null).length).toBeLessThanOrEqual(1);
  });

  test('the intervals of all pairs cover one half', () => {
    const found = reports.flatMap((report) => coverage(report, null));
    expect(found).toHaveLength(60);
    expect(found.filter((covers) => covers).length).toBeGreaterThanOrEqual(53);
  });
});

/** By pair: whether its interval holds the win rate that so many cases would have. */
function coverage({ figures, judges }: Report, best: Condition | null): boolean[] {
  return figures.comparisons.map(({ one, other, winRate: { interval } }) => {
    const truth = winRateOf({ seed: 99, best }, one, other, judges.length);
    return interval !== null && interval.low <= truth && truth <= interval.high;
  });
}

const virtualCases = 4000;
const winRates = new Map<string, number>();

function winRateOf(planted: Planted, one: Condition, other: Condition, judges: number): number {
  const name = [planted.best, one, other].join();
  const known = winRates.get(name);
  if (known !== undefined) return known;
  let sum = 0;
  for (let index = 0; index < virtualCases; index += 1) {
    const question = `virtual ${index}`;
    const [first, second] = [meritOf(planted, question, one), meritOf(planted, question, other)];
    for (let judge = 0; judge < judges; judge += 1) {
      const seen = { judge: String(judge), question };
      const before = seenBy(planted, { ...seen, first, second }).better;
      const after = seenBy(planted, { ...seen, first: second, second: first }).better;
      sum += scoreOf(asShown[before], turned[after]);
    }
  }
  const winRate = sum / (virtualCases * judges);
  winRates.set(name, winRate);
  return winRate;
}

const asShown = { first: 'one', second: 'other', equal: 'equal' } as const;
const turned = { first: 'other', second: 'one', equal: 'equal' } as const;
