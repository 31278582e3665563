import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Backup } from '#db/backup/backups.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { projections } from '#projections/index.ts';
import { verify as verifyProjection } from '#projections/engine/verify.ts';
import { counted, printResult, required } from '#services/cli/command.ts';
import type { SettingsCommand } from '#services/cli/command.ts';
import { verifyCredits } from '#services/cli/credits/verify.ts';
import type { Database } from '#services/cli/database.ts';
import { closedLine } from './after-restore.ts';
import { openBackup } from './copy.ts';
import { backupNamed, removeAbandoned, requireEmbedded, verifyPrefix } from './folders.ts';

export const verify: SettingsCommand = {
  noun: 'backup',
  verb: 'verify',
  arguments: '<name|folder>',
  summary: 'Starts Postgres on a copy of a backup and checks everything in it.',
  options: {},
  async runOnSettings(call) {
    const { env } = call;
    requireEmbedded(env);
    const backup = await backupNamed(env, required(call, 0, 'name of the backup'));
    await removeAbandoned(env.dataDir);
    const dataDir = mkdtempSync(join(env.dataDir, verifyPrefix));
    const resources = new AsyncDisposableStack();
    try {
      const database = await openBackup(backup, { env, dataDir, resources });
      const checks = await checksOf(database, backup);
      const verified = checks.every(({ ok }) => ok);
      printResult(call, { name: backup.manifest.name, verified, checks }, [
        ...checks.map(({ ok, check, found }) => `${ok ? 'ok ' : 'NOT'} ${check}: ${found}`),
        verified ? 'Verified.' : 'Differences were found.',
      ]);
      return verified ? 0 : 1;
    } finally {
      await resources.disposeAsync();
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};

type Check = { check: string; ok: boolean; found: string };

async function checksOf(opened: Database, { manifest }: Backup): Promise<Check[]> {
  // What was under way then is not overdue.
  const database = { ...opened, clock: () => Date.parse(manifest.created_at) };
  const { keys, closed } = await database.sealer.checkKeys();
  const events = await verifyEvents(database.pool, {});
  const { document: credits } = await verifyCredits(database);
  const checks: Check[] = [
    {
      check: 'files',
      ok: true,
      found: `${manifest.files.length} equal the manifest, and Postgres started`,
    },
    {
      check: 'keys',
      ok: closed === 0,
      found:
        closed === 0 ? `${counted(keys, 'key')}, all opened by DATA_KEY` : closedLine(closed, keys),
    },
    {
      check: 'events',
      ok: events.faults.length === 0,
      found: `${counted(events.streams, 'stream')}, ${counted(events.events, 'event')}, ${counted(events.faults.length, 'fault')}`,
    },
    {
      check: 'credits',
      ok: credits.verified,
      found: `${counted(credits.accounts, 'account')}, ${credits.differences.length} with differences`,
    },
  ];
  for (const projection of projections) {
    const { name, differences, setAside } = await verifyProjection(database.ownerPool, projection);
    const count = differences.length + setAside.total;
    checks.push({ check: name, ok: count === 0, found: `${count} differences` });
  }
  return checks;
}
