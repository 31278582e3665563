import { openRunsOf, shownRunsOf } from '#projections/optimization-list.ts';
import { cancelIfOpen, isoNow, issue, settleRun } from './commands.ts';
import type { OptimizationDependencies } from './tasks.ts';

/**
 * Ends and hides the runs of a user who leaves. It issues the runs' own commands and may be repeated
 * at any time; it needs no text, so it also works on erased runs.
 */
export type LeavingDependencies = Pick<
  OptimizationDependencies,
  'pool' | 'bus' | 'ledger' | 'readState' | 'clock'
>;

/**
 * Cancels and settles open runs. True when none is left: once its recommendation is being written, a
 * run can no longer be cancelled and ends within minutes.
 */
export async function endRunsOf(
  dependencies: LeavingDependencies,
  userId: string,
): Promise<boolean> {
  for (const runId of await openRunsOf(dependencies.pool, userId)) {
    if (await cancelIfOpen(dependencies, runId)) await settleRun(dependencies, runId);
  }
  return (await openRunsOf(dependencies.pool, userId)).length === 0;
}

/** Hides every run from the lists, by the same event as when the user hides one. */
export async function hideRunsOf(dependencies: LeavingDependencies, userId: string): Promise<void> {
  for (;;) {
    const runs = await shownRunsOf(dependencies.pool, userId, runsAtOnce);
    if (runs.length === 0) return;
    const now = isoNow(dependencies);
    // The id includes the time: the run may have been hidden and restored before.
    await Promise.all(
      runs.map(async (runId) => issue(dependencies, runId, { type: 'Hide', now }, ['leave', now])),
    );
  }
}

const runsAtOnce = 20;
