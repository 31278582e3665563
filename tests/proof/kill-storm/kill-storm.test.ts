import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, onTestFailed, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { expectEndsWell, expectVerified } from '#tests/processes/support/check.ts';
import { follow } from '#tests/processes/support/follow.ts';
import type { Follower } from '#tests/processes/support/follow.ts';
import type { CallOptions } from '#tests/support/app.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  createClient,
  eventually,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application, Client } from '#tests/support/processes/processes.ts';
import { testPassword } from '#tests/support/password.ts';
import { createChance, randomOf } from '#tests/support/chance.ts';
import { countsInWords } from '#tests/proof/counts.ts';
import { median } from '#tests/bench/report.ts';
import { lengthOf, outagesOf } from './outages.ts';
import type { Outage } from './outages.ts';
import { strike, targets } from './targets.ts';

/**
 * People start and cancel runs without a pause while parts of the application and the simulated
 * providers are killed at random. Afterwards every run has ended, every credit is where the events say,
 * and no client missed anything. No run failed because providers were unavailable for a moment.
 * The storm ends once it has made that many kills and started that many runs. A kill that found no process
 * to kill does not count.
 */
const seed = Number(process.env['STORM_SEED'] ?? randomInt(2 ** 31));
const blows = Number(process.env['STORM_BLOWS'] ?? 1_000);
const leastRuns = Number(process.env['STORM_RUNS'] ?? 500);
const people = 24;
const strategies = ['ultra-economy', 'fast', 'economy', 'balanced'];
/** The longest between two kills. */
const pauseMs = 6_000;
/** A run has to outlast providers that are unavailable for less. */
const bearableOutageMs = 20_000;
/** The pause between two outages, in which calls succeed. */
const calmMs = 30_000;
/** A kill takes some six seconds, with the starts and the calm in between. */
const timeout = 1_800_000 + blows * 20_000;
/** A deadline that passed while nothing ran is set once more, so a run may take twice its own. */
const longestRunMs =
  60_000 + 2 * Math.max(...loadCatalogue(null).strategies.map(({ deadlines }) => deadlines.runMs));
/** More than anyone spends. */
const creditsEach = 50_000;

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const settings = { DATA_DIR: dataDir };
const outputs: string[] = [];
let app: Application;
let client: Client;
let starts = 0;
let hasFailed = false;

afterAll(async () => {
  // It may not have started.
  await (app as Application | undefined)?.[Symbol.asyncDispose]();
  if (hasFailed) console.info(`its data and output stay in ${folder.path}`);
  else folder.remove();
});

async function start(port: number): Promise<void> {
  starts += 1;
  app = await startApplication({
    dataDir,
    port,
    settings: {
      API_PROCESSES: '2',
      WORKER_PROCESSES: '2',
      // Runs take half a minute, long enough to be hit twice. Some seats have to try twice anyway.
      SANDBOX_PROFILE: 'realistic',
      SANDBOX_PERSONAS: 'gemini-3.8-flash=429-then-ok',
    },
  });
}

// --- people ---

type Someone = { email: string; token: string; random: () => number; runs: Set<string> };

/** Repeats a call until it is answered, as a browser does behind one click. */
async function insist(
  someone: Someone,
  path: string,
  options: CallOptions,
): Promise<{ status: number; id: string | null }> {
  return eventually(
    `an answer to ${path}`,
    async () => {
      const response = await client.call(path, {
        ...options,
        token: someone.token,
        signal: AbortSignal.timeout(15_000),
      });
      const body = (await response.json()) as { data?: { id?: string }; code?: string };
      if (response.status === 401) await signIn(someone);
      const isTransient =
        response.status === 401 ||
        response.status >= 500 ||
        (response.status === 409 && body.code === 'in-progress');
      return isTransient ? null : { status: response.status, id: body.data?.id ?? null };
    },
    300_000,
  );
}

/** A token lasts ten minutes. */
async function signIn(someone: Someone): Promise<void> {
  const { email } = someone;
  const { token } = await client.data<{ token: string }>('/auth/login', {
    body: { email, password: testPassword },
  });
  someone.token = token;
}

async function newcomer(index: number): Promise<Someone> {
  const { email, token } = await client.signUp({ credits: creditsEach });
  return { email, token, random: randomOf(seed + 1 + index), runs: new Set() };
}

