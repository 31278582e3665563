import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { runMigrations as migrateWorker } from 'graphile-worker';
import type pg from 'pg';
import type { Projection, View } from '#projections/engine/define.ts';
import { appendFunction, schema } from './append-function.ts';
import { createPool } from './connect.ts';
import type { Queryable } from './connect.ts';
import { indexMessages } from './migrations/message-indexes.ts';
import { auditorProblem, grantRights, ownName, separateRole } from './rights/rights.ts';
import { transact, withShortLocks } from './transaction.ts';

/**
 * Brings a database to what this version of the code expects: emmett's schema, the worker's, our numbered
 * migrations, the indexes of the events, the read models' tables, the append function, and the rights. Run
 * as the owner, before the application starts. A second run changes nothing; several at once take turns.
 */
export type MigrateOptions = {
  ownerUrl: string;
  /** The application's role. The owner's own name, or null, means one role does both. */
  appRole: string | null;
  auditorRole: string | null;
  projections: readonly Projection[];
  /** The numbered migrations; for tests. */
  folder?: string;
  views?: readonly View[];
  log: (message: string) => void;
};

export type MigrateResult = {
  /** The append function. */
  functionName: string;
  /** Numbered migrations that were applied by this run. */
  applied: readonly string[];
  /**
   * Inline read models whose table is new although there are events, or has another definition:
   * `projections rebuild` fills them.
   */
  toRebuild: readonly string[];
};

/** A database that does not fit this code; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** Any number; held by the session, over the transactions of all steps. */
const migrateLock = 7_305_010;

const migrationsFolder = join(import.meta.dirname, 'migrations');

/** @throws MigrationError */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const pool = createPool(options.ownerUrl, {
    max: 3,
    applicationName: 'sevenfold migrate',
    onError: (error) => options.log(`A connection was lost: ${error.message}`),
    longTransactions: true,
  });
  const client = await pool.connect();
  try {
    await lockMigration(client);
    return await migrateLocked(options, pool, client);
  } finally {
    // Ends the session and its lock, also in the middle of a transaction.
    client.release(true);
    await pool.end();
  }
}

/**
 * Asks again and again, because a session that waits for a lock holds a snapshot, for which an index that
 * another migration builds concurrently would wait in turn.
 */
async function lockMigration(client: pg.PoolClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_lock($1) as locked',
      [migrateLock],
    );
    if (rows[0]!.locked) return;
    await sleep(lockPollMs);
  }
}

const lockPollMs = 100;

async function migrateLocked(
  options: MigrateOptions,
  pool: pg.Pool,
  client: pg.PoolClient,
): Promise<MigrateResult> {
  const migrations = readMigrations(options.folder);
  await requireSameOrigin(client, migrations);
  const problem = await auditorProblem(client, options);
  if (problem !== null) throw new MigrationError(problem);
  await migrateEvents(options.ownerUrl, pool);
  await migrateJobs(pool);
  const applied = await applyMigrations(client, migrations, options.log);
  await indexMessages(client);
  for (const view of options.views ?? []) await createView(client, view);
  const toRebuild = await createReadModels(client, options.projections);
  const functionName = await installAppendFunction(client, options);
  await grantRights(client, options);
  for (const name of toRebuild)
    options.log(`The read model ${name} is not complete; run: projections rebuild ${name}`);
  return { functionName, applied, toRebuild };
}

async function migrateEvents(ownerUrl: string, pool: pg.Pool): Promise<void> {
  const store = getPostgreSQLEventStore(ownerUrl, { connectionOptions: { pool } });
  await store.schema.migrate();
}

async function migrateJobs(pool: pg.Pool): Promise<void> {
  await migrateWorker({ pgPool: pool });
}

// --- numbered migrations ---

type Migration = { name: string; sql: string; hash: string };

function readMigrations(folder = migrationsFolder): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.toSorted().map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8');
    return { name, sql, hash: createHash('sha256').update(sql).digest('hex') };
  });
}

const wayOut =
  'set DATA_DIR to a new folder (or DATABASE_URL to an empty database), or run: npm run cli -- data reset';

/** Before anything changes. @throws MigrationError when the database began with another migration */
async function requireSameOrigin(
  client: pg.PoolClient,
  migrations: readonly Migration[],
): Promise<void> {
  const { rows } = await client.query<{ known: boolean }>(
    `select to_regclass('migration') is not null as known`,
  );
  if (rows[0]?.known !== true) return;
  const { rows: applied } = await client.query<{ name: string }>('select name from migration');
  if (applied.length > 0 && !applied.some(({ name }) => name === migrations[0]?.name))
    throw new MigrationError(
      `This database was not made by this version and cannot be brought up to it; ${wayOut}`,
    );
}

