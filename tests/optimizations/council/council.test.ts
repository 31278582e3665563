import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { computeScores } from '#services/optimizations/council/council.ts';
import type { CouncilInput } from '#services/optimizations/council/council.ts';
import type { Ballot, Scores, Seat } from '#services/optimizations/run/events.ts';
import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';
import { independent } from '#services/models/seating/words.ts';
import { reviewAssignments } from '#services/optimizations/council/assignments.ts';

import {
  anyCouncil,
  ballot,
  claim,
  council,
  divided,
  drawnCouncil,
  laboratories,
  ledger,
  panel,
  rubric,
  seed,
  strict,
} from './ballots.ts';
import { isProof } from '#tests/support/properties.ts';

/** A council takes longer to draw and to score than most values; the proof draws as many as of them. */
const fewer = isProof ? {} : { numRuns: 40 };

const tenClaims = Array.from({ length: 10 }, (_, index) => claim(`c${index + 1}`));
const ids = tenClaims.map(({ id }) => id);

/** The first `agreeing` seats rank one way and vote for, the others the opposite way and against. */
function polarised(size: number, agreeing: number): CouncilInput {
  const seats = laboratories(size);
  const order = seats.map(({ seat }) => seat);
  const ballots = Object.fromEntries(
    Object.entries(divided(seats, agreeing, ids)).map(([seat, vote], index) => [
      seat,
      { ...vote, ranking: strict(index < agreeing ? order : order.toReversed(), seat) },
    ]),
  );
  return council(seats, ballots, { ledger: ledger(tenClaims) });
}

/** Stances on claim c1, one letter per seat: a agree, d disagree, u unsure; capitals are firm. */
function stances(letters: string): Record<string, Ballot> {
  const meaning = { a: 'agree', d: 'disagree', u: 'unsure' } as const;
  return Object.fromEntries(
    letters.split('').map((letter, index) => {
      const stance = meaning[letter.toLowerCase() as keyof typeof meaning];
      const confidence = letter === letter.toUpperCase() ? 80 : 79;
      return [`S${index + 1}`, ballot({ votes: { c1: { stance, confidence } } })];
    }),
  );
}

const onOneClaim = (
  letters: string,
  importance: 1 | 2 | 3 = 1,
  seats: readonly Seat[] = laboratories(letters.length),
) =>
  computeScores(
    council(seats, stances(letters), { ledger: ledger([claim('c1', { importance })]) }),
  );

/** Turns the seats' codes round, and the order in which seats are listed. */
function renaming(input: CouncilInput, turn: number) {
  const codes = input.seats.map(({ seat }) => seat);
  const next = new Map(
    codes.map((code, index) => [code, codes[(index + turn) % codes.length]!] as const),
  );
  const text = /S\d+/g;
  return <Value>(value: Value): Value => {
    const renamed = JSON.stringify(value).replaceAll(text, (code) => next.get(code) ?? code);
    return JSON.parse(renamed) as Value;
  };
}

/** Lists of seats are in the panel's order, which a renaming turns; the ranking is not. */
function sortedLists({ order, ...rest }: Scores): unknown {
  const sorted = JSON.parse(JSON.stringify(rest), (_, value: unknown) =>
    Array.isArray(value)
      ? value.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
      : value,
  ) as unknown;
  return { order, sorted };
}

