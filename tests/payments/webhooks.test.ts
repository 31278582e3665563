import { Stripe } from 'stripe';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { CheckoutState } from '#services/payments/contract.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import type { CheckoutView } from '#services/payments/provider.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { webhookEventBytes } from '#services/payments/webhook-routes.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** Webhook events: any number of times, in any order, late, forged, or never. */
let shop: TestShop;
const newSecret = 'whsec_that_is_new';

beforeAll(async () => {
  shop = await createTestShop();
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => shop.close());

async function balanceOf({ token }: Person): Promise<Balance> {
  return shop.data<Balance>('/credits/balance', { token });
}

async function grantsOf({ userId }: Person): Promise<number> {
  const { events } = await shop.core.readStream(`credits-${userId}`);
  return events.filter(({ type }) => type === 'CreditsGranted').length;
}

async function row(purchaseId: string): Promise<PurchaseRow | null> {
  return findPurchase(shop.core.pool, { purchaseId });
}

/** A checkout that is paid at the provider, without a webhook event so far. */
async function paidCheckout(packageId = 'boost-20') {
  await shop.deliver();
  const person = await shop.signUp();
  const { session_id: sessionId, purchase_id: purchaseId } = await shop.checkout(person, packageId);
  await shop.deliver();
  shop.stripe.pay(sessionId, 'pay');
  return { person, sessionId, purchaseId };
}

async function signed(event: object, secret: string, at = Date.now()) {
  const payload = JSON.stringify(event);
  const timestamp = Math.floor(at / 1000);
  const signature = await Stripe.webhooks.generateTestHeaderStringAsync({
    payload,
    secret,
    timestamp,
  });
  return { payload, signature };
}

async function stored(eventId: string): Promise<{ outcome: string | null }[]> {
  const { rows } = await shop.database.pool.query<{ outcome: string | null }>(
    'select outcome from stripe_event where id = $1',
    [eventId],
  );
  return rows;
}

function completedEvent(sessionId: string): Stripe.Event {
  const event = shop.stripe
    .pendingWebhookEvents()
    .find(
      ({ type, data }) =>
        type === 'checkout.session.completed' && (data.object as { id: string }).id === sessionId,
    );
  if (event === undefined) throw new Error('The session was not completed');
  return event;
}

describe('the same webhook event', () => {
  test('the same webhook event 100 times in parallel is stored once, and grants one lot', async () => {
    const { person, sessionId, purchaseId } = await paidCheckout();
    const event = completedEvent(sessionId);
    const { payload, signature } = await signed(event, shop.stripe.webhookSecret);
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => shop.post(payload, signature)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await answers[0]?.json()).toEqual({ data: { received: true } });
    await Promise.all([shop.runJobs(), shop.runJobs(), shop.runJobs()]);
    expect(await stored(event.id)).toEqual([{ outcome: 'fulfilled' }]);
    expect(await grantsOf(person)).toBe(1);
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
  });

  test('the same webhook event is answered 200 also when it was processed long ago', async () => {
    const { person, sessionId } = await paidCheckout();
    const { payload, signature } = await signed(
      completedEvent(sessionId),
      shop.stripe.webhookSecret,
    );
    await shop.deliver();
    expect((await shop.post(payload, signature)).status).toBe(200);
    await shop.runJobs();
    expect(await grantsOf(person)).toBe(1);
  });
});

