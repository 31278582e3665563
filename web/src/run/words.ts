import { creditsInWords } from '#services/platform/numbers.ts';
import type { SeatProgress } from '#services/optimizations/contract/run.ts';
import { retryingWords } from '#services/optimizations/reading/describe.ts';
import { answerCall, type RunView } from '#services/optimizations/reading/view.ts';
import type { StatusTone } from '#web/ui/feedback/status.tsx';

export const phases = [
  'Parallel Generation',
  'Cross-Evaluation',
  'Bias Detection',
  'Synthesis',
] as const;

export type Role = SeatProgress['role'];

/** Text colours of the roles; the seat's code always accompanies them. */
export const roleColours: Readonly<Record<Role, string>> = {
  strategic: 'text-strategic',
  risk: 'text-risk',
  implementation: 'text-implementation',
};

export const roleWords: Readonly<Record<Role, string>> = {
  strategic: 'Strategic',
  risk: 'Risk',
  implementation: 'Implementation',
};

export const statusTones: Readonly<Record<SeatProgress['status'], StatusTone>> = {
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

/** "Balanced" for `balanced`, "Ultra Economy" for `ultra-economy`. */
export function strategyName(id: string): string {
  return id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
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
    excluded: 'Left out',
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

/** What a seat is doing, as its card says it; 'Waiting...' by default. */
export function stepWords(view: RunView, seat: SeatProgress): string {
  if (isOut(seat.status)) return seat.reason ?? 'Dropped out of this run';
  if (seat.status === 'retrying') return seat.reason ?? 'Trying again';
  const answer = answerCall(view, seat.seat);
  const review = view.calls[`review.${seat.seat}`];
  switch (view.stage) {
    case 'draft':
      return 'Getting ready';
    case 'opinions':
      if (answer?.outcome) return 'Answered';
      return answer ? 'Writing an answer' : 'Waiting...';
    case 'claims':
      return 'Collecting its claims';
    case 'reviews':
      if (view.refines !== null) return votingWords(review);
      if (review?.outcome) return 'Reviewed the others';
      return review ? 'Reviewing the others' : 'Waiting...';
    case 'scoring':
      return view.refines === null
        ? 'The reviews are being compared'
        : 'The votes are being counted';
    case 'synthesis':
    case 'settling':
      return 'Writing the recommendation';
    case 'closed':
      if (seat.reason !== null) return seat.reason;
      if (view.refines !== null) return answer?.outcome ? 'Its vote is in' : 'It had not voted';
      if (!answer?.outcome) return 'It had not answered';
      return review?.outcome ? 'Answered and reviewed' : 'Answered';
  }
}

function votingWords(review: RunView['calls'][string] | undefined): string {
  if (review?.outcome) return 'Its vote is in';
  return review ? 'Voting again' : 'Waiting...';
}

/** "32 s", "1 min 05 s". */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}

/** "about 40 s", in steps that do not flicker; null when unknown. */
export function timeLeft(seconds: number | null): string | null {
  if (seconds === null || seconds <= 0) return null;
  if (seconds < 90) return `about ${Math.max(5, Math.ceil(seconds / 5) * 5)} s`;
  return `about ${Math.ceil(seconds / 60)} min`;
}

/** The price of a run; the one that a refined run has paid covers a refinement. */
export function priceWords(price: number): string {
  return price === 0 ? 'Included' : creditsInWords(price);
}
