import type pg from 'pg';
import { defaultPartition } from './append-function.ts';
import type { Queryable } from './connect.ts';
import { eventColumns, recordedEvent, upcast } from './recorded-event.ts';
import type { EventRow, RecordedEvent } from './recorded-event.ts';

/**
 * Streams: reading one, and the call that appends to many. The tables are emmett's. Its `readStream`
 * returns no transaction id and cannot read inside an open transaction; the statement here reads the same
 * rows of the same table.
 */
export type StreamRange = {
  /** First and last position, inclusive, from 1. */
  from?: number;
  to?: number;
};

export type StreamEvents = {
  events: RecordedEvent[];
  /** Position of the last event read; 0 for a stream that does not exist. */
  version: number;
};

const activeEvents = `emt_messages m
    where partition = '${defaultPartition}' and is_archived = false`;

/** The events of one stream in order, in today's shape. */
export async function readStream(
  queryable: Queryable,
  streamId: string,
  range: StreamRange = {},
): Promise<StreamEvents> {
  const stored = await readStoredStream(queryable, streamId, range);
  return { ...stored, events: stored.events.map(upcast) };
}

/** The events as they are stored: for the hash chain, export and display. */
export async function readStoredStream(
  queryable: Queryable,
  streamId: string,
  range: StreamRange = {},
): Promise<StreamEvents> {
  const { rows } = await queryable.query<EventRow>(
    `select ${eventColumns} from ${activeEvents} and stream_id = $1
       and stream_position >= $2 and ($3::bigint is null or stream_position <= $3)
     order by m.stream_position`,
    [streamId, range.from ?? 1, range.to ?? null],
  );
  const events = rows.map(recordedEvent);
  return { events, version: events.at(-1)?.streamPosition ?? 0 };
}

/** The events of one stream whose data has one of these values in a field, in order. */
export async function readEventsAbout(
  queryable: Queryable,
  streamId: string,
  field: string,
  values: readonly string[],
): Promise<RecordedEvent[]> {
  const { rows } = await queryable.query<EventRow>(
    `select ${eventColumns} from ${activeEvents} and stream_id = $1
       and m.message_data ->> $2 = any ($3::text[])
     order by m.stream_position`,
    [streamId, field, values],
  );
  return rows.map(recordedEvent);
}

/** The events of one type in these streams. */
export async function readEventsOfType(
  queryable: Queryable,
  streamIds: readonly string[],
  type: string,
): Promise<RecordedEvent[]> {
  const { rows } = await queryable.query<EventRow>(
    `select ${eventColumns} from ${activeEvents} and stream_id = any ($1::text[])
       and m.message_type = $2
     order by stream_id, m.stream_position`,
    [streamIds, type],
  );
  return rows.map(recordedEvent).map(upcast);
}

/** The events with these message ids, by stream, in order. */
export async function findMessages(
  queryable: Queryable,
  wanted: readonly { streamId: string; messageIds: readonly string[] }[],
): Promise<RecordedEvent[]> {
  const pairs = wanted.flatMap(({ streamId, messageIds }) =>
    messageIds.map((messageId) => [streamId, messageId] as const),
  );
  const { rows } = await queryable.query<EventRow>(
    `select ${eventColumns} from ${activeEvents} and (stream_id, message_id) in (
       select * from unnest($1::text[], $2::text[]))
     order by stream_id, m.stream_position`,
    [pairs.map(([streamId]) => streamId), pairs.map(([, messageId]) => messageId)],
  );
  return rows.map(recordedEvent);
}

// --- heads ---

/** The last position of a stream, and the state in its snapshot. */
export type StreamHead = {
  streamId: string;
  /** 0 for a stream that does not exist. */
  version: number;
  snapshot: Snapshot | null;
};

export type Snapshot = {
  version: number;
  decider: string;
  deciderVersion: number;
  hash: string;
  occurredAt: string;
  /** Plain JSON. */
  state: unknown;
};

type HeadRow = {
  stream_id: string;
  stream_position: string | null;
  version: string | null;
  decider: string;
  decider_version: number;
  hash: string;
  occurred_at: string;
  state: unknown;
};