describe('webhook, success page and sweeper', () => {
  test('webhook, success page and sweeper at the same moment grant one lot, and all give a good answer', async () => {
    shop.logged.splice(0);
    for (let time = 0; time < 5; time += 1) {
      const { person, sessionId, purchaseId } = await paidCheckout('boost-50');
      await shop.stripe.deliverAll({ copies: 2 });
      await shop.database.pool.query(
        `update purchase set created_at = created_at - interval '20 minutes' where id = $1`,
        [purchaseId],
      );
      const path = `/credits/checkout-sessions/${sessionId}`;
      const [, , state, again] = await Promise.all([
        shop.runJobs(),
        sweepPayments(shop.payments),
        shop.data<CheckoutState>(path, { token: person.token }),
        fulfil(shop.payments, { sessionId }),
      ]);
      expect(state).toMatchObject({ status: 'paid', balance: { available_credits: 50 } });
      expect(again).toMatchObject({ purchase: { status: 'paid' } });
      expect(['fulfilled', 'unchanged']).toContain(again.outcome);
      expect(await grantsOf(person)).toBe(1);
    }
    expect(shop.logged.filter((line) => /"level":"(?:error|warn)"/.test(line))).toEqual([]);
  });

  test('30 pages, webhook events and sweeps at once grant one lot', async () => {
    const { person, sessionId, purchaseId } = await paidCheckout();
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async (_, index) =>
        fulfil(shop.payments, index % 2 === 0 ? { sessionId } : { purchaseId }),
      ),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'fulfilled')).toHaveLength(1);
    expect(outcomes.filter(({ purchase }) => purchase?.status !== 'paid')).toEqual([]);
    expect(await grantsOf(person)).toBe(1);
    await shop.deliver();
  });
});

test('the success page of a plan shows the credits before any webhook event', async () => {
  const { person, sessionId, purchaseId } = await paidCheckout('side-gig-builder');
  await shop.stripe.deliverAll({ drop: () => true });
  const path = `/credits/checkout-sessions/${sessionId}`;
  const stateOf = async () => shop.data<CheckoutState>(path, { token: person.token });
  // Of several at once one asks the provider.
  const states = await Promise.all(Array.from({ length: 3 }, stateOf));
  for (const state of [...states.filter(({ status }) => status !== 'open'), await stateOf()])
    expect(state).toMatchObject({ status: 'paid', balance: { available_credits: 50 } });
  expect(await row(purchaseId)).toMatchObject({ status: 'paid', lot_id: null });
  expect(await grantsOf(person)).toBe(1);
});

describe('webhook events in any order', () => {
  test.each([
    ['as they were sent', (events: Stripe.Event[]) => events],
    ['backwards', (events: Stripe.Event[]) => events.toReversed()],
    [
      'by their names',
      (events: Stripe.Event[]) => events.toSorted((a, b) => a.type.localeCompare(b.type)),
    ],
    [
      'against their names',
      (events: Stripe.Event[]) => events.toSorted((a, b) => b.type.localeCompare(a.type)),
    ],
  ])('webhook events in any order %s, each three times, come to the same', async (_name, order) => {
    await shop.deliver();
    const person = await shop.signUp();
    const now = await shop.checkout(person, 'boost-20');
    const later = await shop.checkout(person, 'boost-50');
    const refused = await shop.checkout(person, 'boost-125');
    shop.stripe.pay(now.session_id, 'decline');
    shop.stripe.pay(now.session_id, 'pay');
    shop.stripe.pay(later.session_id, 'pay-later');
    shop.stripe.pay(refused.session_id, 'pay-later');
    shop.stripe.settleLater(later.session_id, 'paid');
    shop.stripe.settleLater(refused.session_id, 'failed');
    await shop.deliver({ order, copies: 3 });
    expect(await row(now.purchase_id)).toMatchObject({ status: 'paid' });
    expect(await row(later.purchase_id)).toMatchObject({ status: 'paid' });
    expect(await row(refused.purchase_id)).toMatchObject({ status: 'failed' });
    expect(await balanceOf(person)).toMatchObject({ available_credits: 70 });
    expect(await grantsOf(person)).toBe(2);
  });

  test('a webhook event may arrive before the session was stored with its purchase', async () => {
    const { person, sessionId, purchaseId } = await paidCheckout();
    await shop.database.pool.query('update purchase set session_id = null where id = $1', [
      purchaseId,
    ]);
    await shop.deliver();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid', session_id: sessionId });
    expect(await grantsOf(person)).toBe(1);
  });

  test('a payment that arrives after its purchase had expired is granted all the same', async () => {
    const { person, purchaseId } = await paidCheckout();
    await shop.database.pool.query(`update purchase set status = 'expired' where id = $1`, [
      purchaseId,
    ]);
    await shop.deliver();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
    expect(await grantsOf(person)).toBe(1);
  });
});

