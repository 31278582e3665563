import type pg from 'pg';
import type { Queryable } from './connect.ts';
import { readStoredStream } from './streams.ts';
import { beginReading, inTransaction, limitTo, wholeLogLimit } from './transaction.ts';
import { firstHash, verifyChain } from './chain.ts';
import { anchorRoot, headLine, listRoot } from './anchor-root.ts';
import type { AnchorHead, AnchorProof } from './anchor-root.ts';
import { merklePath, merkleRoot } from './merkle.ts';
import type { ChainCheck } from './chain.ts';
import type { Log } from '#services/platform/process/log.ts';

/** The largest bigint: behind every event of a transaction. */
const lastPosition = '9223372036854775807';

/**
 * The daily anchor of the hash chains. A chain shows a change inside it, but not a rewrite of all events
 * from one on, nor a missing end. An anchor keeps the head of each chain. Its root follows from the
 * previous root and its heads, and is logged, so that the log proves that the anchors are the same.
 */
export type Anchor = {
  number: number;
  /** The UTC day of the anchor; null for an anchor that an operator made in between. */
  day: string | null;
  /** ISO 8601. */
  madeAt: string;
  /** Streams that had changed since the previous anchor. */
  heads: number;
  root: string;
};

type AnchorDependencies = {
  pool: pg.Pool;
  /** Milliseconds since 1970. */
  clock: () => number;
  log: Log;
};

/** Any number; held to the end of the transaction that makes an anchor. */
const anchorLock = 7_305_018;

/** Makes the anchor of this UTC day, once over all processes. Null when there is one. */
export async function anchorDaily(dependencies: AnchorDependencies): Promise<Anchor | null> {
  const day = isoTime(dependencies).slice(0, 10);
  if (await hasAnchorOf(dependencies.pool, day)) return null;
  return makeAnchor(dependencies, day);
}

/** Makes an anchor now, also when the day has one. */
export async function anchorNow(dependencies: AnchorDependencies): Promise<Anchor> {
  const anchor = await makeAnchor(dependencies, null);
  if (anchor === null) throw new Error('An anchor without a day already exists');
  return anchor;
}

async function makeAnchor(
  dependencies: AnchorDependencies,
  day: string | null,
): Promise<Anchor | null> {
  const { pool, log } = dependencies;
  const anchor = await inTransaction(pool, async (client) => {
    // The first anchor reads the whole log.
    await limitTo(client, '60min');
    await client.query('select pg_advisory_xact_lock($1)', [anchorLock]);
    if (day !== null && (await hasAnchorOf(client, day))) return null;
    return addAnchor(client, day, isoTime(dependencies));
  });
  if (anchor !== null) logAnchor(log, anchor);
  return anchor;
}

/** At info: this is how the root leaves the database. */
function logAnchor(log: Log, { number, heads, root }: Pick<Anchor, 'number' | 'heads' | 'root'>) {
  log.info({ position: number, count: heads, root }, 'The hash chains were anchored');
}

/** A process may have been killed between the anchor and its line in the log. */
export async function logNewestAnchor({
  pool,
  log,
}: Pick<AnchorDependencies, 'pool' | 'log'>): Promise<void> {
  const newest = (await readAnchors(pool)).at(-1);
  if (newest !== undefined) logAnchor(log, newest);
}

function isoTime({ clock }: AnchorDependencies): string {
  return new Date(clock()).toISOString();
}

async function hasAnchorOf(client: Queryable, day: string): Promise<boolean> {
  const { rowCount } = await client.query('select from chain_anchor where day = $1', [day]);
  return rowCount !== 0;
}

/** Reads before it writes: a transaction that has written hides later events from itself. */
async function addAnchor(
  client: pg.ClientBase,
  day: string | null,
  madeAt: string,
): Promise<Anchor> {
  const last = await readLast(client);
  const { horizon, heads } = await readChanged(client, last);
  const number = last.number + 1;
  const root = rootOf(last.root, heads);
  await client.query(
    `insert into chain_anchor (number, day, made_at, transaction_id, global_position, heads,
       previous_root, root)
     values ($1, $2, $3, $4::xid8, $5, $6, $7, $8)`,
    [number, day, madeAt, String(horizon - 1n), lastPosition, heads.length, last.root, root],
  );
  await client.query(
    `insert into chain_anchor_head (number, stream_id, version, hash)
     select $1, * from unnest($2::text[], $3::bigint[], $4::text[])`,
    [
      number,
      heads.map(({ streamId }) => streamId),
      heads.map(({ version }) => version),
      heads.map(({ hash }) => hash),
    ],
  );
  return { number, day, madeAt, heads: heads.length, root };
}

