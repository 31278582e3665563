import type { Flaw, Scores } from '#services/optimizations/run/events.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import type { Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { opinionSlot } from '#services/optimizations/run/slots.ts';
import { ballotOf, isVotedAgain, notesOf, reviewOf } from './view.ts';
import type { RunView } from './view.ts';

/** What a run's claims, options and seats say, in the words that were sealed. */

export const erased = 'Deleted';

export function claimText(view: RunView, id: string): string {
  return view.ledger?.claims[id]?.text ?? fallbackClaimText(view, id) ?? erased;
}

export function optionText(view: RunView, id: string): string {
  const option = view.ledger?.options[id];
  if (option?.text) return option.text;
  if (id === undecidableOption) return undecidableText;
  const author = option?.seats[0];
  return (author && opinionOf(view, author)?.recommendation.option_label) || erased;
}

/** A fallback ledger has no texts of its own: they are in the answers, in order of importance. */
function fallbackClaimText(view: RunView, id: string): string | null {
  const claim = view.ledger?.claims[id];
  const author = claim?.authors[0];
  const opinion = author === undefined ? null : opinionOf(view, author);
  const index = claim?.index ?? null;
  return index === null ? null : (opinion?.claims[index]?.text ?? null);
}

export function opinionOf(view: RunView, seat: string): Opinion | null {
  return view.calls[opinionSlot(seat)]?.opinion ?? null;
}

/** As an option reads where the extractor did not word it. */
export const undecidableText = 'This cannot be decided from what was given';

/** What the reviewers of a flaw wrote against that answer, each text once with all who wrote it. */
export function flawTexts(
  view: RunView,
  { aboutSeat, reviewers }: Flaw,
): { seats: string[]; text: string }[] {
  const authors = new Map<string, string[]>();
  for (const seat of reviewers)
    for (const text of fatalFlawsOf(view, seat, aboutSeat))
      authors.set(text, [...(authors.get(text) ?? []), seat]);
  return [...authors].map(([text, seats]) => ({ seats, text }));
}

/** Of a flaw's reviewers, those that have come round to that answer's option in a refinement. */
export function votedForSince(view: RunView, { aboutSeat, reviewers }: Flaw): string[] {
  const options = Object.entries(view.ledger?.options ?? {});
  const option = options.find(([, { seats }]) => seats.includes(aboutSeat))?.[0];
  return reviewers.filter((seat) => option !== undefined && hasVotedSince(view, seat, option));
}

/** A seat that voted for the option in the first vote has raised its flaw all the same. */
export function hasVotedSince(view: RunView, seat: string, option: string): boolean {
  const { firstOption = null, ballot } = reviewOf(view, seat) ?? {};
  return firstOption !== null && firstOption !== option && ballot?.decision.optionId === option;
}

/** What a reviewer wrote against an answer. */
export function fatalFlawsOf(view: RunView, reviewer: string, aboutSeat: string): string[] {
  return (notesOf(view, reviewer)?.flaws ?? []).flatMap(({ seat, text }) =>
    seat === aboutSeat ? [text] : [],
  );
}

/** What a seat says about a claim or the decision: its own words on exactly that, or nothing. */
export type Quote = {
  seat: string;
  text: string;
  source: 'reason' | 'answer';
  /** In a refinement: from before it. */
  earlier: boolean;
};

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
  const reasoned = first(best, (seat) =>
    about === 'decision' ? decisionReason(view, seat) : reasonOf(view, seat, about),
  );
  const answered = about === 'decision' ? [] : (view.ledger?.claims[about]?.quotes ?? []);
  const fromAnswer =
    stance === 'agree'
      ? first(best, (seat) => answered.find((quote) => quote.seat === seat)?.quote ?? null)
      : null;
  const isRefinement = view.refines !== null;
  if (fromAnswer !== null) return { ...fromAnswer, source: 'answer', earlier: isRefinement };
  if (reasoned === null) return null;
  const earlier = isRefinement && !isVotedAgain(view, reasoned.seat, about);
  return { ...reasoned, source: 'reason', earlier };
}

export function decisionReason(view: RunView, seat: string): string | null {
  return ballotOf(view, seat)?.decision.reason ?? null;
}

function first(
  seats: readonly string[],
  wordsOf: (seat: string) => string | null,
): Pick<Quote, 'seat' | 'text'> | null {
  for (const seat of seats) {
    const text = wordsOf(seat);
    if (text !== null) return { seat, text };
  }
  return null;
}

/** The fact that one who is unsure of a claim misses; null when nobody named one. */
export function missingFact(
  view: RunView,
  { order, claims }: Pick<Scores, 'order' | 'claims'>,
  about: string,
): string | null {
  const unsure = order.filter((seat) => claims[about]?.unsure.includes(seat));
  return first(unsure, (seat) => reasonOf(view, seat, about))?.text ?? null;
}
