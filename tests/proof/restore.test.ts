import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import type { Balance } from '#services/credits/contract.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { CheckoutReply } from '#services/payments/contract.ts';
import { freePort } from '#services/platform/process/listen.ts';
import { tracesOf } from '#tests/identity/erasure/traces.ts';
import { expectVerified } from '#tests/processes/support/check.ts';
import { follow } from '#tests/processes/support/follow.ts';
import type { Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import {
  commandJson,
  commandLine,
  createClient,
  eventually,
  ownerUrlOf,
  signal,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application, Client, Settings } from '#tests/support/processes/processes.ts';
import { createTestStripe } from '#tests/support/stripe.ts';
import type { TestStripe } from '#tests/support/stripe.ts';

/**
 * The rehearsal of a restore: load, a backup while it lasts, more load, purchases and an erasure, a restore, and
 * every command that verifies. People run the council without a pause; `RESTORE_PEOPLE` says how many.
 */
const peopleCount = Number(process.env['RESTORE_PEOPLE'] ?? 6);
const runsBefore = Number(process.env['RESTORE_RUNS'] ?? 20);
const secret = 'Should the marmalade observatory charge an entrance fee?';

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
let stripe: TestStripe;
let settings: Settings;
let port: number;
let app: Application;
let client: Client;

async function start(): Promise<void> {
  app = await startApplication({ dataDir, port, settings: { ...settings, WORKER_PROCESSES: '2' } });
}

beforeAll(async () => {
  stripe = await createTestStripe();
  port = await freePort();
  settings = { DATA_DIR: dataDir, ...stripe.env };
  await start();
  client = createClient(app.url, settings);
  stripe.receive(async (body, signature) => {
    const response = await fetch(`${app.url}/api/webhooks/stripe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      body,
    });
    return response.status;
  });
}, 300_000);
afterAll(async () => {
  await (app as Application | undefined)?.[Symbol.asyncDispose]();
  await (stripe as TestStripe | undefined)?.close();
  folder.remove();
});

async function checkout({ token }: Person): Promise<CheckoutReply> {
  return client.data('/credits/purchase', { token, body: { package_id: 'boost-50' } });
}

async function pay({ session_id: id }: CheckoutReply): Promise<void> {
  stripe.pay(id, 'pay');
  await stripe.deliverAll();
}

async function startRun({ token }: Person, challenge: string): Promise<string> {
  const body = { challenge, strategy: 'fast' };
  const { id } = await client.data<{ id: string }>('/optimizations', { token, body });
  await client.data(`/optimizations/${id}/process`, { method: 'POST', token });
  return id;
}

async function runsOf({ token }: Person): Promise<OptimizationSummary[]> {
  return client.data<OptimizationSummary[]>('/optimizations?limit=100', { token });
}

async function untilEnded(person: Person): Promise<OptimizationSummary[]> {
  return eventually('the end of every run', async () => {
    const runs = await runsOf(person);
    return runs.every(({ status }) => status !== 'processing') && runs;
  });
}

/** Runs one after another until the signal; resolves with their number. */
async function live(person: Person, over: AbortSignal, begun: () => void): Promise<void> {
  while (!over.aborted) {
    await startRun(person, 'Rent or buy the workshop?');
    begun();
    await untilEnded(person);
  }
}

async function signIn({ email }: Person): Promise<string> {
  const body = { email, password: testPassword };
  const { token } = await client.data<{ token: string }>('/auth/login', { body });
  return token;
}

test('a restore under load brings back the backup, and nothing that was erased or revoked since', async () => {
  const people = await Promise.all(
    Array.from({ length: peopleCount }, async () => client.signUp({ credits: 1_000 })),
  );
  const [buyer, leaver] = [people[0]!, people[1]!];
  await startRun(leaver, secret);
  await pay(await checkout(buyer));
  const openCheckout = await checkout(people[2]!);

  const over = new AbortController();
  let begun = 0;
  const load = Promise.all(
    people
      .filter((person) => person !== leaver)
      .map(async (person) => live(person, over.signal, () => (begun += 1))),
  );
  await eventually('the load before the backup', () => begun >= runsBefore, 600_000);
  const during = begun;
  const { name, bytes } = await commandJson<{ name: string; bytes: number }>(
    settings,
    'backup',
    'create',
  );
  expect((await commandLine(settings, 'backup', 'verify', name)).stdout).toContain('Verified.');

  // Everything from here is lost, except what must not come back.
  await eventually('load after the backup', () => begun >= during + runsBefore, 600_000);
  await pay(await checkout(buyer));
  await pay(openCheckout);
  const late = await client.signUp({ credits: 5 });
  await untilEnded(leaver);
  await client.data('/users/me', {
    method: 'DELETE',
    token: leaver.token,
    body: { password: testPassword },
  });
  await eventually('the erasure', async () =>
    (await commandJson<{ key_id: string }[]>(settings, 'users', 'erasures')).some(
      ({ key_id: id }) => id === leaver.userId,
    ),
  );
  over.abort();
  await load;

  let token = buyer.token;
  await using follower = follow({ url: () => app.url, token: () => token });
  await eventually('the first snapshot', () => follower.snapshots() === 1);

  signal(app.supervisor, 'SIGTERM');
  await app.ended;
  const began = performance.now();
  const restored = await commandLine(settings, 'backup', 'restore', name, '--yes');
  const restoreMs = Math.round(performance.now() - began);
  expect({ code: restored.code, said: restored.stderr }).toMatchObject({ code: 0 });
  await start();

  // Sessions have ended; who signs in again gets a snapshot of the restored state.
  expect((await client.call('/credits/balance', { token })).status).toBe(401);
  token = await signIn(buyer);
  await eventually('the snapshot after the restore', () => follower.snapshots() === 2);
  for (const { email } of [leaver, late]) {
    const body = { email, password: testPassword };
    expect((await client.call('/auth/login', { body })).status).toBe(401);
  }
  const pool = new pg.Pool({ connectionString: ownerUrlOf(dataDir), max: 2 });
  try {
    expect(await tracesOf(pool, [secret, leaver.email, late.email])).toEqual([]);
    const { rows } = await pool.query('select from data_key where user_id = $1', [leaver.userId]);
    expect(rows).toEqual([]);
  } finally {
    await pool.end();
  }

  // Runs that were in progress continue and end.
  const remaining = people.filter((person) => person !== leaver);
  const everyone = await Promise.all(
    remaining.map(async (person) => ({ ...person, token: await signIn(person) })),
  );
  let ended = 0;
  for (const person of everyone) {
    await untilEnded(person);
    // A run ends before its credits are settled.
    const balance = await eventually('the settlement of every run', async () => {
      const now = await client.data<Balance>('/credits/balance', { token: person.token });
      return now.reserved_credits === 0 && now;
    });
    const runs = await runsOf(person);
    ended += runs.length;
    const charged = runs.reduce((sum, { credits }) => sum + (credits.charged ?? 0), 0);
    expect(balance).toMatchObject({ debt_credits: 0, total_consumed: charged });
  }
  await expectVerified(settings);

  // A checkout that the backup knows is granted again. Of the later one it knows nothing: an operator decides.
  const granted = async () => {
    const { token: theirs } = everyone.find(({ userId }) => userId === people[2]!.userId)!;
    const balance = await client.data<Balance>('/credits/balance', { token: theirs });
    return balance.available_credits + balance.total_consumed === 1_050;
  };
  await eventually('the credits of the checkout', granted, 600_000);
  const books = await commandLine(settings, 'credits', 'reconcile');
  console.info(
    [
      `${during} runs begun before the backup, ${begun} before the restore, ${ended} after it`,
      `backup of ${Math.round(bytes / 1_000_000)} MB, restore in ${restoreMs} ms`,
      `reconcile exits with ${books.code}:`,
      books.stdout,
    ].join('\n'),
  );
  expect(books.stdout.match(/payment-without-lot/g)).toHaveLength(1);
});
