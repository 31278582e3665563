import { existsSync } from 'node:fs';
import { createPool } from '#db/connect.ts';
import { EmbeddedPostgresError, foldersOf } from '#db/embedded/cluster.ts';
import { databaseUrls } from '#services/cli/database.ts';
import type { Env } from '#services/platform/process/env.ts';
import { warning, wrong } from './finding.ts';
import type { CheckedDatabase, Finding } from './finding.ts';

/** A statement that takes longer would outlast its check. */
const statementMs = 8_000;

/**
 * The database, or why there is none. One in DATA_DIR is joined or started; a missing one is not created.
 */
export async function openDatabase(
  env: Env,
  resources: AsyncDisposableStack,
): Promise<{ database: CheckedDatabase } | { finding: Finding }> {
  if (env.databaseUrl === null && !existsSync(foldersOf(env.dataDir).cluster))
    return {
      finding: warning(`there is no database in ${env.dataDir} yet`, 'npm start creates it'),
    };
  try {
    const urls = await databaseUrls(env, () => undefined, resources);
    const pool = poolOf(urls.appUrl, resources);
    const ownerPool = urls.ownerUrl === urls.appUrl ? pool : poolOf(urls.ownerUrl, resources);
    await pool.query('select 1');
    return { database: { urls, pool, ownerPool } };
  } catch (error) {
    return { finding: unreachable(env, error) };
  }
}

function poolOf(url: string, resources: AsyncDisposableStack) {
  const pool = createPool(url, {
    max: 4,
    applicationName: 'sevenfold doctor',
    statementMs,
    // The query on a lost connection fails, too, and says so.
    onError: () => undefined,
  });
  resources.defer(async () => pool.end());
  return pool;
}

/** The server's own words repeat no password; those of other errors may repeat an address. */
function unreachable(env: Env, error: unknown): Finding {
  if (error instanceof EmbeddedPostgresError)
    return wrong(error.message, 'npm start says the same');
  const host = env.databaseUrl === null ? env.dataDir : new URL(env.databaseUrl).host;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
  const reason = error instanceof Error && 'severity' in error ? error.message : code;
  return wrong(
    `no connection to ${host} (${reason})`,
    env.databaseUrl === null
      ? `see ${foldersOf(env.dataDir).log}`
      : 'check that Postgres runs and that DATABASE_URL names it',
  );
}