describe('the figures of a council', () => {
  test('the figures of a unanimous council are 100, a consensus and a clear winner', () => {
    const scores = computeScores(polarised(7, 7));
    expect(scores.metricVersion).toBe('agreement_v2');
    expect(scores.agreement).toMatchObject({ score: 100, band: 'strong', rank: 1 });
    expect(scores.order).toEqual(['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7']);
    expect(scores).toMatchObject({ clearWinner: true, condorcetWinner: 'S1', twoCamps: false });
    expect(scores.consensus).toEqual(ids);
    expect(scores.disagreements).toEqual([]);
    expect(scores.minority).toBeNull();
    expect(new Set(Object.values(scores.placement))).toEqual(new Set([0]));
  });

  test('the figures of two opposite camps name no winner, though the answer in the middle has the most wins', () => {
    const scores = computeScores(polarised(7, 4));
    expect(scores.agreement).toMatchObject({ score: 12, band: 'split', rank: 0 });
    expect(scores.q['S4']).toBe(0.6);
    expect(Math.max(...Object.values(scores.q).map((q) => q ?? 0))).toBe(0.6);
    expect(scores.clearWinner).toBe(false);
    expect(scores.twoCamps).toBe(true);
    expect(scores.decision).toMatchObject({ modal: 'o1', share: 0.5714 });
    expect(scores.disagreements[0]!.about).toBe('decision');
  });

  test('the figures of a council with three reviews each leave the order unmeasured', () => {
    const scores = computeScores(
      drawnCouncil(seed, laboratories(7), { reviews: 3, claims: 5, lost: 0, scored: true }),
    );
    expect(scores.agreement.rank).toBeNull();
    expect(scores.agreement.score).not.toBeNull();
    expect(scores.clearWinner).toBeNull();
    expect(scores.clearWinnerReason).toBe('not_enough_comparisons');
    expect(scores.twoCamps).toBe(false);
  });

  test('the figures of a council without a claim ledger show the votes and no score', () => {
    const input = polarised(7, 4);
    const scores = computeScores({ ...input, ledger: { ...input.ledger, scored: false } });
    expect(scores.agreement).toMatchObject({ score: null, whyNull: 'no_ledger', byAnswer: null });
    expect(scores.claims['c1']).toMatchObject({ agreeShare: 0.5714, scored: false });
    expect(scores.disagreements).toHaveLength(11);
  });

  test('the figures of a council without ballots are unknown', () => {
    const scores = computeScores(council(laboratories(3), {}, { ledger: ledger(tenClaims) }));
    expect(scores.order).toHaveLength(3);
    expect(scores.q).toEqual({ S1: null, S2: null, S3: null });
    expect(scores.agreement).toMatchObject({ score: null, whyNull: 'too_few_votes' });
    expect(scores.decision).toEqual({ modal: null, share: null, votes: {} });
    expect(scores.clearWinner).toBeNull();
    expect(scores.confidence).toEqual({});
    expect(scores.placement).toEqual({ S1: 0, S2: 0, S3: 0 });
    expect(scores.bias).toEqual({
      positionSlope: null,
      leniency: {},
      leniencySpread: null,
      verbosityTau: null,
    });
  });

  test('the figures of a council are plain numbers of at most four decimals, in range, for every seat and claim', () => {
    fc.assert(
      fc.property(anyCouncil, (input) => {
        const scores = computeScores(input);
        const seats = input.seats.map(({ seat }) => seat);
        expect(JSON.parse(JSON.stringify(scores))).toEqual(scores);
        for (const text of JSON.stringify(scores).match(/-?\d+\.\d+/g) ?? [])
          expect(text.split('.')[1]!.length).toBeLessThanOrEqual(4);
        expect(scores.order.toSorted()).toEqual(seats.toSorted());
        expect(Object.keys(scores.placement)).toEqual(seats);
        for (const place of Object.values(scores.placement))
          expect(Math.abs(place)).toBeLessThanOrEqual(1);
        for (const { value, q, support, stated } of Object.values(scores.confidence)) {
          expect(value).toBeCloseTo(100 * (0.5 * q + 0.3 * support + 0.2 * stated), 1);
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(100);
        }
        const score = scores.agreement.score ?? 0;
        expect(score).toBe(Math.min(100, Math.max(0, Math.round(score))));
        expect(scores.twoCamps && scores.clearWinner === true).toBe(false);
      }),
      fewer,
    );
  });

  test('the figures of a council are the same when computed again, even from stored data', () => {
    fc.assert(
      fc.property(anyCouncil, (input) => {
        const stored = JSON.parse(JSON.stringify(input)) as CouncilInput;
        expect(computeScores(stored)).toEqual(computeScores(input));
      }),
      fewer,
    );
  });
});

