import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';

/**
 * Names the history that places in the log belong to. A restore renews its value. A promotion of a standby, or
 * a recovery to a moment, begins another timeline of Postgres, which is the second part. A place under another
 * epoch may mean other events, so its reader begins again with a snapshot.
 */
export async function readEpoch(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ epoch: string }>(
    `select value || '-' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) as epoch
     from epoch`,
  );
  const epoch = rows[0]?.epoch;
  if (epoch === undefined) throw new Error('The database has no epoch: it was not migrated');
  return epoch;
}

/** As the owner. */
export async function renewEpoch(client: Queryable): Promise<void> {
  await client.query(
    `update epoch set value = substr(replace(gen_random_uuid()::text, '-', ''), 1, 12), since = now()`,
  );
}

export type EpochWatch = {
  /** Never one from before the newest connection of the pool. */
  current(): Promise<string>;
  /** Calls back after each change. */
  onChange(callback: () => void): void;
  close(): void;
};

/**
 * Another server can only be reached by a new connection, so the epoch is read again after each. A pool opens
 * few.
 */
export async function watchEpoch(
  pool: pg.Pool,
  onError: (error: unknown) => void,
): Promise<EpochWatch> {
  const callbacks: (() => void)[] = [];
  let epoch = await readEpoch(pool);
  let connections = 0;
  let readAfter = 0;

  const current = async (): Promise<string> => {
    while (readAfter < connections) {
      const seen = connections;
      const found = await readEpoch(pool);
      readAfter = Math.max(readAfter, seen);
      if (found === epoch) continue;
      epoch = found;
      for (const callback of callbacks) callback();
    }
    return epoch;
  };
  const onConnect = () => {
    connections += 1;
    // A failure leaves it to the next call or connection.
    current().catch(onError);
  };
  pool.on('connect', onConnect);
  return {
    current,
    onChange: (callback) => void callbacks.push(callback),
    close: () => void pool.off('connect', onConnect),
  };
}
