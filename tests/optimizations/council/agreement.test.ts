import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  bandOf,
  claimAgreement,
  familyWeights,
  minorityOf,
  pollClaim,
  scoreAgreement,
  takePoll,
  weighParts,
} from '#services/optimizations/council/agreement.ts';
import type { ClaimPoll, Poll } from '#services/optimizations/council/agreement.ts';
import type { Scores, Stance } from '#services/optimizations/run/events.ts';
import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';

import { ballot, claim, laboratories, panel } from './ballots.ts';

const metric = currentMetric;
const agreementV1 = metricOf('agreement_v1')!;

/** A poll in which the first choice has `counts[0]` votes, the second `counts[1]`, and so on. */
function poll(...counts: number[]): Poll {
  const votes = counts.flatMap((count, choice) =>
    Array.from({ length: count }, (_, index) => ({
      seat: `${choice}-${index}`,
      choice: `o${choice + 1}`,
    })),
  );
  const weights = Object.fromEntries(votes.map(({ seat }) => [seat, 1]));
  return takePoll(votes, weights, (choice) => Number(choice.slice(1)), metric);
}

function claimPoll(
  agree: number,
  disagree: number,
  parts: { importance?: 1 | 2 | 3; unsure?: number } = {},
): ClaimPoll {
  const stances: Stance[] = [
    ...Array.from({ length: agree }, () => 'agree' as const),
    ...Array.from({ length: disagree }, () => 'disagree' as const),
    ...Array.from({ length: parts.unsure ?? 0 }, () => 'unsure' as const),
  ];
  const seats = laboratories(stances.length);
  const reviews = seats.map(({ seat }, index) => ({
    reviewer: seat,
    ballot: ballot({ votes: { c1: { stance: stances[index]!, confidence: 50 } } }),
  }));
  return pollClaim(
    claim('c1', { importance: parts.importance ?? 1 }),
    reviews,
    familyWeights(seats, metric),
    metric,
  );
}

const repeat = <Item>(count: number, item: Item) => Array.from({ length: count }, () => item);

