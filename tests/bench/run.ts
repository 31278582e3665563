import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '#services/platform/process/log.ts';
import { benchCalls } from './calls.ts';
import { benchChamber } from './chamber.ts';
import { benchCommands } from './commands.ts';
import { openBenchDatabase } from './growth/database.ts';
import { benchGrowth } from './growth/growth.ts';
import { benchIdentity } from './identity.ts';
import { benchPages } from './pages.ts';
import { benchPanels } from './panels.ts';
import { benchReaders } from './readers.ts';
import { benchRuns } from './runs.ts';
import { benchStreams } from './streams.ts';
import { benchText } from './text.ts';

/**
 * All benchmarks in one run, each beside its limit and its peers, on a Postgres of their own with
 * fsync on. `--quick` takes a tenth of the time and says little; a name runs that one alone. Ratios within one
 * run are what counts: the same machine runs server and clients.
 */
const quick = process.argv.includes('--quick');
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
/** Takes most of an hour and some 20 GB; `--data=<folder>` keeps them, `--runs=20000` makes it smaller. */
const byNameOnly = ['growth'];
const valueOf = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split('=')[1];
const dataDir = mkdtempSync(join(tmpdir(), 'sevenfold-bench-'));
const log = createLog({ level: 'error', process: 'bench' });
const database = await openBenchDatabase(dataDir);
try {
  console.log(
    `${cpus().length} cores, Node ${process.version}, Postgres 18 beside it, fsync on${quick ? ', quick' : ''}`,
  );
  const { appUrl, pool, ownerPool, functionName } = database;
  const shared = { pool, ownerPool, functionName, log };
  const benches = {
    runs: async () =>
      benchRuns({ appUrl, dataDir, pool, log, runs: quick ? 5 : 20, facts: quick ? 20 : 200 }),
    streams: async () =>
      benchStreams({
        appUrl,
        dataDir,
        pool,
        log,
        watchers: quick ? 200 : 1000,
        runs: 20,
        rounds: quick ? 3 : 20,
        idle: quick ? 500 : 5000,
      }),
    calls: async () => benchCalls({ appUrl, log, durationMs: quick ? 500 : 5000 }),
    identity: async () => benchIdentity({ appUrl, log, logins: quick ? 20 : 200 }),
    commands: async () =>
      benchCommands({ ...shared, durationMs: quick ? 300 : 3000, countFlushes: !quick }),
    chamber: async () => benchChamber({ rounds: quick ? 1 : 3, seconds: quick ? 3 : 8 }),
    pages: async () => benchPages({ rounds: quick ? 1 : 3 }),
    panels: () => benchPanels(quick ? { panels: 400 } : {}),
    text: () => benchText({ rounds: quick ? 1 : 5 }),
    growth: async () =>
      benchGrowth({
        folder: valueOf('data') ?? join(dataDir, 'growth'),
        log,
        runs: Number(valueOf('runs') ?? (quick ? 2_000 : 200_000)),
        realRuns: Number(valueOf('real-runs') ?? (quick ? 24 : 1_000)),
        rounds: quick ? 3 : 12,
        starts: quick ? 3 : 10,
      }),
    readers: async () => benchReaders({ ...shared, events: quick ? 50_000 : 500_000 }),
  };
  for (const [name, bench] of Object.entries(benches))
    if (named.includes(name) || (named.length === 0 && !byNameOnly.includes(name))) await bench();
} finally {
  await database.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
