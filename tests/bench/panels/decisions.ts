import { reviewAssignments, reviewOffsets } from '#services/optimizations/council/assignments.ts';
import type { CouncilInput } from '#services/optimizations/council/council.ts';
import {
  ballot,
  claim,
  council,
  laboratories,
  ledger,
} from '#tests/optimizations/council/ballots.ts';
import { marksOf, normals } from './draws.ts';

/**
 * Panels that decide: one option is right and one tempts, and eight claims are true. How often a model
 * is right differs from question to question, from 30 % (a misleading one) to 90 % (an easy one).
 */
const accuracy = { least: 0.3, most: 0.9 };
const claims = Array.from({ length: 8 }, (_, index) =>
  claim(`c${index + 1}`, { importance: ([1, 2, 3] as const)[index % 3]! }),
);

/**
 * With shared errors the models have read the same source, which is right about the whole matter, or
 * wrong about it, as often as a model is. This is how often a model repeats it instead of judging.
 */
const repeats = 0.5;

export type Decided = {
  input: CouncilInput;
  /** The option that is right. */
  right: string;
  /** Seat → the option that its answer proposes. */
  proposals: Readonly<Record<string, string>>;
};

/**
 * Seven seats of different makers. A seat proposes and votes for what it holds right. An answer
 * impresses by its craft, by a deviation of 1 more where it proposes what the reviewer holds right, and
 * with an error of 1.
 *
 * @param next numbers from 0 to 1
 */
export function drawDecision(areErrorsShared: boolean, next: () => number): Decided {
  const normal = normals(next);
  const seats = laboratories(7);
  const codes = seats.map(({ seat }) => seat);
  const share = accuracy.least + (accuracy.most - accuracy.least) * next();
  const isSourceRight = next() < share;
  const judges = () => {
    const repeated = next() < repeats;
    const own = next() < share;
    return areErrorsShared && repeated ? isSourceRight : own;
  };
  const members = codes.map((seat) => ({
    seat,
    optionId: judges() ? 'right' : 'tempting',
    votes: Object.fromEntries(
      claims.map(({ id }) => [
        id,
        { stance: judges() ? ('agree' as const) : ('disagree' as const), confidence: 60 },
      ]),
    ),
    craft: normal(),
  }));
  const memberOf = new Map(members.map((member) => [member.seat, member]));
  const offsets = reviewOffsets(codes.length, codes.length - 1);
  const shown = reviewAssignments(codes, offsets);
  const ballots = members.map(({ seat: reviewer, optionId, votes }) => {
    const seen = shown[reviewer]!.map((answer) => {
      const { craft, optionId: proposed } = memberOf.get(answer)!;
      return { answer, value: craft + (proposed === optionId ? 1 : 0) + normal() };
    });
    const cast = ballot({ ...marksOf(seen, 0), votes, decision: { optionId, seat: null } });
    return [reviewer, cast] as const;
  });
  return {
    input: council(seats, Object.fromEntries(ballots), {
      reviewOrder: { order: codes, offsets },
      ledger: ledger(claims, {
        options: ['right', 'tempting'].map((id) => ({
          id,
          seats: members.filter(({ optionId }) => optionId === id).map(({ seat }) => seat),
        })),
      }),
    }),
    right: 'right',
    proposals: Object.fromEntries(members.map(({ seat, optionId }) => [seat, optionId])),
  };
}