describe('names of seats', () => {
  test('names of seats decide only what otherwise only the seed could decide', () => {
    fc.assert(
      fc.property(anyCouncil, fc.nat(), (input, turn) => {
        const scores = computeScores(input);
        const settled = new Set(
          input.seats.map(({ seat }) => `${scores.q[seat]} ${scores.rubricMeans[seat]}`),
        );
        fc.pre(settled.size === input.seats.length);
        const rename = renaming(input, turn);
        expect(sortedLists(computeScores(rename(input)))).toEqual(sortedLists(rename(scores)));
      }),
      fewer,
    );
  });

  test('the seats may be listed in any order', () => {
    fc.assert(
      fc.property(anyCouncil, (input) => {
        const scores = computeScores(input);
        const turned = computeScores({
          ...input,
          seats: input.seats.toReversed(),
          ballots: Object.fromEntries(Object.entries(input.ballots).toReversed()),
        });
        expect(sortedLists(turned)).toEqual(sortedLists(scores));
      }),
      fewer,
    );
  });
});

describe('a seat that was left out', () => {
  test('an excluded seat takes its rows with it and moves no other seat', () => {
    fc.assert(
      fc.property(anyCouncil, fc.nat(), (input, pick) => {
        fc.pre(input.seats.length > 3);
        const out = input.seats[pick % input.seats.length]!.seat;
        const seats = input.seats.filter(({ seat }) => seat !== out);
        const scores = computeScores({ ...input, seats });
        const erased = JSON.parse(JSON.stringify(input.ballots)) as Record<string, Ballot>;
        delete erased[out];
        for (const [reviewer, kept] of Object.entries(erased))
          erased[reviewer] = {
            ...kept,
            ranking: kept.ranking.map((group) => group.filter((seat) => seat !== out)),
          };
        expect(scores).toEqual(computeScores({ ...input, seats, ballots: erased }));
        expect(scores.order).not.toContain(out);
        expect(JSON.stringify(scores.claims)).not.toContain(`"${out}"`);
      }),
      fewer,
    );
  });

  test('an excluded seat still counts as a place in what the others were shown', () => {
    const seats = laboratories(7);
    const input = drawnCouncil(seed, seats, { reviews: 6, claims: 0, lost: 0, scored: true });
    const assignments = reviewAssignments(input.reviewOrder.order, input.reviewOrder.offsets);
    // Each mark is the place at which the answer stood, so the slope is exactly 1 a place.
    const ballots = Object.fromEntries(
      Object.entries(input.ballots).map(([reviewer, kept]) => [
        reviewer,
        {
          ...kept,
          scores: Object.fromEntries(
            assignments[reviewer]!.map((answer, index) => [answer, rubric(index + 1)]),
          ),
        },
      ]),
    );
    const left = seats.filter(({ seat }) => seat !== 'S3');
    expect(computeScores({ ...input, ballots, seats: left }).bias.positionSlope).toBe(1);
  });
});

describe('consensus points', () => {
  test.each<[string, string, boolean]>([
    ['all agree', 'aaaaaaa', true],
    ['six of seven agree', 'aaaaaad', true],
    ['four of six who took a stance agree', 'aaaaddu', false],
    ['two of seven disagree, which is a dispute', 'aaaaadd', false],
    ['four of seven agree', 'aaaaddd', false],
    ['only four took a stance', 'aaaauuu', false],
    ['one firmly objects', 'aaaaaaD', false],
    ['all disagree', 'ddddddd', false],
  ])('consensus points: %s: %s', (_, letters, expected) => {
    expect(onOneClaim(letters).consensus).toEqual(expected ? ['c1'] : []);
  });

  test('consensus points need three families, or two in a strategy of two', () => {
    const seats = panel('a', 'a', 'a', 'b', 'b', 'b', 'b');
    const input = council(seats, stances('aaaaaaa'), { ledger: ledger([claim('c1')]) });
    expect(computeScores({ ...input, minFamilies: 3 }).consensus).toEqual([]);
    expect(computeScores({ ...input, minFamilies: 2 }).consensus).toEqual(['c1']);
  });

  test('consensus points are sorted by importance and agreement', () => {
    const claims = [claim('c1'), claim('c2', { importance: 3 }), claim('c3')];
    const agree = { stance: 'agree' as const, confidence: 50 };
    const disagree = { stance: 'disagree' as const, confidence: 50 };
    const seats = laboratories(7);
    const ballots = Object.fromEntries(
      seats.map(({ seat }, index) => [
        seat,
        ballot({ votes: { c1: index === 0 ? disagree : agree, c2: agree, c3: agree } }),
      ]),
    );
    const scores = computeScores(council(seats, ballots, { ledger: ledger(claims) }));
    expect(scores.consensus).toEqual(['c2', 'c3', 'c1']);
  });
});

