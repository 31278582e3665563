import type pg from 'pg';
import type { Cursor } from '#db/reader.ts';
import { beginReading, transact, withShortLocks } from '#db/transaction.ts';
import { lockCheckpoint, readCheckpoint } from './checkpoint.ts';
import { type Comparison, comparisonOf, type Difference } from './compare.ts';
import {
  advanceCopy,
  alone,
  bringEverythingVisible,
  bringNear,
  bringRange,
  type Copy,
  createCopy,
  dropCopy,
} from './copy.ts';
import type { Projection } from './define.ts';
import { readSetAside, type SetAsideList } from './set-aside.ts';
import { createOwnBookkeeping, mirror } from './own-bookkeeping.ts';
import { dropTouched, takeTouched, watchTouched } from './touched.ts';

export type Verification = {
  name: string;
  events: number;
  seconds: number;
  /** Rows that are not what the events say. */
  differences: readonly Difference[];
  /** Streams that the table, or the copy that was just built, could not take in. */
  setAside: SetAsideList;
  /** There are more differences than these. */
  more: boolean;
  /** Rows that were compared while their writers waited, because they kept changing. */
  lockedRows: number;
  lockedMs: number;
};

/** So many differences are not explained by events that are under way. */
const mostDifferences = 10_000;
/** So few rows are compared while their writers wait. */
const fewRows = 500;
const passes = 6;
const comparingTimeout = '15min';

/**
 * Builds a copy of a read model beside the one in use and compares the two, row by row and in both
 * directions, while readers and writers continue. `pool` is the owner's.
 *
 * Rows are compared as of one moment, in a transaction that only reads. The copy is a few events
 * behind then, so a row that differs, and any row that those events touch, is left to another pass;
 * each pass is shorter than the one before, and the last few rows are compared under a lock that
 * holds writers back for some milliseconds. An asynchronous table is compared with the events up to
 * its own checkpoint, and only its runner is held back.
 */
export async function verify(pool: pg.Pool, projection: Projection): Promise<Verification> {
  const begun = performance.now();
  const copy: Copy = { projection, table: `${projection.name}_check` };
  return alone(pool, projection, async (client) => {
    try {
      await cleanUp(client, copy);
      await createCopy(client, copy);
      const { name } = projection;
      const found = await compareInPasses(client, copy);
      const setAside = await readSetAside(client, [{ projection, table: name }, copy]);
      await cleanUp(client, copy);
      return { name, seconds: (performance.now() - begun) / 1000, ...found, setAside };
    } catch (error) {
      // The first error says why; what is left behind is dropped by the next attempt at the latest.
      await cleanUp(client, copy).catch(() => undefined);
      throw error;
    }
  });
}

/**
 * The same for a role that may only read. The copy, its checkpoint and what it sets aside are temporary
 * tables, which no other session sees. A reader cannot hold writers back, so the last few rows are
 * compared in a transaction that first brings the copy to everything it sees.
 */
export async function verifyAsAuditor(
  pool: pg.Pool,
  projection: Projection,
): Promise<Verification> {
  const begun = performance.now();
  const { name } = projection;
  const copy: Copy = { projection, table: `${name}_audit`, temporary: true };
  return alone(pool, projection, async (client) => {
    await createOwnBookkeeping(client);
    await createCopy(client, copy);
    const found = await compareInPasses(client, copy);
    await mirror(client, projection);
    const setAside = await readSetAside(client, [{ projection, table: name }, copy]);
    return { name, seconds: (performance.now() - begun) / 1000, ...found, setAside };
  });
}

async function cleanUp(client: pg.ClientBase, copy: Copy): Promise<void> {
  await dropCopy(client, copy);
  await dropTouched(client, copy);
}

type Found = Omit<Verification, 'name' | 'seconds' | 'setAside'>;

