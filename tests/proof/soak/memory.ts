import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ownerUrlOf } from '#tests/support/processes/processes.ts';
import type { Application, Part } from '#tests/support/processes/processes.ts';
import type { Sample } from './growth.ts';
import { inspect } from './inspected.ts';
import type { Inspected } from './inspected.ts';

/** Series of samples by name, such as `api heap`. */
export type Series = ReadonlyMap<string, readonly Sample[]>;

/** `ended` also says that it cannot measure; then disposing of it throws why. */
export type Watch = AsyncDisposable & { series: Series; ended: AbortSignal };

const sampleEveryMs = 10_000;
/** A full collection stops a process for some 50 ms. */
const collectEveryMs = 30_000;

/** Measures every process of an application that was started with `--inspect`, until it is disposed of. */
export async function watchMemory(
  app: Application,
  { dataDir, metricsUrl }: { dataDir: string; metricsUrl: string },
): Promise<Watch> {
  const stack = new AsyncDisposableStack();
  const series = new Map<string, Sample[]>();
  const began = performance.now();
  const note = (name: string, value: number) => {
    const sample = { atMs: performance.now() - began, value };
    const samples = series.get(name) ?? [];
    series.set(name, samples);
    samples.push(sample);
  };
  const owner = new pg.Client({
    connectionString: ownerUrlOf(dataDir),
    application_name: 'soak',
  });
  await owner.connect();
  stack.defer(async () => owner.end());
  const parts = await partsOf(app);
  const inspected = await inspectAll(app, parts);
  for (const { process } of inspected) stack.use(process);

  const look = async () => {
    for (const [name, pid] of parts) {
      note(`${name} memory`, statusOf(pid, 'VmRSS'));
      note(`${name} files`, filesOf(pid));
    }
    const backends = (await app.family()).filter(({ command }) => command.startsWith('postgres'));
    note('postgres memory', sum(backends.map(({ pid }) => statusOf(pid, 'RssAnon'))));
    for (const [name, value] of Object.entries(await countsOf(owner))) note(name, value);
    note('unread figures', await scrape(metricsUrl));
  };
  const collect = async () => {
    for (const { name, process } of inspected) {
      const { heapBytes, resources } = await process.held();
      note(`${name} heap`, heapBytes);
      note(`${name} handles`, resources);
    }
  };
  const ending = new AbortController();
  const repeat = async (work: () => Promise<void>, everyMs: number) => {
    while (!ending.signal.aborted) {
      await work();
      await sleep(everyMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };
  const watching = Promise.all([
    repeat(look, sampleEveryMs),
    repeat(collect, collectEveryMs),
  ]).finally(() => ending.abort());
  // Handled when it is disposed of.
  watching.catch(() => undefined);
  return {
    series,
    ended: ending.signal,
    async [Symbol.asyncDispose]() {
      ending.abort();
      try {
        await watching;
      } finally {
        await stack.disposeAsync();
      }
    },
  };
}

/** Process ids by name. */
async function partsOf(app: Application): Promise<Map<string, number>> {
  const parts = new Map([['supervisor', app.supervisor]]);
  for (const part of ['api', 'worker', 'sandbox'] as const satisfies Part[])
    for (const pid of await app.pids(part)) parts.set(part, pid);
  return parts;
}

async function inspectAll(
  app: Application,
  parts: ReadonlyMap<string, number>,
): Promise<{ name: string; process: Inspected }[]> {
  const urls = [...app.output().matchAll(/Debugger listening on (ws:\S+)/g)].map(([, url]) => url!);
  // A process of the start, such as the build of the pages, may have ended.
  const found = await Promise.allSettled(urls.map(inspect));
  const processes = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  return [...parts].map(([name, pid]) => {
    const process = processes.find((one) => one.pid === pid);
    if (process === undefined) throw new Error(`${name} shows no debugging socket`);
    return { name, process };
  });
}

/** Bytes, as Linux counts them; 0 for a process that has just ended. */
function statusOf(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(
    orEmpty(() => readFileSync(`/proc/${pid}/status`, 'utf8')),
  );
  return Number(kilobytes?.[1] ?? 0) * 1024;
}

function filesOf(pid: number): number {
  return orEmpty(() => readdirSync(`/proc/${pid}/fd`)).length;
}

function orEmpty<Found>(read: () => Found): Found | '' {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^(ENOENT|ESRCH)$/.test(String(error.code)))
      return '';
    throw error;
  }
}

async function countsOf(owner: pg.Client): Promise<Record<string, number>> {
  const { rows } = await owner.query<Record<string, number>>(
    `select (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
       (select count(*)::int from graphile_worker._private_jobs where run_at <= now()) as "jobs due",
       (select count(*)::int from graphile_worker._private_jobs) as "jobs in all",
       (select count(*)::int from pg_locks) as locks`,
  );
  return rows[0] ?? {};
}

/** As Prometheus does, because what counts can leak, too. Resolves with how many readings failed. */
async function scrape(url: string): Promise<number> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`The metrics answered ${response.status}: ${text}`);
  return text.match(/^sevenfold_scrape_up\{.*\} 0$/gm)?.length ?? 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
