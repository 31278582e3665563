import type { Slot } from './events.ts';
import type { At, RunState } from './state.ts';
import { claimsSlot, draftSlot, opinionSlot, reviewSlot, verifySlot } from './slots.ts';

/** The open work of a run, read from its state by the decider, its jobs and the sweeper alike. */

/** The slots of the open stage that still wait for an answer. */
export function owedSlots(state: RunState): Slot[] {
  switch (state.stage) {
    case 'opinions':
      return state.seats
        .map((seat) => opinionSlot(seat.seat))
        .filter((slot) => isWaiting(state, slot));
    case 'claims':
      return [isDead(state, claimsSlot(1)) ? claimsSlot(2) : claimsSlot(1)].filter((slot) =>
        isWaiting(state, slot),
      );
    case 'reviews':
      return state.accepted.map(reviewSlot).filter((slot) => isWaiting(state, slot));
    case 'synthesis': {
      const round = state.judged + 1;
      const draft = state.calls[draftSlot(round)]?.outcome;
      if (draft?.kind !== 'draft')
        return [draftSlot(round)].filter((slot) => isWaiting(state, slot));
      return draft.checks.passed ? verifiersOf(state).filter((slot) => isWaiting(state, slot)) : [];
    }
    case 'none':
    case 'draft':
    case 'settling':
    case 'closed':
      return [];
  }
}

/** Who compares the draft of this round with the consensus; nobody without one. */
export function verifiersOf({ judged, hasConsensus }: At<'synthesis'>): Slot[] {
  return hasConsensus ? [verifySlot(judged + 1, 1), verifySlot(judged + 1, 2)] : [];
}

/** The number of the slot's next attempt. */
export function nextAttempt(state: RunState, slot: Slot): number {
  return ('calls' in state ? (state.calls[slot]?.attempts ?? 0) : 0) + 1;
}

/** When a slot may be called again; null means now. */
export function retryTime(state: RunState, slot: Slot): string | null {
  return 'calls' in state ? (state.calls[slot]?.retryAt ?? null) : null;
}

export function isDead(state: WithCalls, slot: Slot): boolean {
  return (state.calls[slot]?.dead ?? null) !== null;
}

/** Neither answered nor given up. */
export function isWaiting(state: WithCalls, slot: Slot): boolean {
  const call = state.calls[slot];
  return !call || (call.outcome === null && call.dead === null);
}

type WithCalls = Extract<RunState, { calls: unknown }>;
