import { createPool } from '#db/connect.ts';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { findUserNamed } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import { embeddedDatabase, namedDatabase, prepareDatabase } from '#services/migrate.ts';
import type { DatabaseUrls } from '#services/migrate.ts';
import type { Env } from '#services/platform/process/env.ts';
import type { Log } from '#services/platform/process/log.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { openCore } from '#services/core.ts';
import type { Core } from '#services/core.ts';

/**
 * The application's database, whether the app runs or not: an embedded Postgres in DATA_DIR is joined if it
 * runs, otherwise started.
 */
export type Database = Core & {
  env: Env;
  /** The owner's pool, which rebuild and verify need. */
  ownerPool: ReturnType<typeof createPool>;
  ownerUrl: string;
};

/**
 * The database of someone who may only read, with no key: `credits verify` and the like. A command asks
 * `ownerPool` which of the two it has.
 */
export type AuditedDatabase = Pick<Core, 'url' | 'pool' | 'clock' | 'productName'> & {
  ownerPool: null;
};

export type Reading = Database | AuditedDatabase;

/** Opens no more than a pool: an auditor migrates nothing. */
export function openForAuditor(
  url: string,
  productName: string,
  log: Log,
  resources: AsyncDisposableStack,
): Reading {
  const pool = createPool(url, {
    max: 4,
    applicationName: 'sevenfold cli auditor',
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
    longTransactions: true,
  });
  resources.defer(async () => pool.end());
  return { url, pool, clock: Date.now, productName, ownerPool: null };
}

export async function openDatabase(
  settings: Env,
  log: Log,
  resources: AsyncDisposableStack,
): Promise<Database> {
  const urls = await databaseUrls(settings, (message) => log.debug(message), resources);
  await prepareDatabase(urls, settings.mode, log);
  const env = { ...settings, databaseUrl: urls.appUrl };
  const ownerPool = createPool(urls.ownerUrl, {
    max: 4,
    applicationName: 'sevenfold cli owner',
    longTransactions: true,
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
  });
  resources.defer(async () => ownerPool.end());
  // Only a worker calls the sandbox, and knows where it listens; here its models need only be listed.
  const sandboxUrl = env.sandboxUrl ?? (env.mode === 'local' ? 'http://127.0.0.1:1' : null);
  const core = await openCore('cli', { env: { ...env, sandboxUrl }, log, resources }, 8);
  return { ...core, env, ownerPool, ownerUrl: urls.ownerUrl };
}

/** Joins or starts the embedded Postgres where no other one is named. */
export async function databaseUrls(
  env: Env,
  log: (message: string) => void,
  resources: AsyncDisposableStack,
): Promise<DatabaseUrls> {
  if (env.databaseUrl !== null) return namedDatabase(env);
  const server = await startEmbeddedPostgres({ dataDir: env.dataDir, log });
  resources.defer(async () => server.stop());
  return embeddedDatabase(server);
}

export class NoSuchPerson extends Error {
  override readonly name = 'NoSuchPerson';
}

/** By email address or user id. @throws NoSuchPerson */
export async function personNamed(
  { pool }: Pick<Database, 'pool'>,
  named: string,
): Promise<Account> {
  const account = await findUserNamed(pool, named);
  if (!account) throw new NoSuchPerson('There is no account with this address or id');
  return account;
}

/** The user id of someone named so; an auditor, who reads no addresses, knows ids alone. @throws NoSuchPerson */
export async function userIdNamed(database: Reading, named: string): Promise<string> {
  if (database.ownerPool !== null) return (await personNamed(database, named)).id;
  if (named.includes('@')) throw new NoSuchPerson('An auditor names people by their user id');
  const { rowCount } = await database.pool.query('select from emt_streams where stream_id = $1', [
    creditStream(named),
  ]);
  if (rowCount !== 0) return named;
  throw new NoSuchPerson('There are no credits of an account with this id');
}