type Last = { number: number; root: string; transactionId: string; globalPosition: string };

async function readLast(client: Queryable): Promise<Last> {
  const { rows } = await client.query<Last>(
    `select number::float8, root, transaction_id::text as "transactionId",
       global_position::text as "globalPosition"
     from chain_anchor order by number desc limit 1`,
  );
  return rows[0] ?? { number: 0, root: firstHash, transactionId: '0', globalPosition: '0' };
}

type ChangedRow = { horizon: string } & (
  | { stream_id: string; version: string; hash: string | null }
  | { stream_id: null }
);

/**
 * The heads of the streams that changed after the last anchor, below the oldest open transaction. What
 * that transaction appends has a higher transaction id and is left to the next anchor. One statement, so
 * that the horizon and the events are of one moment.
 */
async function readChanged(
  client: Queryable,
  { transactionId, globalPosition }: Last,
): Promise<{ horizon: bigint; heads: AnchorHead[] }> {
  const { rows } = await client.query<ChangedRow>(
    `with horizon as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as xmin)
     select horizon.xmin::text as horizon, head.stream_id, head.version, head.hash
     from horizon left join lateral (
       select distinct on (m.stream_id collate "C") m.stream_id, m.stream_position::text as version,
         m.message_metadata ->> 'hash' as hash
       from emt_messages m
       where m.transaction_id < horizon.xmin
         and (m.transaction_id, m.global_position) > ($1::xid8, $2::bigint)
         and (m.stream_id like 'credits-%' or m.stream_id like 'optimization-%')
       order by m.stream_id collate "C", m.stream_position desc
     ) head on true
     order by head.stream_id collate "C"`,
    [transactionId, globalPosition],
  );
  const horizon = rows[0]?.horizon;
  if (horizon === undefined) throw new Error('The log answered without a horizon');
  const heads = rows.flatMap((row) => (row.stream_id === null ? [] : [headOf(row)]));
  return { horizon: BigInt(horizon), heads };
}

function headOf(row: { stream_id: string; version: string; hash: string | null }): AnchorHead {
  return {
    streamId: row.stream_id,
    version: Number(row.version),
    hash: hashOrNone(row.hash),
  };
}

/** We wrote no event without a hash; no chain can reach the one that stands for it. */
export function hashOrNone(hash: string | null): string {
  return hash !== null && /^[0-9a-f]{64}$/.test(hash) ? hash : firstHash;
}

/** Of the heads in the order of their streams' names. */
function rootOf(previousRoot: string, heads: readonly AnchorHead[]): string {
  return anchorRoot(previousRoot, merkleRoot(ordered(heads).map(headLine)));
}

function ordered(heads: readonly AnchorHead[]): AnchorHead[] {
  return heads.toSorted(byStream);
}

function byStream(left: AnchorHead, right: AnchorHead): number {
  return left.streamId < right.streamId ? -1 : left.streamId > right.streamId ? 1 : 0;
}

/**
 * The newest anchor that holds the head of a stream, with the path to its root. Null without one, and
 * for an anchor of 0.1, whose root shows a head only together with those of all other streams.
 */
export async function proveAnchored(
  client: Queryable,
  streamId: string,
): Promise<AnchorProof | null> {
  const { rows } = await client.query<{ number: number }>(
    'select max(number)::float8 as number from chain_anchor_head where stream_id = $1',
    [streamId],
  );
  return proveIn(client, streamId, rows[0]?.number ?? 0);
}

export const anchorTime = `to_char(made_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "madeAt"`;

/** The same for the anchor of a number. */
export async function proveIn(
  client: Queryable,
  streamId: string,
  number: number,
): Promise<AnchorProof | null> {
  const { rows } = await client.query<Omit<AnchorProof, 'path' | 'head'>>(
    `select number::float8, previous_root as "previousRoot", root, ${anchorTime}
     from chain_anchor where number = $1`,
    [number],
  );
  const anchor = rows[0];
  if (anchor === undefined) return null;
  const heads = ordered(await readHeadsOf(client, anchor.number));
  const place = heads.findIndex((head) => head.streamId === streamId);
  const head = heads[place];
  if (head === undefined || rootOf(anchor.previousRoot, heads) !== anchor.root) return null;
  return { ...anchor, head, path: merklePath(heads.map(headLine), place) };
}

