import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { freePort } from '#services/platform/process/listen.ts';
import { countsInWords } from '#tests/proof/counts.ts';
import { expectVerified } from '#tests/processes/support/check.ts';
import type { Person } from '#tests/support/app.ts';
import { randomOf } from '#tests/support/chance.ts';
import {
  createClient,
  eventually,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application, Client } from '#tests/support/processes/processes.ts';
import { median } from '#tests/bench/report.ts';
import { growthOf } from './growth.ts';
import type { Sample } from './growth.ts';
import { watchMemory } from './memory.ts';
import type { Series } from './memory.ts';
import { createPace } from './pace.ts';
import type { Pace } from './pace.ts';
import { createSomeone, signIn } from './people.ts';
import type { Someone } from './people.ts';

/**
 * An hour of ordinary use of the whole application, with the rate limits of local mode. The first quarter
 * warms up. In the other three memory, handles, files, connections and jobs must not grow, and the last one
 * must answer as fast as the second.
 */
const minutes = Number(process.env['SOAK_MINUTES'] ?? 60);
const seed = Number(process.env['SOAK_SEED'] ?? randomInt(2 ** 31));
const people = 6;
/** More than anyone spends. */
const creditsEach = 500 + Math.ceil(minutes) * 50;
const lengthMs = minutes * 60_000;
const quarterMs = lengthMs / 4;

const megabyte = 2 ** 20;
/**
 * Growth over the last three quarters, by the last word of a series; the others are only shown. Six people made
 * 9,000 calls and 640 runs in that time, so 6 MiB of heap are 0.7 kB a call or 10 kB a run. Memory outside the
 * heap moves more, by buffers and by hashes of passwords: 64 MiB are 7 kB a call.
 */
const limits: Readonly<Record<string, number>> = {
  heap: 6 * megabyte,
  memory: 64 * megabyte,
  handles: 15,
  files: 15,
  connections: 10,
  due: 20,
  locks: 100,
};
/** In the last quarter lists are 2.3 times as long as in the second: a call that reads all of one would show. */
const slower = 2;

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const settings = { DATA_DIR: dataDir };
let app: Application;
let client: Client;

afterAll(async () => {
  // It may not have started.
  await (app as Application | undefined)?.[Symbol.asyncDispose]();
  folder.remove();
});

