import type { Settlement } from '#services/optimizations/run/events.ts';

export type SettlementInput = {
  /** Credits held for the run, a whole number. */
  price: number;
  outcome: 'completed' | 'failed' | 'cancelled' | 'not_started';
  /** Completed, but no draft passed its checks: the page is put together from votes and answers. */
  draftFailed: boolean;
  /** Attempts for which a `CallStarted` was stored. */
  callsStarted: number;
  /**
   * Seats without an accepted opinion. For a completed run a seat that refused the person's content
   * does not count as missing: it did its work. A seat that was left out after answering never does.
   */
  missing: number;
  seats: number;
  /** An attempt returned an unusable answer with known usage. */
  answeredUnusable: boolean;
};

/**
 * What a concluded run costs, in whole credits: either the whole hold is released, or the price is
 * captured and part of it returned in the same append. The result is stored in `RunConcluded`, and
 * the ledger follows that; nothing computes it a second time.
 *
 * - A price of 0: nothing, because nothing is held.
 * - No model was called, or the run failed without any answer: released. Unusable answers count as
 *   answers here, because they were written and streamed.
 * - Completed, whatever the heading: the missing seats' share comes back, at least a quarter when no
 *   draft passed, at most half.
 * - Failed or cancelled after the first call: half comes back.
 *
 * Every division is rounded up, in the person's favour. Throws a RangeError for anything but whole
 * numbers in range, because a wrong amount must not be stored.
 */
export function settlement(input: SettlementInput): Settlement {
  requireWholeNumbers(input);
  const { price, outcome, callsStarted, missing, seats, answeredUnusable } = input;
  const answeredNothing = outcome === 'failed' && missing === seats && !answeredUnusable;
  if (price === 0) return { kind: 'nothing' };
  if (callsStarted === 0 || outcome === 'not_started' || answeredNothing)
    return { kind: 'release' };
  const half = dividedUp(price, 2);
  const refund = outcome === 'completed' ? Math.min(shortfall(input), half) : half;
  return { kind: 'capture', capture: price, refund };
}

function shortfall({ price, draftFailed, missing, seats }: SettlementInput): number {
  const forSeats = dividedUp(price * missing, seats);
  const forDraft = draftFailed ? dividedUp(price, 4) : 0;
  return Math.max(forSeats, forDraft);
}

/** ⌈amount / parts⌉ by remainder: `Math.ceil` of a quotient may already have been rounded. */
function dividedUp(amount: number, parts: number): number {
  const rest = amount % parts;
  return (amount - rest) / parts + (rest > 0 ? 1 : 0);
}

function requireWholeNumbers({ price, callsStarted, missing, seats }: SettlementInput): void {
  const whole = [price, callsStarted, missing, seats, price * missing];
  if (!whole.every((value) => Number.isSafeInteger(value) && value >= 0))
    throw new RangeError('A settlement takes whole, safe numbers from 0 up.');
  if (seats < 1 || missing > seats)
    throw new RangeError('A settlement takes at least one seat, and no more missing than seats.');
}