/** One statement, so position and snapshot of a stream are of one moment. In the given order. */
export async function readHeads(
  queryable: Queryable,
  streamIds: readonly string[],
): Promise<StreamHead[]> {
  const { rows } = await queryable.query<HeadRow>(
    `select wanted.stream_id, stream.stream_position::text, snapshot.version::text,
            snapshot.decider, snapshot.decider_version, snapshot.hash, snapshot.occurred_at,
            snapshot.state
     from unnest($1::text[]) with ordinality as wanted (stream_id, number)
     left join emt_streams stream on stream.stream_id = wanted.stream_id
       and stream.partition = '${defaultPartition}' and stream.is_archived = false
     left join stream_snapshot snapshot on snapshot.stream_id = wanted.stream_id
     order by wanted.number`,
    [streamIds],
  );
  return rows.map((row) => ({
    streamId: row.stream_id,
    version: Number(row.stream_position ?? 0),
    snapshot:
      row.version === null
        ? null
        : {
            version: Number(row.version),
            decider: row.decider,
            deciderVersion: row.decider_version,
            hash: row.hash,
            occurredAt: row.occurred_at,
            state: row.state,
          },
  }));
}

// --- appending ---

export type AppendedEvent = {
  id: string;
  type: string;
  data: Readonly<Record<string, unknown>>;
  metadata: Readonly<Record<string, unknown>>;
};

export type AppendedJob = {
  task: string;
  payload: Readonly<Record<string, unknown>>;
  key: string;
  runAt?: string;
  queue?: string;
  maxAttempts?: number;
};

/** An append to one stream. A batch holds at most one entry per stream. */
export type AppendEntry = {
  streamId: string;
  /** The version that the events were decided on; 0 for a new stream. */
  expectedVersion: number;
  events: readonly AppendedEvent[];
  snapshot: Omit<Snapshot, 'version'>;
  jobs: readonly AppendedJob[];
};

/** A place in the log, as digits. */
export type LogPosition = { transactionId: string; globalPosition: string };

export type AppendOutcome =
  | {
      appended: true;
      /** One for each event. */
      positions: readonly LogPosition[];
    }
  /** The stream was not at the expected version. */
  | { appended: false };

type AppendedRow = { written: string[]; positions: string[]; transaction_id: string };

/**
 * Appends the entries whose streams are at their expected versions, in one transaction, and returns the
 * outcomes in the given order. Rejects with the driver's error when the database refuses an entry, and then
 * nothing of the batch was appended; after any other error the whole batch may or may not have happened.
 */
export async function appendCommands(
  queryable: Queryable,
  functionName: string,
  entries: readonly AppendEntry[],
): Promise<AppendOutcome[]> {
  const { rows } = await queryable.query<AppendedRow>({
    name: functionName,
    text: `select append__written as written, append__positions::text[] as positions,
                  append__transaction_id::text as transaction_id
           from ${functionName}($1::text[], $2::bigint[], $3::bigint[], $4::jsonb)`,
    values: [
      entries.map(({ streamId }) => streamId),
      entries.map(({ expectedVersion }) => expectedVersion),
      entries.map(versionAfter),
      batchOf(entries),
    ],
  });
  const [row] = rows;
  const written = new Set(row?.written);
  let place = 0;
  return entries.map(({ streamId, events }) => {
    if (row === undefined || !written.has(streamId)) return { appended: false };
    const own = row.positions.slice(place, place + events.length);
    place += events.length;
    const transactionId = row.transaction_id;
    return {
      appended: true,
      positions: own.map((globalPosition) => ({ transactionId, globalPosition })),
    };
  });
}

function versionAfter({ expectedVersion, events }: AppendEntry): number {
  return expectedVersion + events.length;
}

/** Everything of a batch that the function takes as rows, each with its stream. */
function batchOf(entries: readonly AppendEntry[]): string {
  return JSON.stringify({
    events: entries.flatMap(({ streamId, expectedVersion, events }) =>
      events.map((event, index) => ({
        stream: streamId,
        position: expectedVersion + index + 1,
        ...event,
      })),
    ),
    snapshots: entries.map((entry) => ({
      stream: entry.streamId,
      version: versionAfter(entry),
      ...entry.snapshot,
    })),
    jobs: entries.flatMap(({ streamId, jobs }) =>
      jobs.map((job) => ({ stream: streamId, ...job })),
    ),
  });
}

/** Whether the events were refused because they exist: their command has happened. */
export function alreadyAppended(error: pg.DatabaseError): boolean {
  return error.code === '23505' && error.table?.startsWith('emt_messages') === true;
}
