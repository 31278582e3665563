import pg from 'pg';
import type { Cursor } from '#db/reader.ts';
import { type Projection, usedEventTypes } from './define.ts';

/** A read model's table: the one in use, or a copy beside it. */
export type Target = { readonly projection: Projection; readonly table: string };

/**
 * The `events` relation of a projection's statement for a part of the log: the used types after one
 * cursor, up to and including another, or up to everything that is visible when `until` is left out.
 * Streams that the table has set aside are left out. Written out as literals, because the planner
 * should see how much of the log it is.
 */
export function eventRange({ projection, table }: Target, after: Cursor, until?: Cursor): string {
  const end = until ? `and ${notAfter(until)}` : '';
  return events(
    projection,
    `transaction_id >= ${xid(after)} and (transaction_id, global_position) > ${literal(after)} ${end}
      and stream_id not in (
        select stream_id from projection_set_aside where name = ${pg.escapeLiteral(table)})`,
  );
}

/** The same for what waits of one stream: from a position on, up to where the table has come. */
export function waitingEvents(
  projection: Projection,
  waiting: { streamId: string; position: number },
  until: Cursor,
): string {
  return events(
    projection,
    `stream_id = ${pg.escapeLiteral(waiting.streamId)} and stream_position >= ${waiting.position}
      and ${notAfter(until)}`,
  );
}

function events(projection: Projection, which: string): string {
  const types = usedEventTypes(projection).map((type) => pg.escapeLiteral(type));
  return `(select stream_id, stream_position, message_id, message_type, message_data, message_metadata
    from emt_messages where ${which} and message_type in (${types.join(', ')}))`;
}

/**
 * The planner estimates two comparisons of rows as if they had nothing to do with each other, a quarter of the
 * log for a page in its middle, and would read all of it for each page. Two bounds of one column it knows.
 */
function notAfter(until: Cursor): string {
  return `transaction_id <= ${xid(until)} and (transaction_id, global_position) <= ${literal(until)}`;
}

function literal({ transactionId, globalPosition }: Cursor): string {
  return `(${xid({ transactionId })}, ${BigInt(globalPosition)}::bigint)`;
}

function xid({ transactionId }: Pick<Cursor, 'transactionId'>): string {
  return `'${BigInt(transactionId)}'::xid8`;
}
