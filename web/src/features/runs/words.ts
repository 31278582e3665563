import type { ListedRun } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary, RunStatus } from '#services/optimizations/contract/summary.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { agreementBand } from '#web/ui/ring.tsx';
import type { StatusTone } from '#web/ui/feedback/status.tsx';

/** The outcome of a run, as lists say it. */
export const runStatusWords: Readonly<Record<RunStatus, string>> = {
  pending: 'Pending',
  processing: 'Processing',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const runStatusTones: Readonly<Record<RunStatus, StatusTone>> = {
  pending: 'neutral',
  processing: 'active',
  completed: 'ok',
  failed: 'warn',
  cancelled: 'neutral',
};

/** The price of a run, its hold, or its cost and what was returned. */
export function runCredits({ status, credits }: Pick<OptimizationSummary, 'status' | 'credits'>) {
  if (credits.price === 0) return 'included';
  const price = creditsInWords(credits.price);
  if (status === 'pending') return `${price} when started`;
  if (status === 'processing') return `${price} reserved`;
  const returned = credits.refunded ?? 0;
  if (credits.charged === null || credits.charged + returned === 0) return 'nothing charged';
  return returned > 0
    ? `${credits.charged} of ${price}, ${returned} returned`
    : creditsInWords(credits.charged);
}

/** The run to watch: the listed one, or its refinement in progress; null when neither runs. */
export function runningId({
  id,
  status,
  running_refinement_id: refinement,
}: Pick<ListedRun, 'id' | 'status' | 'running_refinement_id'>): string | null {
  return status === 'processing' ? id : refinement;
}

/** "2 refinements"; null without any. */
export function refinementsWords(count: number): string | null {
  if (count === 0) return null;
  return count === 1 ? '1 refinement' : `${count} refinements`;
}

/** "Agreement 82, strong"; null without a score. */
export function agreementWords(score: number | null): string | null {
  return score === null ? null : `Agreement ${score}, ${agreementBand(score)}`;
}
