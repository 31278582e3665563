import { applyPatch, beginView, patchOf } from './view.ts';
import type { EventTexts, RunView } from './view.ts';
import type {
  OptimizationEvent,
  OptimizationEventType,
} from '#services/optimizations/run/events.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';

/**
 * One run read with its texts opened: the decider's state, the view that people see, and the texts
 * that only the next prompt needs. Everything is the fold of the run's stream.
 */
export type OpenRun = {
  runId: string;
  version: number;
  state: RunState;
  view: RunView;
  /** By seat: the scrubbed answer that reviewers read. */
  shown: Readonly<Record<string, string>>;
  /** reviewer → answer → label, as fixed when the opinions closed. */
  labels: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

export type ReadRunEvent = {
  event: OptimizationEvent;
  position: number;
  at: string;
  texts: EventTexts;
};

/** The fields that an event of each type seals, in the order in which they are opened. */
export const sealedFields = {
  OptimizationCreated: ['title', 'challenge', 'context', 'objectives', 'constraints'],
  CallSucceeded: ['reply', 'shown', 'notes'],
  ClaimsFixed: ['ledger'],
  OptimizationRenamed: ['title'],
} as const satisfies Partial<Record<OptimizationEventType, readonly string[]>>;

/** Null for a stream that has not begun. */
export function foldRun(runId: string, events: readonly ReadRunEvent[]): OpenRun | null {
  const [first, ...rest] = events;
  if (!first) return null;
  const begun: OpenRun = {
    runId,
    version: first.position,
    state: evolve(initialState(), first.event),
    view: beginView(patchOf(runId, first.event, first.texts, first.at)),
    shown: {},
    labels: {},
  };
  return rest.reduce(nextRun, begun);
}

function nextRun(run: OpenRun, { event, position, at, texts }: ReadRunEvent): OpenRun {
  return {
    ...run,
    version: position,
    state: evolve(run.state, event),
    view: applyPatch(run.view, patchOf(run.runId, event, texts, at), position),
    shown: withShown(run.shown, event, texts),
    labels: event.type === 'OpinionsClosed' ? event.data.labels : run.labels,
  };
}

function withShown(
  shown: OpenRun['shown'],
  event: OptimizationEvent,
  texts: EventTexts,
): OpenRun['shown'] {
  if (event.type !== 'CallSucceeded') return shown;
  const slot = parseSlot(event.data.slot);
  const text = texts['shown'];
  return slot.kind === 'opinion' && typeof text === 'string'
    ? { ...shown, [slot.seat]: text }
    : shown;
}