async function start(): Promise<{ metricsUrl: string }> {
  const metricsPort = await freePort();
  app = await startApplication({
    dataDir,
    port: await freePort(),
    settings: {
      SANDBOX_PROFILE: 'realistic',
      RATE_LIMITS: '',
      METRICS_PORT: String(metricsPort),
      // Each process chooses a port of its own.
      NODE_OPTIONS: '--inspect=127.0.0.1:0',
    },
  });
  client = createClient(app.url, settings);
  return { metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` };
}

async function runsOf({ token }: { token: string }): Promise<OptimizationSummary[]> {
  const found: OptimizationSummary[] = [];
  for (let page = 1; ; page += 1) {
    const path = `/optimizations?limit=100&page=${page}`;
    const rows = await client.data<OptimizationSummary[]>(path, { token });
    found.push(...rows);
    if (rows.length < 100) return found;
  }
}

/** Every run is stored once and has ended, and the balance is what was granted and bought less what was charged. */
async function expectSettled({ person, runs, refinements, bought }: Someone): Promise<string[]> {
  await signIn({ url: app.url, client, timed: async (_kind, call) => call() }, person);
  const listed = await eventually('the settlement of every run', async () => {
    const all = await runsOf(person);
    const { token } = person;
    for (const id of refinements)
      all.push(await client.data<Optimization>(`/optimizations/${id}`, { token }));
    return all.every(({ credits }) => credits.settlement !== 'pending') && all;
  });
  expect(listed.map(({ id }) => id).toSorted()).toEqual([...runs, ...refinements].toSorted());
  expect(listed.filter(({ ended_at: endedAt }) => endedAt === null)).toEqual([]);
  const charged = listed.reduce((sum, { credits }) => sum + (credits.charged ?? 0), 0);
  expect(await client.data<Balance>('/credits/balance', { token: person.token })).toMatchObject({
    reserved_credits: 0,
    debt_credits: 0,
    total_purchased: bought,
    total_consumed: charged,
    available_credits: creditsEach + bought - charged,
  });
  return listed.map(({ status }) => status);
}

const isJudged = ({ atMs }: Sample) => atMs >= quarterMs;
/** Its books and mailbox keep everything, for the person who tries the application. */
const isToy = (name: string) => name.startsWith('sandbox');

type Grown = { name: string; middle: number; grown: number; limit: number };

function growths(series: Series): Grown[] {
  return [...series].map(([name, samples]) => {
    const judged = samples.filter(isJudged);
    const limit = limits[name.split(' ').at(-1) ?? ''] ?? Number.POSITIVE_INFINITY;
    const middle = median(judged.map(({ value }) => value));
    return { name, middle, grown: growthOf(judged), limit };
  });
}

function lineOf({ name, middle, grown }: Grown): string {
  const shown = (value: number) =>
    /heap|memory/.test(name) ? `${(value / megabyte).toFixed(1)} MiB` : value.toFixed(1);
  return `${name}: ${shown(middle)} in the middle, grown by ${shown(grown)}`;
}

type Percentiles = { of: string; second: number; last: number };

function percentiles(pace: Pace): Percentiles[] {
  return (['call', 'sign-in', 'peer'] as const).flatMap((kind) =>
    [0.5, 0.99].map((share) => ({
      of: `${kind} p${share * 100}`,
      second: pace.between(kind, quarterMs, 2 * quarterMs, share),
      last: pace.between(kind, 3 * quarterMs, lengthMs, share),
    })),
  );
}

test(
  `${minutes} minutes of ordinary use leave memory flat, calls as fast as before and every credit accounted for`,
  { timeout: lengthMs * 1.5 + 900_000 },
  async () => {
    console.info(`seed ${seed}`);
    const { metricsUrl } = await start();
    const random = randomOf(seed);
    const persons: Person[] = [];
    for (let count = 0; count < people; count += 1)
      persons.push(await client.signUp({ credits: creditsEach }));
    await using pace = await createPace();
    const stage = { url: app.url, client, timed: pace.timed };
    const everyone = persons.map((person) =>
      createSomeone(stage, person, Math.floor(random() * 2 ** 31)),
    );

    const began = performance.now();
    const watch = await watchMemory(app, { dataDir, metricsUrl });
    const isOver = () => watch.ended.aborted || performance.now() - began >= lengthMs;
    try {
      await Promise.all(everyone.map(async (someone) => someone.live(isOver)));
    } finally {
      await watch[Symbol.asyncDispose]();
    }

    const grown = growths(watch.series);
    const speeds = percentiles(pace);
    const logged = app.output().split('\n');
    const leveled = (level: string) => logged.filter((line) => line.includes(`"level":"${level}"`));
    console.info(
      [
        `${minutes} minutes, ${pace.count('call')} calls, ${pace.count('sign-in')} sign-ins`,
        ...grown.map(lineOf),
        ...speeds.map(
          ({ of, second, last }) => `${of}: ${second.toFixed(1)} ms, then ${last.toFixed(1)} ms`,
        ),
        `${leveled('warn').length} warnings`,
        ...leveled('warn').slice(0, 10),
      ].join('\n'),
    );
    const statuses: string[] = [];
    for (const someone of everyone) statuses.push(...(await expectSettled(someone)));
    await expectVerified(settings);

    console.info(`${statuses.length} runs (${countsInWords(statuses)})`);
    expect(leveled('error')).toEqual([]);
    expect(leveled('fatal')).toEqual([]);
    expect(grown.filter((one) => !isToy(one.name) && one.grown > one.limit)).toEqual([]);
    const ratioOf = (kind: string) => {
      const { second, last } = speeds.find(({ of }) => of === `${kind} p99`)!;
      return last / second;
    };
    expect(ratioOf('call')).toBeLessThan(slower * Math.max(1, ratioOf('peer')));
  },
);