describe('the agreement score', () => {
  const score = (
    decision: Poll,
    claims: ClaimPoll[],
    rank: number | null,
    { scored = true, copies = false, by = metric } = {},
  ) => scoreAgreement({ decision, byAnswer: poll(3, 2, 2), claims, scored, copies }, rank, by);

  type Capped = Scores['agreement']['capped'];
  test.each<[string, Poll, ClaimPoll[], number | null, number, Capped]>([
    ['7–0, ten claims 7–0, equal orders', poll(7), repeat(10, claimPoll(7, 0)), 1, 100, null],
    ['4–3, ten claims 4–3, no order', poll(4, 3), repeat(10, claimPoll(4, 3)), 0, 12, null],
    [
      '6–1, and 4–3 on one claim that decides',
      poll(6, 1),
      [...repeat(8, claimPoll(7, 0)), claimPoll(6, 1), claimPoll(4, 3, { importance: 3 })],
      0.6,
      59,
      'contested',
    ],
  ])(
    'the agreement score is as computed by hand for %s',
    (_, decision, claims, rank, expected, capped) => {
      expect(score(decision, claims, rank)).toMatchObject({
        score: expected,
        capped,
        whyNull: null,
      });
    },
  );

  test('the agreement score of a run counted by agreement_v1 keeps its cap of 60 and its flag', () => {
    const claims = [
      ...repeat(8, claimPoll(7, 0)),
      claimPoll(6, 1),
      claimPoll(4, 3, { importance: 3 }),
    ];
    const by = agreementV1;
    expect(score(poll(6, 1), claims, 0.6, { by })).toMatchObject({ score: 60, capped: true });
    expect(score(poll(7), [claimPoll(7, 0)], 1, { by, copies: true })).toMatchObject({
      score: 100,
      capped: false,
    });
  });

  test('the agreement score of copies is at most 79, and of two caps the lower one holds', () => {
    const contested = [...repeat(9, claimPoll(7, 0)), claimPoll(4, 3, { importance: 3 })];
    const copies = true;
    expect(score(poll(7), [claimPoll(7, 0)], 1, { copies })).toMatchObject({
      score: 79,
      band: 'majority',
      capped: 'copies',
    });
    expect(score(poll(7), contested, 1, { copies })).toMatchObject({
      score: 59,
      band: 'contested',
      capped: 'contested',
    });
    expect(score(poll(4, 3), contested.slice(0, 1), 1, { copies })).toMatchObject({
      score: 61,
      capped: null,
    });
  });

  test('the agreement score is capped only by a claim of importance 3', () => {
    const parts = { decision: 5 / 7, claims: (8 + 5 / 7 + 3 / 7) / 12, rank: 0.6 };
    expect(weighParts(parts, metric)).toBeCloseTo(71.6, 1);
    const claims = [...repeat(9, claimPoll(7, 0)), claimPoll(4, 3, { importance: 2 })];
    expect(score(poll(7), claims, 1)).toMatchObject({ score: 94, capped: null });
  });

  test('the agreement score names a cap only if the cap lowered it', () => {
    const claims = [claimPoll(4, 3, { importance: 3 })];
    expect(score(poll(4, 3), claims, 0)).toMatchObject({ score: 12, capped: null });
  });

  test('the agreement score is not capped by a claim on which most reviewers abstained', () => {
    const unsure = claimPoll(2, 1, { importance: 3, unsure: 4 });
    expect(score(poll(7), [claimPoll(7, 0), unsure], 1)).toMatchObject({ score: 100 });
  });

  test('the agreement score rounds a half up', () => {
    const parts = { decision: 0.25, claims: 0.0325, rank: 0 };
    expect(weighParts(parts, metric)).toBeCloseTo(12.55, 12);
    const half = { ...poll(7), agreement: 0.125 / 0.45 };
    expect(score(half, [{ ...claimPoll(7, 0), agreement: 0 }], 0).score).toBe(13);
  });

  test('the agreement score weighs decision and claims 53 to 47 when the order was not measured', () => {
    expect(score(poll(7), [claimPoll(4, 3)], null)).toMatchObject({ score: 60, rank: null });
    expect(score(poll(4, 3), [claimPoll(7, 0)], null).score).toBe(55);
  });

  test('the agreement score gives the weight of the claims to the other parts when no claim has enough votes', () => {
    expect(score(poll(4, 3), [], 0)).toMatchObject({ score: 11, claims: null });
    expect(score(poll(6, 1), [claimPoll(1, 1)], null)).toMatchObject({ score: 71, claims: null });
  });

  test('the agreement score is null with too few votes on the decision', () => {
    expect(score(poll(1, 1), [claimPoll(7, 0)], 1)).toMatchObject({
      score: null,
      band: null,
      decision: null,
      whyNull: 'too_few_votes',
    });
  });

  test('the agreement score is null without a claim ledger, whatever the votes', () => {
    expect(score(poll(7), [claimPoll(7, 0)], 1, { scored: false })).toEqual({
      score: null,
      band: null,
      decision: null,
      claims: null,
      rank: 1,
      capped: null,
      byAnswer: null,
      whyNull: 'no_ledger',
    });
  });

  test('the agreement score is also computed from the answers that the votes name', () => {
    const votes = {
      decision: poll(7),
      byAnswer: poll(4, 3),
      claims: [claimPoll(7, 0)],
      scored: true,
      copies: false,
    };
    expect(scoreAgreement(votes, 1, metric)).toMatchObject({ score: 100, byAnswer: 61 });
  });

  test.each([
    [100, 'strong'],
    [80, 'strong'],
    [79, 'majority'],
    [60, 'majority'],
    [59, 'contested'],
    [40, 'contested'],
    [39, 'split'],
    [0, 'split'],
    [null, null],
  ])('an agreement score of %j is called %j', (value, band) => {
    expect(bandOf(value, metric)).toBe(band);
  });
});

