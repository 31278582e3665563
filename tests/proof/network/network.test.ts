import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { CaughtMail } from '#services/sandbox/mail/mailbox.ts';
import { countsInWords } from '#tests/proof/counts.ts';
import { expectEndsWell, expectVerified } from '#tests/processes/support/check.ts';
import type { Person } from '#tests/support/app.ts';
import { createChance } from '#tests/support/chance.ts';
import type { Fault } from '#tests/support/processes/fault-proxy.ts';
import { createClient, eventually } from '#tests/support/processes/processes.ts';
import type { Client } from '#tests/support/processes/processes.ts';
import { creditsEach, newcomer, signIn } from './people.ts';
import type { Someone } from './people.ts';
import { watchReadiness } from './readiness.ts';
import type { Answer } from './readiness.ts';
import { openStage, pairs } from './stage.ts';
import type { Pair, Stage } from './stage.ts';

/**
 * People buy, ask and watch while the network between each two processes is broken in every way, one fault
 * after the other. Afterwards everything that was paid for or asked is there once, and no process has ended.
 */
const seed = Number(process.env['NETWORK_SEED'] ?? randomInt(2 ** 31));
/** Each fault on each pair when absent. */
const most = Number(process.env['NETWORK_FAULTS'] ?? Number.POSITIVE_INFINITY);
const people = 4;
const credits = 50;
const healthyMs = 1_500;

const faults: readonly Fault[] = [
  { kind: 'latency', ms: 400 },
  { kind: 'throttle', bytesPerSecond: 20_000 },
  { kind: 'loss' },
  { kind: 'silence', of: 'client' },
  { kind: 'silence', of: 'server' },
  { kind: 'reset' },
  { kind: 'refuse' },
];
const isBlocking = ({ kind }: Fault) => kind !== 'latency' && kind !== 'throttle';

type Struck = { pair: Pair; fault: Fault; from: number; to: number };

let stage: Stage;
let client: Client;

beforeAll(async () => {
  stage = await openStage('realistic');
  client = createClient(stage.apiUrl, stage.settings);
}, 300_000);
afterAll(async () => stage[Symbol.asyncDispose](), 300_000);

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  for (const [name, process] of Object.entries(stage.processes)) {
    const errors = process.log().filter(({ level }) => level === 'error' || level === 'fatal');
    for (const line of errors.slice(-10)) console.error(name, JSON.stringify(line));
  }
});

async function strike(pair: Pair, fault: Fault, lastsMs: number): Promise<Struck> {
  const from = performance.now();
  await stage.network[pair].inject(fault);
  await sleep(lastsMs);
  const to = performance.now();
  await stage.network[pair].heal();
  return { pair, fault, from, to };
}

/** An answer to a question that was asked and answered while the database could not be reached. */
function isDishonest({ askedAt, answeredAt, status }: Answer, struck: readonly Struck[]): boolean {
  return struck.some(
    ({ pair, fault, from, to }) =>
      pair === 'api to database' &&
      isBlocking(fault) &&
      askedAt > from &&
      answeredAt < to &&
      status === 200,
  );
}

async function runsOf({ person }: Someone): Promise<OptimizationSummary[]> {
  const response = await client.call('/optimizations?limit=100', { token: person.token });
  return ((await response.json()) as { data: OptimizationSummary[] }).data;
}

async function expectSettled(someone: Someone): Promise<string[]> {
  const { person, runs, purchases, follower } = someone;
  await signIn(client, person);
  const listed = await eventually('the end of every run', async () => {
    const all = await runsOf(someone);
    return all.every(({ status }) => status !== 'processing') ? all : null;
  });
  // Every acknowledged run is stored, and none was created twice.
  expect(listed.map(({ id }) => id).toSorted()).toEqual(runs.toSorted());
  const charged = listed.reduce((sum, run) => sum + (run.credits.charged ?? 0), 0);
  const bought = purchases.length * credits;
  await eventually(
    'every purchase',
    async () => {
      const { token } = person;
      const balance = await client.data<Balance>('/credits/balance', { token });
      return balance.total_purchased >= bought && balance.reserved_credits === 0;
    },
    300_000,
  );
  expect(await client.data<Balance>('/credits/balance', { token: person.token })).toMatchObject({
    reserved_credits: 0,
    debt_credits: 0,
    total_consumed: charged,
    total_purchased: bought,
    available_credits: creditsEach + bought - charged,
  });
  await expectHeard(someone, creditsEach + bought - charged);
  for (const { id } of listed) {
    await expectEndsWell(stage.settings, 'optimizations', 'verify', id);
    await expectChargedOnce(person.userId, id);
  }
  expect(follower.snapshots()).toBe(1);
  for (const { id, status } of listed)
    if (status === 'failed') console.info(await failureOf(person, id));
  return listed.map(({ status }) => status);
}

/** Why a run failed, with the calls that were given up. */
async function failureOf({ token }: Person, runId: string): Promise<string> {
  const run = await client.data<Optimization>(`/optimizations/${runId}`, { token });
  const calls = Object.entries(run.council.calls).flatMap(([slot, { attempts }]) =>
    Object.values(attempts).flatMap(({ final, failure }) => (final ? [`${slot} ${failure}`] : [])),
  );
  return `${runId} failed: ${run.ended_because}; ${calls.join(', ')}`;
}

