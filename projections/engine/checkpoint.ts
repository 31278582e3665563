import type { Queryable } from '#db/connect.ts';
import { type Cursor, logStart } from '#db/reader.ts';
import { type Projection, usedEventTypes } from './define.ts';
import { readSetAside, type SetAsideList } from './set-aside.ts';

/**
 * How far a table has been brought: a row of `projection_checkpoint`, written in the transaction
 * that writes the table. Asynchronous projections have one, and every copy that is being built. A new one
 * stands at the beginning of the log.
 */
export async function readCheckpoint(client: Queryable, table: string): Promise<Cursor> {
  return (await findCheckpoint(client, table)) ?? (await createCheckpoint(client, table));
}

/** Reads a checkpoint and locks it until the transaction ends, so that one at a time moves it. */
export async function lockCheckpoint(client: Queryable, table: string): Promise<Cursor> {
  const found = await findCheckpoint(client, table, 'for update');
  if (!found) throw new Error(`The table ${table} has no checkpoint`);
  return found;
}

/** Moves a checkpoint with its table. */
export async function saveCursor(client: Queryable, table: string, cursor: Cursor): Promise<void> {
  await client.query(
    `update projection_checkpoint set transaction_id = $2::xid8, global_position = $3,
       updated_at = now() where name = $1`,
    [table, cursor.transactionId, cursor.globalPosition],
  );
}

