import type { ClientBase } from 'pg';
import type { Queryable } from '#db/connect.ts';
import { compareCursors, type Cursor, readRange } from '#db/reader.ts';
import { isTransient, nested, sqlState } from '#db/transaction.ts';
import { usedEventTypes } from './define.ts';
import { eventRange, type Target } from './range.ts';

/**
 * Streams that an asynchronous read model could not take in. From the first event at which the
 * statement fails, the events of such a stream wait, in order; every other stream continues.
 *
 * Rows are written and removed in transactions that hold the lock of the table's checkpoint. So each
 * page knows exactly which streams it leaves out, and what waits ends at the checkpoint.
 */
export type SetAside = {
  readonly projection: string;
  readonly streamId: string;
  /** The first event that waits. */
  readonly event: { readonly id: string; readonly type: string; readonly position: number };
  /** Of the last attempt; the message may hold values of the event. */
  readonly sqlstate: string;
  readonly error: string;
  /** ISO 8601. */
  readonly failedAt: string;
};

export type SetAsideList = {
  readonly total: number;
  /** The first of them, in order of time. */
  readonly streams: readonly SetAside[];
};

/** Streams that a status, a rebuild or a verification lists. */
const listed = 100;
/** Characters of an error that are kept. */
const errorLength = 1_000;

/** What is set aside in these tables; once for a stream that is so in two of one projection. */
export async function readSetAside(
  client: Queryable,
  targets: readonly Target[],
  limit = listed,
): Promise<SetAsideList> {
  const { rows } = await client.query<Row & { total: string }>(
    `select s.*, count(*) over () as total from (
       select distinct on (t.projection, s.stream_id) t.projection, ${columns}
       from unnest($1::text[], $2::text[]) as t (projection, name)
       join projection_set_aside s on s.name = t.name
       order by t.projection, s.stream_id, s.failed_at
     ) s
     order by s.failed_at, s.stream_id collate "C" limit $3`,
    [targets.map(({ projection }) => projection.name), targets.map(({ table }) => table), limit],
  );
  return { total: Number(rows[0]?.total ?? 0), streams: rows.map(setAsideOf) };
}

/** Gives a table what its copy has set aside, in the transaction in which the copy takes its place. */
export async function adoptSetAside(
  client: ClientBase,
  { projection, table }: Target,
): Promise<void> {
  const { name } = projection;
  await client.query('delete from projection_set_aside where name = $1', [name]);
  await client.query('update projection_set_aside set name = $1 where name = $2', [name, table]);
}

/** A part of the log, and how many events of the projection's types it holds at most. */
export type PageOfEvents = {
  readonly after: Cursor;
  readonly until: Cursor;
  readonly count: number;
};

/** Where a page ended: `count` events were taken in or set aside. */
export type AppliedPage = {
  readonly cursor: Cursor;
  readonly count: number;
  readonly setAside: SetAside | null;
};

/**
 * Applies a page in a transaction that holds the lock of the table's checkpoint. Where the statement
 * fails, the page is halved until one event is left. The stream of that event is set aside, and the
 * page ends there.
 */
export async function applyPage(
  client: ClientBase,
  target: Target,
  { after, until, count }: PageOfEvents,
): Promise<AppliedPage> {
  const { projection, table } = target;
  const apply = async (from: Cursor, to: Cursor) =>
    failureOf(client, projection.apply(table, eventRange(target, from, to)));
  if (!(await apply(after, until))) return { cursor: until, count, setAside: null };
  // A statement that fails without events, too, is broken itself: no stream is to blame.
  await client.query(projection.apply(table, eventRange(target, after, after)));

  const types = usedEventTypes(projection);
  let [from, to, left, taken] = [after, until, count, 0];
  while (left > 1) {
    const half = Math.floor(left / 2);
    const { cursor: middle } = await readRange(client, from, { limit: half, types });
    if (compareCursors(middle, to) >= 0) left = half;
    else if (await apply(from, middle)) [to, left] = [middle, half];
    else [from, left, taken] = [middle, left - half, taken + half];
  }
  // Alone it may succeed: some statements fail at a combination of events.
  const failure = await apply(from, to);
  const setAside = failure && (await setAsideNext(client, target, { from, to, failure }));
  return { cursor: to, count: taken + 1, setAside };
}

export type Failure = Pick<SetAside, 'sqlstate' | 'error'>;

/** Sets aside the stream of the one event between two places. */
async function setAsideNext(
  client: ClientBase,
  target: Target,
  { from, to, failure }: { from: Cursor; to: Cursor; failure: Failure },
): Promise<SetAside> {
  const { rows } = await client.query<Row>(
    `insert into projection_set_aside
       (name, stream_id, stream_position, message_id, message_type, sqlstate, error)
     select $1, e.stream_id, e.stream_position, e.message_id, e.message_type, $2, $3
     from ${eventRange(target, from, to)} e returning $4 as projection, ${columns}`,
    [target.table, failure.sqlstate, failure.error, target.projection.name],
  );
  return setAsideOf(rows[0]!);
}

/**
 * Why a statement fails, which is then undone; null when it succeeded. Rejects with errors that are
 * not due to an event.
 */
export async function failureOf(client: ClientBase, statement: string): Promise<Failure | null> {
  try {
    await nested(client, () => client.query(statement));
    return null;
  } catch (error) {
    const sqlstate = sqlState(error);
    if (sqlstate === undefined || isTransient(error) || endsTransaction.test(sqlstate)) throw error;
    return { sqlstate, error: (error as Error).message.slice(0, errorLength) };
  }
}

// Invalid transaction state: it took too long, and no savepoint is left.
const endsTransaction = /^25/;

type Row = {
  projection: string;
  stream_id: string;
  stream_position: string;
  message_id: string;
  message_type: string;
  sqlstate: string;
  error: string;
  failed_at: Date;
};

const columns = 'stream_id, stream_position, message_id, message_type, sqlstate, error, failed_at';

function setAsideOf(row: Row): SetAside {
  return {
    projection: row.projection,
    streamId: row.stream_id,
    event: { id: row.message_id, type: row.message_type, position: Number(row.stream_position) },
    sqlstate: row.sqlstate,
    error: row.error,
    failedAt: row.failed_at.toISOString(),
  };
}