describe('disagreement areas', () => {
  test.each<[string, string, 1 | 2 | 3, boolean]>([
    ['all agree', 'aaaaaaa', 3, false],
    ['a third and more dissents', 'aaaaddd', 1, true],
    ['two families dissent', 'aaaaadd', 1, true],
    ['two families agree where the others do not', 'dddddaa', 1, true],
    ['one dissents', 'aaaaaad', 3, false],
    ['one dissents firmly on what decides', 'aaaaaaD', 3, true],
    ['one dissents firmly on what does not decide', 'aaaaaaD', 2, false],
    ['two took a stance', 'aduuuuu', 3, false],
  ])('disagreement areas: %s: %s at importance %i', (_, letters, importance, expected) => {
    const areas = onOneClaim(letters, importance).disagreements.map(({ about }) => about);
    expect(areas).toEqual(expected ? ['c1'] : []);
  });

  test('disagreement areas count two siblings as one family', () => {
    const siblings = panel('b', 'c', 'd', 'e', 'f', 'a', 'a');
    expect(onOneClaim('aaaaadd', 1, siblings).disagreements).toEqual([]);
  });

  test('disagreement areas name both sides, the larger first', () => {
    expect(onOneClaim('ddddaau').disagreements[0]!.sides).toEqual([
      { stance: 'disagree', seats: ['S1', 'S2', 'S3', 'S4'] },
      { stance: 'agree', seats: ['S5', 'S6'] },
    ]);
  });

  test('disagreement areas are weighed by importance, dissent, and the quality of the minority’s answers', () => {
    const scores = computeScores(polarised(7, 4));
    const minority = ['S5', 'S6', 'S7'].map((seat) => scores.q[seat]!);
    const quality = minority.reduce((sum, q) => sum + q, 0) / 3;
    const weights = new Map(scores.disagreements.map(({ about, weight }) => [about, weight]));
    expect(weights.get('c1')).toBeCloseTo(1 * (6 / 7) * quality, 3);
    expect(weights.get('decision')).toBeCloseTo(3 * (6 / 7) * quality, 3);
  });
});

describe('the minority report', () => {
  test('the minority report is the best answer that votes against the decision, and names those who saw a fatal flaw in the first', () => {
    const input = polarised(7, 5);
    const best = computeScores(input).verdict?.bestSeat ?? '';
    const ballots = {
      ...input.ballots,
      S2: { ...input.ballots['S2']!, fatalFlaws: { [best]: 2 } },
      S6: { ...input.ballots['S6']!, fatalFlaws: { [best]: 1, S3: 1 } },
      S7: { ...input.ballots['S7']!, fatalFlaws: { S3: 1 } },
    };
    const { minority, q } = computeScores({ ...input, ballots });
    const dissenters = ['S6', 'S7'].toSorted((one, other) => q[other]! - q[one]!);
    expect(minority).toEqual({ seat: dissenters[0], optionId: 'o2', against: ['S2', 'S6'] });
  });
});

describe('uncertainty factors', () => {
  test('uncertainty factors are sorted by kind, then by how many seats name them', () => {
    const claims = [claim('c1', { flips: ['S1', 'S2'] }), claim('c2', { flips: ['S1'] })];
    const notes = [
      { id: 'm1', kind: 'missing_info' as const, seats: ['S1', 'S2'] },
      { id: 'm2', kind: 'missing_info' as const, seats: ['S1', 'S2', 'S3'] },
      { id: 'a1', kind: 'assumption' as const, seats: ['S1', 'S2'] },
      { id: 'a2', kind: 'assumption' as const, seats: ['S1', 'S9'] },
    ];
    const scores = computeScores(
      council(laboratories(4), stances('aduu'), {
        ledger: ledger(claims, { notes }),
        process: ['seats_missing', 'truncated'],
      }),
    );
    expect(scores.uncertainty).toEqual([
      { kind: 'unsure_claim', ref: 'c2', count: 4 },
      { kind: 'unsure_claim', ref: 'c1', count: 2 },
      { kind: 'assumption', ref: 'a1', count: 2 },
      { kind: 'flips', ref: 'c1', count: 2 },
      { kind: 'missing_info', ref: 'm2', count: 3 },
      { kind: 'missing_info', ref: 'm1', count: 2 },
      { kind: 'process', ref: 'seats_missing', count: 1 },
      { kind: 'process', ref: 'truncated', count: 1 },
    ]);
  });
});