/** Without changing anything. `edited`: its text differs from what was applied. */
export async function readMigrationState(
  client: Queryable,
  files: readonly Migration[] = readMigrations(),
): Promise<{ pending: string[]; unknown: string[]; edited: string[] }> {
  const { rows } = await client.query<{ name: string; hash: string }>(
    'select name, hash from migration',
  );
  const known = new Map(rows.map((row) => [row.name, row.hash]));
  return {
    pending: files.filter(({ name }) => !known.has(name)).map(({ name }) => name),
    unknown: [...known.keys()].filter((name) => !files.some((file) => file.name === name)),
    edited: files
      .filter(({ name, hash }) => ![undefined, hash].includes(known.get(name)))
      .map(({ name }) => name),
  };
}

async function applyMigrations(
  client: pg.PoolClient,
  migrations: readonly Migration[],
  log: (message: string) => void,
): Promise<string[]> {
  await client.query(
    `create table if not exists migration (
       name text primary key, hash text not null, applied_at timestamptz not null default now())`,
  );
  const state = await readMigrationState(client, migrations);
  const [edited] = state.edited;
  if (edited !== undefined)
    throw new MigrationError(
      `Migration ${edited} was edited after it had been applied; restore its text, or ${wayOut}`,
    );
  const { unknown } = state;
  if (unknown.length > 0)
    log(`The database is newer than this version: it knows ${unknown.join(', ')}`);

  const pending = migrations.filter(({ name }) => state.pending.includes(name));
  for (const { name, sql, hash } of pending)
    // The application serves meanwhile.
    await withShortLocks(client, async () => {
      await client.query(sql);
      await client.query('insert into migration (name, hash) values ($1, $2)', [name, hash]);
    });
  return pending.map(({ name }) => name);
}

// --- read models ---

/** With the rights of the reader, who therefore needs those on the events. */
async function createView(client: pg.PoolClient, { name, select }: View): Promise<void> {
  await withShortLocks(client, async () =>
    client.query(
      `create or replace view ${name} with (security_invoker = true) as ${select};
       grant select on ${name} to public`,
    ),
  );
}

/** Creates the missing tables. Returns the names of inline read models to rebuild. */
async function createReadModels(
  client: pg.PoolClient,
  projections: readonly Projection[],
): Promise<string[]> {
  await client.query(
    `create table if not exists read_model (name text primary key, definition text not null)`,
  );
  const { rows } = await client.query<{ name: string; definition: string; there: boolean }>(
    `select name, definition, to_regclass(name) is not null as there from read_model`,
  );
  const known = new Map(rows.filter((row) => row.there).map((row) => [row.name, row.definition]));
  const missing = projections.filter(({ name }) => !known.has(name));
  const changed = projections.filter(
    (projection) => ![undefined, definitionOf(projection)].includes(known.get(projection.name)),
  );
  const incomplete = new Set(changed);
  for (const projection of missing) {
    const filled = await transact(client, async () => {
      await client.query(projection.create(projection.name));
      await client.query(
        `insert into read_model (name, definition) values ($1, $2)
           on conflict (name) do update set definition = excluded.definition`,
        [projection.name, definitionOf(projection)],
      );
      const { rows: events } = await client.query('select from emt_messages limit 1');
      return events.length === 0;
    });
    if (!filled && projection.kind === 'inline') incomplete.add(projection);
  }
  return [...incomplete].map(({ name }) => name);
}

/**
 * The hash of the statements that create and fill a table. A rebuild stores it when it swaps the table, so
 * a changed statement is noticed until then.
 */
export function definitionOf(projection: Projection): string {
  const text = [projection.create('target'), projection.apply('target', 'events')].join('\n');
  return createHash('sha256').update(text).digest('hex');
}

// --- the append function ---

/** Processes of older versions still call theirs during a deploy. */
const keptFunctions = 3;

async function installAppendFunction(
  client: pg.PoolClient,
  options: MigrateOptions,
): Promise<string> {
  const { name, sql, signature } = appendFunction(options.projections);
  const { rows } = await client.query('select from pg_proc where proname = $1', [name]);
  if (rows.length === 0)
    await transact(client, async () => {
      await client.query(sql);
      // Before the commit: every role may call a new function, and this one writes.
      await client.query(`revoke all on function ${signature} from public`);
      await client.query(
        `create table if not exists append_function (
           name text primary key, installed_at timestamptz not null default now())`,
      );
      await client.query(
        `insert into append_function (name) values ($1)
           on conflict (name) do update set installed_at = now()`,
        [name],
      );
      const { rows: outdated } = await client.query<{ name: string }>(
        `delete from append_function where name in (
           select name from append_function order by installed_at desc offset $1)
         returning name`,
        [keptFunctions],
      );
      for (const old of outdated)
        await client.query(`drop function if exists ${schema}.${old.name}`);
    });
  const app = separateRole(options.appRole, await ownName(client));
  if (app !== null && !(await mayExecute(client, app, signature)))
    await client.query(`grant execute on function ${signature} to ${client.escapeIdentifier(app)}`);
  return name;
}

async function mayExecute(
  client: pg.PoolClient,
  role: string,
  signature: string,
): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    `select has_function_privilege($1, $2, 'execute') as may`,
    [role, signature],
  );
  return rows[0]!.may;
}
