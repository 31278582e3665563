import type pg from 'pg';
import { type ChainCheck, firstHash, verifyChain } from './chain.ts';
import type { Queryable } from './connect.ts';
import { readHeads, type Snapshot, type StreamHead } from './streams.ts';
import { compareCursors } from './reader.ts';
import { beginReading, inTransaction, limitTo, wholeLogLimit } from './transaction.ts';
import { eventColumns, recordedEvent } from './recorded-event.ts';
import type { EventRow, RecordedEvent } from './recorded-event.ts';

/** A state that no append writes. One stream may have several. */
export type EventFault = {
  readonly streamId: string;
  /** Position in the stream; 0 for the stream as a whole. */
  readonly streamPosition: number;
  readonly messageId: string | null;
  /**
   * `chain`: the event was changed, or earlier events are missing. `order`: readers get it before its
   * predecessor. `head`: the stream's row has another last position. `snapshot`: the snapshot belongs to
   * another history.
   */
  readonly kind: 'chain' | 'order' | 'head' | 'snapshot';
};

export type EventsVerification = {
  streams: number;
  events: number;
  seconds: number;
  /** At most `mostFaults` of them. */
  faults: readonly EventFault[];
};

export type VerifyEventsOptions = {
  /** One stream only. */
  streamId?: string;
  /** Called after each page with the events read so far. */
  onProgress?: (events: number) => void;
};

/** Beyond so many, single events no longer matter. */
const mostFaults = 1_000;

const pageEvents = 2_000;

/**
 * Checks what was stored: every stream has the positions from 1 without a gap, its hash chain can be
 * recomputed, readers get it in order, and its row and its snapshot stand at its last event. As of one
 * moment and read-only, so it may run at any time. Events are checked as they are stored, with sealed
 * texts: no key is needed, and an erased key makes no difference.
 */
export async function verifyEvents(
  pool: pg.Pool,
  { streamId, onProgress }: VerifyEventsOptions = {},
): Promise<EventsVerification> {
  const begun = performance.now();
  return inTransaction(
    pool,
    async (client) => {
      await limitTo(client, wholeLogLimit);
      const faults = await findEmptyStreams(client, streamId ?? null);
      let stream: Checked | undefined;
      let streams = 0;
      let events = 0;
      for (;;) {
        const page = await readAfter(client, stream, streamId ?? null);
        const heads = await headsOf(client, page);
        for (const [id, group] of Map.groupBy(page, (event) => event.streamId)) {
          if (stream?.streamId !== id) {
            if (stream) faults.push(...faultsAtEnd(stream));
            streams += 1;
            stream = begin(heads.get(id)!);
          }
          faults.push(...check(stream, group));
        }
        events += page.length;
        onProgress?.(events);
        if (page.length < pageEvents || faults.length >= mostFaults) break;
      }
      if (stream) faults.push(...faultsAtEnd(stream));
      const seconds = (performance.now() - begun) / 1000;
      return { streams, events, seconds, faults: faults.slice(0, mostFaults) };
    },
    beginReading,
  );
}

/** A stream, checked up to here. */
type Checked = {
  streamId: string;
  head: StreamHead;
  chain: ChainCheck;
  last: RecordedEvent | undefined;
  /** The hash of the snapshot's event. */
  hashAtSnapshot: string | undefined;
};

function begin(head: StreamHead): Checked {
  return {
    streamId: head.streamId,
    head,
    chain: { intact: true, hash: firstHash, version: 0 },
    last: undefined,
    hashAtSnapshot: undefined,
  };
}

/** Continues with the next events of a stream. A broken chain is not followed further. */
function check(stream: Checked, events: readonly RecordedEvent[]): EventFault[] {
  const faults: EventFault[] = [];
  const snapshotAt = stream.head.snapshot?.version;
  for (const event of events) {
    if (stream.last && compareCursors(stream.last, event) >= 0) faults.push(fault(event, 'order'));
    stream.last = event;
    if (!stream.chain.intact) continue;
    stream.chain = verifyChain([event], stream.chain);
    if (!stream.chain.intact) faults.push(fault(event, 'chain'));
    else if (event.streamPosition === snapshotAt) stream.hashAtSnapshot = stream.chain.hash;
  }
  return faults;
}

function faultsAtEnd({ streamId, head, chain, last, hashAtSnapshot }: Checked): EventFault[] {
  const at = { streamId, streamPosition: last?.streamPosition ?? 0, messageId: null };
  const faults: EventFault[] = [];
  if (head.version !== last?.streamPosition) faults.push({ ...at, kind: 'head' });
  if (chain.intact && isForeign(head.snapshot, hashAtSnapshot))
    faults.push({ ...at, kind: 'snapshot' });
  return faults;
}

/** A stream need not have a snapshot; an existing one stands at one of its events. */
function isForeign(snapshot: Snapshot | null, hashAtSnapshot: string | undefined): boolean {
  return snapshot !== null && snapshot.hash !== hashAtSnapshot;
}

function fault(event: RecordedEvent, kind: EventFault['kind']): EventFault {
  const { streamId, streamPosition, messageId } = event;
  return { streamId, streamPosition, messageId, kind };
}

/** Streams with a row or a snapshot but no event, or with events but no row. */
async function findEmptyStreams(client: Queryable, streamId: string | null): Promise<EventFault[]> {
  const [whose, values] = streamId === null ? ['', []] : ['where stream_id = $2', [streamId]];
  const { rows } = await client.query<{ stream_id: string }>(
    `select stream_id from (
       select stream_id from emt_streams ${whose}
       union select stream_id from stream_snapshot ${whose}
     ) known
     where not exists (select from emt_messages m where m.stream_id = known.stream_id)
     order by stream_id limit $1`,
    [mostFaults, ...values],
  );
  return rows.map((row) => ({
    streamId: row.stream_id,
    streamPosition: 0,
    messageId: null,
    kind: 'head',
  }));
}

/** One stream and all of them are two statements: a plan for both would read the whole log for one. */
async function readAfter(
  client: Queryable,
  stream: Checked | undefined,
  streamId: string | null,
): Promise<RecordedEvent[]> {
  const last = stream?.last?.streamPosition ?? 0;
  const after =
    streamId === null
      ? '(m.stream_id, m.stream_position) > ($1, $2::bigint)'
      : 'm.stream_id = $1 and m.stream_position > $2::bigint';
  const { rows } = await client.query<EventRow>(
    `select ${eventColumns}
     from emt_messages m
     where ${after}
     order by m.stream_id, m.stream_position
     limit $3`,
    [streamId ?? stream?.streamId ?? '', last, pageEvents],
  );
  return rows.map(recordedEvent);
}

async function headsOf(
  client: Queryable,
  page: readonly RecordedEvent[],
): Promise<Map<string, StreamHead>> {
  const ids = [...new Set(page.map(({ streamId }) => streamId))];
  return new Map((await readHeads(client, ids)).map((head) => [head.streamId, head]));
}
