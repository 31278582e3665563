import { describeSeat, strandProgress } from '#services/optimizations/reading/describe.ts';
import { optionText } from '#services/optimizations/reading/texts.ts';
import { chosenOption } from '#services/optimizations/reading/words/doubts.ts';
import { wholePercent } from '#services/platform/numbers.ts';
import { quoted } from '#services/optimizations/reading/words/names.ts';
import type { SeatProgress } from '#services/optimizations/contract/run.ts';
import { answerCall, type RunView } from '#services/optimizations/reading/view.ts';
import type { StrandSeat } from './braid-shape.ts';
import type { Role } from './drawing/roles.ts';
import { isOut, statusWord, stepWords } from './seat-words.ts';

/** What the braid shows of each seat. */
export type BraidSeat = StrandSeat & {
  readonly name: string;
  readonly role: Role;
  readonly status: string;
  readonly step: string;
  readonly percent: number;
  /** The option that it voted for, in words; null without a vote. */
  readonly choice: string | null;
  /** Why the strand ends early; null otherwise. */
  readonly ended: string | null;
};

export type BraidView = {
  readonly seats: readonly BraidSeat[];
  readonly modal: string | null;
  /** The option that the vote chose, in words; null without one. */
  readonly chosen: string | null;
  readonly twoCamps: boolean;
  readonly hasVotes: boolean;
  readonly isGettingReady: boolean;
  /** The run ended before any model was called. */
  readonly isUnasked: boolean;
};

const answersAt = 40;

/** Where a strand ends early: without an answer, or excluded after the reviews. */
const ends: Readonly<Partial<Record<SeatProgress['status'], number>>> = {
  failed: 34,
  refused: 34,
  timed_out: 34,
  excluded: 75,
  not_called: 0,
};

export function braidOf(view: RunView): BraidView {
  const { scores } = view;
  // A refinement begins with the answers of an earlier run.
  const isUncalled = Object.values(view.calls).every(
    ({ attempts }) => Object.keys(attempts).length === 0,
  );
  // Its strands begin where the answers stand.
  const begin = view.refines === null ? 0 : answersAt;
  const campOf = (seat: string): string | null =>
    Object.entries(scores?.decision.votes ?? {}).find(([, by]) => by.includes(seat))?.[0] ?? null;
  const chosen = chosenOption(scores);
  return {
    modal: scores?.decision.modal ?? null,
    chosen: chosen === null ? null : optionText(view, chosen),
    twoCamps: scores?.twoCamps ?? false,
    hasVotes: scores !== null,
    isGettingReady: isUncalled && view.stage !== 'closed',
    isUnasked: isUncalled && view.stage === 'closed',
    seats: view.seats.map((seat) => {
      const described = describeSeat(view, seat);
      const out = isOut(described.status);
      const camp = campOf(seat.seat);
      return {
        seat: seat.seat,
        name: seat.name,
        role: seat.role,
        status: statusWord(described),
        step: stepWords(view, described),
        percent: described.progress,
        progress: Math.max(begin, ends[described.status] ?? reached(view, seat.seat)),
        placement: camp === null ? null : (scores?.placement[seat.seat] ?? null),
        camp,
        choice: camp === null ? null : optionText(view, camp),
        ended: out ? (described.reason ?? 'Dropped out of this run') : null,
      };
    }),
  };
}

/** A run that ended early leaves its strands where they were: 100 would mean they arrived. */
function reached(view: RunView, seat: string): number {
  if (view.stage !== 'closed' || view.conclusion?.outcome === 'completed')
    return strandProgress(view, seat);
  if (view.scores) return 85;
  if (view.calls[`review.${seat}`]?.outcome) return 75;
  return answerCall(view, seat)?.outcome ? answersAt : 0;
}

/** The picture in one sentence, for screen readers. */
export function braidSentence({ seats, hasVotes, twoCamps, chosen, isUnasked }: BraidView): string {
  if (isUnasked) return 'No model was asked.';
  const ended = seats.filter((one) => one.ended !== null).length;
  const parts = [
    hasVotes
      ? chosen === null
        ? `${seats.length} models${twoCamps ? ' in two camps' : ''}, with no majority`
        : `${seats.filter(({ choice }) => choice === chosen).length} of ${seats.length} models voted for ${quoted(chosen)}`
      : `${seats.length} models, no votes counted`,
    ...(ended > 0 ? [`${ended} dropped out`] : []),
  ];
  return `${parts.join('; ')}.`;
}

/** The option by its name: the one with most votes need not have a majority, nor be chosen. */
export function standing(seat: BraidSeat, { hasVotes }: BraidView): string {
  if (seat.ended !== null) return 'Out';
  if (!hasVotes) return 'No votes counted';
  if (seat.choice === null || seat.placement === null) return 'Did not vote';
  const share = wholePercent(Math.abs(seat.placement));
  const vote = `Voted for ${quoted(seat.choice)}`;
  return share === 0 ? vote : `${vote}; in the minority on ${share}% of claims, by weight`;
}