async function compareInPasses(client: pg.ClientBase, copy: Copy): Promise<Found> {
  // Only the comparing takes long, and it has no transaction id.
  await client.query(`set transaction_timeout = '${comparingTimeout}'`);
  let events = await approach(client, copy);
  await client.query(`analyze ${copy.table}`);
  const comparison = await comparisonOf(client, copy.projection, copy.table);
  await watchTouched(client, copy);
  events += await approach(client, copy);
  await takeTouched(client, copy);

  let suspects = await asOfOneMoment(client, () => comparison.all(mostDifferences + 1));
  if (suspects.length > mostDifferences)
    return { events, differences: suspects, more: true, lockedRows: 0, lockedMs: 0 };
  for (let pass = 2; ; pass += 1) {
    events += await approach(client, copy);
    const keys = union(suspects, await takeTouched(client, copy));
    if (keys.length <= fewRows || pass > passes)
      return { events, ...(await compareUnderLock(client, copy, comparison, keys)) };
    suspects = await asOfOneMoment(client, () => comparison.of(keys));
  }
}

/** Brings the copy close to the table in use: never beyond it when that is an asynchronous one. */
async function approach(client: pg.ClientBase, copy: Copy): Promise<number> {
  if (copy.projection.kind === 'inline') return bringNear(client, copy);
  if (copy.temporary) await mirror(client, copy.projection);
  const cursor = await readCheckpoint(client, copy.projection.name);
  return advanceCopy(client, copy, cursor);
}

function asOfOneMoment<Result>(
  client: pg.ClientBase,
  read: () => Promise<Result>,
): Promise<Result> {
  return transact(client, read, beginReading);
}

async function compareUnderLock(
  client: pg.ClientBase,
  copy: Copy,
  comparison: Comparison,
  keys: readonly string[][],
): Promise<Omit<Found, 'events'>> {
  if (copy.temporary) return compareAsOfNow(client, copy, comparison, keys);
  let open = keys;
  let lockedAt = 0;
  const found = await withShortLocks(
    client,
    async () => {
      const end = await holdWriters(client, copy);
      lockedAt = performance.now();
      await bringTo(client, copy, end);
      const rows = union(open, await takeTouched(client, copy));
      return { differences: await comparison.of(rows), lockedRows: rows.length };
    },
    async () => {
      await approach(client, copy);
      open = union(open, await takeTouched(client, copy));
    },
  );
  return { ...found, more: false, lockedMs: performance.now() - lockedAt };
}

/** The copy takes in every event that this snapshot sees, and is not used afterwards. */
async function compareAsOfNow(
  client: pg.ClientBase,
  copy: Copy,
  comparison: Comparison,
  keys: readonly string[][],
): Promise<Omit<Found, 'events'>> {
  const compare = async () => {
    const { projection } = copy;
    await mirror(client, projection);
    const isAsync = projection.kind === 'async';
    await bringTo(client, copy, isAsync ? await readCheckpoint(client, projection.name) : null);
    const rows = union(keys, await takeTouched(client, copy));
    const differences = await comparison.of(rows);
    return { differences, more: false, lockedRows: 0, lockedMs: 0 };
  };
  return transact(client, compare, 'begin isolation level repeatable read');
}

/** Keeps the table in use as it is, and returns its cursor; readers continue. */
async function holdWriters(client: pg.ClientBase, { projection }: Copy): Promise<Cursor | null> {
  if (projection.kind === 'async') return lockCheckpoint(client, projection.name);
  await client.query(`lock table ${projection.name} in share mode`);
  return null;
}

async function bringTo(client: pg.ClientBase, copy: Copy, end: Cursor | null): Promise<void> {
  if (end === null) return bringEverythingVisible(client, copy);
  let range = await bringRange(client, copy, end);
  while (!range.caughtUp) range = await bringRange(client, copy, end);
}

function union(
  left: readonly (readonly string[] | Difference)[],
  right: readonly string[][],
): string[][] {
  const keys = [...left.map((item) => ('key' in item ? item.key : item)), ...right];
  return [...new Map(keys.map((key) => [JSON.stringify(key), [...key]])).values()];
}
