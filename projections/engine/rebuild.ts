import type pg from 'pg';
import { withShortLocks } from '#db/transaction.ts';
import { definitionOf } from '#db/migrate.ts';
import { lockCheckpoint, readCheckpoint, removeCheckpoint, saveCursor } from './checkpoint.ts';
import {
  alone,
  bringEverythingVisible,
  bringNear,
  bringRange,
  type Copy,
  createCopy,
  dropCopy,
} from './copy.ts';
import type { Projection } from './define.ts';
import { adoptSetAside, readSetAside, type SetAsideList } from './set-aside.ts';
import { takeOver } from './take-over.ts';

export type RebuildOptions = {
  /** Called after each range with the events read so far. */
  onProgress?: (events: number) => void;
};

export type Rebuilt = {
  name: string;
  events: number;
  seconds: number;
  swapMs: number;
  /** Streams that the rebuilt table could not take in. */
  setAside: SetAsideList;
};

/**
 * Builds a read model from the first event and replaces the one in use. Readers and writers continue;
 * they wait only for the last step, some milliseconds. Also brings a read model to a changed
 * definition. `pool` is the owner's. When it rejects, the table in use is unchanged.
 */
export async function rebuild(
  pool: pg.Pool,
  projection: Projection,
  { onProgress }: RebuildOptions = {},
): Promise<Rebuilt> {
  const begun = performance.now();
  const copy: Copy = { projection, table: `${projection.name}_next` };
  return alone(pool, projection, async (client) => {
    try {
      await createCopy(client, copy);
      let events = await bringNear(client, copy, onProgress);
      await client.query(`analyze ${copy.table}`);
      events += await bringNear(client, copy);
      const swapMs = await swap(client, copy);
      const seconds = (performance.now() - begun) / 1000;
      const { name } = projection;
      const setAside = await readSetAside(client, [{ projection, table: name }]);
      return { name, events, seconds, swapMs, setAside };
    } catch (error) {
      // The first error says why; what is left behind is dropped by the next attempt at the latest.
      await dropCopy(client, copy).catch(() => undefined);
      throw error;
    }
  });
}

/** Returns the milliseconds from the lock to the commit, in which writers wait. */
async function swap(client: pg.ClientBase, copy: Copy): Promise<number> {
  const { projection } = copy;
  let lockedAt = 0;
  if (projection.kind === 'async') await readCheckpoint(client, projection.name);
  await withShortLocks(
    client,
    async () => {
      if (projection.kind === 'async') await lockCheckpoint(client, projection.name);
      await client.query(`lock table ${projection.name} in access exclusive mode`);
      lockedAt = performance.now();
      await bringUpTheRest(client, copy);
      await takeOver(client, projection.name, copy.table);
      await removeCheckpoint(client, copy.table);
      await client.query(
        `insert into read_model (name, definition) values ($1, $2)
         on conflict (name) do update set definition = excluded.definition`,
        [projection.name, definitionOf(projection)],
      );
    },
    () => bringNear(client, copy),
  );
  return performance.now() - lockedAt;
}

/**
 * The isolation level is READ COMMITTED, so this statement sees what was committed while the lock was
 * waited for. An inline table gets everything visible: writers that wait for the lock apply their own
 * events to the new table afterwards. An asynchronous one gets everything safe, and its runner continues
 * from there. Version 0.1 stored the horizon, which lies beyond the last event.
 */
async function bringUpTheRest(client: pg.ClientBase, copy: Copy): Promise<void> {
  if (copy.projection.kind === 'inline') return bringEverythingVisible(client, copy);
  let range = await bringRange(client, copy);
  while (!range.caughtUp) range = await bringRange(client, copy);
  await saveCursor(client, copy.projection.name, range.cursor);
  await adoptSetAside(client, copy);
}
