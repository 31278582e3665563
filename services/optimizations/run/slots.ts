import type { CouncilModel, Refines, Schedule, Seat, Slot } from './events.ts';

/** Reading and writing the names of slots; `Slot` in `events.ts` describes the grammar. */
export type Stage = 'opinions' | 'claims' | 'reviews' | 'synthesis';

export type SlotParts =
  | { kind: 'opinion' | 'review'; seat: string }
  | { kind: 'claims'; round: number }
  | { kind: 'draft'; round: number }
  | { kind: 'verify'; round: number; verifier: number };

export function parseSlot(slot: Slot): SlotParts {
  const [kind, first = '', second = ''] = slot.split('.');
  switch (kind) {
    case 'opinion':
    case 'review':
      return { kind, seat: first };
    case 'claims':
    case 'draft':
      return { kind, round: Number(first) };
    case 'verify':
      return { kind, round: Number(first), verifier: Number(second) };
    case undefined:
    default:
      throw new RangeError(`Not a slot: ${slot}`);
  }
}

export const opinionSlot = (seat: string): Slot => `opinion.${seat}`;
export const claimsSlot = (round: number): Slot => `claims.${round}`;
export const reviewSlot = (seat: string): Slot => `review.${seat}`;
/** Where a seat answers what a run asks it first: in a refinement that is its second vote. */
export function answerSlot({ refines }: { refines?: object | null }, seat: string): Slot {
  return refines ? reviewSlot(seat) : opinionSlot(seat);
}
export const draftSlot = (round: number): Slot => `draft.${round}`;
export const verifySlot = (round: number, verifier: number): Slot => `verify.${round}.${verifier}`;

export function stageOf(slot: Slot): Stage {
  const stages = {
    opinion: 'opinions',
    claims: 'claims',
    review: 'reviews',
    draft: 'synthesis',
    verify: 'synthesis',
  } as const;
  return stages[parseSlot(slot).kind];
}

/** The model that a slot calls. `synthesizers` says which synthesiser (0 or 1) wrote each round. */
export function modelOf(
  slot: Slot,
  run: { seats: readonly Seat[]; schedule: Schedule; synthesizers?: readonly number[] },
): CouncilModel {
  const parts = parseSlot(slot);
  const synthesizers = run.synthesizers ?? [];
  switch (parts.kind) {
    case 'opinion':
      return seatAt(run.seats, parts.seat);
    case 'review': {
      const seat = seatAt(run.seats, parts.seat);
      return seat.reviewEffort === undefined ? seat : { ...seat, effort: seat.reviewEffort };
    }
    case 'claims':
      return modelAt(run.schedule.extractors, parts.round - 1, slot);
    case 'draft':
      return modelAt(run.schedule.synthesizers, synthesizers[parts.round - 1] ?? -1, slot);
    case 'verify':
      return modelAt(
        run.schedule.verifiers[synthesizers[parts.round - 1] ?? -1] ?? [],
        parts.verifier - 1,
        slot,
      );
  }
}

/** The seats that a run calls: in a refinement, those whose model is still offered. */
export function askedSeats(run: { seats: readonly Seat[]; refines?: Refines }): readonly Seat[] {
  const { notOffered = [] } = run.refines ?? {};
  return run.seats.filter(({ seat }) => !notOffered.includes(seat));
}

/** Every model that a run may call, in its seats and outside them; a model may stand there twice. */
export function everyModel(run: { seats: readonly Seat[]; schedule: Schedule }): CouncilModel[] {
  const { extractors, synthesizers, verifiers } = run.schedule;
  return [...run.seats, ...extractors, ...synthesizers, ...verifiers.flat()];
}

function seatAt(seats: readonly Seat[], code: string): Seat {
  const found = seats.find((seat) => seat.seat === code);
  if (!found) throw new RangeError(`There is no seat ${code}`);
  return found;
}

function modelAt(models: readonly CouncilModel[], index: number, slot: Slot): CouncilModel {
  const found = models[index];
  if (!found) throw new RangeError(`Slot ${slot} has no model`);
  return found;
}