describe('a payment that does not fit', () => {
  const changes: [string, Partial<CheckoutView>][] = [
    ['amount', { subtotalMinor: 1 }],
    ['amount', { subtotalMinor: 0, totalMinor: 0 }],
    ['currency', { currency: 'jpy' }],
    ['user', { userId: 'usr_00000000000000000000000000' }],
    ['user', { userId: null }],
    ['purchase', { purchaseId: 'pur_00000000000000000000000000' }],
    ['kind', { mode: 'subscription' }],
    ['payment', { intentId: null }],
  ];

  test.each(changes)(
    'a payment that does not fit its purchase by its %s grants nothing, and is reported',
    async (reason, change) => {
      const { person, sessionId, purchaseId } = await paidCheckout();
      const { provider } = shop.core;
      const view = await provider.retrieveCheckout(sessionId);
      vi.spyOn(provider, 'retrieveCheckout').mockResolvedValue({ ...view!, ...change });
      shop.logged.splice(0);
      await shop.deliver();
      expect(await grantsOf(person)).toBe(0);
      expect(await row(purchaseId)).toMatchObject({
        status: 'failed',
        failure: `mismatch-${reason}`,
      });
      const errors = shop.logged.filter((line) => line.includes('"level":"error"'));
      expect(errors.join()).toContain(
        'A payment does not fit its purchase, and nothing was granted',
      );
      expect(await stored(lastCompleted(sessionId))).toEqual([{ outcome: 'mismatch' }]);
    },
  );

  test('a payment that does not fit because another one paid for the same purchase grants once', async () => {
    const { person, sessionId, purchaseId } = await paidCheckout();
    await shop.deliver();
    const { provider } = shop.core;
    const view = await provider.retrieveCheckout(sessionId);
    vi.spyOn(provider, 'retrieveCheckout').mockResolvedValue({
      ...view!,
      sessionId: 'cs_test_another',
      intentId: 'pi_another',
    });
    expect(await fulfil(shop.payments, { sessionId: 'cs_test_another' })).toMatchObject({
      outcome: 'unchanged',
    });
    await shop.database.pool.query(`update purchase set status = 'open' where id = $1`, [
      purchaseId,
    ]);
    expect(await fulfil(shop.payments, { sessionId: 'cs_test_another' })).toMatchObject({
      outcome: 'mismatch',
    });
    expect(await grantsOf(person)).toBe(1);
  });

  test('a payment that does not fit because it pays for two purchases grants once', async () => {
    const { person, sessionId } = await paidCheckout();
    await shop.deliver();
    const { provider } = shop.core;
    const first = (await provider.retrieveCheckout(sessionId))!;
    const second = await shop.checkout(person, 'boost-20');
    vi.spyOn(provider, 'retrieveCheckout').mockResolvedValue({
      ...first,
      sessionId: second.session_id,
      purchaseId: second.purchase_id,
    });
    expect(await fulfil(shop.payments, { sessionId: second.session_id })).toMatchObject({
      outcome: 'mismatch',
      purchase: { failure: 'mismatch-payment' },
    });
    expect(await grantsOf(person)).toBe(1);
  });

  test('a payment that does not fit because it names what another person is buying leaves that to its buyer', async () => {
    const victim = await paidCheckout();
    await shop.stripe.deliverAll({ drop: () => true });
    const other = await paidCheckout();
    const { provider } = shop.core;
    const retrieve = provider.retrieveCheckout.bind(provider);
    vi.spyOn(provider, 'retrieveCheckout').mockImplementation(async (id) => {
      const view = await retrieve(id);
      return view && id === other.sessionId ? { ...view, purchaseId: victim.purchaseId } : view;
    });
    const { pool } = shop.database;
    for (const session of [victim.sessionId, null]) {
      await pool.query('update purchase set session_id = $2 where id = $1', [
        victim.purchaseId,
        session,
      ]);
      await pool.query('update purchase set session_id = null where id = $1', [other.purchaseId]);
      expect(await fulfil(shop.payments, { sessionId: other.sessionId })).toMatchObject({
        outcome: 'mismatch',
        purchase: { id: victim.purchaseId, status: 'open', failure: null },
      });
    }
    const { rows } = await pool.query(
      `select detail from audit_log where action = 'payment.mismatched' and subject = $1 order by entry_id`,
      [victim.purchaseId],
    );
    expect(rows).toEqual(
      ['session', 'user'].map((reason) => ({ detail: { reason, payment: other.sessionId } })),
    );
    expect(await fulfil(shop.payments, { sessionId: victim.sessionId })).toMatchObject({
      outcome: 'fulfilled',
    });
    expect([await grantsOf(victim.person), await grantsOf(other.person)]).toEqual([1, 0]);
  });

  test('a payment that does not fit of no purchase of ours is left alone', async () => {
    const { provider } = shop.core;
    const { sessionId } = await paidCheckout();
    const view = await provider.retrieveCheckout(sessionId);
    await shop.database.pool.query('update purchase set session_id = null where session_id = $1', [
      sessionId,
    ]);
    vi.spyOn(provider, 'retrieveCheckout').mockResolvedValue({ ...view!, purchaseId: null });
    expect(await fulfil(shop.payments, { sessionId })).toEqual({
      outcome: 'unknown',
      purchase: null,
    });
  });
});

