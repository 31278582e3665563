import { existsSync, statSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readBackup } from '#db/backup/backups.ts';
import type { Backup } from '#db/backup/backups.ts';
import { BackupError } from '#db/backup/base-backup.ts';
import { foldersOf, isInitialised, restorePrefix, runningServer } from '#db/embedded/cluster.ts';
import { UsageError } from '#services/cli/command.ts';
import type { Env } from '#services/platform/process/env.ts';

/** @throws BackupError unless the database is the embedded one of DATA_DIR */
export function requireEmbedded(env: Env): void {
  if (env.databaseUrl !== null)
    throw new BackupError(
      'DATABASE_URL names the database; this command copies the embedded one. See docs/backup.md',
    );
}

/** @throws BackupError when DATA_DIR has no database */
export function requireDatabase(env: Env): void {
  requireEmbedded(env);
  if (!isInitialised(foldersOf(env.dataDir)))
    throw new BackupError(`DATA_DIR: there is no database in ${env.dataDir}`);
}

/** The one given as `argument` must exist: it may be on a disk that is not mounted. @throws UsageError */
export function backupsFolder(env: Env, argument: string, given: string | undefined): string {
  if (given === undefined) return usualFolder(env);
  const folder = resolve(given);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`${argument} must be a folder that exists: ${folder}`);
  return folder;
}

function usualFolder(env: Env): string {
  return join(env.dataDir, 'backups');
}

/** By its name in DATA_DIR/backups, or by its path. @throws BackupError */
export async function backupNamed(env: Env, named: string): Promise<Backup> {
  const folder = named.includes('/') ? resolve(named) : join(usualFolder(env), named);
  if (!existsSync(folder))
    throw new BackupError(`There is no folder ${folder}. \`backup list\` shows the backups`);
  return readBackup(folder);
}

export const verifyPrefix = '.verify-';

const abandonedAfterMs = 86_400_000;

/** Deletes copies that a verification or a restore left in the data folder because it was killed. */
export async function removeAbandoned(dataDir: string): Promise<void> {
  if (!existsSync(dataDir)) return;
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(verifyPrefix) && !name.startsWith(restorePrefix)) continue;
    const path = join(dataDir, name);
    const { mtimeMs } = await stat(path);
    if (mtimeMs > Date.now() - abandonedAfterMs) continue;
    if ((await runningServer(foldersOf(path))) === null)
      await rm(path, { recursive: true, force: true });
  }
}
