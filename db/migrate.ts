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
import { indexMessages } from './migrations/message-indexes.ts';
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
  const migrations = readMigrations(options.folder ?? migrationsFolder);
  await requireSameOrigin(client, migrations);
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

function readMigrations(folder: string): Migration[] {
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

async function applyMigrations(
  client: pg.PoolClient,
  migrations: readonly Migration[],
  log: (message: string) => void,
): Promise<string[]> {
  await client.query(
    `create table if not exists migration (
       name text primary key, hash text not null, applied_at timestamptz not null default now())`,
  );
  const { rows } = await client.query<{ name: string; hash: string }>(
    'select name, hash from migration',
  );
  const known = new Map(rows.map((row) => [row.name, row.hash]));
  for (const { name, hash } of migrations)
    if (known.has(name) && known.get(name) !== hash)
      throw new MigrationError(
        `Migration ${name} was edited after it had been applied; restore its text, or ${wayOut}`,
      );
  const unknown = [...known.keys()].filter(
    (name) => !migrations.some((file) => file.name === name),
  );
  if (unknown.length > 0)
    log(`The database is newer than this version: it knows ${unknown.join(', ')}`);

  const pending = migrations.filter(({ name }) => !known.has(name));
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

// --- rights ---

/**
 * The application's rights on tables of which it may not change everything. On the others it reads, inserts,
 * updates and deletes. Columns that it may update are named in the order of the table.
 */
const guarded: Readonly<Record<string, string>> = {
  emt_messages: 'select',
  emt_streams: 'select',
  stream_snapshot: 'select',
  epoch: 'select',
  database_mode: 'select',
  migration: 'select',
  read_model: 'select',
  append_function: 'select',
  audit_log: 'select, insert',
  balance_transaction: 'select, insert',
  chain_anchor: 'select, insert',
  chain_anchor_head: 'select, insert',
  erasure: 'select, insert',
  platform_call: 'select, insert',
  // A claim that could be deleted or given to another account would pay the bonus again.
  onboarding_bonus: 'select, insert, update (granted_at)',
  // The operator announces and withdraws as the owner; a worker notes whom it has emailed.
  policy_change: 'select, update (mailed_to), update (mailed_at)',
};

/** Tables of unused parts of emmett. */
const closed = ['dmb_migrations', 'emt_processors', 'emt_projections'];

/**
 * What an auditor reads beside the read models: no keys, no sessions, no passwords. Payments and their
 * credits are tied by ids alone: the identity of a provider's customer stands elsewhere.
 */
const audited = [
  'emt_messages',
  'emt_streams',
  'stream_snapshot',
  'audit_log',
  'purchase',
  'plan',
  'dispute',
  'bank_refund',
  'fraud_warning',
  'balance_transaction',
  'platform_call',
  'reconciliation',
  'chain_anchor',
  'chain_anchor_head',
  'erasure',
  'epoch',
  'migration',
  'read_model',
  'projection_checkpoint',
  'projection_set_aside',
];

/**
 * In one transaction, so that no session sees half of it. Only differences are written: a grant takes locks
 * for which a running application would have to wait.
 */
async function grantRights(client: pg.PoolClient, options: MigrateOptions): Promise<void> {
  const owner = await ownName(client);
  const app = separateRole(options.appRole, owner);
  const auditor = separateRole(options.auditorRole, owner);
  const relations = await ownRelations(client);
  const statements: string[] = [];
  if (app !== null) {
    const wanted = relations.map(
      (relation) => [relation.name, appRights(relation, options.projections)] as const,
    );
    statements.push(
      ...(await tableGrants(client, app, new Map(wanted))),
      ...(await workerRights(client, app)),
    );
  }
  if (auditor !== null) {
    const readable = new Set([...audited, ...options.projections.map(({ name }) => name)]);
    const wanted = relations
      .filter(({ name, isView }) => isView || readable.has(name))
      .map(({ name }) => [name, 'select'] as const);
    statements.push(...(await tableGrants(client, auditor, new Map(wanted))));
  }
  if (statements.length === 0) return;
  await withShortLocks(client, async () => {
    await client.query(statements.join(';\n'));
  });
}

/** Copies of a read model during a rebuild or a check (`projections/engine/copy.ts`). */
const copyEndings = ['_next', '_check', '_check_touched'];

function appRights({ name, isView }: Relation, projections: readonly Projection[]): string {
  const model = projections.find((each) => name === each.name);
  // A copy belongs to the owner until it replaces the table or is dropped. A grant would also collide with
  // the session that creates it.
  const isCopy = projections.some((each) =>
    copyEndings.some((ending) => name === `${each.name}${ending}`),
  );
  if (isCopy) return '';
  if (isView || model?.kind === 'inline') return 'select';
  return guarded[name] ?? 'select, insert, update, delete';
}

type Relation = { name: string; isView: boolean };

/** Our tables and views and emmett's tables, partitions under the name of their root. */
async function ownRelations(client: pg.PoolClient): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `select relname as name, relkind = 'v' as "isView" from pg_class
       where relnamespace = $1::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
       order by relname`,
    [schema],
  );
  return rows.filter(({ name }) => !closed.includes(name));
}

