import type { ClientBase, Pool } from 'pg';
import type { Queryable } from './connect.ts';
import { eventColumns, recordedEvent, upcast } from './recorded-event.ts';
import type { EventRow, RecordedEvent } from './recorded-event.ts';
import { beginReading, inTransaction } from './transaction.ts';

/**
 * Reading the log without gaps. An event gets its position when it is written and becomes visible when its
 * transaction commits. A higher position can be visible before a lower one, so a reader that remembers
 * "the last position" loses events. Here a reader remembers the pair (transaction id, position) and takes
 * only events below the oldest open transaction: nothing can be added there any more.
 *
 * The price is that an open write transaction hides everything committed after it began. Its end sends no
 * notice, so a reader that knows of hidden events polls again soon.
 *
 * It remembers the place of an event, never the horizon itself. When Postgres crashes it forgets the ids of
 * transactions that wrote nothing and gives them out again, so a later event may lie below a horizon that was
 * read before. The id of an event that could be read is on the disk, and ids only continue from there.
 *
 * Every read here is a single statement or a read-only transaction. Neither has a transaction id, so a
 * reader hides nothing from another one.
 */

/** A place in the log: everything up to and including it has been read. Digits, as xid8 and bigint. */
export type Cursor = { readonly transactionId: string; readonly globalPosition: string };

/** Before the first event. */
export const logStart: Cursor = { transactionId: '0', globalPosition: '0' };

/** The result of one read of the log. */
export type ReadProgress = {
  /** Where to continue; after the last event when there was nothing more to read. */
  readonly cursor: Cursor;
  /** An open transaction still hides committed events after the cursor. */
  readonly unsafeInSight: boolean;
  /** False when the limit cut the page short. */
  readonly caughtUp: boolean;
};

export type Page = ReadProgress & { readonly events: readonly RecordedEvent[] };

/** A range of the log, for statements that read its events in the database. */
export type Range = ReadProgress & { readonly count: number };

export type ReadOptions = {
  /** The most events to read. */
  limit?: number;
  /** Only these event types; all of them when left out. */
  types?: readonly string[];
};

/**
 * Events of any type that a range reaches over at most. A statement over a range takes its time for each of
 * them, and its transaction hides new events from readers meanwhile.
 */
const rangeSpan = 100_000;

/** Events per page. At 5,000 a page takes some 50 ms and 10 MB. */
export const pageLimit = 5_000;

/**
 * Reads the safe events after `cursor` in the order (transaction id, position), which is also the order
 * inside each stream, and in today's shape. When it caught up, the returned cursor is the last safe event of
 * any type, so that the next read skips the others.
 */
export async function readPage(
  client: Queryable,
  cursor: Cursor,
  { limit = pageLimit, types }: ReadOptions = {},
): Promise<Page> {
  const { rows } = await client.query<PageRow>(pageStatement, [
    cursor.transactionId,
    cursor.globalPosition,
    limit,
    types ?? null,
  ]);
  const stored = rows.flatMap((row) => (row.stream_id === null ? [] : [recordedEvent(row)]));
  const events = stored.map(upcast);
  return { ...progressOf(cursor, rows[0], events.at(-1), events.length, limit), events };
}

/**
 * Like `readPage`, but returns only the end of a page of `limit` events and their number. Where events of the
 * types are rare, the page ends after `span` events of any type.
 */
export async function readRange(
  client: Queryable,
  cursor: Cursor,
  { limit = pageLimit, types, span = rangeSpan }: ReadOptions & { span?: number } = {},
): Promise<Range> {
  const { rows } = await client.query<RangeRow>(rangeStatement, [
    cursor.transactionId,
    cursor.globalPosition,
    limit,
    types ?? null,
    span,
  ]);
  const row = rows[0];
  const count = Number(row?.count ?? 0);
  const last = row && cursorOf(row.transaction_id, row.global_position);
  const spanEnd = row && cursorOf(row.span_transaction_id, row.span_global_position);
  if (spanEnd !== undefined)
    return { cursor: spanEnd, unsafeInSight: row!.unsafe, caughtUp: false, count };
  return { ...progressOf(cursor, row, last, count, limit), count };
}

function cursorOf(transactionId: string | null, globalPosition: string | null): Cursor | undefined {
  return transactionId === null || globalPosition === null
    ? undefined
    : { transactionId, globalPosition };
}