describe("a seat's confidence", () => {
  test("a seat's confidence is half its rank, three tenths its support and two tenths its own claim, drawn to the middle", () => {
    const input = polarised(7, 7);
    const claims = [
      claim('c1', { authors: ['S1', 'S2'] }),
      claim('c2', { authors: ['S1'] }),
      claim('c3', { authors: ['S7'] }),
    ];
    const against = { c2: { stance: 'disagree' as const, confidence: 50 } };
    const ballots = Object.fromEntries(
      Object.entries(input.ballots).map(([seat, kept]) => [
        seat,
        // Of the six peers of S1, four disagree with its second claim.
        ['S1', 'S2', 'S3'].includes(seat)
          ? kept
          : { ...kept, votes: { ...kept.votes, ...against } },
      ]),
    );
    const opinions = { ...input.opinions, S1: { confidence: 90, characters: 1000 } };
    const scores = computeScores({ ...input, ballots, opinions, ledger: ledger(claims) });
    expect(scores.confidence['S1']).toEqual({ q: 1, support: 0.5, stated: 0.7, value: 79 });
    expect(scores.confidence['S7']).toEqual({ q: 0, support: 1, stated: 0.5, value: 40 });
  });

  test("a seat's confidence never counts its own vote on its claims", () => {
    const claims = [claim('c1', { authors: ['S1'] })];
    const own = council(laboratories(5), stances('auuuu'), { ledger: ledger(claims) });
    expect(computeScores(own).confidence).toEqual({});
    const input = polarised(7, 7);
    const alone = { c1: { stance: 'agree' as const, confidence: 50 } };
    const ballots = Object.fromEntries(
      Object.entries(input.ballots).map(([seat, kept]) => [
        seat,
        { ...kept, votes: seat === 'S1' ? alone : {} },
      ]),
    );
    const scores = computeScores({ ...input, ballots, ledger: ledger(claims) });
    expect(scores.claims['c1']!.agree).toEqual(['S1']);
    expect(scores.confidence).not.toHaveProperty('S1');
  });
});

describe('a tied decision', () => {
  test('a tied decision is called by the option that the first answer proposes, and is a disagreement', () => {
    for (const [proposed, rival] of [
      ['o1', 'o2'],
      ['o2', 'o1'],
    ] as const) {
      const input = polarised(8, 4);
      const plain = computeScores(input);
      const options = [
        { id: proposed, seats: [plain.order[0]!] },
        { id: rival, seats: [plain.order[1]!] },
      ];
      const scores = computeScores({ ...input, ledger: ledger(tenClaims, { options }) });
      expect(scores.decision).toMatchObject({ modal: proposed, share: 0.5 });
      expect(scores.agreement.decision).toBe(0);
      expect(scores.disagreements.map(({ about }) => about)).toContain('decision');
    }
  });
});

