import type { Scores } from '#services/optimizations/run/events.ts';
import { ballotOf } from './view.ts';
import type { RunView } from './view.ts';

/** What a seat says about a claim or the decision: its own words on exactly that, or nothing. */
export type Quote = { seat: string; text: string; source: 'reason' | 'answer' };

/** The reason that a seat gave with its vote on a claim; null without one. */
export function reasonOf(view: RunView, seat: string, claimId: string): string | null {
  return ballotOf(view, seat)?.votes[claimId]?.reason ?? null;
}

/**
 * The words of the side's best placed seat that has any: for a claim that it agrees with, its answer
 * where that makes the claim; else the reason of its vote.
 *
 * @param about a claim id, or `decision`
 */
export function quoteOf(
  view: RunView,
  { order }: Pick<Scores, 'order'>,
  about: string,
  { stance, seats }: { stance: string; seats: readonly string[] },
): Quote | null {
  const best = order.filter((seat) => seats.includes(seat));
  if (about === 'decision') return first(best, (seat) => decisionReason(view, seat));
  const answered = view.ledger?.claims[about]?.quotes ?? [];
  const fromAnswer =
    stance === 'agree'
      ? first(
          best,
          (seat) => answered.find((quote) => quote.seat === seat)?.quote ?? null,
          'answer',
        )
      : null;
  return fromAnswer ?? first(best, (seat) => reasonOf(view, seat, about));
}

export function decisionReason(view: RunView, seat: string): string | null {
  return ballotOf(view, seat)?.decision.reason ?? null;
}

function first(
  seats: readonly string[],
  wordsOf: (seat: string) => string | null,
  source: Quote['source'] = 'reason',
): Quote | null {
  for (const seat of seats) {
    const text = wordsOf(seat);
    if (text !== null) return { seat, text, source };
  }
  return null;
}