/** Moves a checkpoint past events that its table ignores; false when it was not at `from` any more. */
export async function passCursor(
  client: Queryable,
  table: string,
  from: Cursor,
  to: Cursor,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update projection_checkpoint set transaction_id = $4::xid8, global_position = $5,
       updated_at = now()
     where name = $1 and transaction_id = $2::xid8 and global_position = $3`,
    [table, from.transactionId, from.globalPosition, to.transactionId, to.globalPosition],
  );
  return rowCount === 1;
}

/** Removes a copy's checkpoint, and what the copy had set aside. */
export async function removeCheckpoint(client: Queryable, table: string): Promise<void> {
  await client.query(
    `with streams as (delete from projection_set_aside where name = $1)
     delete from projection_checkpoint where name = $1`,
    [table],
  );
}

export type ProjectionStatus = {
  readonly name: string;
  readonly kind: Projection['kind'];
  /** Events that are committed and not yet in the table, counted up to `pendingLimit`. */
  readonly pending: number;
  /** Seconds since the oldest of them was written; 0 when there is none. */
  readonly lagSeconds: number;
  /** Streams that were set aside; their events wait. */
  readonly setAside: SetAsideList;
};

/** Pending events are counted up to here. */
const pendingLimit = 10_000;

/**
 * Every projection and its lag. Inline ones have none by construction. Events that an open
 * transaction still hides count as pending: a reader that must wait is late, too.
 */
export async function projectionStatus(
  client: Queryable,
  projections: readonly Projection[],
): Promise<ProjectionStatus[]> {
  const statuses: ProjectionStatus[] = [];
  for (const projection of projections) {
    const { name, kind } = projection;
    const cursor = (await findCheckpoint(client, name)) ?? logStart;
    const behind = kind === 'async' ? await pendingEvents(client, projection, cursor) : upToDate;
    const setAside = await readSetAside(client, [{ projection, table: name }]);
    statuses.push({ name, kind, ...behind, setAside });
  }
  return statuses;
}

/** How far a read model is behind, at a cost that does not grow with the log. */
export type ProjectionLag = Pick<ProjectionStatus, 'name' | 'pending' | 'lagSeconds'> & {
  setAside: number;
};

/** Events after a checkpoint that are read to find those of the projection's types. */
const scannedEvents = 20_000;

/**
 * For metrics: like `projectionStatus`, but it reads at most 20,000 events for each projection, by the index
 * on (transaction_id, global_position). An event behind so many ignored ones counts once the checkpoint has
 * passed those (`advance.ts`).
 */
export async function projectionLags(
  client: Queryable,
  projections: readonly Projection[],
): Promise<ProjectionLag[]> {
  const lags: ProjectionLag[] = [];
  for (const projection of projections) {
    const { name } = projection;
    const cursor = (await findCheckpoint(client, name)) ?? logStart;
    const { rows } = await client.query<Omit<ProjectionLag, 'name'>>(
      `select count(*)::float8 as pending,
         greatest(0, coalesce(extract(epoch from clock_timestamp() - min(next.created)), 0))::float8
           as "lagSeconds",
         (select count(*) from projection_set_aside where name = $5)::float8 as "setAside"
       from (
         select m.created, m.message_type from emt_messages m
         where (m.transaction_id, m.global_position) > ($1::xid8, $2::bigint)
         order by m.transaction_id, m.global_position
         limit $4
       ) next
       where next.message_type = any($3::text[])`,
      [
        cursor.transactionId,
        cursor.globalPosition,
        usedEventTypes(projection),
        scannedEvents,
        name,
      ],
    );
    lags.push({ name, ...rows[0]! });
  }
  return lags;
}

/** Counts the visible events that a projection reads after a cursor, safe or not. */
export async function pendingEvents(
  client: Queryable,
  projection: Projection,
  cursor: Cursor,
): Promise<Pick<ProjectionStatus, 'pending' | 'lagSeconds'>> {
  const { rows } = await client.query<{ pending: string; lag_seconds: number }>(
    `select count(*) as pending,
       coalesce(extract(epoch from clock_timestamp() - min(p.created)), 0)::float8 as lag_seconds
     from (
       select m.created from emt_messages m
       where (m.transaction_id, m.global_position) > ($1::xid8, $2::bigint)
         and m.message_type = any($3::text[])
       order by m.transaction_id, m.global_position
       limit $4
     ) p`,
    [cursor.transactionId, cursor.globalPosition, usedEventTypes(projection), pendingLimit],
  );
  return { pending: Number(rows[0]!.pending), lagSeconds: Math.max(0, rows[0]!.lag_seconds) };
}

/** The checkpoint of each of these tables; a table that was never begun is left out. */
export async function readCursors(
  client: Queryable,
  tables: readonly string[],
): Promise<Map<string, Cursor>> {
  const { rows } = await client.query<CheckpointRow & { name: string }>(
    `select name, transaction_id::text, global_position::text
     from projection_checkpoint where name = any($1)`,
    [tables],
  );
  return new Map(rows.map((row) => [row.name, cursorOf(row)]));
}

/**
 * The moment up to which these tables are complete for one user, or for all users if null: now, or when
 * the oldest event was written that one of them has not read yet or has set aside. Call this before
 * reading the tables.
 */
export async function readUntil(
  client: Queryable,
  projections: readonly Projection[],
  userId: string | null,
): Promise<Date> {
  let until: Date | null = null;
  for (const projection of projections) {
    const { name } = projection;
    const cursor = (await findCheckpoint(client, name)) ?? logStart;
    const { rows } = await client.query<{ until: Date }>(
      `select least(${waitingSince}, coalesce((
         select m.created from emt_messages m
         where (m.transaction_id, m.global_position) > ($1::xid8, $2::bigint)
           and m.message_type = any($3::text[])
         order by m.transaction_id, m.global_position limit 1), clock_timestamp())) as until`,
      [cursor.transactionId, cursor.globalPosition, usedEventTypes(projection), name, userId],
    );
    const own = rows[0]!.until;
    if (until === null || own < until) until = own;
  }
  return until ?? new Date();
}

/** When the first event was written that table $4 lacks of person $5; null when there is none. */
const waitingSince = `(
    select min(m.created) from projection_set_aside s
    join emt_messages m on m.stream_id = s.stream_id and m.stream_position = s.stream_position
    where s.name = $4 and ($5::text is null or s.stream_id = 'credits-' || $5
      or exists (select from optimization_list run
        where run.user_id = $5 and s.stream_id = 'optimization-' || run.run_id)))`;

const upToDate = { pending: 0, lagSeconds: 0 };

async function findCheckpoint(
  client: Queryable,
  table: string,
  lock: 'for update' | '' = '',
): Promise<Cursor | undefined> {
  const { rows } = await client.query<CheckpointRow>(
    `select transaction_id::text, global_position::text
     from projection_checkpoint where name = $1 ${lock}`,
    [table],
  );
  return rows[0] && cursorOf(rows[0]);
}

async function createCheckpoint(client: Queryable, table: string): Promise<Cursor> {
  await client.query(
    'insert into projection_checkpoint (name) values ($1) on conflict (name) do nothing',
    [table],
  );
  return (await findCheckpoint(client, table)) ?? logStart;
}

type CheckpointRow = { transaction_id: string; global_position: string };

function cursorOf(row: CheckpointRow): Cursor {
  return { transactionId: row.transaction_id, globalPosition: row.global_position };
}
