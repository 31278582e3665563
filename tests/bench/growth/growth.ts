import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '#services/platform/process/log.ts';
import { printTable } from '#tests/bench/report.ts';
import { anyPort, openDatabase } from './database.ts';
import type { GrowthDatabase } from './database.ts';
import { diskOf, printDisk } from './disk.ts';
import type { Disk } from './disk.ts';
import { filled } from './fill.ts';
import type { Filled } from './fill.ts';
import { longWork } from './long.ts';
import { measure } from './measure.ts';
import { realRuns } from './real-runs.ts';
import { readTemplates } from './templates.ts';
import type { Template } from './templates.ts';

export type GrowthOptions = {
  /** Keeps the databases in a folder, so that a second run measures without filling. */
  folder: string;
  log: Log;
  /** Of the large database; the small one has 200 runs, which are 10,000 events. */
  runs: number;
  realRuns: number;
  rounds: number;
  starts: number;
};

const accountsOf = (runs: number) => Math.ceil(runs / 4);
const smallRuns = 200;
const templatesPerStrategy = 3;

/**
 * Whether what a user waits for stays the same as the log grows: the same calls on 10,000 events and on
 * many, with the disk that a run takes and the speed of rebuilds.
 */
export async function benchGrowth(options: GrowthOptions): Promise<void> {
  const { folder, log, runs } = options;
  mkdirSync(folder, { recursive: true });
  const real = await realDatabase(options);
  const open: GrowthDatabase[] = [];
  try {
    const sides: { database: GrowthDatabase; content: Filled; disk: Disk }[] = [];
    for (const [name, size] of [
      ['small', smallRuns],
      [`runs-${runs}`, runs],
    ] as const) {
      console.log(`Filling ${name}`);
      const database = await openDatabase(name, folder, anyPort(), log);
      open.push(database);
      const content = await filled(
        database,
        { runs: size, accounts: accountsOf(size) },
        real.templates,
      );
      sides.push({ database, content, disk: await diskOf(database.ownerPool) });
    }
    const [small, large] = sides as [(typeof sides)[number], (typeof sides)[number]];
    printContent([small.content, large.content]);
    printRebuilds(large.content);
    printDisk([
      { title: 'real texts', disk: real.disk, runs: real.runs },
      { title: '200-byte texts', disk: large.disk, runs: large.content.runs },
    ]);
    // First, because the runs whose credits are reserved below do not exist.
    await longWork([small.database, large.database]);
    await measure({
      small: small.database,
      large: large.database,
      rounds: options.rounds,
      accounts: 40,
      starts: options.starts,
    });
  } finally {
    for (const database of open) await database.stop();
  }
}

type Real = { runs: number; disk: Disk; templates: Template[] };

async function realDatabase({ folder, log, realRuns: runs }: GrowthOptions): Promise<Real> {
  const file = join(folder, 'real.json');
  if (!existsSync(file)) {
    console.log(`${runs} real runs`);
    const database = await openDatabase('real', folder, anyPort(), log);
    try {
      await realRuns(database, runs);
      await database.ownerPool.query('vacuum analyze');
      const disk = [...(await diskOf(database.ownerPool))];
      const templates = await readTemplates(database, templatesPerStrategy);
      writeFileSync(file, JSON.stringify({ runs, disk, templates }));
    } finally {
      await database.stop();
    }
  }
  const read = JSON.parse(readFileSync(file, 'utf8')) as Omit<Real, 'disk'> & {
    disk: [string, number][];
  };
  return { ...read, disk: new Map(read.disk) };
}

function printContent(contents: readonly Filled[]): void {
  printTable('What the databases hold', [
    [
      'events',
      'accounts',
      'runs',
      'drafts',
      'events a run',
      'filled in s',
      'of CPU here',
      'events/s',
    ],
    ...contents.map(({ events, accounts, runs, drafts, fillSeconds, cpuSeconds }) => [
      events,
      accounts,
      runs,
      drafts,
      (events / runs).toFixed(1),
      fillSeconds.toFixed(0),
      cpuSeconds.toFixed(0),
      Math.round(events / fillSeconds),
    ]),
  ]);
}

function printRebuilds({ rebuilds }: Filled): void {
  printTable('Rebuilds of the large database, and their speed in the first and last quarter', [
    ['', 'events', 'seconds', 'events/s', 'first', 'last'],
    ...rebuilds
      .filter(({ events }) => events > 0)
      .map(({ name, events, seconds, first, last }) => [
        name,
        events,
        seconds.toFixed(1),
        Math.round(events / seconds),
        Math.round(first),
        Math.round(last),
      ]),
  ]);
}
