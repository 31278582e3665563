import type pg from 'pg';
import { compareCursors } from '#db/reader.ts';
import type { Cursor } from '#db/reader.ts';
import { readCursors } from '#projections/engine/checkpoint.ts';
import { usedEventTypes } from '#projections/engine/define.ts';
import type { Projection } from '#projections/engine/define.ts';
import type { Log } from '#services/platform/process/log.ts';
import { encode, placeOf } from './hub.ts';
import { liveLimits } from './limits.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

/**
 * Notifies users with an open stream that their figures have changed. Asynchronous read models lag behind
 * the events, so a fact arrives too early to read them again. Events are remembered instead, and once a
 * second the progress of the read models is checked, but only while events are remembered.
 */
export type StaleHints = {
  /** An event of a user whose stream is open, in the order of the log. */
  noticed(event: RecordedEvent): void;
  close(): Promise<void>;
};

/** The events of one stream that a read model has still to read. */
type Awaited = { first: Cursor; last: Cursor };

export function startStaleHints(options: {
  pool: pg.Pool;
  /** Asynchronous ones that hold figures of single users. */
  projections: readonly Projection[];
  /** Null for a stream without an owner. */
  ownerOf: (streamId: string) => Promise<string | null>;
  /** Sends to every open stream of the user. */
  notify: (userId: string, bytes: Uint8Array) => void;
  log: Log;
}): StaleHints {
  const { pool, projections, ownerOf, notify, log } = options;
  const namesOf = namesByType(projections);
  /** By read model and stream. */
  const awaited = new Map<string, Map<string, Awaited>>();
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> = Promise.resolve();
  let isClosed = false;

  const pollLater = () => {
    if (isClosed || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      polling = poll();
    }, liveLimits.staleEveryMs);
  };

  async function poll(): Promise<void> {
    try {
      for (const [name, cursor] of await readCursors(pool, [...awaited.keys()]))
        await notifyOwners(name, cursor);
    } catch (error) {
      log.warn({ err: error }, 'It is not known how far the read models are; asking again');
    }
    if (awaited.size > 0) pollLater();
  }

  /** Notifies a user once, however many of their event streams have moved. */
  async function notifyOwners(name: string, reached: Cursor): Promise<void> {
    const streams = awaited.get(name) ?? new Map<string, Awaited>();
    const owners = new Set<string>();
    for (const [streamId, { first, last }] of streams) {
      if (compareCursors(reached, first) < 0) continue;
      const owner = await ownerOf(streamId);
      if (owner !== null) owners.add(owner);
      // Another event may have arrived while the owner was read.
      const newest = streams.get(streamId)?.last ?? last;
      if (compareCursors(reached, newest) < 0)
        streams.set(streamId, { first: newest, last: newest });
      else streams.delete(streamId);
    }
    if (streams.size === 0) awaited.delete(name);
    for (const owner of owners) notify(owner, encode('stale', { name }));
  }

  return {
    noticed(event) {
      for (const name of namesOf.get(event.type) ?? []) {
        const streams = awaited.get(name) ?? new Map<string, Awaited>();
        awaited.set(name, streams);
        const first = streams.get(event.streamId)?.first ?? event;
        streams.set(event.streamId, { first: placeOf(first), last: placeOf(event) });
        pollLater();
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await polling;
    },
  };
}

function namesByType(projections: readonly Projection[]): ReadonlyMap<string, string[]> {
  const names = new Map<string, string[]>();
  for (const projection of projections)
    for (const type of usedEventTypes(projection))
      names.set(type, [...(names.get(type) ?? []), projection.name]);
  return names;
}