function lastCompleted(sessionId: string): string {
  const events = shop.stripe.world.store
    .all('event')
    .filter(
      ({ type, data }) =>
        type === 'checkout.session.completed' && (data.object as { id: string }).id === sessionId,
    );
  return events.at(-1)?.id ?? '';
}

describe('a signature', () => {
  const event = (id: string) => ({
    id,
    object: 'event',
    type: 'customer.updated',
    created: Math.floor(Date.now() / 1000),
    data: { object: { id: 'cus_1', object: 'customer' } },
  });

  test('a signature of either secret is good while they are changed', async () => {
    const both = await createTestShop({
      env: {
        STRIPE_SECRET_KEY: 'sk_test_of_a_test',
        STRIPE_WEBHOOK_SECRET: `whsec_old,${newSecret}`,
      },
    });
    try {
      for (const secret of ['whsec_old', newSecret]) {
        const { payload, signature } = await signed(event(`evt_${secret.slice(6)}`), secret);
        expect((await both.post(payload, signature)).status).toBe(200);
      }
      const { payload, signature } = await signed(event('evt_x'), 'whsec_sandbox');
      expect((await both.post(payload, signature)).status).toBe(400);
    } finally {
      await both.close();
    }
  });

  test('a signature that is missing, old, of another secret or of another body is refused without details', async () => {
    const { webhookSecret } = shop.stripe;
    const good = await signed(event('evt_good'), webhookSecret);
    const forged: [string, string | null][] = [
      [good.payload, null],
      [good.payload, ''],
      [good.payload, 't=1,v1=00'],
      [good.payload.replace('cus_1', 'cus_2'), good.signature],
      [` ${good.payload}`, good.signature],
    ];
    const old = await signed(event('evt_old'), webhookSecret, Date.now() - 301_000);
    const other = await signed(event('evt_other'), newSecret);
    forged.push([old.payload, old.signature], [other.payload, other.signature]);
    for (const [payload, signature] of forged) {
      const response = await shop.post(payload, signature);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 'bad-signature', errors: [] });
    }
    const { rows } = await shop.database.pool.query(
      `select from stripe_event where id in ('evt_good', 'evt_old', 'evt_other')`,
    );
    expect(rows).toEqual([]);
  });

  test('a signature is checked before anything else, and a body has a size limit', async () => {
    const large = 'x'.repeat(webhookEventBytes + 1);
    expect((await shop.post(large, 't=1,v1=00')).status).toBe(413);
    expect((await shop.post('not JSON', 't=1,v1=00')).status).toBe(400);
    const get = await shop.app.request('http://localhost/api/webhooks/stripe');
    expect(get.status).toBe(405);
  });
});

