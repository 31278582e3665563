import type { StreamEvents } from '#db/streams.ts';
import type { Sealer } from '#services/platform/seal.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { foldRun, sealedFields } from './run-texts.ts';
import type { OpenRun } from './run-texts.ts';
import type { EventTexts } from './view.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { streamOf } from '#services/optimizations/run/events.ts';

/** A run's whole stream with its texts opened; null for a run that does not exist. */
export type ReadRun = (runId: string) => Promise<OpenRun | null>;

export function createReadRun(options: {
  readStream: (streamId: string) => Promise<StreamEvents>;
  sealer: Sealer;
}): ReadRun {
  const { readStream, sealer } = options;
  return async (runId) => {
    const { events } = await readStream(streamOf(runId));
    const lastRename = events.findLastIndex(({ type }) => type === 'OptimizationRenamed');
    const opened = await Promise.all(
      events.map(async (recorded, index) => ({
        event: runEventOf(recorded),
        position: recorded.streamPosition,
        at: occurredAt(recorded),
        // A title that was replaced is not worth opening.
        texts:
          recorded.type === 'OptimizationRenamed' && index < lastRename
            ? {}
            : await openTexts(sealer, recorded),
      })),
    );
    return foldRun(runId, opened);
  };
}

/**
 * The decider's state alone. What has to be done whatever has become of the texts stands on this: a
 * text that cannot be opened must not hold a person's credits.
 */
export type ReadState = (runId: string) => Promise<RunState>;

/** The sealed fields of one event in clear; null where the key is gone. */
export async function openTexts(
  sealer: Sealer,
  recorded: Pick<RecordedEvent, 'streamId' | 'type' | 'data'>,
): Promise<EventTexts> {
  const fields = fieldsOf(recorded.type);
  const sealed = recorded.data['sealed'];
  if (fields.length === 0 || typeof sealed !== 'object' || sealed === null) return {};
  const entries = await Promise.all(
    fields.map(async (field) => {
      const value = (sealed as Record<string, unknown>)[field];
      if (typeof value !== 'string') return [];
      const opened = await sealer.open(value, { stream: recorded.streamId, field });
      return [[field, 'erased' in opened ? null : opened.text] as const];
    }),
  );
  return Object.fromEntries(entries.flat());
}

/** Events of this stream are written by its decider alone, whose types they have. */
export function runEventOf(recorded: Pick<RecordedEvent, 'type' | 'data'>): OptimizationEvent {
  return { type: recorded.type, data: recorded.data } as OptimizationEvent;
}

export function occurredAt(recorded: Pick<RecordedEvent, 'metadata'>): string {
  return String(recorded.metadata['occurredAt']);
}

function fieldsOf(type: string): readonly string[] {
  return type in sealedFields ? sealedFields[type as keyof typeof sealedFields] : [];
}
