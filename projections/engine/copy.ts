import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { compareCursors, type Cursor, readRange } from '#db/reader.ts';
import { transact } from '#db/transaction.ts';
import {
  lockCheckpoint,
  pendingEvents,
  readCheckpoint,
  removeCheckpoint,
  saveCursor,
} from './checkpoint.ts';
import { type Projection, usedEventTypes } from './define.ts';
import { eventRange, type Target } from './range.ts';
import { type AppliedPage, applyPage, type PageOfEvents } from './set-aside.ts';

/**
 * A copy of a read model, built from the first event beside the one in use, with its own checkpoint.
 * It advances in ranges, each in a short transaction: a long one would hide new events from every
 * reader until it ended.
 */
export type Copy = Target & {
  /** Everything of it is in the session's own temporary tables. */
  readonly temporary?: true;
};

/** Events a range, at most. */
const largestRange = 50_000;
const smallestRange = 1_000;
/** A range may take so long; meanwhile readers see nothing new. */
const rangeMs = 100;

/** At most so many events are left to a transaction that blocks writers. */
const nearEvents = 2_000;
const nearTimeoutMs = 120_000;

/** Makes an empty copy; what an earlier, broken attempt left is dropped. */
export async function createCopy(client: pg.ClientBase, copy: Copy): Promise<void> {
  await dropCopy(client, copy);
  await transact(client, async () => {
    await client.query(copy.projection.create(copy.table));
    await readCheckpoint(client, copy.table);
  });
}

export async function dropCopy(client: pg.ClientBase, { table }: Copy): Promise<void> {
  await transact(client, async () => {
    await client.query(`drop table if exists ${table}`);
    await removeCheckpoint(client, table);
  });
}

/**
 * Brings a copy up to `until`, or to everything that is safe to read. Resolves with the number of
 * events that it took in.
 */
export async function advanceCopy(
  client: pg.ClientBase,
  copy: Copy,
  until?: Cursor,
  onProgress?: (events: number) => void,
): Promise<number> {
  let events = 0;
  let limit = smallestRange;
  for (;;) {
    const begun = performance.now();
    const range = await transact(client, () => bringRange(client, copy, until, limit));
    events += range.count;
    if (range.count > 0) onProgress?.(events);
    if (range.caughtUp) return events;
    limit = fittingLimit(limit, performance.now() - begun);
  }
}

/** Tables differ in what an event costs them; at most doubles, so that one fast range proves little. */
function fittingLimit(limit: number, elapsedMs: number): number {
  const fitting = Math.round(limit * Math.min(2, rangeMs / elapsedMs));
  return Math.max(smallestRange, Math.min(largestRange, fitting));
}

/** Takes in one range of safe events, inside the caller's transaction. */
export async function bringRange(
  client: pg.ClientBase,
  copy: Copy,
  until?: Cursor,
  limit = largestRange,
): Promise<{ count: number; caughtUp: boolean; cursor: Cursor }> {
  // After a logical restore all events have one transaction, whose bounds say nothing.
  await client.query('set local enable_seqscan = off');
  const from = await lockCheckpoint(client, copy.table);
  const range = await readRange(client, from, {
    limit,
    types: usedEventTypes(copy.projection),
  });
  const reachesUntil = until !== undefined && compareCursors(range.cursor, until) >= 0;
  const end = reachesUntil ? until : range.cursor;
  if (compareCursors(end, from) <= 0) return { count: 0, caughtUp: true, cursor: from };
  const page = { after: from, until: end, count: range.count };
  const { cursor, count, setAside } = await apply(client, copy, page);
  await saveCursor(client, copy.table, cursor);
  const caughtUp = setAside === null && (range.caughtUp || reachesUntil);
  return { count, caughtUp, cursor };
}

/**
 * Takes in every event that is visible, safe or not, inside the caller's transaction. Only right
 * while the table in use is locked against its writers: a writer with open events waits for that lock
 * and then applies them itself.
 */
export async function bringEverythingVisible(client: pg.ClientBase, copy: Copy): Promise<void> {
  const cursor = await lockCheckpoint(client, copy.table);
  await client.query(copy.projection.apply(copy.table, eventRange(copy, cursor)));
}

/**
 * Advances a copy until hardly anything visible is missing, so that the locked step after it is
 * short. Rejects when an open transaction keeps hiding too much for too long.
 */
export async function bringNear(
  client: pg.ClientBase,
  copy: Copy,
  onProgress?: (events: number) => void,
): Promise<number> {
  const deadline = Date.now() + nearTimeoutMs;
  let events = 0;
  for (let waitMs = 2; ; waitMs = Math.min(waitMs * 2, 250)) {
    events += await advanceCopy(client, copy, undefined, (more) => onProgress?.(events + more));
    const cursor = await readCheckpoint(client, copy.table);
    const { pending } = await pendingEvents(client, copy.projection, cursor);
    if (pending <= nearEvents) return events;
    if (Date.now() > deadline)
      throw new Error(
        `${copy.table}: a transaction that has been open for ${nearTimeoutMs / 1000} s hides ${pending} events; end it and try again`,
      );
    await sleep(waitMs);
  }
}

/** Runs `work` while no other rebuild or verification of the same projection runs. */
export async function alone<Result>(
  pool: pg.Pool,
  { name }: Projection,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  const lock = `hashtextextended('copy of ' || $1, 0)`;
  try {
    const { rows } = await client.query<{ alone: boolean }>(
      `select pg_try_advisory_lock(${lock}) as alone`,
      [name],
    );
    if (!rows[0]?.alone) throw new Error(`${name} is being rebuilt or verified by another process`);
    const result = await work(client);
    await client.query(`select pg_advisory_unlock(${lock})`, [name]);
    return result;
  } finally {
    // The session has settings of its own by now, and after an error it may still hold the lock.
    client.release(true);
  }
}

/** A range that an inline table could not take in fails as a whole: its commands would be refused. */
async function apply(client: pg.ClientBase, copy: Copy, page: PageOfEvents): Promise<AppliedPage> {
  const { after, until, count } = page;
  if (count === 0) return { cursor: until, count, setAside: null };
  if (copy.projection.kind === 'async') return applyPage(client, copy, page);
  await client.query(copy.projection.apply(copy.table, eventRange(copy, after, until)));
  return { cursor: until, count, setAside: null };
}
