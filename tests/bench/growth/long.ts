import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { openCore } from '#services/core.ts';
import { readEnv } from '#services/platform/process/env.ts';
import { sweepsOf } from '#services/sweeps.ts';
import { milliseconds, printTable } from '#tests/bench/report.ts';
import type { GrowthDatabase } from './database.ts';

/** What runs periodically or by an operator's hand over a whole database. */
export async function longWork(databases: readonly GrowthDatabase[]): Promise<void> {
  const sweeps = await Promise.all(databases.map(sweepTimes));
  printTable('Sweeps, milliseconds; each once a minute or an hour', [
    ['', ...databases.map(({ name }) => name)],
    ...[...sweeps[0]!.keys()].map((name) => [
      name,
      ...sweeps.map((times) => milliseconds(times.get(name) ?? Number.NaN)),
    ]),
  ]);
  const rows: string[][] = [];
  for (const command of commands) {
    const cells = [];
    for (const database of databases) {
      const { seconds, megabytes, exitCode } = await runCommand(database, command);
      cells.push(`${seconds.toFixed(1)} s`, `${megabytes.toFixed(0)} MB`, String(exitCode));
    }
    rows.push([command.join(' '), ...cells]);
  }
  printTable('Commands of an operator, with the memory and exit code of their process', [
    ['', ...databases.flatMap(({ name }) => [name, 'memory', 'exit'])],
    ...rows,
  ]);
}

const commands = [
  ['events', 'verify'],
  ['credits', 'verify'],
  ['credits', 'anchor'],
  ['projections', 'status'],
  ['users', 'list'],
] as const;

async function sweepTimes(database: GrowthDatabase): Promise<Map<string, number>> {
  const { dataDir, appUrl, log, keys } = database;
  await using resources = new AsyncDisposableStack();
  const settings = { DATA_DIR: dataDir, SANDBOX_URL: 'http://127.0.0.1:1' };
  const env = { ...readEnv(settings), databaseUrl: appUrl, dataKeys: keys.data, jwtKeys: keys.jwt };
  const core = await openCore('bench', { env, log, resources }, 8);
  const { control, money } = sweepsOf(core, env);
  const times = new Map<string, number>();
  for (const [name, { sweep }] of [
    ['anchor-chains, the first anchor', control['anchor-chains']!] as const,
    ...Object.entries({ ...control, ...money }),
  ]) {
    const begun = performance.now();
    await sweep();
    times.set(name, performance.now() - begun);
  }
  return times;
}

/** A command line of its own, so that its memory can be read. */
async function runCommand(
  { appUrl, ownerUrl, dataDir }: GrowthDatabase,
  command: readonly string[],
): Promise<{ seconds: number; megabytes: number; exitCode: number | null }> {
  const root = join(import.meta.dirname, '../../..');
  const begun = performance.now();
  const child = spawn(process.execPath, ['services/cli/main.ts', ...command], {
    cwd: root,
    stdio: 'ignore',
    env: {
      ...process.env,
      DATABASE_URL: appUrl,
      MIGRATE_DATABASE_URL: ownerUrl,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
    },
  });
  let kilobytes = 0;
  const timer = setInterval(() => {
    kilobytes = Math.max(kilobytes, peakOf(child.pid));
  }, 100);
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve);
    child.once('error', reject);
  });
  clearInterval(timer);
  return { seconds: (performance.now() - begun) / 1000, megabytes: kilobytes / 1000, exitCode };
}

/** Zero where there is no such file: once a process has ended, and on other systems than Linux. */
function peakOf(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