/** Every anchor, oldest first, to compare their roots with those in the log. */
export async function readAnchors(client: Queryable): Promise<Anchor[]> {
  const { rows } = await client.query<Anchor>(
    `select number::float8, to_char(day, 'YYYY-MM-DD') as day, ${anchorTime}, heads, root
     from chain_anchor order by number`,
  );
  return rows;
}

/** Seconds since the newest anchor was made; 0 without one. */
export async function readAnchorAge(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ seconds: number }>(
    `select coalesce(extract(epoch from now() - max(made_at)), 0)::float8 as seconds
     from chain_anchor`,
  );
  return Math.max(0, rows[0]?.seconds ?? 0);
}

// --- verifying ---

/** The first broken link: of a stream, or between anchors. */
export type BrokenLink = {
  /**
   * `event`: the event does not follow from the previous one. `head`: the stream is intact, but differs
   * from its anchored head, or ends before it. `root`: the anchor's root does not follow from the previous
   * root and its heads.
   */
  kind: 'event' | 'head' | 'root';
  /** The anchor that shows the break. */
  anchor: number;
  /** Null for a break of the anchor itself. */
  streamId: string | null;
  version: number | null;
  /** The anchored hash at that version, or the root that follows from the heads. */
  anchored: string;
  /** The hash or root found; null when there is none. */
  found: string | null;
};

export type AnchorCheck = {
  anchors: number;
  heads: number;
  /** The newest anchor, to compare with the log. */
  last: Anchor | null;
  /** The one of the given root. */
  named: Anchor | null;
  /** The first break of each stream, in the order of the anchors; at most `mostBroken`. */
  broken: readonly BrokenLink[];
  /**
   * What is missing altogether. `anchors`: events are older than `unanchoredDays`, and there is no anchor.
   * `root`: no anchor has the given root.
   */
  missing: readonly ('anchors' | 'root')[];
};

/** A worker anchors once a day; one more day, because no worker may have run. */
const unanchoredDays = 2;

/** Beyond so many, single breaks no longer matter. */
const mostBroken = 1_000;
const headsPerPage = 1_000;

/**
 * Checks that every stream, recomputed from its first event, still reaches each of its anchored heads, and
 * that the anchors follow from each other. As of one moment and read-only. An attacker could delete all
 * anchors, or the newest, and leave a consistent rest. So there must be one, and the anchor of `root`,
 * which was kept elsewhere, must be among them.
 *
 * @param streamId the only stream to check
 * @param root 64 hex digits
 */
export async function verifyAnchors(
  pool: pg.Pool,
  { streamId, root }: { streamId?: string; root?: string } = {},
): Promise<AnchorCheck> {
  return inTransaction(
    pool,
    async (client) => {
      await limitTo(client, wholeLogLimit);
      const anchors = await readAnchors(client);
      const named = anchors.find((one) => one.root === root) ?? null;
      const roots = await brokenRoots(client);
      const { heads, broken } = await brokenStreams(client, streamId ?? null);
      return {
        anchors: anchors.length,
        heads,
        last: anchors.at(-1) ?? null,
        named,
        broken: [...roots, ...broken]
          .toSorted((left, right) => left.anchor - right.anchor)
          .slice(0, mostBroken),
        missing: [
          ...(anchors.length === 0 && (await hasOldEvents(client)) ? ['anchors' as const] : []),
          ...(root === undefined || named !== null ? [] : ['root' as const]),
        ],
      };
    },
    beginReading,
  );
}