/** The stream resumed without a gap, and the socket has the end of each run as it is read now. */
async function expectHeard(someone: Someone, available: number): Promise<void> {
  const { person, runs, follower, socket } = someone;
  const ofAccount = () => follower.facts().filter(({ entity }) => entity.kind === 'account');
  await eventually(
    'the last fact',
    () => ofAccount().at(-1)?.patch['available_credits'] === available,
  );
  const versions = ofAccount().map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, index) => (versions[0] ?? 0) + index));
  expect(new Set(follower.ids()).size).toBe(follower.ids().length);
  await eventually('each end over the socket', () => someone.heardEnds().size === runs.length);
  for (const { event, payload } of socket.heard) {
    if (event !== 'optimization-complete') continue;
    const path = `/optimizations/${String(payload['optimizationId'])}`;
    const run = await client.data<Optimization>(path, { token: person.token });
    expect(payload['result']).toMatchObject({ id: run.id, status: run.status });
  }
}

async function expectChargedOnce(userId: string, runId: string): Promise<void> {
  const { rows } = await stage.database.ownerPool.query<{ type: string; count: number }>(
    `select message_type as type, count(*)::integer as count from emt_messages
     where stream_id = $1 and message_data ->> 'runId' = $2
       and message_type in ('CreditsReserved', 'CreditsCaptured') group by 1`,
    [`credits-${userId}`, runId],
  );
  expect(rows.filter(({ count }) => count > 1)).toEqual([]);
}

/** A mail whose end is unknown is tried again after minutes; here its time has come. */
async function expectMailsSent(arrived: Set<string>): Promise<number> {
  const { ownerPool } = stage.database;
  const mails = await eventually(
    'every mail',
    async () => {
      await ownerPool.query(
        `update mail set handed_over_at = handed_over_at - interval '1 hour' where status = 'queued'`,
      );
      await ownerPool.query(
        `select graphile_worker.reschedule_jobs(array_agg(id), now()) from graphile_worker.jobs
         where task_identifier = 'send-mail' and locked_at is null`,
      );
      await sleep(2_000);
      const { rows } = await ownerPool.query<{ id: string; status: string }>(
        'select id, status from mail',
      );
      return rows.every(({ status }) => status !== 'queued') ? rows : null;
    },
    300_000,
  );
  await noteArrivals(arrived);
  expect(mails.filter(({ id }) => !arrived.has(id))).toEqual([]);
  return mails.length;
}

/** The mailbox keeps only the last 500. */
async function noteArrivals(arrived: Set<string>): Promise<void> {
  const response = await fetch(`${stage.sandboxUrl}/dev/mail`, {
    headers: { accept: 'application/json' },
  });
  for (const { message_id: id } of (await response.json()) as CaughtMail[])
    arrived.add(/^<?([^@>]+)@/.exec(id)?.[1] ?? '');
}

test('every fault of the network between every pair of processes leaves every run, payment and email done once', async () => {
  console.info(`seed ${seed}`);
  const chance = createChance(seed);
  await using readiness = watchReadiness(stage.apiUrl);
  await readiness.regained();
  await using all = new AsyncDisposableStack();
  const everyone: Someone[] = [];
  for (let index = 0; index < people; index += 1)
    everyone.push(all.use(await newcomer(stage, index)));
  await eventually('every snapshot', () =>
    everyone.every(({ follower }) => follower.snapshots() === 1),
  );

  let isOver = false;
  const living = Promise.all(everyone.map(async (someone) => someone.live(() => isOver)));
  living.catch(() => undefined);
  const ended: string[] = [];
  for (const [name, process] of Object.entries(stage.processes))
    void process.ended.then((code) => ended.push(`${name}: ${code}`));
  const plan = chance
    .shuffled(pairs.flatMap((pair) => faults.map((fault) => ({ pair, fault }))))
    .slice(0, most);
  const struck: Struck[] = [];
  const arrived = new Set<string>();
  for (const { pair, fault } of plan) {
    struck.push(await strike(pair, fault, chance.between(3_000, 6_000)));
    await sleep(healthyMs);
    await noteArrivals(arrived);
    if (ended.length > 0) break;
  }
  isOver = true;
  expect(ended).toEqual([]);
  await living;
  // No process keeps waiting on a connection that nothing comes from any more.
  for (const pair of pairs)
    await eventually(
      `the end of deaf connections, ${pair}`,
      () => stage.network[pair].counts().deaf === 0,
    );
  await readiness.regained();

  const statuses: string[] = [];
  for (const someone of everyone) statuses.push(...(await expectSettled(someone)));
  const mails = await expectMailsSent(arrived);
  await expectVerified(stage.settings);
  expect(ended).toEqual([]);

  const answers = readiness.answers();
  expect(answers.filter((answer) => isDishonest(answer, struck))).toEqual([]);
  const unanswered = answers.filter(({ status, healthMs }) => status === 0 && healthMs < 2_000);
  const meanwhile = ({ askedAt, answeredAt }: Answer) =>
    struck.filter(({ from, to }) => from < answeredAt && to > askedAt);
  expect(unanswered.map((answer) => ({ ...answer, struck: meanwhile(answer) }))).toEqual([]);
  const slowest = Math.max(...answers.map(({ askedAt, answeredAt }) => answeredAt - askedAt));
  const bought = everyone.reduce((sum, { purchases }) => sum + purchases.length, 0);
  const connections = everyone.map(({ follower }) => follower.connections());
  console.info(
    [
      `${struck.length} faults on ${new Set(struck.map(({ pair }) => pair)).size} pairs (${countsInWords(struck.map(({ fault }) => fault.kind))})`,
      `runs: ${countsInWords(statuses)}; ${bought} purchases, ${mails} emails`,
      `streams opened ${connections.join(', ')} times`,
      `readiness: ${countsInWords(answers.map(({ status }) => String(status)))}, slowest ${Math.round(slowest)} ms`,
      `connections broken: ${pairs.map((pair) => `${pair} ${stage.network[pair].counts().broken}`).join(', ')}`,
    ].join('\n'),
  );
});