const everyRight = ['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger'];

/** The statements that give a role exactly these rights on the tables of the schema. */
async function tableGrants(
  client: pg.PoolClient,
  role: string,
  wanted: ReadonlyMap<string, string>,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string; rights: string[] }>(
    `select relname as name, array(
         select right_name from unnest($2::text[]) with ordinality as rights (right_name, n)
         where has_table_privilege($1, pg_class.oid, right_name) order by n) || array(
         select format('update (%I)', attname) from pg_attribute
         where attrelid = pg_class.oid and attnum > 0 and not attisdropped
           and has_column_privilege($1, attrelid, attnum, 'update')
           and not has_table_privilege($1, attrelid, 'update') order by attnum) as rights
       from pg_class
       where relnamespace = $3::regnamespace and relkind in ('r', 'p', 'v')`,
    [role, everyRight, schema],
  );
  const name = client.escapeIdentifier(role);
  return rows.flatMap((row) => {
    const rights = wanted.get(row.name) ?? '';
    if (row.rights.join(', ') === rights) return [];
    const table = `${schema}.${client.escapeIdentifier(row.name)}`;
    const revoke = `revoke all on ${table} from ${name}`;
    return rights === '' ? [revoke] : [revoke, `grant ${rights} on ${table} to ${name}`];
  });
}

/**
 * The worker's tables have row-level security without a policy, which excludes all roles but the owner: a
 * worker under another role would silently find no jobs.
 */
async function workerRights(client: pg.PoolClient, role: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string; has_policy: boolean; granted: boolean }>(
    `select relname as name,
            exists (select from pg_policy where polrelid = pg_class.oid and polname = 'app'
                      and polroles = array[$1::regrole::oid]) as has_policy,
            has_schema_privilege($1, 'graphile_worker', 'usage')
              and has_table_privilege($1, pg_class.oid, 'delete') as granted
       from pg_class
       where relnamespace = 'graphile_worker'::regnamespace and relkind in ('r', 'p')
       order by relname`,
    [client.escapeIdentifier(role)],
  );
  const name = client.escapeIdentifier(role);
  const policies = rows
    .filter((row) => !row.has_policy)
    .flatMap((row) => {
      const table = `graphile_worker.${client.escapeIdentifier(row.name)}`;
      return [
        `drop policy if exists app on ${table}`,
        `create policy app on ${table} to ${name} using (true) with check (true)`,
      ];
    });
  const grants = rows.every((row) => row.granted)
    ? []
    : [
        `grant usage on schema graphile_worker to ${name}`,
        `grant select, insert, update, delete on all tables in schema graphile_worker to ${name}`,
        `grant usage, select on all sequences in schema graphile_worker to ${name}`,
        `grant execute on all functions in schema graphile_worker to ${name}`,
      ];
  return [...policies, ...grants];
}

async function ownName(client: pg.PoolClient): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_user as name');
  return rows[0]!.name;
}

function separateRole(role: string | null, owner: string): string | null {
  return role === owner ? null : role;
}
