import type pg from 'pg';
import { compareCursors } from '#db/reader.ts';
import type { Cursor } from '#db/reader.ts';
import { readCursors } from '#projections/engine/checkpoint.ts';
import { usedEventTypes } from '#projections/engine/define.ts';
import type { Projection } from '#projections/engine/define.ts';
import type { Log } from '#services/platform/process/log.ts';
import { encode } from './hub.ts';
import { liveLimits } from './limits.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

/**
 * Notifies people whose stream is open that figures of theirs have moved. Asynchronous read models follow
 * the events, so a fact comes too early to read them again: what an event will change is remembered,
 * and once a second it is asked how far the read models have come. While nothing is remembered, which
 * is always so no stream is open, nothing is asked.
 */
export type StaleHints = {
  /** An event of somebody whose stream is open, in the order of the log. */
  noticed(event: RecordedEvent): void;
  close(): Promise<void>;
};

/** The events of one stream that a read model has still to read. */
type Awaited = { first: Cursor; last: Cursor };

export function startStaleHints(options: {
  pool: pg.Pool;
  /** Asynchronous ones that hold figures of single people. */
  projections: readonly Projection[];
  /** Null for a stream without an owner. */
  ownerOf: (streamId: string) => Promise<string | null>;
  /** To every open stream of the person. */
  tell: (userId: string, bytes: Uint8Array) => void;
  log: Log;
}): StaleHints {
  const { pool, projections, ownerOf, tell, log } = options;
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

  /** A person is notified once, however many of their streams of events have moved. */
  async function notifyOwners(name: string, reached: Cursor): Promise<void> {
    const streams = awaited.get(name) ?? new Map<string, Awaited>();
    const owners = new Set<string>();
    for (const [streamId, { first, last }] of streams) {
      if (compareCursors(reached, first) < 0) continue;
      const owner = await ownerOf(streamId);
      if (owner !== null) owners.add(owner);
      // Another event may have come while the owner was asked for.
      const newest = streams.get(streamId)?.last ?? last;
      if (compareCursors(reached, newest) < 0)
        streams.set(streamId, { first: newest, last: newest });
      else streams.delete(streamId);
    }
    if (streams.size === 0) awaited.delete(name);
    for (const owner of owners) tell(owner, encode('stale', { name }));
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

function placeOf({ transactionId, globalPosition }: Cursor): Cursor {
  return { transactionId, globalPosition };
}

function namesByType(projections: readonly Projection[]): ReadonlyMap<string, string[]> {
  const names = new Map<string, string[]>();
  for (const projection of projections)
    for (const type of usedEventTypes(projection))
      names.set(type, [...(names.get(type) ?? []), projection.name]);
  return names;
}