describe('a webhook event', () => {
  test.each<[string, object]>([
    ['a type that cannot be stored', { type: 'invoice.paid\u0000' }],
    ['an id that cannot be stored', { id: 'evt_\u0000' }],
    ['an id of something else', { id: 'in_1' }],
    ['an object that cannot be stored', { data: { object: { id: 'in_\u0000' } } }],
    ['a time that cannot be stored', { created: 9_000_000_000_000 }],
  ])('a webhook event with %s is refused and leaves nothing behind', async (_what, change) => {
    const count = async () => (await shop.database.pool.query('select from stripe_event')).rowCount;
    const before = await count();
    const { payload, signature } = await signed(
      {
        id: 'evt_odd',
        object: 'event',
        type: 'invoice.paid',
        created: 1,
        data: { object: { id: 'in_1', object: 'invoice' } },
        ...change,
      },
      shop.stripe.webhookSecret,
    );
    const response = await shop.post(payload, signature);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: 'bad-webhook-event', errors: [] },
    ]);
    expect(await count()).toBe(before);
  });

  test('a webhook event of an unknown type is ignored', async () => {
    const { payload, signature } = await signed(
      {
        id: 'evt_unheard_of',
        object: 'event',
        type: 'climate.order.delivered',
        created: 1,
        data: { object: { id: 'climorder_1', object: 'climate.order' } },
      },
      shop.stripe.webhookSecret,
    );
    expect((await shop.post(payload, signature)).status).toBe(200);
    await shop.runJobs();
    expect(await stored('evt_unheard_of')).toEqual([{ outcome: 'ignored' }]);
  });

  test('a webhook event that cannot be processed is tried again by the queue', async () => {
    const { person, sessionId } = await paidCheckout();
    const event = completedEvent(sessionId);
    Object.assign(shop.stripe.faults, { tooMany: 30 });
    await shop.deliver();
    Object.assign(shop.stripe.faults, { tooMany: 0 });
    expect(await stored(event.id)).toEqual([{ outcome: null }]);
    const { rows } = await shop.database.pool.query<{ attempts: number }>(
      `update graphile_worker._private_jobs set run_at = now() where key = $1 returning attempts`,
      [event.id],
    );
    expect(rows).toMatchObject([{ attempts: 1 }]);
    await shop.runJobs();
    expect(await stored(event.id)).toEqual([{ outcome: 'fulfilled' }]);
    expect(await grantsOf(person)).toBe(1);
  });
});

test('no address, secret or card reaches the log', async () => {
  const { person, sessionId } = await paidCheckout();
  await shop.deliver();
  await shop.call(`/credits/checkout-sessions/${sessionId}`, { token: person.token });
  const lines = shop.logged.join('\n');
  for (const secret of [
    person.email,
    'A Person',
    person.token,
    shop.stripe.webhookSecret,
    'sk_test',
    '_secret_',
    'http://localhost:3000/dev/stripe',
  ])
    expect([secret, lines.includes(secret)]).toEqual([secret, false]);
  // The end of the card's number, which may also stand within an id or a time.
  expect(lines).not.toMatch(/42424242|(?<![\w.-])4242(?![\w-])/);
});
