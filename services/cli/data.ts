import { existsSync, lstatSync, mkdirSync, renameSync } from 'node:fs';
import { foldersOf, runningServer } from '#db/embedded/cluster.ts';
import type { Env } from '#services/platform/process/env.ts';
import { confirmed, printResult } from './command.ts';
import type { SettingsCommand } from './command.ts';

/** Refused for a reason that the operator can remove. */
export class ResetRefused extends Error {
  override readonly name = 'ResetRefused';
}

const reset: SettingsCommand = {
  noun: 'data',
  verb: 'reset',
  arguments: '',
  summary:
    'Move the data folder aside, so that the next start creates an empty one. Deletes nothing.',
  options: { yes: { type: 'boolean', help: 'Skip the confirmation' } },
  async runOnSettings(call) {
    const { env, options } = call;
    await requireResettable(env);
    const { data } = foldersOf(env.dataDir);
    const movedTo = `${data}-${new Date().toISOString().replaceAll(':', '-')}`;
    if (options['yes'] !== true && !(await confirmed(`Move ${data} to ${movedTo}?`))) return 1;
    await requireResettable(env);
    renameSync(data, movedTo);
    // A link to a missing folder could not be started from.
    if (lstatSync(env.dataDir, { throwIfNoEntry: false })?.isSymbolicLink()) mkdirSync(data);
    printResult(call, { moved_to: movedTo }, [`The data and its keys are now in ${movedTo}`]);
    return 0;
  },
};

/** @throws ResetRefused */
async function requireResettable(env: Env): Promise<void> {
  if (env.mode !== 'local') throw new ResetRefused('data reset works in local mode only');
  if (env.databaseUrl !== null)
    throw new ResetRefused('DATABASE_URL names the database; data reset moves a data folder only');
  if (!existsSync(foldersOf(env.dataDir).cluster))
    throw new ResetRefused(`DATA_DIR: there is no database in ${env.dataDir}`);
  if ((await runningServer(foldersOf(env.dataDir))) !== null)
    throw new ResetRefused(`DATA_DIR: ${env.dataDir} is in use; stop the app and try again`);
}

export const dataCommands: readonly SettingsCommand[] = [reset];
