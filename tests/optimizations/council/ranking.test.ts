import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Ballot } from '#services/optimizations/run/events.ts';
import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';
import type { Metric } from '#services/optimizations/council/metric.ts';
import {
  kendallTau,
  rankAgreement,
  reviewerTaus,
  twoCamps,
} from '#services/optimizations/council/rank-agreement.ts';
import {
  comparePairs,
  condorcetWinner,
  judgeWinner,
  kemenyOrder,
  rubricMeans,
  shownOrder,
  tieBreak,
  winRates,
} from '#services/optimizations/council/ranking.ts';
import type { Pairs, Review } from '#services/optimizations/council/ranking.ts';
import { reviewOffsets, reviewAssignments } from '#services/optimizations/council/assignments.ts';
import { seededOrder } from '#services/platform/seeded.ts';

import { ballot, rubric, seatCodes, strict } from './ballots.ts';

const review = (reviewer: string, parts: Partial<Ballot>): Review => ({
  reviewer,
  ballot: ballot(parts),
});

/** Every reviewer ranks all others; reviewer i by the i-th order. */
function reviews(answers: readonly string[], orders: readonly (readonly string[])[]): Review[] {
  return answers.map((reviewer, index) =>
    review(reviewer, { ranking: strict(orders[index]!, reviewer) }),
  );
}

const camps = (answers: readonly string[], first: number) =>
  reviews(
    answers,
    answers.map((_, index) => (index < first ? answers : answers.toReversed())),
  );

const noise = (answers: readonly string[], run: number) =>
  reviews(
    answers,
    answers.map((seat) => seededOrder(`noise ${run}`, seat, answers)),
  );

/** Ballots of 3 to `maximum` reviewers over all their peers, with ties. */
function anyReviews(maximum: number): fc.Arbitrary<{ answers: string[]; all: Review[] }> {
  return fc.integer({ min: 3, max: maximum }).chain((size) => {
    const answers = seatCodes(size);
    return fc
      .array(fc.array(fc.nat(3), { minLength: size, maxLength: size }), {
        minLength: size,
        maxLength: size,
      })
      .map((places) => ({
        answers,
        all: answers.map((reviewer, row) => {
          const groups = Map.groupBy(
            answers.filter((answer) => answer !== reviewer),
            (answer) => places[row]![answers.indexOf(answer)]!,
          );
          return review(reviewer, {
            ranking: [...groups].toSorted(([a], [b]) => a - b).map(([, group]) => group),
          });
        }),
      }));
  });
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((first) =>
    permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
  );
}

function supportOf(pairs: Pairs, order: readonly number[]): number {
  return order.reduce(
    (sum, above, place) =>
      order.slice(place + 1).reduce((wins, below) => wins + pairs.wins[above]![below]!, sum),
    0,
  );
}

const inOrder = (pairs: Pairs) => pairs.answers.map((_, index) => index);

describe('pairwise comparison', () => {
  test('a pairwise comparison counts who ranked one above the other, half for ties, and never the ballots of the two', () => {
    const answers = ['S1', 'S2', 'S3'];
    const pairs = comparePairs(answers, [
      review('S1', { ranking: [['S2'], ['S3']] }),
      review('S2', { ranking: [['S1', 'S3']] }),
      review('S3', { ranking: [['S3'], ['S1'], ['S2']] }),
    ]);
    expect(pairs.wins).toEqual([
      [0, 1, 0.5],
      [0, 0, 1],
      [0.5, 0, 0],
    ]);
    expect(pairs.compared).toEqual([
      [0, 1, 1],
      [1, 0, 1],
      [1, 1, 0],
    ]);
  });

  test('a pairwise comparison is split between its two answers', () => {
    fc.assert(
      fc.property(anyReviews(7), ({ answers, all }) => {
        const { wins, compared } = comparePairs(answers, all);
        const sums = wins.map((row, a) => row.map((won, b) => won + wins[b]![a]!));
        expect(sums).toEqual(compared);
      }),
    );
  });
});

