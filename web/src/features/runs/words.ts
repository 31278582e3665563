import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { counted } from '#services/platform/numbers.ts';
import { agreementBand } from '#web/ui/ring.tsx';

/** The run to watch: the listed one, or its refinement in progress; null when neither runs. */
export function runningId({
  id,
  status,
  running_refinement_id: refinement,
}: Pick<ListedRun, 'id' | 'status' | 'running_refinement_id'>): string | null {
  return status === 'processing' ? id : refinement;
}

/** "Refined since: No majority"; an outcome in the same words is not repeated. Null without a completed refinement. */
export function newestWords({
  outcome,
  newest_outcome: newest,
}: Pick<ListedRun, 'outcome' | 'newest_outcome'>) {
  if (newest === null) return null;
  return newest === outcome ? 'Refined since' : `Refined since: ${newest}`;
}

/** "2 refinements"; null without any. */
export function refinementsWords(count: number): string | null {
  return count === 0 ? null : counted(count, 'refinement');
}

/** "Agreement 82, strong"; null without a score. */
export function agreementWords(score: number | null): string | null {
  return score === null ? null : `Agreement ${score}, ${agreementBand(score)}`;
}
