import { idPattern } from '#services/platform/ids.ts';
import type { ReadState } from './reading/read-run.ts';
import { initialState } from './run/state.ts';
import type { Known } from './run/state.ts';

/**
 * A run that the user may see; null for one that does not exist, for another user's, and for a deleted
 * one, so that nobody learns which it is.
 */
export async function findOwnRun(
  { readState }: { readState: ReadState },
  userId: string,
  runId: string,
  which: 'shown' | 'hidden too' = 'shown',
): Promise<Known | null> {
  const state = idPattern('opt').test(runId) ? await readState(runId) : initialState();
  if (state.stage === 'none' || state.userId !== userId) return null;
  if (which === 'hidden too') return state;
  // A refinement is deleted and restored with its root.
  const root = state.refines ? await readState(state.refines.root) : state;
  return state.hiddenAt === null && 'hiddenAt' in root && root.hiddenAt === null ? state : null;
}
