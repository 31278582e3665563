import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import postgres from 'postgres';
import { verifyEvents } from '#db/verify-events.ts';
import { projections } from '#projections/index.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { closeAccount, openAccount } from './accounts.ts';
import type { Account } from './accounts.ts';
import type { GrowthDatabase } from './database.ts';
import { copyRows, emptyRows } from './rows.ts';
import type { Rows } from './rows.ts';
import { addRun, compile } from './runs.ts';
import { sealIntoRows } from './seal.ts';
import type { Template } from './templates.ts';

export type Size = { runs: number; accounts: number };

export type Rebuilt = {
  name: string;
  events: number;
  seconds: number;
  /** Events per second in the first and the last quarter. */
  first: number;
  last: number;
};

/** What a filled database holds, and how it was filled. */
export type Filled = Size & {
  events: number;
  drafts: number;
  fillSeconds: number;
  /** Of this process, without Postgres. */
  cpuSeconds: number;
  rebuilds: readonly Rebuilt[];
};

/** Of each fifty accounts one has 60 runs, nine have 8, and forty have 1 or 2: four on average. */
const groupAccounts = 50;
const runsInGroup = [
  60,
  ...Array<number>(9).fill(8),
  ...Array<number>(28).fill(2),
  ...Array<number>(12).fill(1),
];
/** One draft for so many runs is never started. */
const runsPerDraft = 20;
/** The generated time. */
const spanMs = 365 * 86_400_000;
/** Of one transaction. */
const runsAtOnce = 100;

/** Fills an empty database, or says what an earlier fill has put into it. */
export async function filled(
  database: GrowthDatabase,
  size: Size,
  templates: readonly Template[],
): Promise<Filled> {
  const rows = await once(join(database.dataDir, 'rows.json'), async () => {
    const { rows: before } = await database.ownerPool.query('select from emt_messages limit 1');
    if (before.length > 0)
      throw new Error(`An earlier fill of ${database.dataDir} did not end; delete this folder`);
    const begun = performance.now();
    const cpu = process.cpuUsage();
    const result = await fill(database, size, templates);
    const { user, system } = process.cpuUsage(cpu);
    const fillSeconds = (performance.now() - begun) / 1000;
    return { ...size, ...result, fillSeconds, cpuSeconds: (user + system) / 1e6 };
  });
  return once(join(database.dataDir, 'filled.json'), async () => {
    const rebuilds = await rebuildAll(database);
    await database.ownerPool.query('vacuum analyze');
    await verifySample(database);
    return { ...rows, rebuilds };
  });
}

/** What an earlier run has written to a file, or what `make` makes. */
async function once<Result>(file: string, make: () => Promise<Result>): Promise<Result> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Result;
  const made = await make();
  writeFileSync(file, JSON.stringify(made, null, 2));
  return made;
}

async function fill(
  database: GrowthDatabase,
  { runs, accounts }: Size,
  templates: readonly Template[],
): Promise<Pick<Filled, 'events' | 'drafts'>> {
  const sql = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  const compiled = templates.map(compile);
  const groups = Math.max(1, Math.round(accounts / groupAccounts));
  const order = orderOfGroup();
  const people: (Account | undefined)[] = [];
  let rows: Rows = emptyRows();
  const seal = sealIntoRows(database.keys.data, () => rows);
  let written: Promise<void> = Promise.resolve();
  let events = 0;
  let drafts = 0;
  const flush = async () => {
    events += rows.messages.length;
    await written;
    written = copyRows(sql, rows);
    // Reported by the next flush, or at the end.
    written.catch(() => undefined);
    rows = emptyRows();
  };
  try {
    const start = Date.now() - spanMs;
    for (let number = 0; number < runs; number += 1) {
      const at = Math.round(start + ((number + 1) / (runs + 1)) * (spanMs - 3_600_000));
      const place =
        (number % groups) * groupAccounts + order[Math.floor(number / groups) % order.length]!;
      const account = (people[place] ??= await openAccount(rows, seal, at - 3_600_000));
      const template = compiled[number % compiled.length]!;
      if (number % runsPerDraft === runsPerDraft - 1) {
        await addRun(rows, seal, template, account, at - 30_000, 'draft');
        drafts += 1;
      }
      await addRun(rows, seal, template, account, at, 'completed');
      if (number % runsAtOnce === runsAtOnce - 1) await flush();
      if (number % 10_000 === 9_999) console.log(`  ${number + 1} runs, ${events} events`);
    }
    for (const account of people) {
      if (account === undefined) continue;
      closeAccount(rows, account);
      if (rows.snapshots.length >= 5_000) await flush();
    }
    await flush();
    await written;
  } finally {
    await sql.end();
  }
  return { events, drafts };
}

/** The account of each run of a group, so that each account's runs are spread over the whole time. */
function orderOfGroup(): number[] {
  const places = runsInGroup.flatMap((count, account) =>
    Array.from({ length: count }, (_, index) => ({
      account,
      at: (index + 0.5) / count + account / 1e6,
    })),
  );
  return places.toSorted((one, other) => one.at - other.at).map(({ account }) => account);
}

/** Every read model from the first event, as an operator would. */
async function rebuildAll({ ownerPool }: GrowthDatabase): Promise<Rebuilt[]> {
  await ownerPool.query('analyze');
  const done: Rebuilt[] = [];
  for (const projection of projections) {
    const begun = performance.now();
    const seen: Seen[] = [];
    const { name, events, seconds, setAside } = await rebuild(ownerPool, projection, {
      onProgress: (count) => seen.push({ events: count, at: (performance.now() - begun) / 1000 }),
    });
    if (setAside.total > 0) throw new Error(`${name} could not process generated events`);
    done.push({ name, events, seconds, ...quarters(seen) });
    console.log(`  ${name}: ${events} events in ${seconds.toFixed(1)} s`);
  }
  return done;
}

/** Some streams in full: their chains, positions and snapshots. */
async function verifySample({ ownerPool }: GrowthDatabase): Promise<void> {
  const { rows } = await ownerPool.query<{ stream_id: string }>(
    'select stream_id from emt_streams order by random() limit $1',
    [verifiedStreams],
  );
  for (const { stream_id: streamId } of rows) {
    const { faults } = await verifyEvents(ownerPool, { streamId });
    if (faults.length > 0) throw new Error(`${streamId} was not filled as it would be appended`);
  }
}

const verifiedStreams = 100;

type Seen = { events: number; at: number };

function quarters(seen: readonly Seen[]): Pick<Rebuilt, 'first' | 'last'> {
  const all = seen.at(-1)?.events ?? 0;
  const at = (share: number) =>
    seen.find(({ events }) => events >= all * share) ?? { events: 0, at: 0 };
  const speed = (from: Seen, to: Seen) => (to.events - from.events) / (to.at - from.at);
  return { first: speed({ events: 0, at: 0 }, at(0.25)), last: speed(at(0.75), at(1)) };
}
