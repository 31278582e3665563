import { existsSync, mkdtempSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Backup } from '#db/backup/backups.ts';
import { syncFolder } from '#db/backup/files.ts';
import {
  foldersOf,
  isInitialised,
  prepareFolders,
  restorePrefix,
  runningServer,
} from '#db/embedded/cluster.ts';
import type { Folders } from '#db/embedded/cluster.ts';
import type { Env } from '#services/platform/process/env.ts';
import { localKeyFile, replaceLocalKeys } from '#services/platform/process/local-keys.ts';
import { confirmed, printResult, required, text } from '#services/cli/command.ts';
import type { SettingsCommand } from '#services/cli/command.ts';
import {
  afterRestore,
  afterRestoreOptions,
  closedLine,
  linesOf,
  readAfterRestore,
  RestoreRefused,
} from './after-restore.ts';
import type { AfterRestore, Restored } from './after-restore.ts';
import { openBackup } from './copy.ts';
import { backupNamed, removeAbandoned, requireEmbedded } from './folders.ts';

export const restore: SettingsCommand = {
  noun: 'backup',
  verb: 'restore',
  arguments: '<name|folder>',
  summary: 'Puts a backup in place of the database, which is moved aside. Deletes nothing.',
  options: {
    into: { type: 'string', help: 'Another data folder than DATA_DIR' },
    ...afterRestoreOptions,
    yes: { type: 'boolean', help: 'Skip the confirmation' },
  },
  async runOnSettings(call) {
    const { env } = call;
    requireEmbedded(env);
    const backup = await backupNamed(env, required(call, 0, 'name of the backup'));
    const into = text(call, 'into');
    const folders = foldersOf(into === undefined ? env.dataDir : resolve(into));
    const wanted = await readAfterRestore(call, env);
    await requireUnused(folders);
    if (isInitialised(folders) && call.options['yes'] !== true) {
      const question = `Replace the database in ${folders.data} by its state at ${backup.manifest.created_at}?`;
      if (!(await confirmed(question))) return 1;
    }
    if (wanted.erasures?.length === 0 && call.options['yes'] !== true) {
      const question = 'The erasure log is empty. Was nobody erased since the backup?';
      if (!(await confirmed(question))) return 1;
    }
    prepareFolders(folders);
    await removeAbandoned(folders.data);
    const draft = foldersOf(mkdtempSync(join(folders.data, restorePrefix)));
    const restored = await prepare(backup, { folders, draft }, env, wanted);
    await requireUnused(folders);
    const movedTo = await putInPlace({ folders, draft });
    keepKeys(env, folders);
    printResult(call, { ...restored, restored_into: folders.data, moved_to: movedTo }, [
      ...linesOf(restored),
      `Restored into ${folders.data}.`,
      ...(movedTo === null
        ? []
        : [`The former database is in ${movedTo}; delete it when you no longer need it.`]),
      into === undefined ? 'Start the app.' : `Start the app with DATA_DIR=${folders.data}`,
    ]);
    return 0;
  },
};

async function requireUnused(folders: Folders): Promise<void> {
  if ((await runningServer(folders)) !== null)
    throw new RestoreRefused(`DATA_DIR: ${folders.data} is in use; stop the app and try again`);
}

/** The data folder, and a draft inside it. */
type Places = { folders: Folders; draft: Folders };

/** Everything is done in a folder beside the database, which a failure leaves as it was. */
async function prepare(
  backup: Backup,
  { folders, draft }: Places,
  env: Env,
  wanted: AfterRestore,
): Promise<Restored> {
  if (existsSync(folders.passwords)) {
    await mkdir(draft.keys, { recursive: true });
    await copyFile(folders.passwords, draft.passwords);
  }
  const resources = new AsyncDisposableStack();
  try {
    const database = await openBackup(backup, { env, dataDir: draft.data, resources });
    const { keys, closed } = await database.sealer.checkKeys();
    if (closed > 0) throw new RestoreRefused(closedLine(closed, keys));
    return await afterRestore(database, wanted);
  } catch (error) {
    await resources.disposeAsync();
    await rm(draft.data, { recursive: true, force: true });
    throw error;
  } finally {
    await resources.disposeAsync();
  }
}

/** Returns where the former database is. A start between the two renames refuses to create an empty one. */
async function putInPlace({ folders, draft }: Places): Promise<string | null> {
  const movedTo = isInitialised(folders)
    ? `${folders.cluster}-${new Date().toISOString().replaceAll(':', '-')}`
    : null;
  if (!existsSync(folders.passwords)) await rename(draft.passwords, folders.passwords);
  if (movedTo !== null) await rename(folders.cluster, movedTo);
  await rename(draft.cluster, folders.cluster);
  await syncFolder(folders.keys);
  await syncFolder(folders.data);
  await rm(draft.data, { recursive: true, force: true });
  return movedTo;
}

/** A new data folder of local mode gets the keys that opened the backup, so that the app starts on it. */
function keepKeys(env: Env, folders: Folders): void {
  if (env.mode !== 'local' || existsSync(localKeyFile(folders.data, 'data'))) return;
  replaceLocalKeys(folders.data, 'data', env.dataKeys);
}