describe('the places in the braid', () => {
  test('the places in the braid show a council of four and three as two ropes', () => {
    const { placement } = computeScores(polarised(7, 4));
    expect(placement).toEqual({ S1: 0, S2: 0, S3: 0, S4: 0, S5: -1, S6: -1, S7: -1 });
  });

  test('the places in the braid show a council of four and four as two ropes, one on either side', () => {
    const places = Object.values(computeScores(polarised(8, 4)).placement);
    expect(places.toSorted((one, other) => one - other)).toEqual([
      -0.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5,
    ]);
  });

  test('the places in the braid leave a seat that did not vote in the middle', () => {
    const input = polarised(7, 4);
    const ballots = Object.fromEntries(
      Object.entries(input.ballots).filter(([seat]) => seat !== 'S7'),
    );
    expect(computeScores({ ...input, ballots }).placement['S7']).toBe(0);
  });

  test('the places in the braid weigh claims by importance', () => {
    const seats = laboratories(5);
    const claims = [claim('c1', { importance: 3 }), claim('c2', { importance: 1 })];
    const agree = { stance: 'agree' as const, confidence: 50 };
    const ballots = Object.fromEntries(
      seats.map(({ seat }, index) => [
        seat,
        ballot({
          votes: {
            c1: agree,
            c2: index === 0 ? { stance: 'disagree', confidence: 50 } : agree,
          },
        }),
      ]),
    );
    const { placement } = computeScores(council(seats, ballots, { ledger: ledger(claims) }));
    expect(placement).toEqual({ S1: 0.25, S2: 0, S3: 0, S4: 0, S5: 0 });
  });
});

describe('families', () => {
  test('a family of three siblings does not outvote three laboratories on the decision', () => {
    const seats = panel('a', 'a', 'a', 'b', 'c', 'd');
    const ballots = Object.fromEntries(
      seats.map(({ seat, family }) => [
        seat,
        ballot({ decision: { optionId: family === 'a' ? 'o1' : 'o2', seat: null } }),
      ]),
    );
    const { decision } = computeScores(council(seats, ballots));
    expect(decision).toMatchObject({ modal: 'o2', share: 0.634 });
    expect(decision.votes).toEqual({ o1: ['S1', 'S2', 'S3'], o2: ['S4', 'S5', 'S6'] });
  });
});

describe('copies of one model', () => {
  /** Seats with the models of the letters, each of the maker that `makers` names for it. */
  const seated = (models: string, makers: Readonly<Record<string, string>> = {}) =>
    panel(...models.split(' ').map((letter) => makers[letter] ?? `maker of ${letter}`)).map(
      (seat, index) => ({ ...seat, model: `model ${models.split(' ')[index]!}` }),
    );
  const unanimous = (seats: readonly Seat[]) => ({
    ...polarised(seats.length, seats.length),
    seats,
  });
  const oneMaker = { a: 'one', b: 'one', c: 'one', d: 'one', e: 'one', f: 'one', g: 'one' };

  test.each<[string, readonly Seat[], boolean]>([
    ['seven copies of one model', seated('a a a a a a a'), true],
    ['seven different models of one maker', seated('a b c d e f g', oneMaker), true],
    ['three different models', seated('a a a b b c c'), true],
    [
      'four different models of two makers',
      seated('a a b b c c d', { a: 'one', b: 'one', c: 'one' }),
      false,
    ],
  ])('%s have a clear winner, or say that copies agree', (_, seats, copies) => {
    const { clearWinner, clearWinnerReason, agreement } = computeScores(unanimous(seats));
    expect({ clearWinner, clearWinnerReason, ...agreement }).toMatchObject(
      copies
        ? { clearWinner: null, clearWinnerReason: 'copies', score: 79, capped: 'copies' }
        : { clearWinner: true, clearWinnerReason: 'clear', score: 100, capped: null },
    );
    const before = computeScores(unanimous(seats), metricOf('agreement_v1')!);
    expect(before).toMatchObject({ clearWinner: true, agreement: { score: 100, capped: false } });
  });

  test('two dissenters contest a claim where one maker holds every seat', () => {
    const disagreements = (seats: readonly Seat[]) =>
      onOneClaim('aaaaadd', 1, seats).disagreements.map(({ about }) => about);
    expect(disagreements(seated('a b c d e f g', oneMaker))).toEqual(['c1']);
    expect(disagreements(seated('a b c d e f f', { a: 'one', b: 'one' }))).toEqual([]);
  });

  test('the sentence before the payment and the metric count copies alike', () => {
    expect(currentMetric.copies).toMatchObject(independent);
  });
});

describe('the metric', () => {
  test('the weights of the metric add up to one', () => {
    for (const { decision, claims, rank } of Object.values(currentMetric.weights))
      expect(decision + claims + rank).toBeCloseTo(1, 12);
    const { q, support, stated } = currentMetric.confidence;
    expect(q + support + stated).toBeCloseTo(1, 12);
  });
});
