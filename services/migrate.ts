import pg from 'pg';
import { checkAppConnection, createPool } from '#db/connect.ts';
import type { EmbeddedPostgres } from '#db/embedded/embedded.ts';
import { migrate, MigrationError } from '#db/migrate.ts';
import { projections, views } from '#projections/index.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { applyErasures } from './identity/erasure/erasure.ts';
import { databaseUrlOf, SettingsError, type Env, type Mode } from './platform/process/env.ts';
import { exitWithLines, settingsOrExit } from './platform/process/lifecycle.ts';
import { createLog, type Log } from './platform/process/log.ts';

/**
 * Prepares a database for the application: migrations, the mark of its mode, and erasures again. Run on its
 * own, it is the step between a new version and its processes.
 */
export type DatabaseUrls = {
  ownerUrl: string;
  appUrl: string;
  /** A role that exists and is given the right to read; null for none. */
  auditorRole: string | null;
};

/** The database that the variables name. @throws SettingsError */
export function namedDatabase(env: Env): DatabaseUrls {
  const appUrl = databaseUrlOf(env);
  return { ownerUrl: env.migrateDatabaseUrl ?? appUrl, appUrl, auditorRole: env.auditorRole };
}

/** The embedded Postgres has an auditor from the start. */
export function embeddedDatabase(
  server: Pick<EmbeddedPostgres, 'ownerUrl' | 'appUrl' | 'auditorUrl'>,
): DatabaseUrls {
  const { ownerUrl, appUrl, auditorUrl } = server;
  return { ownerUrl, appUrl, auditorRole: roleOf(auditorUrl) };
}

/** @throws SettingsError, MigrationError */
export async function prepareDatabase(urls: DatabaseUrls, mode: Mode, log: Log): Promise<void> {
  const { ownerUrl, appUrl, auditorRole } = urls;
  const variable = ownerUrl === appUrl ? 'DATABASE_URL' : 'MIGRATE_DATABASE_URL';
  await naming(variable, ownerUrl, async () => {
    const { toRebuild } = await migrate({
      ownerUrl,
      appRole: roleOf(appUrl),
      auditorRole,
      projections,
      views,
      log: (message) => log.info(message),
    });
    await claimForMode(ownerUrl, mode);
    await eraseAgain(ownerUrl, log);
    // In production a rebuild may take long, and an operator chooses the time.
    if (mode === 'local') await rebuildAll(ownerUrl, toRebuild, log);
  });
  for (const warning of await checkedConnection(appUrl)) log.warn(warning);
}

/** Warnings about the application's connection. @throws SettingsError when it cannot be used */
export async function checkedConnection(appUrl: string): Promise<string[]> {
  return naming('DATABASE_URL', appUrl, async () => checkAppConnection(appUrl));
}

async function rebuildAll(ownerUrl: string, names: readonly string[], log: Log): Promise<void> {
  if (names.length === 0) return;
  const pool = createPool(ownerUrl, {
    max: 3,
    applicationName: 'sevenfold rebuild',
    longTransactions: true,
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
  });
  try {
    for (const projection of projections.filter(({ name }) => names.includes(name))) {
      const { events } = await rebuild(pool, projection);
      log.info({ projection: projection.name, count: events }, 'A read model was rebuilt');
    }
  } finally {
    await pool.end();
  }
}

/** A restored backup brings back erased users. They are erased again before the API answers. */
async function eraseAgain(ownerUrl: string, log: Log): Promise<void> {
  const pool = createPool(ownerUrl, {
    max: 2,
    applicationName: 'sevenfold erasures',
    onError: (error) => log.warn({ err: error }, 'A database connection was lost'),
  });
  try {
    const count = (await applyErasures(pool)).length;
    if (count > 0) log.warn({ count }, 'Erased users were in this database and were erased again');
  } finally {
    await pool.end();
  }
}

/** The demo account of local mode must never meet real customers, nor real customers the sandbox. */
async function claimForMode(ownerUrl: string, mode: Mode): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(
      'insert into database_mode (mode) values ($1) on conflict (only_row) do nothing',
      [mode],
    );
    const { rows } = await client.query<{ mode: Mode }>('select mode from database_mode');
    const marked = rows[0]?.mode;
    if (marked !== mode) {
      throw new SettingsError([
        `MODE is ${mode}, but this database was created in ${marked} mode. Use a different database.`,
      ]);
    }
  } finally {
    await client.end();
  }
}

function roleOf(url: string): string {
  return decodeURIComponent(new URL(url).username);
}

/** A failure to connect names the variable and the server, nothing else. */
async function naming<T>(variable: string, url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MigrationError || !(error instanceof Error)) throw error;
    if (error.message.startsWith(variable)) throw new SettingsError([error.message]);
    if (!('code' in error) || !isConnectionCode(String(error.code))) throw error;
    const reason = 'severity' in error ? error.message : String(error.code);
    throw new SettingsError([`${variable}: no connection to ${new URL(url).host} (${reason})`], {
      cause: error,
    });
  }
}

/** Of the system (ECONNREFUSED, ENOTFOUND …), of signing in (28…), or of a missing database. */
function isConnectionCode(code: string): boolean {
  return /^E[A-Z]/.test(code) || code.startsWith('28') || code === '3D000';
}

if (import.meta.main) {
  const env = settingsOrExit();
  const log = createLog({ level: env.logLevel, process: 'migrate' });
  try {
    await prepareDatabase(namedDatabase(env), env.mode, log);
    log.info('The database is ready');
  } catch (error) {
    if (error instanceof SettingsError) exitWithLines(error.lines);
    if (error instanceof MigrationError) exitWithLines([error.message], 1);
    throw error;
  }
}
