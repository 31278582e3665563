import pg from 'pg';
import type { Cursor } from '#db/reader.ts';
import { type Projection, usedEventTypes } from './define.ts';

/**
 * The `events` relation of a projection's statement for a part of the log: the used types after one
 * cursor, up to and including another, or up to everything that is visible when `until` is left out.
 * Written out as literals, because the planner should see how much of the log it is.
 */
export function eventRange(projection: Projection, after: Cursor, until?: Cursor): string {
  const types = usedEventTypes(projection).map((type) => pg.escapeLiteral(type));
  const end = until ? `and (transaction_id, global_position) <= ${literal(until)}` : '';
  return `(select stream_id, stream_position, message_id, message_type, message_data, message_metadata
    from emt_messages
    where (transaction_id, global_position) > ${literal(after)} ${end}
      and message_type in (${types.join(', ')}))`;
}

function literal({ transactionId, globalPosition }: Cursor): string {
  return `('${BigInt(transactionId)}'::xid8, ${BigInt(globalPosition)}::bigint)`;
}
