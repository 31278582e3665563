import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { CheckoutReply } from '#services/payments/contract.ts';
import { lockLimits } from '#services/platform/jobs/job-locks.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { createTestStripe } from '#tests/support/stripe.ts';
import type { TestStripe } from '#tests/support/stripe.ts';

/** Processes that are killed between the provider's answer and our append. */
const started = new AsyncDisposableStack();
let database: TestDatabase;
let stripe: TestStripe;
let settings: Settings;
let api: OwnProcess;
let worker: OwnProcess;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  started.defer(async () => database.drop());
  stripe = await createTestStripe();
  started.defer(async () => stripe.close());
  const folder = temporaryFolder();
  started.defer(() => folder.remove());
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: '0',
    ...stripe.env,
  };
  await startBoth();
}, 300_000);
afterAll(async () => started.disposeAsync());

async function startBoth(): Promise<void> {
  api = started.use(await startProcess('api.ts', settings));
  worker = started.use(await startProcess('worker.ts', settings));
  const url = String(api.details['address']);
  client = createClient(url, settings);
  stripe.receive(async (body, signature) => {
    const response = await fetch(`${url}/api/webhooks/stripe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      body,
    });
    return response.status;
  });
}

type Buyer = Person & CheckoutReply;

/** A user who has paid at the provider's page, without a webhook event yet. */
async function buyer(): Promise<Buyer> {
  const person = await client.signUp({ credits: 0 });
  const { token } = person;
  const body = { package_id: 'boost-50' };
  const begun = await client.data<CheckoutReply>('/credits/purchase', { token, body });
  stripe.pay(begun.session_id, 'pay');
  return { ...person, ...begun };
}

async function purchaseOf({
  purchase_id: id,
}: Buyer): Promise<{ status: string; granted: number }> {
  const { rows } = await database.ownerPool.query<{ status: string; granted: number }>(
    `select status, (select count(*)::int from emt_messages
       where message_type = 'CreditsGranted' and message_data ->> 'purchaseId' = purchase.id) as granted
     from purchase where id = $1`,
    [id],
  );
  return rows[0] ?? { status: 'none', granted: 0 };
}

/** The sessions of the database that wait for a lock, by the process that they work for. */
async function waiting(process: 'api' | 'worker'): Promise<number | null> {
  const { rows } = await database.ownerPool.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and application_name = $1`,
    [`sevenfold ${process}`],
  );
  return rows[0]?.pid ?? null;
}

test(
  'a purchase whose process is killed around the append is granted once, by the next process',
  { timeout: 300_000 },
  async () => {
    const [byPage, byWebhook] = [await buyer(), await buyer()];
    const lost = await client.signUp({ credits: 0 });

    // The provider has made a session, and its answer is on the way.
    const reply = Promise.withResolvers<void>();
    Object.assign(stripe.faults, {
      holdReplies: reply.promise,
      only: /^POST \/v1\/checkout\/sessions$/,
    });
    const buying = { token: lost.token, key: 'once', body: { package_id: 'boost-50' } };
    const unheard = client.call('/credits/purchase', buying).catch(() => null);
    const sessionsOfLost = () =>
      stripe.world.store.all('session').filter((one) => one.client_reference_id === lost.userId);
    await eventually('the session of the one that is lost', () => sessionsOfLost().length === 1);

    // Both have the provider's answer in hand, and neither can append.
    const lock = await database.ownerPool.connect();
    await lock.query('begin');
    await lock.query('lock table paid_lot in access exclusive mode');
    const path = `/credits/checkout-sessions/${byPage.session_id}`;
    const page = client.call(path, { token: byPage.token }).catch(() => null);
    const inApi = await eventually('the append of the API', async () => waiting('api'));
    await stripe.deliverAll({
      drop: ({ data }) => (data.object as { id: string }).id === byPage.session_id,
    });
    await eventually('the append of the worker', async () => waiting('worker'));
    for (const one of [api, worker]) one.signal('SIGKILL');
    await Promise.all([api.ended, worker.ended, page, unheard]);

    // One append never happens; the other does, and its reply is lost.
    await lock.query('select pg_terminate_backend($1)', [inApi]);
    await lock.query('rollback');
    lock.release();
    reply.resolve();
    Object.assign(stripe.faults, { holdReplies: undefined });
    await eventually('the append of a dead worker', async () => {
      const { granted } = await purchaseOf(byWebhook);
      return granted === 1;
    });
    expect(await purchaseOf(byPage)).toEqual({ status: 'open', granted: 0 });
    expect(await purchaseOf(byWebhook)).toEqual({ status: 'open', granted: 1 });

    await startBoth();
    for (const one of [byPage, byWebhook]) {
      await eventually(
        'the purchase',
        async () => {
          if (one === byPage) await client.call(path, { token: byPage.token });
          return (await purchaseOf(one)).status === 'paid';
        },
        4 * (lockLimits.sweepEveryMs + lockLimits.settleMs),
      );
      const { token } = one;
      expect(await client.data<Balance>('/credits/balance', { token })).toMatchObject({
        available_credits: 50,
        total_purchased: 50,
      });
      expect(await purchaseOf(one)).toEqual({ status: 'paid', granted: 1 });
    }

    // A browser that repeats its call gets the session that was made, and no other.
    await database.ownerPool.query(
      `update idempotency_key set created_at = created_at - interval '1 minute'`,
    );
    const again = await client.data<CheckoutReply>('/credits/purchase', buying);
    expect(sessionsOfLost().map(({ id }) => id)).toEqual([again.session_id]);
  },
);
