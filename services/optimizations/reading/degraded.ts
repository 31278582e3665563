import type { Degraded, Optimization } from '#services/optimizations/contract/run.ts';
import { seatName } from './words/names.ts';
import type { RunView } from './view.ts';

/** A completed run in which a model that was paid for has no accepted answer. */

/** @param why in words, of a seat without an answer */
export function describeDegraded(view: RunView, why: (seat: string) => string): Degraded | null {
  const { seats, conclusion, settled, schedule } = view;
  if (conclusion?.outcome !== 'completed' || settled === null) return null;
  const paid = view.refines ? view.silent : view.missing;
  const out = new Set(paid.map(({ seat }) => seat));
  const missing = seats.filter(({ seat }) => out.has(seat));
  if (missing.length === 0) return null;
  return {
    answered: seats.length - missing.length,
    paid_for: seats.length,
    missing: missing.map(({ seat, name }) => ({ seat, name, why: why(seat) })),
    declined: paid.filter((one) => one.why === 'refusal').length,
    strongest_missing: out.has(schedule.strongest),
    refunded: settled.refunded,
  };
}

export type DegradedRun = Pick<Optimization, 'degraded' | 'credits' | 'refines'>;

/** The heading of the banner, and its sentences; null where every model answered. */
export function degradedWords({
  degraded,
  credits: { price },
  refines,
}: DegradedRun): { title: string; sentences: string[] } | null {
  if (degraded === null) return null;
  const { answered, paid_for: paidFor, missing, refunded } = degraded;
  const did = refines === null ? 'answered' : 'voted again';
  const names = missing.map(
    ({ seat, why }) => `${seatName(missing, seat)}: ${why.charAt(0).toLowerCase()}${why.slice(1)}`,
  );
  return {
    title: `${answered} of ${paidFor} models ${did}`,
    sentences: [
      `Missing: ${names.join('; ')}.`,
      degraded.strongest_missing
        ? "The panel's strongest model is missing."
        : `The panel's strongest model ${did}.`,
      ...(price === 0 ? [] : [moneySentence(refunded, price)]),
      ...(price === 0 || degraded.declined === 0 ? [] : [declinedRule]),
    ],
  };
}

/** The rule of the terms. */
const declinedRule = 'A model that declines to answer is paid for.';

function moneySentence(refunded: number, price: number): string {
  return refunded === 0
    ? `All ${price} credits were charged.`
    : `${refunded} of ${price} credits ${refunded === 1 ? 'was' : 'were'} returned.`;
}
