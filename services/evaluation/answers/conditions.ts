import type { Condition } from '#services/evaluation/records/records.ts';
import { prepareCall } from '#services/optimizations/prompts/calls.ts';
import type { OptimizationEvent, Seat } from '#services/optimizations/run/events.ts';
import { opinionSlot } from '#services/optimizations/run/slots.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { Variation } from './drive.ts';
import { prepareUnreviewed, unreviewed } from './unreviewed.ts';

/** What each condition changes in the run that a user would get for the same question and strategy. */

export type CreatedData = Extract<OptimizationEvent, { type: 'OptimizationCreated' }>['data'];

export const conditionWords: Readonly<Record<Condition, string>> = {
  strongest: 'Strongest model alone',
  fused: 'Strongest model, fused with itself',
  council: 'Full council',
  'no-reviews': 'Council without reviews',
};

export function createdFor(condition: Condition, council: CreatedData): OptimizationCommand {
  return {
    type: 'Create',
    data: condition === 'fused' ? fusedWithItself(council) : council,
  };
}

export function variationOf(
  condition: Condition,
  council: CreatedData,
  clock: () => number,
): Variation {
  const asSold: Variation = { onlySlot: null, inPlaceOfReviews: null, prepare: prepareCall };
  switch (condition) {
    case 'council':
      return asSold;
    case 'strongest':
      return { ...asSold, onlySlot: opinionSlot(council.schedule.strongest) };
    case 'fused':
    case 'no-reviews':
      return { ...asSold, inPlaceOfReviews: unreviewed(clock), prepare: prepareUnreviewed };
  }
}

/** As many seats as the panel has, each with the model, the role and the effort of the strongest. */
function fusedWithItself(council: CreatedData): CreatedData {
  const strongest = strongestOf(council);
  const letter = strongest.seat.slice(0, 1);
  const seats = council.seats.map((_, index) => ({ ...strongest, seat: `${letter}${index + 1}` }));
  return {
    ...council,
    seats,
    schedule: { ...council.schedule, strongest: seats[0]?.seat ?? '', minFamilies: 1 },
  };
}

export function strongestOf({ seats, schedule }: Pick<CreatedData, 'seats' | 'schedule'>): Seat {
  const found = seats.find(({ seat }) => seat === schedule.strongest);
  if (found === undefined) throw new RangeError('The panel has no strongest seat');
  return found;
}