/** One run after another, some of them cancelled, until it is over. */
async function live(someone: Someone, isOver: () => boolean): Promise<void> {
  const { random, runs } = someone;
  for (let number = 0; !isOver(); number += 1) {
    const key = `run-${number}`;
    const strategy = strategies[Math.floor(random() * strategies.length)]!;
    const created = await insist(someone, '/optimizations', {
      key,
      body: { challenge: `Rent or buy workshop ${number}?`, strategy },
    });
    const runId = created.id;
    if (runId === null) throw new Error(`Creating answered ${created.status}`);
    runs.add(runId);
    const path = `/optimizations/${runId}`;
    const processed = await insist(someone, `${path}/process`, { method: 'POST' });
    if (processed.status === 402) return;
    if (processed.status !== 202) throw new Error(`Processing answered ${processed.status}`);
    if (random() < 0.2) {
      await sleep(random() * 20_000);
      const cancelled = await insist(someone, `${path}/cancel`, { method: 'POST' });
      if (cancelled.status !== 202 && cancelled.status !== 409)
        throw new Error(`Cancelling answered ${cancelled.status}`);
    }
    await untilEnded(someone, runId);
  }
}

async function untilEnded(someone: Someone, runId: string): Promise<void> {
  await eventually(
    `the end of ${runId}`,
    async () => {
      await sleep(1_000);
      const response = await client.call('/optimizations?limit=1', {
        token: someone.token,
        signal: AbortSignal.timeout(15_000),
      });
      if (response.status === 401) await signIn(someone);
      if (!response.ok) return false;
      const { data } = (await response.json()) as { data: OptimizationSummary[] };
      return data[0]?.id === runId && data[0].status !== 'processing';
    },
    longestRunMs,
  );
}

// --- the application ---

/** Starts the application again when it has ended: killed, or after too many kills of its parts. */
async function startAgainWhenEnded(port: number): Promise<void> {
  const ended = await Promise.race([app.ended.then(() => true), sleep(200).then(() => false)]);
  if (!ended) return;
  for (const part of ['api', 'worker', 'sandbox'] as const)
    await eventually(`the end of ${part}`, async () => (await app.pids(part)).length === 0);
  outputs.push(app.output());
  await start(port);
}

function hasBeenCalm(): boolean {
  const { upSince } = outagesOf(app.output());
  return upSince !== null && Date.now() - upSince >= calmMs;
}

// --- afterwards ---

/**
 * Why a run failed, and which of its calls were given up because a provider could not be reached;
 * those that overlap a long outage do not count.
 */
async function failureOf(
  someone: Someone,
  { id, created_at: createdAt, ended_at: endedAt }: OptimizationSummary,
  outages: readonly Outage[],
): Promise<{ because: string; unreached: string[] }> {
  const { token } = someone;
  const run = await client.data<Optimization>(`/optimizations/${id}`, { token });
  const isExcused = outages.some(
    (outage) =>
      lengthOf(outage) >= bearableOutageMs &&
      outage.to > Date.parse(createdAt) &&
      outage.from < Date.parse(endedAt ?? ''),
  );
  const unreached = Object.entries(run.council.calls).flatMap(([slot, { attempts }]) =>
    Object.values(attempts)
      .filter(
        ({ final, failure }) => final && ['connection', 'unavailable'].includes(failure ?? ''),
      )
      .map(({ failure }) => `${id} ${slot} ${failure}`),
  );
  return { because: run.ended_because ?? 'unknown', unreached: isExcused ? [] : unreached };
}

async function runsOf(someone: Someone): Promise<OptimizationSummary[]> {
  const found: OptimizationSummary[] = [];
  for (let page = 1; ; page += 1) {
    const response = await client.call(`/optimizations?limit=100&page=${page}`, {
      token: someone.token,
    });
    const { data } = (await response.json()) as { data: OptimizationSummary[] };
    found.push(...data);
    if (data.length < 100) return found;
  }
}

async function expectSettled(someone: Someone, follower: Follower): Promise<void> {
  const { runs } = someone;
  const listed = await eventually(
    'the end and the charge of every run',
    async () => {
      await signIn(someone);
      const all = await runsOf(someone);
      const isCharged = ({ status, credits }: OptimizationSummary) =>
        status !== 'processing' && credits.settlement !== 'pending';
      return all.every(isCharged) ? all : null;
    },
    longestRunMs,
  );
  // Every acknowledged run is stored, and none was created twice.
  expect(new Set(listed.map(({ id }) => id))).toEqual(runs);
  expect(listed).toHaveLength(runs.size);

  const charged = listed.reduce((sum, { credits }) => sum + (credits.charged ?? 0), 0);
  expect(await client.data<Balance>('/credits/balance', { token: someone.token })).toMatchObject({
    reserved_credits: 0,
    debt_credits: 0,
    spending_frozen: false,
    total_consumed: charged,
    available_credits: creditsEach - charged,
  });
  const changes = () => follower.facts().filter(({ entity }) => entity.kind === 'account');
  await eventually(
    'the last balance',
    () => changes().at(-1)?.patch['available_credits'] === creditsEach - charged,
  );
  const versions = changes().map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, index) => (versions[0] ?? 0) + index));
  expect(follower.snapshots()).toBe(1);
}

