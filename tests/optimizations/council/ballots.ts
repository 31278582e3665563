import fc from 'fast-check';

import type { CouncilInput } from '#services/optimizations/council/council.ts';
import type {
  Ballot,
  ClaimFixed,
  Ledger,
  Rubric,
  Seat,
  Stance,
} from '#services/optimizations/run/events.ts';
import { reviewOffsets, reviewAssignments } from '#services/optimizations/council/assignments.ts';
import { seededInteger, seededOrder } from '#services/platform/seeded.ts';

/** Councils in one line each, for tests of their figures. */

export const seed = '00112233445566778899aabbccddeeff';

export function seatCodes(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `S${index + 1}`);
}

/** One seat per family name: `panel('a', 'a', 'b')` is S1 and S2 of family a, and S3 of b. */
export function panel(...families: string[]): Seat[] {
  return families.map((family, index) => ({
    seat: `S${index + 1}`,
    role: 'strategic',
    family,
    model: `model-${index + 1}`,
    provider: family,
    effort: null,
    simulated: true,
  }));
}

/** A panel whose seats are all of different families. */
export function laboratories(count: number): Seat[] {
  return panel(...Array.from({ length: count }, (_, index) => `family-${index + 1}`));
}

export function rubric(mark: number): Rubric {
  return {
    correctness: mark,
    relevance: mark,
    completeness: mark,
    feasibility: mark,
    riskAwareness: mark,
  };
}

export function ballot(parts: Partial<Ballot>): Ballot {
  return {
    ranking: [],
    scores: {},
    votes: {},
    decision: { optionId: 'o1', seat: null },
    suspects: [],
    scoresContradict: false,
    fatalFlaws: {},
    ...parts,
  };
}

/** A strict ranking of all seats but the reviewer, best first. */
export function strict(order: readonly string[], reviewer: string): string[][] {
  return order.filter((seat) => seat !== reviewer).map((seat) => [seat]);
}

export function claim(id: string, parts: Partial<ClaimFixed> = {}): ClaimFixed {
  return { id, importance: 1, authors: [], flips: [], ...parts };
}

export function ledger(
  claims: readonly ClaimFixed[],
  parts: Partial<Ledger> = {},
): CouncilInput['ledger'] {
  const options = [
    { id: 'o1', seats: [] },
    { id: 'o2', seats: [] },
    { id: 'o3', seats: [] },
    { id: 'o4', seats: [] },
  ];
  return { claims, options, notes: [], scored: true, ...parts };
}

/** A council in which every seat reviewed every other seat. */
export function council(
  seats: readonly Seat[],
  ballots: Readonly<Record<string, Ballot>>,
  parts: Partial<CouncilInput> = {},
): CouncilInput {
  const order = seats.map(({ seat }) => seat);
  return {
    seed,
    seats,
    ballots,
    ledger: ledger([]),
    opinions: Object.fromEntries(order.map((seat) => [seat, { confidence: 50, characters: 1000 }])),
    reviewOrder: { order, offsets: reviewOffsets(order.length, order.length) },
    minFamilies: 3,
    process: [],
    ...parts,
  };
}

/** `count` seats of which the first `agreeing` take one stance, and choose o1, and the others another. */
export function divided(seats: readonly Seat[], agreeing: number, claimIds: readonly string[]) {
  return Object.fromEntries(
    seats.map(({ seat }, index) => {
      const stance: Stance = index < agreeing ? 'agree' : 'disagree';
      return [
        seat,
        ballot({
          votes: Object.fromEntries(claimIds.map((id) => [id, { stance, confidence: 60 }])),
          decision: { optionId: index < agreeing ? 'o1' : 'o2', seat: null },
        }),
      ];
    }),
  );
}

/** Any council: 3 to 12 seats, any design, shared families, ties, abstentions and lost reviews. */
export const anyCouncil: fc.Arbitrary<CouncilInput> = fc
  .record({
    seed: fc.stringMatching(/^[0-9a-f]{32}$/),
    families: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 3, maxLength: 12 }),
    reviews: fc.integer({ min: 2, max: 11 }),
    claims: fc.integer({ min: 0, max: 8 }),
    lost: fc.integer({ min: 0, max: 2 }),
    scored: fc.boolean(),
  })
  .map(({ families, reviews, claims, lost, scored, ...run }) =>
    drawnCouncil(run.seed, panel(...families), { reviews, claims, lost, scored }),
  );

/** A council whose ballots are drawn from the seed, so that the seed names a failing one. */
export function drawnCouncil(
  runSeed: string,
  seats: readonly Seat[],
  shape: { reviews: number; claims: number; lost: number; scored: boolean },
): CouncilInput {
  const draw = (purpose: string, bound: number) => seededInteger(runSeed, purpose, bound);
  const codes = seats.map(({ seat }) => seat);
  const order = seededOrder(runSeed, 'order', codes);
  const offsets = reviewOffsets(seats.length, shape.reviews);
  const claims = Array.from({ length: shape.claims }, (_, index) => {
    const id = `c${index + 1}`;
    return claim(id, {
      importance: ([1, 2, 3] as const)[draw(`importance ${id}`, 3)]!,
      authors: codes.filter((seat) => draw(`author ${id} ${seat}`, 4) === 0),
      flips: codes.filter((seat) => draw(`flip ${id} ${seat}`, 5) === 0),
    });
  });
  const voting = codes.slice(0, Math.max(0, codes.length - shape.lost));
  const assignments = reviewAssignments(order, offsets);
  const ballots = Object.fromEntries(
    voting.map((reviewer) => {
      const shown = assignments[reviewer]!;
      const groups = Map.groupBy(shown, (answer) => draw(`place ${reviewer} ${answer}`, 5));
      const votes = claims.flatMap(({ id }) => {
        const stance = (['agree', 'agree', 'disagree', 'unsure', null] as const)[
          draw(`stance ${reviewer} ${id}`, 5)
        ];
        const confidence = draw(`sure ${reviewer} ${id}`, 101);
        return stance ? [[id, { stance, confidence }] as const] : [];
      });
      return [
        reviewer,
        ballot({
          ranking: [...groups].toSorted(([one], [other]) => one - other).map(([, group]) => group),
          scores: Object.fromEntries(
            shown.map((answer) => [answer, rubric(1 + draw(`mark ${reviewer} ${answer}`, 10))]),
          ),
          votes: Object.fromEntries(votes),
          decision: {
            optionId: `o${1 + draw(`option ${reviewer}`, 3)}`,
            seat: shown[draw(`answer ${reviewer}`, shown.length)] ?? null,
          },
          fatalFlaws: Object.fromEntries(
            shown
              .filter((answer) => draw(`flaw ${reviewer} ${answer}`, 6) === 0)
              .map((answer) => [answer, 1]),
          ),
        }),
      ];
    }),
  );
  return {
    seed: runSeed,
    seats,
    ballots,
    ledger: {
      ...ledger(claims, {
        options: ['o1', 'o2', 'o3'].map((id) => ({
          id,
          seats: codes.filter((seat) => draw(`proposes ${id} ${seat}`, 3) === 0),
        })),
        notes: [
          { id: 'n1', kind: 'assumption', seats: codes.slice(0, 2) },
          { id: 'n2', kind: 'missing_info', seats: codes.slice(0, 3) },
        ],
      }),
      scored: shape.scored,
    },
    opinions: Object.fromEntries(
      codes.map((seat) => [
        seat,
        { confidence: draw(`stated ${seat}`, 101), characters: 500 + draw(`length ${seat}`, 3000) },
      ]),
    ),
    reviewOrder: { order, offsets },
    minFamilies: 2,
    process: [],
  };
}
