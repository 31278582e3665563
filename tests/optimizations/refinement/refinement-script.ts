import { councilBefore } from '#services/optimizations/refinement/before.ts';
import type { Refines } from '#services/optimizations/run/events.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import { closed, created, runId, start } from '#tests/optimizations/run/run-script.ts';
import type { CreatedData, Script } from '#tests/optimizations/run/run-script.ts';

/** A refinement of a run as it is created, with the events of that run. */
export function refinementOf(
  root: Script,
  parts: Partial<Refines> = {},
  created_: Partial<CreatedData> = {},
): Script {
  const { before, seats, contested } = councilBefore(runId, root.events);
  return created({
    price: 0,
    seats,
    sealed: { title: 'sealed title', challenge: 'sealed challenge' },
    refines: {
      root: runId,
      previous: runId,
      number: 1,
      about: 'contested',
      claims: claimsToVoteOn(before.ledger, contested),
      notOffered: [],
      before,
      ...parts,
    },
    ...created_,
  });
}

/** A refinement that asks its seats to vote. */
export const voting = (parts: Partial<Refines> = {}, created_: Partial<CreatedData> = {}): Script =>
  refinementOf(closed(), parts, created_).given(start());
