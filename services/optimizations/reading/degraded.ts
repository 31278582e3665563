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
    strongest_missing: out.has(schedule.strongest),
    refunded: settled.refunded,
  };
}

/** The heading of the banner, and its sentences. */
export function degradedWords(
  { answered, paid_for: paidFor, missing, strongest_missing: isStrongest, refunded }: Degraded,
  { price }: Pick<Optimization['credits'], 'price'>,
): { title: string; sentences: string[] } {
  const names = missing.map(
    ({ seat, why }) => `${seatName(missing, seat)}: ${why.charAt(0).toLowerCase()}${why.slice(1)}`,
  );
  return {
    title: `${answered} of ${paidFor} models answered`,
    sentences: [
      `Missing: ${names.join('; ')}.`,
      isStrongest
        ? 'The strongest model of the panel is missing.'
        : 'The strongest model of the panel answered.',
      ...(price === 0 ? [] : [moneySentence(refunded, price)]),
    ],
  };
}

function moneySentence(refunded: number, price: number): string {
  return refunded === 0
    ? `All ${price} credits were charged.`
    : `${refunded} of ${price} credits ${refunded === 1 ? 'was' : 'were'} returned.`;
}