/** By the clock of the database, which wrote the time of each event. */
async function hasOldEvents(client: Queryable): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from emt_messages
     where (stream_id like 'credits-%' or stream_id like 'optimization-%')
       and created < now() - make_interval(days => $1) limit 1`,
    [unanchoredDays],
  );
  return rowCount !== 0;
}

type RootRow = { number: number; previous_root: string; root: string };

/** One anchor at a time: the heads of all days would take too much memory. */
async function brokenRoots(client: Queryable): Promise<BrokenLink[]> {
  const { rows } = await client.query<RootRow>(
    'select number::float8, previous_root, root from chain_anchor order by number',
  );
  const broken: BrokenLink[] = [];
  let before: RootRow = { number: 0, previous_root: '', root: firstHash };
  for (const row of rows) {
    const isNext = row.number === before.number + 1 && row.previous_root === before.root;
    const heads = await readHeadsOf(client, row.number);
    const expected = rootOf(before.root, heads);
    const isRoot = row.root === expected || row.root === listRoot(before.root, ordered(heads));
    if (!isNext || !isRoot)
      broken.push({
        kind: 'root',
        anchor: row.number,
        streamId: null,
        version: null,
        anchored: expected,
        found: row.root,
      });
    before = row;
  }
  return broken;
}

async function readHeadsOf(client: Queryable, number: number): Promise<AnchorHead[]> {
  const { rows } = await client.query<AnchorHead>(
    `select stream_id as "streamId", version::float8, hash from chain_anchor_head
     where number = $1`,
    [number],
  );
  return rows;
}

type AnchoredRow = AnchorHead & { number: number };

async function brokenStreams(
  client: Queryable,
  streamId: string | null,
): Promise<{ heads: number; broken: BrokenLink[] }> {
  const broken: BrokenLink[] = [];
  let heads = 0;
  let stream: Walk | undefined;
  for (let after: AnchoredRow | undefined; ;) {
    const page = await readAnchored(client, streamId, after);
    for (const head of page) {
      heads += 1;
      if (stream?.streamId !== head.streamId) stream = await startWalk(client, head.streamId);
      if (stream.isBroken) continue;
      const link = await walkTo(stream, head);
      if (link === null) continue;
      stream.isBroken = true;
      broken.push(link);
    }
    after = page.at(-1);
    if (page.length < headsPerPage || broken.length >= mostBroken) return { heads, broken };
  }
}

async function readAnchored(
  client: Queryable,
  streamId: string | null,
  after: AnchoredRow | undefined,
): Promise<AnchoredRow[]> {
  const { rows } = await client.query<AnchoredRow>(
    `select number::float8, stream_id as "streamId", version::float8, hash
     from chain_anchor_head
     where (stream_id, version, number) > ($1 collate "C", $2::bigint, $3::bigint)
       ${streamId === null ? '' : 'and stream_id = $1'}
     order by stream_id, version, number limit $4`,
    [streamId ?? after?.streamId ?? '', after?.version ?? 0, after?.number ?? 0, headsPerPage],
  );
  return rows;
}

/** A stream, recomputed up to here. */
type Walk = {
  streamId: string;
  chain: ChainCheck;
  isBroken: boolean;
  read: (from: number, to: number) => ReturnType<typeof readStoredStream>;
};

async function startWalk(client: Queryable, streamId: string): Promise<Walk> {
  return {
    streamId,
    chain: { intact: true, hash: firstHash, version: 0 },
    isBroken: false,
    read: async (from, to) => readStoredStream(client, streamId, { from, to }),
  };
}

/** Continues to an anchored head; null when it is reached. */
async function walkTo(walk: Walk, head: AnchoredRow): Promise<BrokenLink | null> {
  if (!walk.chain.intact) return null;
  const { events } = await walk.read(walk.chain.version + 1, head.version);
  const before = walk.chain;
  walk.chain = verifyChain(events, before);
  const link = { anchor: head.number, streamId: head.streamId, anchored: head.hash };
  if (!walk.chain.intact) {
    const { version } = walk.chain;
    const event = events.find(({ streamPosition }) => streamPosition === version);
    return { ...link, kind: 'event', version, found: textOf(event?.metadata['hash']) };
  }
  const { hash, version } = walk.chain;
  if (version < head.version) return { ...link, kind: 'head', version: head.version, found: null };
  return hash === head.hash ? null : { ...link, kind: 'head', version, found: hash };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** One line for operators. */
export function missingLine(what: AnchorCheck['missing'][number]): string {
  return what === 'root'
    ? 'no anchor has the given root: it was mistyped, or is newer than a restored backup, or anchors were removed or rewritten'
    : `there is no anchor, though events are older than ${unanchoredDays} days: anchors were taken away, or no worker ran (credits anchor makes one)`;
}

/** One line for operators. */
export function brokenLine({
  kind,
  anchor,
  streamId,
  version,
  anchored,
  found,
}: BrokenLink): string {
  if (kind === 'root')
    return `anchor ${anchor}: its root is ${found ?? 'missing'}, from its heads follows ${anchored}`;
  const place = `${streamId} at version ${version}`;
  if (kind === 'event')
    return `${place}: the event does not follow from the one before it; anchor ${anchor} stands on ${anchored}, stored is ${found ?? 'no hash'}`;
  return `${place}: anchor ${anchor} has ${anchored}, there is ${found ?? 'no event'}`;
}
