import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { OptimizationSummary } from '#services/optimizations/contract.ts';
import { expectEndsWell, expectVerified } from '#tests/processes/check.ts';
import { follow } from '#tests/processes/follow.ts';
import type { Follower } from '#tests/processes/follow.ts';
import type { CallOptions } from '#tests/support/app.ts';
import {
  createClient,
  eventually,
  freePort,
  ownerUrlOf,
  signal,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes.ts';
import type { Application, Client } from '#tests/support/processes.ts';
import { testPassword } from '#tests/support/password.ts';

/**
 * People start and cancel runs without a pause while parts of the application are killed at random,
 * one after another and all at once. Afterwards every run has ended, every credit is where the events
 * say, and nobody's client missed anything. The seed and the number of blows may be given.
 */
const seed = Number(process.env['STORM_SEED'] ?? randomInt(2 ** 31));
const blows = Number(process.env['STORM_BLOWS'] ?? 40);
const people = 4;
const creditsEach = 2_000;

/** mulberry32: the same numbers for the same seed, on every machine. */
function randomOf(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const settings = { DATA_DIR: dataDir };
const outputs: string[] = [];
let app: Application;
let client: Client;
let starts = 0;

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  folder.remove();
});

async function start(port: number): Promise<void> {
  starts += 1;
  app = await startApplication({
    dataDir,
    port,
    settings: {
      API_PROCESSES: '2',
      WORKER_PROCESSES: '2',
      // Some runs are long enough to be hit twice, some seats fail by themselves.
      SANDBOX_PERSONAS: 'mistral-medium-2604=slow,gemini-3.8-flash=429-then-ok',
    },
  });
}

// --- people ---

type Someone = { email: string; token: string; random: () => number; runs: Set<string> };

/** Asks until it is answered: what a browser does behind a person's one click. */
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
      const isPassing =
        response.status === 401 ||
        response.status >= 500 ||
        (response.status === 409 && body.code === 'in-progress');
      return isPassing ? null : { status: response.status, id: body.data?.id ?? null };
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

/** One run after another, some of them cancelled, until told to stop. */
async function live(someone: Someone, isOver: () => boolean): Promise<void> {
  const { random, runs } = someone;
  for (let number = 0; !isOver(); number += 1) {
    const key = `run-${number}`;
    const created = await insist(someone, '/optimizations', {
      key,
      body: { challenge: `Rent or buy workshop ${number}?`, strategy: 'balanced' },
    });
    const runId = created.id;
    if (runId === null) throw new Error(`Creating answered ${created.status}`);
    runs.add(runId);
    const path = `/optimizations/${runId}`;
    const processed = await insist(someone, `${path}/process`, { method: 'POST' });
    if (processed.status === 402) return;
    if (processed.status !== 202) throw new Error(`Processing answered ${processed.status}`);
    await sleep(random() * 6000);
    if (random() < 0.2) {
      const cancelled = await insist(someone, `${path}/cancel`, { method: 'POST' });
      if (cancelled.status !== 202 && cancelled.status !== 409)
        throw new Error(`Cancelling answered ${cancelled.status}`);
    }
  }
}

// --- blows ---

const targets = ['worker', 'workers', 'api', 'postgres', 'backend', 'supervisor', 'everything'];

async function strike(target: string, random: () => number): Promise<void> {
  const one = (pids: readonly number[]) => pids[Math.floor(random() * pids.length)];
  switch (target) {
    case 'worker':
      return kill(one(await app.pids('worker')));
    case 'workers':
      return kill(...(await app.pids('worker')));
    case 'api':
      return kill(one(await app.pids('api')));
    case 'postgres':
      return kill(one(await app.pids('postgres')));
    case 'backend':
      return kill(one(await backends()));
    case 'supervisor':
      return kill(app.supervisor);
    default:
      return kill(...(await app.family()).map(({ pid }) => pid));
  }
}

function kill(...pids: readonly (number | undefined)[]): void {
  for (const pid of pids) if (pid !== undefined) signal(pid, 'SIGKILL');
}