describe('the win rate q', () => {
  test('the win rate q is the normalised Borda count on complete ballots without a seat’s own answer', () => {
    fc.assert(
      fc.property(anyReviews(9), ({ answers, all }) => {
        const size = answers.length;
        const q = winRates(comparePairs(answers, all));
        for (const [index, answer] of answers.entries()) {
          const points = all
            .filter(({ reviewer }) => reviewer !== answer)
            .map(({ ballot: { ranking } }) => {
              const place = ranking.findIndex((group) => group.includes(answer));
              const below = ranking.slice(place + 1).flat().length;
              return below + (ranking[place]!.length - 1) / 2;
            });
          const borda = points.reduce((sum, value) => sum + value, 0);
          expect(q[index]).toBeCloseTo(borda / ((size - 1) * (size - 2)), 9);
        }
      }),
    );
  });

  test('the win rate q leaves out pairs that no reviewer compared, and is unknown without pairs', () => {
    const answers = ['S1', 'S2', 'S3', 'S4'];
    const one = [review('S3', { ranking: [['S1'], ['S2']] })];
    expect(winRates(comparePairs(answers, one))).toEqual([1, 0, null, null]);
  });
});

describe('the Kemeny order', () => {
  test('the Kemeny order is the best of all orders, and the preferred one of several, as found by brute force', () => {
    fc.assert(
      fc.property(anyReviews(6), fc.nat(), ({ answers, all }, shuffle) => {
        const pairs = comparePairs(answers, all);
        const preferred = seededOrder(`${shuffle}`, 'preference', inOrder(pairs));
        const preference = inOrder(pairs).map((index) => preferred.indexOf(index));
        const orders = permutations(preferred);
        const most = Math.max(...orders.map((order) => supportOf(pairs, order)));
        const best = orders.filter((order) => supportOf(pairs, order) === most);
        const found = kemenyOrder(pairs, preference);
        // `permutations` lists orders from the most to the least preferred.
        expect(found.order).toEqual(best[0]);
        expect(found.unique).toBe(best.length === 1);
        expect(found.soleFirst).toBe(new Set(best.map(([first]) => first)).size === 1);
      }),
      { numRuns: 60 },
    );
  });

  test('the Kemeny order begins with the Condorcet winner when there is one', () => {
    fc.assert(
      fc.property(anyReviews(9), ({ answers, all }) => {
        const pairs = comparePairs(answers, all);
        const winner = condorcetWinner(pairs);
        fc.pre(winner !== null);
        const { order } = kemenyOrder(pairs, inOrder(pairs));
        expect(answers[order[0]!]).toBe(winner);
      }),
    );
  });

  test('the Kemeny order is exact for a full panel of twelve', () => {
    const answers = seatCodes(12);
    const pairs = comparePairs(
      answers,
      reviews(
        answers,
        answers.map(() => answers),
      ),
    );
    const found = kemenyOrder(pairs, inOrder(pairs).toReversed());
    expect(found).toEqual({ order: inOrder(pairs), unique: true, soleFirst: true });
  });

  test('the Kemeny order of the example in docs/method.md contradicts 7 comparisons, every other more', () => {
    const wins = [
      [0, 4, 2, 5],
      [1, 0, 4, 4],
      [3, 1, 0, 4],
      [0, 1, 1, 0],
    ];
    const compared = wins.map((row, a) => row.map((_, b) => (a === b ? 0 : 5)));
    const pairs: Pairs = { answers: ['A', 'B', 'C', 'D'], wins, compared };
    expect(kemenyOrder(pairs, [3, 2, 1, 0])).toEqual({
      order: [0, 1, 2, 3],
      unique: true,
      soleFirst: true,
    });
    const contradicted = (order: readonly number[]) =>
      order.flatMap((above, place) => order.slice(place + 1).map((below) => wins[below]![above]!));
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const orders = [
      [0, 1, 2, 3],
      [1, 2, 0, 3],
      [2, 0, 1, 3],
      [1, 0, 2, 3],
      [0, 2, 1, 3],
      [2, 1, 0, 3],
    ];
    expect(orders.map((order) => sum(contradicted(order)))).toEqual([7, 9, 9, 10, 10, 12]);
    expect(winRates(pairs).map((rate) => rate!.toFixed(2))).toEqual([
      '0.73',
      '0.60',
      '0.53',
      '0.13',
    ]);
  });

  test('the Kemeny order refuses more answers than a panel has', () => {
    expect(() => kemenyOrder(comparePairs(seatCodes(13), []), [])).toThrow(RangeError);
  });
});

