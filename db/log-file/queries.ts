import type pg from 'pg';
import { anchorTime, hashOrNone, proveIn } from '#db/anchors.ts';
import type { AnchorHead, AnchorProof } from '#db/anchor-root.ts';
import { eventColumns } from '#db/recorded-event.ts';
import type { EventRow } from '#db/recorded-event.ts';
import type { LineOf, Selection } from './format.ts';

const streamsPerPage = 200;
const eventsPerPage = 1_000;

export type HeadRow = AnchorHead & { anchor: number };
type Times = Pick<Selection, 'since' | 'until'>;

/** Names in the order of their characters, which is the order of an anchor's heads. */
export async function* streamNames(
  client: pg.ClientBase,
  chosen: readonly string[] | null,
): AsyncGenerator<string[]> {
  await client.query(
    `declare streams no scroll cursor for
     select stream_id from emt_streams where $1::text[] is null or stream_id = any ($1)
     order by stream_id collate "C"`,
    [chosen],
  );
  for await (const rows of pagesOf<{ stream_id: string }>(client, 'streams', streamsPerPage))
    yield rows.map((row) => row.stream_id);
}

/** What is left of an open cursor, which is then closed. */
async function* pagesOf<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  cursor: string,
  size: number,
): AsyncGenerator<Row[]> {
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${size} from ${cursor}`);
    if (rows.length > 0) yield rows;
    if (rows.length < size) break;
  }
  await client.query(`close ${cursor}`);
}

/** The time of an event never lies before that of the one before it. */
const inTime = (since: string, until: string) =>
  `(${since}::text is null or m.message_metadata ->> 'occurredAt' >= ${since})
    and (${until}::text is null or m.message_metadata ->> 'occurredAt' < ${until})`;

/** The events of these streams, in the order of the names. */
export async function* openEvents(
  client: pg.ClientBase,
  names: readonly string[],
  { since, until }: Times,
): AsyncGenerator<EventRow[]> {
  await client.query(
    `declare events no scroll cursor for
     select ${eventColumns} from emt_messages m
     where m.stream_id = any ($1) and ${inTime('$2', '$3')}
     order by m.stream_id collate "C", m.stream_position`,
    [names, since, until],
  );
  yield* pagesOf<EventRow>(client, 'events', eventsPerPage);
}

/** The last event before `since` of each of these streams. */
export async function readBases(
  client: pg.ClientBase,
  names: readonly string[],
  { since }: Times,
): Promise<{ streamId: string; version: number; hash: string }[]> {
  if (since === null) return [];
  const { rows } = await client.query<{ streamId: string; version: number; hash: string | null }>(
    `select distinct on (m.stream_id) m.stream_id as "streamId",
       m.stream_position::float8 as version, m.message_metadata ->> 'hash' as hash
     from emt_messages m
     where m.stream_id = any ($1) and m.message_metadata ->> 'occurredAt' < $2
     order by m.stream_id, m.stream_position desc`,
    [names, since],
  );
  return rows.map(({ hash, ...row }) => ({ ...row, hash: hashOrNone(hash) }));
}

/** Every head of these streams in these anchors. */
export async function readHeads(
  client: pg.ClientBase,
  names: readonly string[],
  numbers: ReadonlySet<number>,
): Promise<(HeadRow & { path: null })[]> {
  const { rows } = await client.query<HeadRow>(
    `select stream_id as "streamId", number::float8 as anchor, version::float8, hash
     from chain_anchor_head where stream_id = any ($1) and number = any ($2)
     order by stream_id, version, number`,
    [names, [...numbers]],
  );
  return rows.map((row) => ({ ...row, path: null }));
}

/** For each chosen stream the newest anchored head that stands on an exported event. */
export async function proofsOf(
  client: pg.ClientBase,
  { streams, since, until }: Times & { streams: readonly string[] },
): Promise<AnchorProof[]> {
  const { rows } = await client.query<{ stream_id: string; number: number }>(
    `select head.stream_id, max(head.number)::float8 as number
     from chain_anchor_head head
     join emt_messages m on m.stream_id = head.stream_id and m.stream_position = head.version
     where head.stream_id = any ($1) and ${inTime('$2', '$3')}
     group by head.stream_id`,
    [streams, since, until],
  );
  const proofs: AnchorProof[] = [];
  for (const { stream_id: streamId, number } of rows) {
    const proof = await proveIn(client, streamId, number);
    if (proof !== null) proofs.push(proof);
  }
  return proofs;
}

type Anchor = Omit<LineOf<'anchor'>, 'kind' | 'sha256'>;

/**
 * Those that prove the exported events: of a whole log all of them, from the first one made after `since`
 * to the first one made after `until`.
 */
export async function anchorsOf(
  client: pg.ClientBase,
  { since, until }: Times,
  proofs: readonly AnchorProof[] | null,
): Promise<Anchor[]> {
  const { rows } = await client.query<Anchor>(
    `select number::float8, to_char(day, 'YYYY-MM-DD') as day,
       ${anchorTime}, previous_root as "previousRoot", root, heads
     from chain_anchor
     where case when $1::bigint[] is not null then number = any ($1)
       else ($2::timestamptz is null or made_at >= $2)
         and number <= coalesce(
           (select min(number) from chain_anchor where made_at >= $3::timestamptz),
           (select max(number) from chain_anchor)) end
     order by number`,
    [proofs === null ? null : proofs.map(({ number }) => number), since, until],
  );
  return rows;
}