test(
  `a storm of ${blows} kills over at least ${leastRuns} runs leaves every run ended and every credit accounted for`,
  { timeout },
  async () => {
    console.info(`seed ${seed}`);
    onTestFailed(() => {
      hasFailed = true;
      writeFileSync(join(folder.path, 'output.log'), [...outputs, app.output()].join('\n'));
    });
    const began = performance.now();
    const port = await freePort();
    await start(port);
    client = createClient(app.url, settings);
    const chance = createChance(seed);
    const everyone = await Promise.all(
      Array.from({ length: people }, (_, index) => newcomer(index)),
    );
    await using followers = new AsyncDisposableStack();
    const following = everyone.map((someone) =>
      followers.use(follow({ url: () => app.url, token: () => someone.token })),
    );
    await eventually('every snapshot', () => following.every((one) => one.snapshots() === 1));

    let over = false;
    const leaving = new AbortController();
    const living = Promise.all(everyone.map(async (someone) => live(someone, () => over)));
    const left = living.then(
      () => leaving.abort(),
      () => leaving.abort(),
    );
    const begunRuns = () => everyone.reduce((sum, { runs }) => sum + runs.size, 0);
    const haveLeft = () => leaving.signal.aborted;
    const until = async (found: () => boolean) => {
      while (!found() && !haveLeft()) await startAgainWhenEnded(port);
    };
    const struck: string[] = [];
    let killed = 0;
    while (struck.length < blows && !haveLeft()) {
      // Spread over the whole storm.
      await until(() => begunRuns() >= (leastRuns * struck.length) / blows);
      await sleep(chance.between(500, pauseMs));
      const { name: target } = chance.weighted(targets);
      if (target === 'sandbox') await until(hasBeenCalm);
      const found = await strike(target, { app, dataDir, chance });
      if (found > 0) struck.push(target);
      killed += found;
      await startAgainWhenEnded(port);
    }
    await until(() => begunRuns() >= leastRuns);
    over = true;
    await until(haveLeft);
    await left;
    await living;
    expect(struck).toHaveLength(blows);
    expect(begunRuns()).toBeGreaterThanOrEqual(leastRuns);
    for (const [index, someone] of everyone.entries())
      await expectSettled(someone, following[index]!);

    await expectVerified(settings);
    outputs.push(app.output());
    const outages = outputs.flatMap((output) => outagesOf(output).outages);
    const statuses: string[] = [];
    const reasons: string[] = [];
    const unreached: string[] = [];
    const seconds: number[] = [];
    for (const someone of everyone) {
      await signIn(someone);
      for (const run of await runsOf(someone)) {
        statuses.push(run.status);
        seconds.push((Date.parse(run.ended_at!) - Date.parse(run.created_at)) / 1_000);
        await expectEndsWell(settings, 'optimizations', 'verify', run.id);
        if (run.status !== 'failed') continue;
        const failure = await failureOf(someone, run, outages);
        reasons.push(failure.because);
        unreached.push(...failure.unreached);
      }
    }
    const ends = [
      ...outputs
        .join('\n')
        .matchAll(/"child":"(\w+)[^"]*","reason":"([^"]+)".*"Ended; restarting"/g),
    ].map(([, name, reason]) => `${name} by ${reason}`);
    const connections = following.reduce((sum, one) => sum + one.connections(), 0);
    const longestMs = Math.max(0, ...outages.map(lengthOf));
    console.info(
      [
        `${blows} kills (${countsInWords(struck)}; ${killed} processes), ${starts} starts, ${Math.round((performance.now() - began) / 60_000)} minutes`,
        `${statuses.length} runs (${countsInWords(statuses)}), of ${Math.round(median(seconds))} s in the middle, at most ${Math.round(Math.max(...seconds))} s`,
        `failed: ${countsInWords(reasons)}`,
        `providers unavailable ${outages.length} times, at most ${longestMs} ms`,
        `started again: ${countsInWords(ends)}`,
        `streams opened ${connections} times by ${people} people`,
      ].join('\n'),
    );
    expect(unreached).toEqual([]);
    const lines = outputs.flatMap((output) => output.split('\n'));
    expect(lines.filter((line) => line.includes('unhandled error'))).toEqual([]);
  },
);