describe('the order that people see', () => {
  const answers = ['S1', 'S2', 'S3'];
  // Three of five prefer S1 to each other answer; S2 is first or second with all of them.
  const judges = (withoutS3: readonly string[]) =>
    [0, 1, 2, 3, 4].map((index) => {
      const reviewer = `R${index}`;
      const ranking = index < 3 ? ['S1', 'S2', 'S3'] : ['S2', 'S3', 'S1'];
      const ranked = ranking.filter((seat) => seat !== 'S3' || !withoutS3.includes(reviewer));
      return review(reviewer, { ranking: ranked.map((seat) => [seat]) });
    });
  const orderOf = (all: readonly Review[], metric: Metric) => {
    const pairs = comparePairs(answers, all);
    const preference = tieBreak(winRates(pairs), rubricMeans(answers, all), [0, 1, 2]);
    return shownOrder(pairs, kemenyOrder(pairs, preference), preference, metric);
  };

  test('the order follows Kemeny where at least four reviewers compared each two answers', () => {
    expect(orderOf(judges(['R4']), currentMetric)).toEqual({
      shown: [0, 1, 2],
      ordering: 'kemeny',
    });
  });

  test('the order follows the win rates where fewer than four reviewers compared some two answers', () => {
    expect(orderOf(judges(['R0', 'R4']), currentMetric)).toEqual({
      shown: [1, 0, 2],
      ordering: 'win_rate',
    });
  });

  test('the order of a run of agreement_v1 follows Kemeny, and says nothing about it', () => {
    expect(orderOf(judges(['R0', 'R4']), metricOf('agreement_v1')!)).toEqual({ shown: [0, 1, 2] });
  });
});

describe('ties', () => {
  test('ties are broken by q, then by the rubric, then by the seed', () => {
    expect(tieBreak([0.2, 0.9, 0.5, 0.5], [9, 1, 3, 7], [0, 1, 2, 3])).toEqual([3, 0, 2, 1]);
    expect(tieBreak([0.5, 0.5, null], [4, 4, 10], [1, 0, 2])).toEqual([1, 0, 2]);
  });

  test('ties are not broken by the order in which figures were added up', () => {
    expect(tieBreak([0.1 + 0.2, 0.3], [1, 2], [0, 1])).toEqual([1, 0]);
  });
});

describe('the Condorcet winner', () => {
  test('the Condorcet winner does not exist in a cycle, nor among answers that were not all compared', () => {
    const answers = ['S1', 'S2', 'S3', 'S4', 'S5', 'S6'];
    const cycle = [
      review('S4', { ranking: [['S1'], ['S2'], ['S3']] }),
      review('S5', { ranking: [['S2'], ['S3'], ['S1']] }),
      review('S6', { ranking: [['S3'], ['S1'], ['S2']] }),
    ];
    expect(condorcetWinner(comparePairs(answers.slice(0, 3), cycle))).toBeNull();
    expect(condorcetWinner(comparePairs(answers, cycle.slice(0, 1)))).toBeNull();
    expect(condorcetWinner(comparePairs(answers.slice(0, 3), cycle.slice(0, 1)))).toBe('S1');
  });
});

describe('the mean rubric', () => {
  test('the mean rubric counts peers only, and is unknown for an answer that no peer scored', () => {
    const all = [
      review('S1', { scores: { S1: rubric(10), S2: rubric(4) } }),
      review('S3', { scores: { S2: { ...rubric(6), riskAwareness: 1 } } }),
    ];
    expect(rubricMeans(['S1', 'S2'], all)).toEqual([null, 4.5]);
  });
});

const verdict = (answers: readonly string[], all: readonly Review[]) => {
  const pairs = comparePairs(answers, all);
  const rank = rankAgreement(reviewerTaus(answers, all, currentMetric), currentMetric);
  const order = kemenyOrder(pairs, inOrder(pairs));
  return judgeWinner(pairs, order, order.order, rank, currentMetric);
};
const alike = (answers: readonly string[]) =>
  reviews(
    answers,
    answers.map(() => answers),
  );

