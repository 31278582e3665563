import type { Poll } from './agreement.ts';
import type { TwoCamps } from './rank-agreement.ts';
import type { Review } from './ranking.ts';
import { precision } from './metric.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import type { Flaw, Ledger, Scores, Verdict } from '#services/optimizations/run/events.ts';

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
 * What the vote decided. An option wins when it is alone first by weight and by heads and no second
 * camp wants another. The order of the answers never decides between options; it only picks the best
 * answer, and breaks a tie where no option wins.
 */
export function verdictOf(election: Election): Verdict {
  const { decision, order, options, scored } = election;
  const chosen = winner(election);
  const heading = headingOf(chosen, scored);
  const contenders = decision.camps.map(({ choice }) => choice);
  const tieBreak = heading === 'no_majority' ? firstByOrder(leaders(election), election) : null;
  const voted = chosen ?? tieBreak;
  const bestSeat = (voted === null ? null : bestAnswer(voted, election)) ?? order[0] ?? null;
  const optionId = chosen ?? (scored ? null : optionOf(bestSeat, options));
  return {
    heading,
    optionId,
    tieBreak,
    contenders: heading === 'no_majority' ? contenders : [],
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

/** The option that is alone first in each count; null without one. */
function winner(election: Election): string | null {
  const [first, ...others] = leaders(election);
  return first !== undefined && others.length === 0 ? first : null;
}

/** First by weight, first by heads, and first within each camp, each option once. */
function leaders({ decision, weights, camps }: Election): string[] {
  const { camps: options } = decision;
  const heads = options.map(({ choice, seats }) => ({ choice, size: seats.length }));
  const weighed = options.map(({ choice, weight }) => ({ choice, size: weight }));
  const within = (camp: readonly string[]) =>
    options.map(({ choice, seats }) => ({
      choice,
      size: seats
        .filter((seat) => camp.includes(seat))
        .reduce((sum, seat) => sum + (weights[seat] ?? 0), 0),
    }));
  const counts = [heads, weighed, ...camps.flat().map(within)];
  return [...new Set(counts.flatMap(largest))];
}

function largest(counts: readonly { choice: string; size: number }[]): string[] {
  const most = Math.max(...counts.map(({ size }) => size));
  return counts.filter(({ size }) => size >= most - precision).map(({ choice }) => choice);
}

/** The option with the better placed answer; that it cannot be decided comes last. */
function firstByOrder(candidates: readonly string[], election: Election): string | null {
  const place = (option: string) => {
    const best = bestAnswer(option, election);
    const found = best === null ? -1 : election.order.indexOf(best);
    return option === undecidableOption || found < 0 ? Infinity : found;
  };
  return candidates.toSorted((one, other) => compare(place(one), place(other)))[0] ?? null;
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

/** The best answer that proposes an option, else the best that its voters named. */
function bestAnswer(
  option: string,
  { options, order, reviews }: Pick<Election, 'options' | 'order' | 'reviews'>,
): string | null {
  const proposed = options.find(({ id }) => id === option)?.seats ?? [];
  const named = reviews.flatMap(({ ballot: { decision } }) =>
    decision.optionId === option && decision.seat !== null ? [decision.seat] : [],
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
      const own = options.find(({ seats }) => seats.includes(seat))?.id ?? null;
      const counts = own !== null && (about.includes(own) || seat === bestSeat);
      const reviewers = reviews
        .filter(({ reviewer, ballot }) => reviewer !== seat && (ballot.fatalFlaws[seat] ?? 0) > 0)
        .map(({ reviewer }) => reviewer);
      return counts && reviewers.length >= fewestReviewers ? [{ aboutSeat: seat, reviewers }] : [];
    })
    .map((flaw, index) => ({ id: `f${index + 1}`, ...flaw }));
}

export const fewestReviewers = 2;

/** The option that a recommendation is written for; null without a vote. */
export function votedOption({ verdict, decision }: Scores): string | null {
  return verdict ? (verdict.optionId ?? verdict.tieBreak) : decision.modal;
}
