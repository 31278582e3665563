import { describe, expect, test } from 'vitest';
import type { Report } from '#services/evaluation/report/report.ts';
import { meritOf, plantedBest, seenBy } from '#services/evaluation/planted/planted.ts';
import type { Planted } from '#services/evaluation/planted/planted.ts';
import { conditions } from '#services/evaluation/records/records.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { pairsOf } from '#services/evaluation/collected.ts';
import { estimateMeans, meanOf, scoreOf } from '#services/evaluation/statistics.ts';
import type { Interval } from '#services/evaluation/statistics.ts';
import { evaluateHere, newFolder } from '#tests/evaluation/evaluations.ts';
import { shareCovering, shareFinding } from '#tests/evaluation/simulated-wins.ts';

/** Evaluations of all 40 cases on the sandbox, whose truth is planted. */

/** Of 60 intervals 57 should cover; pairs of one seed share answers, so five less are within chance. */
const leastCovered = 52;

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
    expect(found.filter((covers) => covers).length).toBeGreaterThanOrEqual(leastCovered);
  });
});

// 400 evaluations: two standard errors of a share of 95% are 2.2 points.
test.each([0.5, 0.62, 0.74])(
  'intervals cover a win rate of %f in about 95 of 100 evaluations of 40 cases',
  (winRate) => {
    const share = shareCovering(winRate, { cases: 40, evaluations: 400, resamples: 2000 });
    expect(share).toBeGreaterThan(0.925);
    expect(share).toBeLessThan(0.985);
  },
);

// docs/decisions/0054 states these.
test.each([
  { cases: 40, winRate: 0.5, least: 0, most: 0.05 },
  { cases: 40, winRate: 0.7, least: 0.8, most: 1 },
  { cases: 80, winRate: 0.65, least: 0.8, most: 1 },
])(
  '$cases cases find a win rate of $winRate as often as is promised',
  ({ cases, winRate, least, most }) => {
    const found = shareFinding(winRate, { cases, evaluations: 300, resamples: 1000 });
    expect(found).toBeGreaterThanOrEqual(least);
    expect(found).toBeLessThanOrEqual(most);
  },
);

/** Two standard errors of a share of 95% among so many are 1.8 points, as pairs share answers. */
test.each([null, 'council'] as const)(
  'over 200 evaluations of which %s is the best, intervals cover at their level',
  (best) => {
    const truth = truthOf(best);
    const covered = Array.from({ length: 200 }, (_, index) => {
      const rows = virtualRows({ seed: 1000 + index, best }, 40);
      const estimates = estimateMeans(rows, { seed: index, resamples: 2000 });
      return estimates.map(({ interval }, pair) => holds(interval, truth[pair] ?? Number.NaN));
    }).flat();
    const share = covered.filter((covers) => covers).length / covered.length;
    expect(share).toBeGreaterThan(0.93);
    expect(share).toBeLessThan(0.97);
  },
);

describe('with no difference planted', () => {
  const reports: Report[] = [];
  test('at most one of ten seeds names a best condition', async () => {
    for (const seed of seeds) reports.push(await evaluated(seed, '--plant', 'none'));
    expect(reports.filter(({ figures }) => figures.best !== null).length).toBeLessThanOrEqual(1);
  });

  test('the intervals of all pairs cover one half', () => {
    const found = reports.flatMap((report) => coverage(report, null));
    expect(found).toHaveLength(60);
    expect(found.filter((covers) => covers).length).toBeGreaterThanOrEqual(leastCovered);
  });
});

/** By pair: whether its interval holds the win rate that very many cases would have. */
function coverage({ figures }: Report, best: Condition | null): boolean[] {
  const truth = truthOf(best);
  return figures.comparisons.map(({ winRate: { interval } }, index) =>
    holds(interval, truth[index] ?? Number.NaN),
  );
}

function holds(interval: Interval | null, value: number): boolean {
  return interval !== null && interval.low <= value && value <= interval.high;
}

const pairs = pairsOf(conditions);
const truths = new Map<Condition | null, number[]>();

/** The win rate of each pair over cases of which nothing but the planted truth exists. */
function truthOf(best: Condition | null): number[] {
  const known = truths.get(best);
  if (known !== undefined) return known;
  const rows = virtualRows({ seed: 99_999, best }, 4000);
  const truth = pairs.map((_, index) => meanOf(rows.map((row) => row[index] ?? 0)) ?? Number.NaN);
  truths.set(best, truth);
  return truth;
}

/** By case the score of each pair, as two judges see it. */
function virtualRows(planted: Planted, cases: number): number[][] {
  return Array.from({ length: cases }, (_, index) => {
    const question = `virtual ${index}`;
    return pairs.map(({ one, other }) => {
      const [first, second] = [one, other].map((each) => meritOf(planted, question, each));
      const scores = ['a', 'b'].map((judge) => {
        const before = seenBy(planted, { judge, question, first: first!, second: second! });
        const after = seenBy(planted, { judge, question, first: second!, second: first! });
        return scoreOf(asShown[before.better], turned[after.better]);
      });
      return meanOf(scores) ?? Number.NaN;
    });
  });
}

const asShown = { first: 'one', second: 'other', equal: 'equal' } as const;
const turned = { first: 'other', second: 'one', equal: 'equal' } as const;
