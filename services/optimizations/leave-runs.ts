import { openRunsOf, shownRunsOf } from '#projections/optimization-list.ts';
import { Problem } from '#services/platform/problem.ts';
import { issue, settleRun } from './commands.ts';
import type { OptimizationDependencies } from './tasks.ts';

/**
 * What becomes of a person's runs when the person leaves. Everything here asks the runs by their own
 * commands and may be asked again at any time; no text is needed, so it works on what is erased, too.
 */
export type LeavingDependencies = Pick<
  OptimizationDependencies,
  'pool' | 'bus' | 'ledger' | 'readState' | 'clock'
>;

/**
 * Cancels and settles what has not ended. True when nothing is left: a run whose recommendation is
 * being written can no longer be cancelled and ends within minutes.
 */
export async function endRunsOf(
  dependencies: LeavingDependencies,
  userId: string,
): Promise<boolean> {
  for (const runId of await openRunsOf(dependencies.pool, userId)) {
    if (await isConcluded(dependencies, runId)) await settleRun(dependencies, runId);
  }
  return (await openRunsOf(dependencies.pool, userId)).length === 0;
}

/** Asks for the end of a run; false when it has to be waited for. */
async function isConcluded(dependencies: LeavingDependencies, runId: string): Promise<boolean> {
  const now = isoNow(dependencies);
  try {
    await issue(dependencies, runId, { type: 'Cancel', now }, ['cancel']);
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === 'concluded') return true;
    if (error.code === 'finishing') return false;
    throw error;
  }
}

/** Hides every run from the lists, by the event that a person's own hiding leaves. */
export async function hideRunsOf(dependencies: LeavingDependencies, userId: string): Promise<void> {
  for (;;) {
    const runs = await shownRunsOf(dependencies.pool, userId, runsAtOnce);
    if (runs.length === 0) return;
    const now = isoNow(dependencies);
    // Named by the moment, too: a run may have been hidden and brought back before.
    await Promise.all(
      runs.map(async (runId) => issue(dependencies, runId, { type: 'Hide', now }, ['leave', now])),
    );
  }
}

const runsAtOnce = 20;

function isoNow({ clock }: LeavingDependencies): string {
  return new Date(clock()).toISOString();
}
