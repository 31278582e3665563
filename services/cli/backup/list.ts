import { listBackups } from '#db/backup/backups.ts';
import type { Backup } from '#db/backup/backups.ts';
import { backupDays } from '#services/platform/contract.ts';
import { printResult, say, table } from '#services/cli/command.ts';
import type { SettingsCommand } from '#services/cli/command.ts';
import { backupsFolder } from './folders.ts';

export const list: SettingsCommand = {
  noun: 'backup',
  verb: 'list',
  arguments: '[<folder>]',
  summary: 'Lists complete backups, newest first.',
  options: {},
  async runOnSettings(call) {
    const into = backupsFolder(call.env, '<folder>', call.positionals[0]);
    const { backups, unusable } = await listBackups(into);
    const rows = backups.map(summaryOf);
    printResult(
      call,
      { backups: rows, unusable },
      rows.length === 0
        ? ['There is no backup.']
        : table([
            ['name', 'consistent at', 'MB', 'files'],
            ...rows.map((row) => [
              row.name,
              row.created_at,
              Math.ceil(row.bytes / 1_000_000),
              row.files,
            ]),
          ]),
    );
    for (const folder of unusable) say(`${folder} is not a complete backup; delete it`);
    const oldest = new Date(Date.now() - backupDays * 86_400_000).toISOString();
    for (const row of rows.filter(({ created_at: at }) => at < oldest))
      say(`${row.name} is older than ${backupDays} days; delete it`);
    return 0;
  },
};

export function summaryOf({ manifest }: Backup) {
  const { name, created_at, bytes, files, software, postgres } = manifest;
  return { name, created_at, bytes, files: files.length, software, postgres };
}