describe('a vote', () => {
  test.each<[number[], number]>([
    [[7], 1],
    [[6, 1], 5 / 7],
    [[4, 3], 1 / 7],
    [[4, 2, 1], 1 / 7],
    [[4, 1, 1, 1], 1 / 7],
    [[3, 2, 2], 0],
    [[2, 1], 1 / 3],
  ])('a vote split %j has the value %j', (counts, value) => {
    expect(poll(...counts).agreement).toBeCloseTo(value, 12);
  });

  test('a vote with fewer than three voters is not counted', () => {
    expect(poll(2).agreement).toBeNull();
    expect(poll()).toEqual({ camps: [], votes: 0, share: null, agreement: null, tied: false });
  });

  test('a vote never gains value when the opposition splinters', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
        (rest) => {
          const united = rest.reduce((sum, count) => sum + count, 0);
          fc.pre(united < 8);
          expect(poll(8, ...rest).agreement).toBeCloseTo(poll(8, united).agreement!, 12);
        },
      ),
    );
  });

  test('a vote of two equal camps has the preferred camp as its mode and puts all voters in a minority', () => {
    const tied = poll(2, 3, 3);
    expect(tied.camps.map(({ choice }) => choice)).toEqual(['o2', 'o3', 'o1']);
    expect(tied.tied).toBe(true);
    expect(minorityOf(tied)).toHaveLength(8);
    expect(minorityOf(poll(4, 3))).toEqual(['1-0', '1-1', '1-2']);
  });
});

describe('family weights', () => {
  test('family weights give each of n siblings the weight 1/√n', () => {
    expect(familyWeights(panel('a', 'a', 'a', 'a', 'b'), metric)).toEqual({
      S1: 0.5,
      S2: 0.5,
      S3: 0.5,
      S4: 0.5,
      S5: 1,
    });
  });

  test('family weights can be set so that a family weighs as much as one seat', () => {
    const strictly = { ...metric, familyExponent: 1 };
    expect(familyWeights(panel('a', 'a', 'b'), strictly)).toEqual({ S1: 0.5, S2: 0.5, S3: 1 });
  });

  test('family weights keep three or four siblings from outvoting three laboratories', () => {
    for (const siblings of [3, 4]) {
      const seats = panel(...repeat(siblings, 'a'), 'b', 'c', 'd');
      const votes = seats.map(({ seat, family }) => ({
        seat,
        choice: family === 'a' ? 'siblings' : 'laboratories',
      }));
      const { camps, tied } = takePoll(votes, familyWeights(seats, metric), () => 0, metric);
      expect(camps[0]!.choice).toBe('laboratories');
      expect(tied).toBe(false);
    }
  });
});

describe('the votes on a claim', () => {
  test('the votes on a claim leave abstentions out of the share', () => {
    const { agreeShare, agreement, stances } = claimPoll(3, 1, { unsure: 3 });
    expect(agreeShare).toBeCloseTo(3 / 4);
    expect(agreement).toBeCloseTo(1 / 2);
    expect(stances.unsure).toEqual(['S5', 'S6', 'S7']);
  });

  test('the votes on a claim do not count when fewer than half of the reviewers, or fewer than three, took a stance', () => {
    expect(claimPoll(3, 1, { unsure: 4 }).counts).toBe(true);
    expect(claimPoll(3, 0, { unsure: 4 }).counts).toBe(false);
    expect(claimPoll(2, 0).counts).toBe(false);
  });

  test('the votes on a claim weigh by importance and by the share of reviewers that took a stance', () => {
    const split = claimPoll(2, 2, { importance: 2, unsure: 4 });
    const agreed = claimPoll(8, 0, { importance: 3 });
    expect(claimAgreement([split, agreed])).toBeCloseTo(3 / (3 + 2 * 0.5), 12);
    expect(claimAgreement([claimPoll(2, 0)])).toBeNull();
  });

  test('the votes on a claim treat a missing stance like an abstention', () => {
    const seats = laboratories(4);
    const reviews = seats.map(({ seat }, index) => ({
      reviewer: seat,
      ballot: ballot(index < 3 ? { votes: { c1: { stance: 'agree', confidence: 50 } } } : {}),
    }));
    const found = pollClaim(claim('c1'), reviews, familyWeights(seats, metric), metric);
    expect(found).toMatchObject({ participation: 3 / 4, stances: { unsure: [] }, agreement: 1 });
  });
});
