import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backup } from '#db/backup/backups.ts';
import { layOut, openCopy } from '#db/backup/lay-out.ts';
import { describeCluster, foldersOf, prepareFolders } from '#db/embedded/cluster.ts';
import { openDatabase } from '#services/cli/database.ts';
import type { Database } from '#services/cli/database.ts';
import type { Env } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import { say } from '#services/cli/command.ts';

/**
 * Makes a data folder of a backup, starts Postgres there and opens the database as an app of this version
 * would: it is migrated, and nothing else uses it.
 *
 * @throws BackupError for a damaged backup
 */
export async function openBackup(
  backup: Backup,
  { env, dataDir, resources }: BackupPlace,
): Promise<Database> {
  say('Copying the backup and starting Postgres…');
  await mkdir(dataDir, { recursive: true });
  // When root runs this, Postgres runs as another user, who has to enter the folder.
  await chmod(dataDir, 0o755);
  prepareFolders(foldersOf(dataDir));
  const cluster = await describeCluster(dataDir);
  await layOut(backup, cluster.folders.cluster, cluster.runAs);
  await openCopy(cluster);
  const erasureLog = join(dataDir, 'erasures.ndjson');
  const log = createLog({ level: 'error', process: 'cli', destination: process.stderr });
  return openDatabase({ ...env, dataDir, erasureLog, databaseUrl: null }, log, resources);
}

export type BackupPlace = {
  env: Env;
  /** The data folder to make. */
  dataDir: string;
  /** Closes the database and stops its Postgres. */
  resources: AsyncDisposableStack;
};
