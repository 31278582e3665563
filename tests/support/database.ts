import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject, vi } from 'vitest';
import { appendFunction } from '#db/append-function.ts';
import { createPool, type Queryable } from '#db/connect.ts';
import { migrate } from '#db/migrate.ts';
import type { Projection } from '#projections/engine/define.ts';
import { projections as allProjections } from '#projections/index.ts';
import { roleOf } from './postgres.ts';

/** An empty, migrated database for one test file. */
export type TestDatabase = {
  ownerUrl: string;
  appUrl: string;
  auditorUrl: string;
  /** As the application. */
  pool: pg.Pool;
  ownerPool: pg.Pool;
  /** The append function, for the command bus. */
  functionName: string;
  /** Connections that the pools lost. */
  lost: Error[];
  /** Closes both pools and removes the database. */
  drop(): Promise<void>;
};

export type TestDatabaseOptions = {
  /** The test's own read models, beside the product's. */
  projections?: readonly Projection[];
  /** Connections in each pool. */
  max?: number;
};

/** Clones the migrated template. Call it in `beforeAll`, and `drop` in `afterAll`. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = inject('postgres');
  const name = `${server.template}_${randomBytes(5).toString('hex')}`;
  await asOwner((client) => client.query(`create database ${name} template ${server.template}`));
  const [ownerUrl, appUrl, auditorUrl] = [server.ownerUrl, server.appUrl, server.auditorUrl].map(
    (url) => withDatabase(url, name),
  ) as [string, string, string];
  const own = options.projections ?? [];
  const projections = [...allProjections, ...own];
  if (own.length > 0)
    await migrate({
      ownerUrl,
      appRole: roleOf(appUrl),
      auditorRole: roleOf(auditorUrl),
      projections,
      log: () => undefined,
    });

  const lost: Error[] = [];
  let isDropping = false;
  const poolOptions = {
    max: options.max ?? 5,
    applicationName: 'test',
    onError: (error: Error) => {
      if (!isDropping) lost.push(error);
    },
  };
  const pool = createPool(appUrl, poolOptions);
  const ownerPool = createPool(ownerUrl, poolOptions);
  return {
    ownerUrl,
    appUrl,
    auditorUrl,
    pool,
    ownerPool,
    functionName: appendFunction(projections).name,
    lost,
    async drop() {
      // An ended pool may still be closing its sockets, which the forced drop then cuts.
      isDropping = true;
      await Promise.all([pool.end(), ownerPool.end()]);
      await asOwner((client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

/** On the server's maintenance database: a template with sessions cannot be cloned. */
async function asOwner(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({
    connectionString: withDatabase(inject('postgres').ownerUrl, 'postgres'),
  });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = name;
  return changed.href;
}

/**
 * Waits until readers and anchors see all events: a transaction that is open anywhere on the server hides
 * those that were committed after it began.
 */
export async function allSafe(pool: Queryable): Promise<void> {
  const isSafe = async () => {
    const { rows } = await pool.query<{ safe: boolean }>(
      `select coalesce(bool_and(transaction_id < pg_snapshot_xmin(pg_current_snapshot())), true) as safe
       from emt_messages`,
    );
    return rows[0]?.safe;
  };
  await vi.waitUntil(isSafe, { timeout: 60_000 });
}
