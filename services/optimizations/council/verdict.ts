import type { Poll } from './agreement.ts';
import type { TwoCamps } from './rank-agreement.ts';
import type { Review } from './ranking.ts';
import { precision } from './metric.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import type { Flaw, Ledger, Verdict } from '#services/optimizations/run/events.ts';

/** The votes and answers that a verdict is read from. */
export type Election = {
  decision: Poll;
  weights: Readonly<Record<string, number>>;
  reviews: readonly Review[];
  options: Ledger['options'];
  /** Answers, best first. */
  order: readonly string[];
  /** Each way in which the reviewers are two camps. */
  camps: readonly TwoCamps[];
  /** False without an extractor: then every answer is an option of its own. */
  scored: boolean;
};

/**
 * What the vote decided. An option wins when it is alone first by weight and by heads and no
 * camp of reviewers wants another, which it does where none of the first is first in it. The order of the answers never decides between options; it only picks the best
 * answer, and breaks a tie where no option wins.
 */
export function verdictOf(election: Election): Verdict {
  const { decision, order, options, scored } = election;
  const first = leaders(election);
  const wantsAnother = (camp: readonly string[]) =>
    !leaders(election, camp).some((option) => first.includes(option));
  const divided = election.camps.find((camps) => camps.some(wantsAnother));
  const chosen = first.length === 1 && !divided ? (first[0] ?? null) : null;
  const heading = headingOf(chosen, scored);
  const tieBreak = heading === 'no_majority' ? optionForToday(first, election) : null;
  const voted = chosen ?? tieBreak;
  const bestSeat = voted === null ? (order[0] ?? null) : bestAnswer(voted, election);
  const optionId = chosen ?? (scored ? null : optionOf(bestSeat, options));
  return {
    heading,
    optionId,
    tieBreak,
    contenders: heading === 'no_majority' ? decision.camps.map(({ choice }) => choice) : [],
    camps: heading === 'no_majority' && first.length === 1 && divided ? divided : [],
    bestSeat,
  };
}

function headingOf(chosen: string | null, scored: boolean): Verdict['heading'] {
  if (chosen === undecidableOption) return 'undecidable';
  if (!scored) return 'best_single_answer';
  return chosen === null ? 'no_majority' : 'recommendation';
}

function optionOf(seat: string | null, options: Ledger['options']): string | null {
  return options.find(({ seats }) => seat !== null && seats.includes(seat))?.id ?? null;
}

/** First by heads and first by weight among some voters, or all; each option once. */
function leaders({ decision, weights }: Election, camp?: readonly string[]): string[] {
  const voted = decision.camps.map(({ choice, seats }) => ({
    choice,
    seats: camp ? seats.filter((seat) => camp.includes(seat)) : seats,
  }));
  const heads = voted.map(({ choice, seats }) => ({ choice, size: seats.length }));
  const weighed = voted.map(({ choice, seats }) => ({
    choice,
    size: seats.reduce((sum, seat) => sum + (weights[seat] ?? 0), 0),
  }));
  return [...new Set([heads, weighed].flatMap(largest))];
}

function largest(counts: readonly { choice: string; size: number }[]): string[] {
  const most = Math.max(...counts.map(({ size }) => size));
  return counts.filter(({ size }) => size >= most - precision).map(({ choice }) => choice);
}

/**
 * Of the options that lead, or that a camp prefers where most say that it cannot be decided, the one
 * with the better placed answer.
 */
function optionForToday(first: readonly string[], election: Election): string | null {
  const preferred = election.camps.flat().flatMap((camp) => leaders(election, camp));
  const [candidates = []] = [first, preferred]
    .map((options) => options.filter((option) => option !== undecidableOption))
    .filter(({ length }) => length > 0);
  const place = (option: string) => {
    const best = bestAnswer(option, election);
    return best === null ? election.order.length : election.order.indexOf(best);
  };
  return candidates.toSorted((one, other) => place(one) - place(other))[0] ?? null;
}

/**
 * The best answer that proposes an option, else the best that its voters named. An answer that
 * proposes another option never speaks for this one.
 */
function bestAnswer(
  option: string,
  { options, order, reviews }: Pick<Election, 'options' | 'order' | 'reviews'>,
): string | null {
  const proposed = options.find(({ id }) => id === option)?.seats ?? [];
  const named = reviews.flatMap(({ ballot: { decision } }) =>
    decision.optionId === option &&
    decision.seat !== null &&
    optionOf(decision.seat, options) === null
      ? [decision.seat]
      : [],
  );
  return (
    order.find((seat) => proposed.includes(seat)) ??
    order.find((seat) => named.includes(seat)) ??
    null
  );
}

/**
 * The answers of the chosen option, or of every contender, that two or more reviewers called a
 * mistake to follow; the better placed first.
 */
export function flawsOf(
  { optionId, contenders, bestSeat }: Verdict,
  { options, order, reviews }: Pick<Election, 'options' | 'order' | 'reviews'>,
): Flaw[] {
  const about = optionId === null ? contenders : [optionId];
  return order
    .flatMap((seat) => {
      const own = optionOf(seat, options);
      const counts = seat === bestSeat || (own !== null && about.includes(own));
      const reviewers = reviews
        .filter(({ reviewer, ballot }) => reviewer !== seat && (ballot.fatalFlaws[seat] ?? 0) > 0)
        .map(({ reviewer }) => reviewer);
      return counts && reviewers.length >= fewestReviewers ? [{ aboutSeat: seat, reviewers }] : [];
    })
    .map((flaw, index) => ({ id: `f${index + 1}`, ...flaw }));
}

export const fewestReviewers = 2;
