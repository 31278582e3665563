import type { Pool } from 'pg';
import { inTransaction } from '#db/transaction.ts';
import { lockCheckpoint } from './checkpoint.ts';
import type { Projection } from './define.ts';
import { waitingEvents } from './range.ts';
import { failureOf } from './set-aside.ts';

/** What became of a stream; `error` is null when the table holds all of its events again. */
export type Retried = {
  projection: string;
  streamId: string;
  sqlstate: string | null;
  error: string | null;
};

/**
 * Applies what waits of each stream that a read model has set aside. A stream is one transaction: it
 * is taken in whole, or it stays set aside with the new error.
 */
export async function retrySetAside(pool: Pool, projection: Projection): Promise<Retried[]> {
  const { rows } = await pool.query<{ stream_id: string }>(
    `select stream_id from projection_set_aside where name = $1
     order by failed_at, stream_id collate "C"`,
    [projection.name],
  );
  const retried: Retried[] = [];
  for (const { stream_id } of rows) {
    const outcome = await retryStream(pool, projection, stream_id);
    if (outcome) retried.push(outcome);
  }
  return retried;
}

/** Null when another process has taken the stream in meanwhile. */
function retryStream(
  pool: Pool,
  projection: Projection,
  streamId: string,
): Promise<Retried | null> {
  const { name } = projection;
  return inTransaction(pool, async (client) => {
    const reached = await lockCheckpoint(client, name);
    const { rows } = await client.query<{ stream_position: string }>(
      `select stream_position from projection_set_aside where name = $1 and stream_id = $2`,
      [name, streamId],
    );
    if (!rows[0]) return null;
    const waiting = { streamId, position: Number(rows[0].stream_position) };
    const events = waitingEvents(projection, waiting, reached);
    const failure = await failureOf(client, projection.apply(name, events));
    await client.query(
      failure
        ? `update projection_set_aside set sqlstate = $3, error = $4, failed_at = now()
           where name = $1 and stream_id = $2`
        : 'delete from projection_set_aside where name = $1 and stream_id = $2',
      [name, streamId, ...(failure ? [failure.sqlstate, failure.error] : [])],
    );
    return { projection: name, streamId, sqlstate: null, error: null, ...failure };
  });
}