/** Negative when `left` comes first in the log. */
export function compareCursors(left: Cursor, right: Cursor): number {
  const byTransaction = BigInt(left.transactionId) - BigInt(right.transactionId);
  const difference = byTransaction || BigInt(left.globalPosition) - BigInt(right.globalPosition);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/**
 * Reads several things as of one moment, together with their place in the log. A reader that continues
 * from `cursor` misses nothing and may see again what the tables already hold. The tables are locked
 * against a swap before the snapshot, because a table that a rebuild swapped in later would look empty.
 * The transaction is read-only and REPEATABLE READ; it has no id and hides nothing from other readers.
 */
export async function readAsOfOneMoment<Result>(
  pool: Pool,
  tables: readonly string[],
  read: (client: ClientBase, cursor: Cursor) => Promise<Result>,
): Promise<Result> {
  return inTransaction(
    pool,
    async (client) => {
      if (tables.length > 0)
        await client.query(
          `lock table ${tables.map((table) => client.escapeIdentifier(table)).join(', ')} in access share mode`,
        );
      return read(client, await endOfLog(client));
    },
    beginReading,
  );
}

/** The last safe event. */
export async function endOfLog(client: Queryable): Promise<Cursor> {
  const { rows } = await client.query<EndRow>(
    `select e.transaction_id::text as end_transaction_id, e.global_position::text as end_global_position
     from (select pg_snapshot_xmin(pg_current_snapshot()) as xmin) horizon left join ${lastBelow} e on true`,
  );
  return endOf(rows[0]);
}

/**
 * Seconds since the oldest event after the cursor was written, hidden or not; 0 when there is none. Readiness
 * and alerts use it.
 */
export async function lagSeconds(client: Queryable, cursor: Cursor): Promise<number> {
  const { rows } = await client.query<{ seconds: number }>(
    `select extract(epoch from clock_timestamp() - m.created)::float8 as seconds
     from emt_messages m
     where (m.transaction_id, m.global_position) > ($1::xid8, $2::bigint)
     order by m.transaction_id, m.global_position limit 1`,
    [cursor.transactionId, cursor.globalPosition],
  );
  return Math.max(0, rows[0]?.seconds ?? 0);
}

/** What holds readers and vacuum back. */
export type OpenTransactions = {
  /** The oldest transaction that is open, in any database of the server. */
  xmin: string;
  /** Transactions begun since, itself included; 0 when none is open. */
  age: number;
  /** Of the oldest open transaction among those that this role may see. */
  oldestSeconds: number;
};

/** Reads two snapshots and the list of sessions, and no table. */
export async function readOpenTransactions(client: Queryable): Promise<OpenTransactions> {
  const { rows } = await client.query<OpenTransactions>(
    `select pg_snapshot_xmin(s)::text as xmin,
       (pg_snapshot_xmax(s)::text::numeric - pg_snapshot_xmin(s)::text::numeric)::float8 as age,
       (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
        from pg_stat_activity
        where pid <> pg_backend_pid() and (backend_xid is not null or backend_xmin is not null)
          and backend_type = 'client backend') as "oldestSeconds"
     from pg_current_snapshot() s`,
  );
  return rows[0]!;
}

/** Null while the log has no safe event. */
type EndRow = { end_transaction_id: string | null; end_global_position: string | null };
type HeaderRow = EndRow & { unsafe: boolean };
type RangeRow = HeaderRow & {
  count: string | null;
  transaction_id: string | null;
  global_position: string | null;
  /** Only of a page that did not reach its limit within the span. */
  span_transaction_id: string | null;
  span_global_position: string | null;
};
type PageRow = HeaderRow & (EventRow | { stream_id: null });

const wanted = '($4::text[] is null or m.message_type = any($4::text[]))';
const afterCursor = `m.transaction_id < header.xmin
      and (m.transaction_id, m.global_position) > ($1::xid8, $2::bigint)`;

const lastBelow = `lateral (
    select m.transaction_id, m.global_position from emt_messages m
    where m.transaction_id < horizon.xmin
    order by m.transaction_id desc, m.global_position desc
    limit 1
  )`;

// One snapshot serves horizon and rows. Hidden rows are never read: a transaction that stays open for an
// hour must not make every read carry an hour of events. Whether there are any is asked with an order and a
// limit: for EXISTS the planner may read the whole log. The cursor is left out, because it lies before the
// horizon and would make the index begin there.
const header = `with horizon as materialized (
    select pg_snapshot_xmin(pg_current_snapshot()) as xmin
  ), header as materialized (
    select xmin, (
      select true from emt_messages m
      where ${wanted} and m.transaction_id >= horizon.xmin
      order by m.transaction_id, m.global_position
      limit 1
    ) is not null as unsafe, e.transaction_id as end_transaction_id,
      e.global_position as end_global_position
    from horizon left join ${lastBelow} e on true
  )`;

const pageStatement = `${header}
  select header.end_transaction_id::text, header.end_global_position::text, header.unsafe, ${eventColumns}
  from header left join lateral (
    select * from emt_messages m
    where ${wanted} and ${afterCursor}
    order by m.transaction_id, m.global_position
    limit $3
  ) m on true
  order by m.transaction_id, m.global_position`;

const rangeStatement = `${header}
  select header.end_transaction_id::text, header.end_global_position::text, header.unsafe,
    e.count::text, e.transaction_id::text, e.global_position::text,
    span.transaction_id::text as span_transaction_id, span.global_position::text as span_global_position
  from header left join lateral (
    select count(*) over () as count, p.transaction_id, p.global_position
    from (
      select m.transaction_id, m.global_position
      from (
        select m.transaction_id, m.global_position, m.message_type
        from emt_messages m
        where ${afterCursor}
        order by m.transaction_id, m.global_position
        limit $5
      ) m
      where ${wanted}
      order by m.transaction_id, m.global_position
      limit $3
    ) p
    order by p.transaction_id desc, p.global_position desc
    limit 1
  ) e on true left join lateral (
    select m.transaction_id, m.global_position
    from emt_messages m
    where ${afterCursor} and coalesce(e.count, 0) < $3
    order by m.transaction_id, m.global_position
    offset $5::bigint - 1 limit 1
  ) span on true`;

function progressOf(
  cursor: Cursor,
  row: HeaderRow | undefined,
  last: Cursor | undefined,
  count: number,
  limit: number,
): ReadProgress {
  if (!row) throw new Error('The log returned no header');
  const caughtUp = count < limit;
  const reached = caughtUp ? endOf(row) : last;
  return {
    cursor: later(cursor, reached),
    unsafeInSight: row.unsafe,
    caughtUp,
  };
}

function later(cursor: Cursor, reached: Cursor | undefined): Cursor {
  if (!reached || compareCursors(reached, cursor) <= 0) return cursor;
  return { transactionId: reached.transactionId, globalPosition: reached.globalPosition };
}

function endOf(row: EndRow | undefined): Cursor {
  return (row && cursorOf(row.end_transaction_id, row.end_global_position)) ?? logStart;
}
