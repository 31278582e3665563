import type { Queryable } from '#db/connect.ts';
import type { StreamEvents } from '#db/streams.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { standInFor } from '#services/sandbox/models/cases.ts';
import { withBase } from './with-base.ts';
import { applyPatch, beginView, fieldsOfView, patchOf, withStreamed } from './view.ts';
import type { EventTexts, FieldsOf, RunPatch, RunView } from './view.ts';

/**
 * One run with its texts opened: the decider's state, the view that people see, and the texts that
 * only the next prompt needs. Everything is the fold of the run's stream.
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

/**
 * Null for a run that does not exist. Opening a text costs more than reading it, so a reader says
 * which it needs; the others read like erased ones. Without a choice those of the view are opened.
 */
export type ReadRun = (
  runId: string,
  choose?: (state: RunState) => FieldsOf,
) => Promise<OpenRun | null>;

export function createReadRun(options: {
  readStream: (streamId: string) => Promise<StreamEvents>;
  sealer: Pick<Sealer, 'open'>;
  /** Names the seats of runs that stored only the ids of their models. */
  modelOf?: Catalogue['modelOf'];
}): ReadRun {
  const { readStream, sealer, modelOf = () => null } = options;
  const readRun: ReadRun = async (runId, choose = () => fieldsOfView) => {
    const { events } = await readStream(streamOf(runId));
    const previous = previousOf(events[0]);
    const base = previous === null ? null : await readRun(previous, choose);
    const fieldsOf = choose(events.map(runEventOf).reduce(evolve, initialState()));
    const lastTitle = titleIndex(events.map(runEventOf));
    const opened = await Promise.all(
      events.map(async (recorded, index) => {
        const event = runEventOf(recorded);
        // A title that was replaced is not worth opening.
        const fields = fieldsOf(event).filter((field) => field !== 'title' || index === lastTitle);
        return {
          event,
          position: recorded.streamPosition,
          at: occurredAt(recorded),
          texts: await openTexts(sealer, recorded, fields),
        };
      }),
    );
    const run = foldRun(runId, opened, base);
    return run && { ...run, view: { ...run.view, seats: named(run.view.seats, modelOf) } };
  };
  return readRun;
}

function named(seats: RunView['seats'], modelOf: Catalogue['modelOf']): RunView['seats'] {
  return seats.map((seat) =>
    seat.name === seat.model
      ? { ...seat, name: modelOf(seat.model)?.displayName ?? seat.model }
      : seat,
  );
}

/** The run whose result a refinement starts from; null for any other run. */
export function previousOf(first: Pick<RecordedEvent, 'type' | 'data'> | undefined): string | null {
  if (first === undefined) return null;
  const event = runEventOf(first);
  return event.type === 'OptimizationCreated' ? (event.data.refines?.previous ?? null) : null;
}

/** The event whose title the run has now. */
function titleIndex(events: readonly OptimizationEvent[]): number {
  const own = events.findLastIndex(({ type }) => type === 'OptimizationRenamed');
  if (own >= 0) return own;
  const ledger = events.findIndex(
    (event) => event.type === 'ClaimsFixed' && event.data.sealed?.title !== undefined,
  );
  return Math.max(0, ledger);
}

export type ReadRunEvent = {
  event: OptimizationEvent;
  position: number;
  at: string;
  texts: EventTexts;
};

/**
 * Null for a stream that has not begun.
 *
 * @param base the run whose result a refinement starts from, which holds the texts that it speaks of
 */
export function foldRun(
  runId: string,
  events: readonly ReadRunEvent[],
  base: OpenRun | null = null,
): OpenRun | null {
  const [first, ...rest] = events;
  if (!first) return null;
  const view = beginView(patchWithCase(runId, first));
  const begun: OpenRun = {
    runId,
    version: first.position,
    state: evolve(initialState(), first.event),
    view: base === null ? view : withBase(view, base.view),
    shown: base?.shown ?? {},
    labels: {},
  };
  return rest.reduce(nextRun, begun);
}

/**
 * The patch of an event. The first one says which prepared case answers; only the server has the
 * cases, so `patchOf` alone, which the browser shares, cannot say it.
 */
export function patchWithCase(
  runId: string,
  { event, texts, at }: Omit<ReadRunEvent, 'position'>,
): RunPatch {
  const patch = patchOf(runId, event, texts, at);
  if (event.type !== 'OptimizationCreated' || event.data.preparedCase === undefined) return patch;
  const { challenge = null, context = null } = texts;
  return { ...patch, standIn: standInFor(event.data.preparedCase, { challenge, context }) };
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

/** The view with how far the open attempts have come; a dead worker may leave text of others behind. */
export async function withProgress(client: Queryable, view: RunView): Promise<RunView> {
  if (view.stage === 'draft' || view.stage === 'closed') return view;
  const { rows } = await client.query<{ slot: string; attempt: number; progress: number }>(
    'select slot, attempt, progress from live_text where run_id = $1',
    [view.id],
  );
  const isOpen = ({ slot, attempt }: (typeof rows)[number]) =>
    view.calls[slot]?.attempts[attempt]?.status === 'open';
  return withStreamed(view, rows.filter(isOpen));
}

/**
 * The decider's state alone, for work that must not depend on the texts: an unreadable text must not
 * keep a user's credits on hold.
 */
export type ReadState = (runId: string) => Promise<RunState>;

/** The given sealed fields of one event in clear, all of them by default; null where the key is gone. */
export async function openTexts(
  sealer: Pick<Sealer, 'open'>,
  { streamId, data }: Pick<RecordedEvent, 'streamId' | 'data'>,
  fields?: readonly string[],
): Promise<EventTexts> {
  const sealed = (data['sealed'] ?? {}) as Readonly<Record<string, string>>;
  const entries = await Promise.all(
    (fields ?? Object.keys(sealed)).map(async (field) => {
      const value = sealed[field];
      if (value === undefined) return [];
      const opened = await sealer.open(value, { stream: streamId, field });
      return [[field, 'erased' in opened ? null : opened.text] as const];
    }),
  );
  return Object.fromEntries(entries.flat());
}

/** Only the decider writes this stream, so its events have the decider's types. */
export function runEventOf(recorded: Pick<RecordedEvent, 'type' | 'data'>): OptimizationEvent {
  return { type: recorded.type, data: recorded.data } as OptimizationEvent;
}

export function occurredAt(recorded: Pick<RecordedEvent, 'metadata'>): string {
  return String(recorded.metadata['occurredAt']);
}