describe('a clear winner', () => {
  test('a clear winner is the answer that all reviewers rank first', () => {
    expect(verdict(seatCodes(7), alike(seatCodes(7)))).toEqual({
      clearWinner: true,
      clearWinnerReason: 'clear',
    });
  });

  test.each([2, 3, 4])(
    'a clear winner is unknown with %i answers, which too few reviewers compare',
    (size) => {
      expect(verdict(seatCodes(size), alike(seatCodes(size)))).toEqual({
        clearWinner: null,
        clearWinnerReason: 'not_enough_comparisons',
      });
    },
  );

  test('a clear winner is unknown when two of the first three were never compared', () => {
    const answers = ['S1', 'S2', 'S3'];
    const judges = ['S4', 'S5', 'S6'].map((reviewer) =>
      review(reviewer, { ranking: [['S1'], ['S2']] }),
    );
    const third = review('S7', { ranking: [['S2'], ['S3']] });
    expect(verdict(answers, [...judges, third]).clearWinner).toBeNull();
    const all = [...judges, third, review('S8', { ranking: [['S1'], ['S3']] })];
    expect(verdict(answers, all).clearWinner).toBe(true);
  });

  test('a clear winner does not exist when an equally good order has another first answer', () => {
    const answers = ['S1', 'S2', 'S3'];
    const cycle = [
      [['S1'], ['S2'], ['S3']],
      [['S2'], ['S3'], ['S1']],
      [['S3'], ['S1'], ['S2']],
    ].map((ranking, index) => review(`S${index + 4}`, { ranking }));
    expect(verdict(answers, cycle).clearWinnerReason).toBe('tied_orders');
  });

  test('a clear winner may stand above other answers that are tied', () => {
    const answers = seatCodes(6);
    const all = answers.map((reviewer, index) => {
      const rest = answers.slice(1).filter((answer) => answer !== reviewer);
      const ordered = index % 2 === 0 ? rest : rest.toReversed();
      const first = reviewer === 'S1' ? [] : [['S1']];
      return review(reviewer, { ranking: [...first, ...ordered.map((answer) => [answer])] });
    });
    const pairs = comparePairs(answers, all);
    const order = kemenyOrder(pairs, inOrder(pairs));
    expect(order).toMatchObject({ unique: false, soleFirst: true });
    expect(judgeWinner(pairs, order, order.order, 0.5, currentMetric).clearWinner).toBe(true);
  });

  test('a clear winner needs a margin over the second', () => {
    const answers = ['S1', 'S2', 'S3'];
    const judges = ['S4', 'S5', 'S6', 'S7', 'S8'].map((reviewer, index) =>
      review(reviewer, {
        ranking: index < 3 ? [['S1'], ['S2'], ['S3']] : [['S2'], ['S1'], ['S3']],
      }),
    );
    expect(verdict(answers, judges).clearWinnerReason).toBe('narrow_margin');
  });

  test('a clear winner needs orders that agree by more than chance', () => {
    const answers = seatCodes(7);
    const pairs = comparePairs(answers, alike(answers));
    const order = kemenyOrder(pairs, inOrder(pairs));
    const judge = (agreement: number | null) =>
      judgeWinner(pairs, order, order.order, agreement, currentMetric);
    expect(judge(0.19).clearWinnerReason).toBe('no_rank_agreement');
    expect(judge(0.2).clearWinner).toBe(true);
    expect(judge(null).clearWinner).toBe(true);
  });

  test('a clear winner does not exist when the order that people see begins with another answer', () => {
    const answers = seatCodes(7);
    const pairs = comparePairs(answers, alike(answers));
    const order = kemenyOrder(pairs, inOrder(pairs));
    expect(judgeWinner(pairs, order, order.order.toReversed(), 1, currentMetric)).toEqual({
      clearWinner: false,
      clearWinnerReason: 'orders_differ',
    });
  });
});

describe("Kendall's τ-b", () => {
  test.each<[number[], number[], number]>([
    [[1, 2, 3, 4], [1, 2, 3, 4], 1],
    [[1, 2, 3, 4], [4, 3, 2, 1], -1],
    [[1, 2, 3], [1, 3, 2], 1 / 3],
    [[1, 2, 2, 3], [1, 2, 3, 3], 4 / 5],
  ])("Kendall's τ-b of %j and %j is %j", (one, other, expected) => {
    expect(kendallTau(one, other)).toBeCloseTo(expected, 12);
  });

  test("Kendall's τ-b is unknown when one of the two orders distinguishes nothing", () => {
    expect(kendallTau([1, 1, 1], [1, 2, 3])).toBeNull();
    expect(kendallTau([1], [1])).toBeNull();
  });
});

const agreed = (answers: readonly string[], all: readonly Review[]) =>
  rankAgreement(reviewerTaus(answers, all, currentMetric), currentMetric);