async function backends(): Promise<number[]> {
  const owner = new pg.Client({ connectionString: ownerUrlOf(dataDir) });
  // Postgres may be down already; then there is none to kill.
  owner.on('error', () => undefined);
  try {
    await owner.connect();
    const { rows } = await owner.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name like 'sevenfold%'
       and pid <> pg_backend_pid() and usename <> current_user`,
    );
    return rows.map(({ pid }) => pid);
  } catch {
    return [];
  } finally {
    await owner.end().catch(() => undefined);
  }
}

/** Starts it again when it has ended: killed, or because too much of it had been. */
async function startAgainWhenEnded(port: number): Promise<void> {
  const ended = await Promise.race([app.ended.then(() => true), sleep(200).then(() => false)]);
  if (!ended) return;
  for (const part of ['api', 'worker', 'sandbox'] as const)
    await eventually(`the end of ${part}`, async () => (await app.pids(part)).length === 0);
  outputs.push(app.output());
  await start(port);
}

// --- afterwards ---

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
    'the end of every run',
    async () => {
      await signIn(someone);
      const all = await runsOf(someone);
      return all.every(({ status }) => status !== 'processing') ? all : null;
    },
    900_000,
  );
  // Acknowledged is stored, and nothing was created twice.
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
  await eventually('the last fact', () => {
    const account = follower.facts().findLast(({ entity }) => entity.kind === 'account');
    return account?.patch['available_credits'] === creditsEach - charged;
  });
  const versions = follower
    .facts()
    .filter(({ entity }) => entity.kind === 'account')
    .map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, index) => (versions[0] ?? 0) + index));
  expect(follower.snapshots()).toBe(1);
}

test(`a storm of ${blows} kills over a stream of runs leaves every run ended and every credit in its place`, async () => {
  console.info(`seed ${seed}`);
  const port = await freePort();
  await start(port);
  client = createClient(app.url, settings);
  const random = randomOf(seed);
  const everyone = await Promise.all(Array.from({ length: people }, (_, index) => newcomer(index)));
  await using followers = new AsyncDisposableStack();
  const following = everyone.map((someone) =>
    followers.use(follow({ url: () => app.url, token: () => someone.token })),
  );
  await eventually('every snapshot', () => following.every((one) => one.snapshots() === 1));

  let over = false;
  const living = Promise.all(everyone.map(async (someone) => live(someone, () => over)));
  const struck = new Map<string, number>();
  for (let blow = 0; blow < blows; blow += 1) {
    await sleep(500 + random() * 6000);
    const target = targets[Math.floor(random() * targets.length)] ?? 'everything';
    struck.set(target, (struck.get(target) ?? 0) + 1);
    await strike(target, random);
    await startAgainWhenEnded(port);
  }
  over = true;
  for (let calm = 0; calm < 20; calm += 1) {
    await sleep(1000);
    await startAgainWhenEnded(port);
  }
  await living;
  for (const [index, someone] of everyone.entries())
    await expectSettled(someone, following[index]!);

  await expectVerified(settings);
  const runIds = everyone.flatMap(({ runs }) => [...runs]);
  const statuses = new Map<string, number>();
  for (const someone of everyone) {
    await signIn(someone);
    for (const { id, status } of await runsOf(someone)) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await expectEndsWell(settings, 'optimizations', 'verify', id);
    }
  }
  outputs.push(app.output());
  expect(outputs.filter((output) => output.includes('nobody handled'))).toEqual([]);
  const ends = new Map<string, number>();
  for (const [, name, reason] of outputs
    .join('\n')
    .matchAll(/"child":"(\w+)[^"]*","reason":"([^"]+)".*"ended; again"/g))
    ends.set(`${name} by ${reason}`, (ends.get(`${name} by ${reason}`) ?? 0) + 1);
  const words = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
  console.info(
    `${blows} kills (${words(struck)}), ${starts} starts, ${runIds.length} runs (${words(statuses)}); started again: ${words(ends)}`,
  );
});
