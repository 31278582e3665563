import type { SeatProgress } from '#services/optimizations/contract/run.ts';
import { describeSeat, retryingWords } from '#services/optimizations/reading/describe.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import type { StatusTone } from '#web/ui/feedback/status.tsx';

/** What a card says of one model. */

const statusTones: Readonly<Record<SeatProgress['status'], StatusTone>> = {
  waiting: 'neutral',
  processing: 'active',
  retrying: 'active',
  completed: 'ok',
  failed: 'warn',
  refused: 'warn',
  timed_out: 'warn',
  excluded: 'warn',
  not_called: 'neutral',
};

/** A model that answered and did not review is done with a warning. */
export function seatTone({ status, reason }: Pick<SeatProgress, 'status' | 'reason'>): StatusTone {
  return status === 'completed' && reason !== null ? 'warn' : statusTones[status];
}

/** The status in one or two words; a retry has its number from the second on. */
export function statusWord({ status, attempt }: Pick<SeatProgress, 'status' | 'attempt'>): string {
  const words = {
    waiting: 'Waiting',
    processing: 'Processing',
    retrying: retryingWords(attempt),
    completed: 'Completed',
    failed: 'Failed',
    refused: 'Refused',
    timed_out: 'Timed out',
    excluded: 'Excluded',
    not_called: 'Not called',
  };
  return words[status];
}

/** "rank 2 of 7", by the reviewers' order of the answers; empty before there is one. */
export function rankWords({ scores }: RunView, { rank }: Pick<SeatProgress, 'rank'>): string {
  return rank === null || scores === null ? '' : `rank ${rank} of ${scores.order.length}`;
}

export function isOut(status: SeatProgress['status']): boolean {
  return ['failed', 'refused', 'timed_out', 'excluded', 'not_called'].includes(status);
}

/** In the place of an answer. */
export function noAnswerWords(view: RunView, code: string): string {
  const seat = view.seats.find((one) => one.seat === code);
  const isLate = view.conclusion !== null || (seat && isOut(describeSeat(view, seat).status));
  return isLate ? 'This model gave no answer.' : "This model hasn't answered yet.";
}

/** What a seat's own model is doing; 'Waiting...' by default. */
export function stepWords(
  { refines }: Pick<RunView, 'refines'>,
  { status, currentStep, reason }: SeatProgress,
): string {
  switch (status) {
    case 'waiting':
      return currentStep === null ? 'Waiting...' : 'Waiting to review';
    case 'processing':
      if (currentStep === 'querying_models') return 'Writing an answer';
      return refines === null ? 'Reviewing the others' : 'Voting again';
    case 'retrying':
      return reason ?? 'Trying again';
    case 'completed':
      if (reason !== null) return reason;
      if (currentStep !== 'completed') return 'Answered';
      return refines === null ? 'Done, reviewed and voted' : 'Done, voted again';
    case 'failed':
    case 'refused':
    case 'timed_out':
    case 'excluded':
    case 'not_called':
      return reason ?? 'Dropped out of this run';
  }
}
