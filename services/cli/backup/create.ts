import { createBackup, removeOutdated } from '#db/backup/backups.ts';
import { openCluster } from '#db/embedded/cluster.ts';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { backupDays } from '#services/platform/contract.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import { numberOf, printResult, say, text } from '#services/cli/command.ts';
import type { SettingsCommand } from '#services/cli/command.ts';
import { backupsFolder, removeAbandoned, requireDatabase } from './folders.ts';
import { summaryOf } from './list.ts';

export const create: SettingsCommand = {
  noun: 'backup',
  verb: 'create',
  arguments: '',
  summary:
    'Copies the embedded database, while the app runs, and deletes backups that are too old.',
  options: {
    out: { type: 'string', help: 'A folder that exists (default DATA_DIR/backups)' },
    'keep-days': {
      type: 'string',
      help: `Deletes backups older than this (default and at most ${backupDays})`,
    },
  },
  async runOnSettings(call) {
    const { env } = call;
    requireDatabase(env);
    const days = numberOf(call, 'keep-days', { usual: backupDays, most: backupDays });
    const into = backupsFolder(env, '--out', text(call, 'out'));
    await removeAbandoned(env.dataDir);
    const silent = () => undefined;
    const server = await startEmbeddedPostgres({ dataDir: env.dataDir, log: silent });
    try {
      const cluster = await openCluster(env.dataDir, silent);
      const { port } = server;
      const software = softwareVersion;
      const backup = await createBackup({ cluster, port, into, software, now: new Date() });
      const removed = await removeOutdated(into, backup.manifest, days);
      printResult(call, { ...summaryOf(backup), folder: backup.folder, removed }, [backup.folder]);
      if (removed.length > 0) say(`Deleted, too old or never completed: ${removed.join(', ')}`);
      return 0;
    } finally {
      await server.stop();
    }
  },
};
