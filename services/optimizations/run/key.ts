import type { RunState } from './state.ts';

/** The data key that seals a run's texts: a refinement has that of its root, and is erased with it. */
export function keyOf(runId: string, state: RunState): string {
  return (state.stage === 'none' ? undefined : state.refines?.root) ?? runId;
}
