import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { expectEndsWell, expectVerified } from '#tests/processes/support/check.ts';
import type { Person } from '#tests/support/app.ts';
import { operate } from '#tests/support/processes/operator.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  createClient,
  eventually,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application, Client } from '#tests/support/processes/processes.ts';
import { randomOf } from '#tests/support/chance.ts';
import { countsInWords } from './counts.ts';

/**
 * Runs over all strategies are cancelled at random moments, between runs whose panel fails. Afterwards
 * every run has ended, no read model has failed or set anything aside, and everything verifies.
 */
const seed = Number(process.env['CANCEL_SEED'] ?? randomInt(2 ** 31));
const runs = Number(process.env['CANCEL_RUNS'] ?? 200);
const people = 8;
const creditsEach = 5_000;
/** After `process` was answered. */
const latestCancelMs = 600;
const readyEveryMs = 200;

/** Four of its eight seats give no answer, and five are needed. The other panels lose at most one. */
const failing = 'ultra';
const personas =
  'gpt-6-astra=dead,claude-fable-5-1=dead,mistral-medium-2604=dead,gemini-4-carbon=malformed';
const others = [
  'ultra-economy',
  'economy',
  'balanced',
  'reasoning-focused',
  'premium',
  'fast',
  'comprehensive',
];

const folder = temporaryFolder();
const settings = { DATA_DIR: join(folder.path, 'data') };
let app: Application;
let client: Client;

beforeAll(async () => {
  app = await startApplication({
    dataDir: settings.DATA_DIR,
    port: await freePort(),
    settings: { SANDBOX_PERSONAS: personas },
  });
  client = createClient(app.url, settings);
});
afterAll(async () => {
  // It may not have started.
  await (app as Application | undefined)?.[Symbol.asyncDispose]();
  folder.remove();
});

/** Every fifth fails by its panel, and of the others every tenth never starts. */
async function runAndCancel(person: Person, index: number): Promise<void> {
  const random = randomOf(seed + index);
  const { token } = person;
  const fails = index % 5 === 4;
  const strategy = fails ? failing : others[index % others.length]!;
  const body = { challenge: `Rent or buy workshop ${index}?`, strategy };
  const { id } = await client.data<Optimization>('/optimizations', { token, body });
  const post = async (verb: string) =>
    client.call(`/optimizations/${id}/${verb}`, { method: 'POST', token });
  const isDraft = !fails && random() < 0.1;
  if (!isDraft) {
    const { status } = await post('process');
    if (status !== 202) throw new Error(`Processing answered ${status}`);
    // Most failing panels are left alone, so that they do fail.
    if (fails && random() < 0.7) return;
    await sleep(random() * latestCancelMs);
  }
  // It may have ended, or its recommendation may be under way.
  const { status } = await post('cancel');
  if (status !== 202 && status !== 409) throw new Error(`Cancelling answered ${status}`);
}

async function runsOf({ token }: Person): Promise<OptimizationSummary[]> {
  const found: OptimizationSummary[] = [];
  for (let page = 1; ; page += 1) {
    const path = `/optimizations?limit=100&page=${page}`;
    const rows = await client.data<OptimizationSummary[]>(path, { token });
    found.push(...rows);
    if (rows.length < 100) return found;
  }
}

/** Answers of `/api/ready` other than 200, until it is disposed of. */
function watchReadiness(): AsyncDisposable & { checks(): number; failures(): readonly string[] } {
  const failures: string[] = [];
  let checks = 0;
  const stopping = new AbortController();
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      checks += 1;
      const signal = AbortSignal.timeout(10_000);
      const said = await client.call('/ready', { signal }).then(
        async (response) => (response.ok ? null : `${response.status} ${await response.text()}`),
        (error: unknown) => String(error),
      );
      if (said !== null) failures.push(said);
      await sleep(readyEveryMs);
    }
  })();
  return {
    checks: () => checks,
    failures: () => failures,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await watching;
    },
  };
}

/** Failures and set-aside streams, anywhere in a status. */
function troubles(value: unknown, path = ''): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, inner]) => troubles(inner, `${path}.${name}`));
  const isTrouble = value === 'failed' || (/fail|aside|error/i.test(path) && Boolean(value));
  return isTrouble ? [`${path}: ${String(value)}`] : [];
}

test(`${runs} runs cancelled at random moments leave every run ended and every read model working`, async () => {
  console.info(`seed ${seed}`);
  const everyone = await Promise.all(
    Array.from({ length: people }, async () => client.signUp({ credits: creditsEach })),
  );
  const began = performance.now();
  await using readiness = watchReadiness();
  await Promise.all(
    everyone.map(async (person, own) => {
      for (let index = own; index < runs; index += people) await runAndCancel(person, index);
    }),
  );
  const listed = await eventually(
    'the end of every run',
    async () => {
      const all = (await Promise.all(everyone.map(runsOf))).flat();
      return all.every(({ status }) => status !== 'processing') && all;
    },
    300_000,
  );
  const seconds = Math.round((performance.now() - began) / 1000);
  expect(listed).toHaveLength(runs);
  const ends = listed.map(({ status, strategy }) =>
    strategy === failing ? `failing panel ${status}` : status,
  );
  console.info(
    `${runs} runs in ${seconds} s (${countsInWords(ends)}), ${readiness.checks()} checks`,
  );

  await eventually('every read model has caught up or failed', async () => {
    const { stdout } = await operate(settings, 'projections', 'status', '--json');
    return troubles(JSON.parse(stdout)).length > 0 || !/"pending":\s*[1-9]/.test(stdout);
  });
  const { code, stdout } = await operate(settings, 'projections', 'status', '--json');
  expect({ code, troubles: troubles(JSON.parse(stdout)) }).toEqual({ code: 0, troubles: [] });
  await expectVerified(settings);
  for (const { id } of listed) await expectEndsWell(settings, 'optimizations', 'verify', id);
  expect(readiness.failures()).toEqual([]);
});