describe("the agreement of the reviewers' orders", () => {
  test("the agreement of the reviewers' orders is 1 when all rank alike, and 0 between two camps", () => {
    expect(agreed(seatCodes(7), camps(seatCodes(7), 7))).toBe(1);
    expect(agreed(seatCodes(7), camps(seatCodes(7), 4))).toBe(0);
  });

  test("the agreement of the reviewers' orders is unknown with fewer than three pairs that have three answers in common", () => {
    expect(agreed(seatCodes(4), camps(seatCodes(4), 4))).toBeNull();
    expect(agreed(seatCodes(5), camps(seatCodes(5), 5).slice(0, 2))).toBeNull();
    expect(agreed(seatCodes(5), camps(seatCodes(5), 5).slice(0, 3))).toBe(1);
  });

  test.each([4, 5, 6, 7, 8, 9, 10, 11, 12])(
    "the agreement of the reviewers' orders is unknown when %i seats review three answers each",
    (size) => {
      const answers = seatCodes(size);
      const assignments = reviewAssignments(answers, reviewOffsets(size, 3));
      const all = answers.map((reviewer) =>
        review(reviewer, { ranking: assignments[reviewer]!.map((answer) => [answer]) }),
      );
      expect(agreed(answers, all)).toBeNull();
    },
  );

  test("the agreement of the reviewers' orders is about 0.04 for seven seats that rank by chance", () => {
    const runs = Array.from({ length: 600 }, (_, run) =>
      agreed(seatCodes(7), noise(seatCodes(7), run)),
    ).map((value) => value ?? NaN);
    const mean = runs.reduce((sum, value) => sum + value, 0) / runs.length;
    expect(mean).toBeGreaterThan(0.025);
    expect(mean).toBeLessThan(0.05);
    const share = runs.filter((value) => value >= currentMetric.clearWinner.rankAgreement).length;
    expect(share / runs.length).toBeLessThan(0.05);
  });
});

const found = (answers: readonly string[], all: readonly Review[]) =>
  twoCamps(
    reviewerTaus(answers, all, currentMetric),
    answers,
    answers.map(() => 1),
    currentMetric,
  ).length > 0;

describe('two camps', () => {
  test.each([
    [6, 3],
    [7, 4],
    [8, 4],
    [8, 5],
    [12, 6],
    [12, 8],
  ])(
    'two camps of %i seats are found when %i rank one way and the others the other way',
    (size, first) => {
      expect(found(seatCodes(size), camps(seatCodes(size), first))).toBe(true);
    },
  );

  test.each([
    [7, 7],
    [7, 6],
    [7, 5],
    [12, 9],
  ])(
    'two camps of %i seats are not found when %i rank alike: the others are a minority',
    (size, first) => {
      expect(found(seatCodes(size), camps(seatCodes(size), first))).toBe(false);
    },
  );

  test('two camps of three and two are too small to be distinguished from chance', () => {
    expect(found(seatCodes(5), camps(seatCodes(5), 3))).toBe(false);
  });

  test.each([
    ['agree within and contradict each other', 8, 4, 1, -0.6, true],
    ['do not contradict each other enough', 7, 4, 0.5, -0.1, false],
    ['agree more within than they contradict each other', 12, 8, 1, -0.25, false],
    ['do not agree within', 7, 4, 0.4, -0.6, false],
  ])(
    'two camps that %s (%i seats, %i and the rest, %d within, %d between) are found: %s',
    (_, size, first, within, between, expected) => {
      const taus = seatCodes(size).map((__, a) =>
        seatCodes(size).map((___, b) =>
          a === b ? null : a < first === b < first ? within : between,
        ),
      );
      const weights = seatCodes(size).map(() => 1);
      expect(twoCamps(taus, seatCodes(size), weights, currentMetric).length > 0).toBe(expected);
    },
  );

  test('two camps at the threshold are found in whatever order their figures are added up', () => {
    const exactly = [0.1, 0.9, 0.3, 0.7, 0.4, 0.6];
    const anyOrder = fc.shuffledSubarray(exactly, { minLength: exactly.length });
    const camp = [0, 1, 2, 3];
    const pairs = camp.flatMap((a) => camp.slice(0, a).map((b) => `${b} ${a}`));
    const within = (order: readonly number[], a: number, b: number) =>
      a === b ? null : order[pairs.indexOf(`${Math.min(a, b)} ${Math.max(a, b)}`)]!;
    fc.assert(
      fc.property(anyOrder, anyOrder, (first, second) => {
        const taus = [...camp, ...camp].map((a, row) =>
          [...camp, ...camp].map((b, column) => {
            if (row < 4 !== column < 4) return (a + b) % 2 === 0 ? -0.1 : -0.4;
            return within(row < 4 ? first : second, a, b);
          }),
        );
        const weights = taus.map(() => 1);
        expect(twoCamps(taus, seatCodes(taus.length), weights, currentMetric)).not.toEqual([]);
      }),
    );
  });

  test('two camps are hardly ever found where seven seats rank by chance', () => {
    const runs = Array.from({ length: 300 }, (_, run) => run);
    const falseAlarms = runs.filter((run) => found(seatCodes(7), noise(seatCodes(7), run)));
    expect(falseAlarms.length).toBeLessThanOrEqual(3);
  });
});
