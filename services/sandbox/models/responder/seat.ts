import type { Consideration } from './bank/consideration.ts';
import { rivalIn } from './camps.ts';
import type { Plan, Point } from './plan.ts';
import { slots } from './roster.ts';
import type { Place } from './roster.ts';

/** The part of a plan that falls to one place at the table. */
export type Part = {
  /** Index of the option it recommends, and of the one it argues against. */
  option: number;
  rival: number;
  /** Its number among those who recommend the same, from 0. */
  rank: number;
  claims: readonly { point: Point; text: string }[];
  /** Three considerations that it shares with two others each, in three capacities. */
  explained: Consideration;
  feared: Consideration;
  watched: Consideration;
  /** One that is its own. */
  own: Consideration;
};

export function partOf(plan: Plan, place: Place): Part {
  const option = optionOfSlot(plan, place.slot);
  const rival = rivalIn(plan.camps, option);
  const fellows = seatsWhere(plan, (slot) => optionOfSlot(plan, slot) === option);
  const rank = fellows.indexOf(place.slot);
  const opponents = seatsWhere(
    plan,
    (slot) =>
      rivalIn(plan.camps, optionOfSlot(plan, slot)) === rival && optionOfSlot(plan, slot) !== rival,
  );
  const round = plan.shared[place.row] ?? plan.shared[0] ?? [];
  const [explained, feared, watched] = linesThrough(place.slot).map((line) => round[line]);
  const own = (plan.own[place.row] ?? [])[place.slot];
  if (explained === undefined || feared === undefined || watched === undefined || own === undefined)
    throw new RangeError('The bank has too few considerations for a panel.');
  const sided = (kind: 'pro' | 'con', index: number) =>
    plan.points.filter(
      (point) => point.kind === kind && point.option === index && point.row === place.row,
    );
  const pros = sided('pro', option);
  const cons = sided('con', rival);
  const against = opponents.indexOf(place.slot);
  return {
    option,
    rival,
    rank,
    explained,
    feared,
    watched,
    own,
    claims: [
      worded(pros[rank % pros.length], Math.floor(rank / pros.length)),
      // In a small camp each also words the argument of the next.
      fellows.length <= pros.length ? worded(pros[(rank + 1) % pros.length], 1) : null,
      worded(cons[against % cons.length], Math.floor(against / cons.length)),
      worded(pointFor(plan, explained), 0),
      worded(pointFor(plan, feared), 1),
      worded(pointFor(plan, watched), 2),
      givenClaim(plan, place),
      place.slot % 3 === 0 || own.presupposes !== undefined ? worded(pointFor(plan, own), 0) : null,
    ].filter((claim) => claim !== null),
  };
}

export function optionOfSlot(plan: Plan, slot: number): number {
  return plan.camps.ofSlot[slot] ?? 0;
}

/**
 * Seven considerations over seven places, three to each, so that any two places have exactly one in
 * common and each is first, second and third on one of its lines (the Fano plane). It gives every
 * consideration three authors with a wording of their own.
 */
function linesThrough(slot: number): [number, number, number] {
  return [slot, (slot + 6) % slots, (slot + 4) % slots];
}

function seatsWhere(plan: Plan, holds: (slot: number) => boolean): number[] {
  return plan.draws.shuffled('speaking order', [...Array(slots).keys()]).filter(holds);
}

function pointFor(plan: Plan, consideration: Consideration): Point | undefined {
  return plan.points.find(
    (point) => point.kind === 'consideration' && point.consideration.id === consideration.id,
  );
}

function givenClaim(plan: Plan, place: Place): { point: Point; text: string } | null {
  const given = plan.points.filter((point) => point.kind === 'given');
  if (given.length === 0 || place.row > 0) return null;
  return worded(given[place.slot % given.length], Math.floor(place.slot / given.length));
}

function worded(point: Point | undefined, wording: number): { point: Point; text: string } | null {
  const text = point?.wordings[wording];
  return point === undefined || text === undefined ? null : { point, text };
}
