import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packages } from '#services/payments/catalogue.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { CheckoutView, PaymentProvider } from '#services/payments/provider.ts';
import { createStripe, createStripeProvider } from '#services/payments/stripe/adapter.ts';
import { lookupKeyOf, syncCatalogue } from '#services/payments/stripe/prices.ts';
import { newId } from '#services/platform/ids.ts';
import { createTestStripe } from '#tests/support/stripe.ts';
import type { TestStripe } from '#tests/support/stripe.ts';

/** The adapter over real HTTP, against the sandbox's Stripe. */
let fake: TestStripe;
let provider: PaymentProvider;
let customerId: string;

const settings = () => ({
  secretKey: 'sk_test_sandbox',
  webhookSecrets: ['whsec_sandbox'],
  url: fake.url,
  automaticTax: false,
});

beforeAll(async () => {
  fake = await createTestStripe();
  provider = createStripeProvider(settings());
  customerId = await provider.createCustomer({
    userId: 'usr_1',
    email: 'ann@example.com',
    name: 'Ann',
  });
});
afterAll(async () => fake.close());

function wanted(packageId: string, purchaseId: string = newId('pur')) {
  const kind = packages.find(({ id }) => id === packageId)?.kind ?? 'one_time';
  return {
    purchaseId,
    userId: 'usr_1',
    customerId,
    packageId,
    kind,
    successUrl: 'http://localhost:3000/credits/success?from=home#top',
    cancelUrl: 'http://localhost:3000/credits/purchase',
  };
}

async function paid(packageId: string): Promise<CheckoutView> {
  const { sessionId } = await provider.createCheckout(wanted(packageId));
  fake.pay(sessionId, 'pay');
  const view = await provider.retrieveCheckout(sessionId);
  if (!view) throw new Error('The checkout is gone');
  return view;
}

async function thrown(asking: Promise<unknown>): Promise<unknown> {
  return asking.then(
    () => {
      throw new Error('It resolved');
    },
    (error: unknown) => error,
  );
}

function present(value: string | null | undefined): string {
  if (value === null || value === undefined) throw new Error('It is not there');
  return value;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  return Array.fromAsync(items);
}

describe('a checkout', () => {
  test('a checkout is made, paid on the page, and read with its amounts, its person and its receipt', async () => {
    const checkout = wanted('boost-50');
    const open = await provider.createCheckout(checkout);
    expect(open).toMatchObject({
      status: 'open',
      mode: 'payment',
      isPaid: false,
      isPending: false,
      userId: 'usr_1',
      purchaseId: checkout.purchaseId,
      subtotalMinor: 2_500,
      totalMinor: 2_500,
      taxMinor: 0,
      currency: 'usd',
      receiptUrl: null,
      paidAt: null,
    });
    expect(open.url).toContain('http');
    const { redirect } = fake.pay(open.sessionId, 'pay');
    expect(redirect).toBe(
      `http://localhost:3000/credits/success?from=home&session_id=${open.sessionId}#top`,
    );
    expect(await provider.retrieveCheckout(open.sessionId)).toMatchObject({
      status: 'complete',
      isPaid: true,
      intentId: expect.stringMatching(/^pi_/),
      receiptUrl: expect.stringContaining('http'),
      paidAt: expect.any(Number),
    });
  });

  test('a checkout is the same when it is asked for again, also later, and after its answer was lost', async () => {
    const checkout = wanted('boost-20');
    fake.faults.loseReply = 1;
    fake.faults.only = /checkout\/sessions/;
    const later = createStripeProvider({ ...settings(), clock: () => Date.now() + 60_000 });
    const first = await provider.createCheckout(checkout);
    expect((await later.createCheckout(checkout)).sessionId).toBe(first.sessionId);
    const sessions = await createStripe(settings()).checkout.sessions.list({ limit: 100 });
    const same = sessions.data.filter(
      ({ metadata }) => metadata?.['purchase_id'] === checkout.purchaseId,
    );
    expect(same).toHaveLength(1);
  });

  test('a checkout under the same key with other figures is a fault that says so', async () => {
    const checkout = wanted('boost-20');
    await provider.createCheckout(checkout);
    expect(
      await thrown(provider.createCheckout({ ...checkout, packageId: 'boost-50' })),
    ).toMatchObject({ message: expect.stringContaining('with other figures than before') });
  });

  test('a checkout whose bank confirms later is pending, and failed for good when it does not', async () => {
    const { sessionId } = await provider.createCheckout(wanted('boost-20'));
    fake.pay(sessionId, 'pay-later');
    expect(await provider.retrieveCheckout(sessionId)).toMatchObject({
      status: 'complete',
      isPaid: false,
      isPending: true,
      failure: null,
    });
    fake.settleLater(sessionId, 'failed');
    expect(await provider.retrieveCheckout(sessionId)).toMatchObject({
      isPaid: false,
      isPending: false,
      failure: expect.any(String),
    });
  });

  test('a checkout is ended by us, and one that has ended says how', async () => {
    const { sessionId } = await provider.createCheckout(wanted('boost-20'));
    expect(await provider.expireCheckout(sessionId)).toMatchObject({ status: 'expired' });
    expect(await provider.expireCheckout(sessionId)).toMatchObject({ status: 'expired' });
    const bought = await paid('boost-20');
    expect(await provider.expireCheckout(bought.sessionId)).toMatchObject({
      status: 'complete',
      isPaid: true,
    });
    expect(await thrown(provider.expireCheckout('cs_test_none'))).toBeInstanceOf(ProviderRefused);
  });
});

test('a payment for other clients is made, declined and paid', async () => {
  const purchaseId = newId('pur');
  const intent = {
    purchaseId,
    userId: 'usr_1',
    customerId,
    packageId: 'boost-125',
    amountMinor: 5_000,
    currency: 'usd',
  };
  const made = await provider.createIntent(intent);
  expect(made).toMatchObject({ status: 'open', purchaseId, userId: 'usr_1', amountMinor: 5_000 });
  expect(made.clientSecret).toContain(made.intentId);
  expect((await provider.createIntent(intent)).intentId).toBe(made.intentId);
  fake.pay(made.intentId, 'decline');
  expect(await provider.retrieveIntent(made.intentId)).toMatchObject({
    status: 'open',
    failure: 'card_declined',
  });
  fake.pay(made.intentId, 'pay');
  const done = await provider.retrieveIntent(made.intentId);
  expect(done).toMatchObject({ status: 'succeeded', failure: null });
  expect(await provider.retrieveCharge(present(done?.chargeId))).toMatchObject({
    intentId: made.intentId,
    amountMinor: 5_000,
    refundedMinor: 0,
    isPaid: true,
    balanceTransactionId: expect.stringMatching(/^txn_/),
  });
});

describe('a fault that the provider keeps for its key', () => {
  const person = { userId: 'usr_fault', email: 'fay@example.com', name: 'Fay', replaces: null };
  const payment = {
    purchaseId: newId('pur'),
    userId: 'usr_1',
    packageId: 'boost-20',
    amountMinor: 1_000,
    currency: 'usd',
  };
  const checkout = () => wanted('boost-20');
  const kinds = [
    ['customer', () => ({ ask: async () => provider.createCustomer(person) })],
    [
      'session',
      () => {
        const of = checkout();
        return { ask: async () => (await provider.createCheckout(of)).sessionId };
      },
    ],
    [
      'intent',
      () => ({
        ask: async () => (await provider.createIntent({ ...payment, customerId })).intentId,
      }),
    ],
  ] as const;

  test.each(kinds)(
    'a %s that was made before a kept fault is found, and made once',
    async (kind, begin) => {
      const { ask } = begin();
      const before = fake.world.store.all(kind).length;
      Object.assign(fake.faults, { failAfterCommit: 1, only: /^POST/ });
      const made = await ask();
      expect(fake.faults.failAfterCommit).toBe(0);
      expect(await ask()).toBe(made);
      expect(fake.world.store.all(kind)).toHaveLength(before + 1);

      // One that apparently was not made is made under the next key.
      fake.world.store.drop(kind, made);
      const second = await ask();
      expect(second).not.toBe(made);
      expect(await Promise.all([ask(), ask()])).toEqual([second, second]);
      expect(fake.world.store.all(kind)).toHaveLength(before + 1);
    },
  );

  test('the first caller of a kept fault waits, and is answered on the next call', async () => {
    const of = checkout();
    const making = { failAfterCommit: 1, only: /^POST \/v1\/checkout/ };
    Object.assign(fake.faults, making);
    const { sessionId: first } = await provider.createCheckout(of);
    fake.world.store.drop('session', first);
    Object.assign(fake.faults, making);
    // The provider keeps a fault for the first key; the second key's fault came after the work was done.
    const { sessionId: second } = await provider.createCheckout(of);
    expect(second).not.toBe(first);
    expect((await provider.createCheckout(of)).sessionId).toBe(second);
  });
});

describe('a refund', () => {
  test('a refund is made once, whether its answer is lost or a fault after the fact', async () => {
    const { intentId } = await paid('boost-50');
    const refund = {
      refundId: 'ref_lost',
      intentId: present(intentId),
      amountMinor: 700,
      userId: 'usr_1',
    };
    fake.faults.only = /refunds/;
    fake.faults.loseReply = 1;
    const made = await provider.createRefund(refund);
    expect(made).toMatchObject({ refundId: 'ref_lost', status: 'succeeded', amountMinor: 700 });
    expect(await provider.createRefund(refund)).toEqual(made);
    fake.faults.failAfterCommit = 1;
    const other = { ...refund, refundId: 'ref_500', amountMinor: 300 };
    expect(await thrown(provider.createRefund(other))).toMatchObject({ status: 503 });
    // The same key gets the fault again, so the refunds are listed.
    expect(await thrown(provider.createRefund(other))).toMatchObject({ status: 503 });
    const listed = await provider.listRefunds(present(intentId));
    expect(new Set(listed.map(({ refundId }) => refundId))).toEqual(
      new Set(['ref_500', 'ref_lost']),
    );
    expect(await provider.retrieveRefund(made.providerRefundId)).toEqual(made);
  });

  test('a refund that fails later says so, and one by the bank is not ours', async () => {
    const { intentId } = await paid('boost-50');
    const made = await provider.createRefund({
      refundId: 'ref_fails',
      intentId: present(intentId),
      amountMinor: 100,
      userId: 'usr_1',
    });
    fake.settleRefund(made.providerRefundId, 'failed');
    expect(await provider.retrieveRefund(made.providerRefundId)).toMatchObject({
      status: 'failed',
      failure: expect.any(String),
    });
    const { id } = fake.refundAtBank(present(intentId), 200);
    expect(await provider.retrieveRefund(id)).toMatchObject({ refundId: null, amountMinor: 200 });
  });

  test('a refund of more than is left is refused with a code', async () => {
    const { intentId } = await paid('boost-20');
    const all20 = { intentId: present(intentId), userId: 'usr_1', amountMinor: 1_000 };
    await provider.createRefund({ ...all20, refundId: 'ref_all' });
    expect(await thrown(provider.createRefund({ ...all20, refundId: 'ref_more' }))).toMatchObject({
      name: 'ProviderRefused',
      code: 'charge_already_refunded',
    });
  });
});

describe('a plan', () => {
  test('a plan is paid by invoices that name their package, their payment and their period', async () => {
    const { subscriptionId, receiptUrl, intentId } = await paid('side-gig-builder');
    expect([intentId, receiptUrl]).toEqual([null, expect.stringContaining('http')]);
    const plan = await provider.retrieveSubscription(present(subscriptionId));
    expect(plan).toMatchObject({
      customerId,
      userId: 'usr_1',
      packageId: 'side-gig-builder',
      status: 'active',
      cancelsAtPeriodEnd: false,
      endedAt: null,
    });
    const [invoice] = await all(provider.listInvoices(fake.nowMs() - 60_000));
    expect(invoice).toMatchObject({
      subscriptionId,
      userId: 'usr_1',
      packageId: 'side-gig-builder',
      reason: 'subscription_create',
      status: 'paid',
      agreed: { amountMinor: 2_500, currency: 'usd' },
      subtotalMinor: 2_500,
      paidMinor: 2_500,
      intentId: expect.stringMatching(/^pi_/),
      paidAt: expect.any(Number),
      period: { start: plan?.periodStart, end: plan?.periodEnd },
    });
    expect(await provider.retrieveInvoice(present(invoice?.invoiceId))).toEqual(invoice);
  });

  test('a plan changes at its renewal, there and back and there again, without proration', async () => {
    const { subscriptionId } = await paid('side-gig-builder');
    const id = present(subscriptionId);
    for (const packageId of [
      'empire-builder',
      'side-gig-builder',
      'empire-builder',
      'empire-builder',
    ])
      expect(await provider.changeSubscription(id, packageId)).toMatchObject({ packageId });
    const before = fake.nowMs();
    fake.advance(32 * 24 * 60 * 60 * 1000);
    const renewed = (await all(provider.listInvoices(before))).filter(
      ({ subscriptionId: of, reason }) => of === id && reason !== 'subscription_create',
    );
    expect(renewed).toMatchObject([
      { reason: 'subscription_cycle', packageId: 'empire-builder', paidMinor: 15_000 },
    ]);
  });

  test('a plan is cancelled for its end, taken back, and ended at once, each any number of times', async () => {
    const { subscriptionId } = await paid('empire-builder');
    const id = present(subscriptionId);
    for (const cancels of [true, true, false, true, false])
      expect(await provider.setCancelAtPeriodEnd(id, cancels, 'empire-builder')).toMatchObject({
        cancelsAtPeriodEnd: cancels,
        status: 'active',
      });
    for (const _ of [1, 2])
      expect(await provider.cancelSubscription(id)).toMatchObject({
        status: 'canceled',
        endedAt: expect.any(Number),
        cancelsAtPeriodEnd: false,
      });
    const listed = await provider.listSubscriptions(customerId);
    expect(listed.find((one) => one.subscriptionId === id)?.status).toBe('canceled');
    expect(await thrown(provider.cancelSubscription('sub_none'))).toMatchObject({
      code: 'resource_missing',
    });
  });

  test('a plan is managed on pages of the provider', async () => {
    const { url } = await provider.createPortal({
      customerId,
      returnUrl: 'http://localhost:3000/credits',
    });
    expect(url).toContain('http');
  });
});

test('a dispute and a warning are read with what they mean', async () => {
  const { intentId } = await paid('boost-50');
  const { id } = fake.openDispute(present(intentId), { inquiry: true, amountMinor: 500 });
  expect(await provider.retrieveDispute(id)).toMatchObject({
    intentId,
    stage: 'inquiry',
    amountMinor: 500,
  });
  const { intentId: second } = await paid('boost-50');
  const dispute = fake.openDispute(present(second));
  expect(await provider.retrieveDispute(dispute.id)).toMatchObject({ stage: 'withdrawn' });
  fake.moveDispute(dispute.id, 'won');
  expect(await provider.retrieveDispute(dispute.id)).toMatchObject({ stage: 'won' });
  const warning = fake.warnOfFraud(present(second));
  expect(await provider.retrieveFraudWarning(warning.id)).toMatchObject({
    intentId: second,
    fraudType: expect.any(String),
  });
  expect((await all(provider.listDisputes(0))).map(({ disputeId }) => disputeId)).toEqual(
    expect.arrayContaining([id, dispute.id]),
  );
});

test('the books are listed from their beginning, oldest first, and sum up', async () => {
  const charges = await all(provider.listCharges(0));
  const times = charges.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted((left, right) => left - right));
  expect(charges.length).toBeGreaterThan(5);
  const moved = await all(provider.listBalanceTransactions(0));
  for (const { amountMinor, feeMinor, netMinor } of moved)
    expect(netMinor).toBe(amountMinor - feeMinor);
  const refunds = await all(provider.listAllRefunds(0));
  const sources = moved.map(({ sourceId }) => sourceId);
  for (const { providerRefundId } of refunds) expect(sources).toContain(providerRefundId);
});

test('an event that arrived is read, and one that did not can be listed', async () => {
  const events = await all(provider.listEvents(0, true));
  expect(events.map(({ type }) => type)).toContain('checkout.session.completed');
  fake.receive(async () => 200);
  await fake.deliverAll();
  const [first] = fake.received.filter(({ status }) => status === 200);
  const event = await provider.readWebhookEvent(first?.body ?? '', first?.signature);
  expect(event).toMatchObject({ eventId: expect.stringMatching(/^evt_/) });
  expect(await all(provider.listEvents(0))).toContainEqual(event);
  expect(await all(provider.listEvents(0, true))).toEqual([]);
});

test('too many calls mean try again', async () => {
  fake.faults.only = undefined;
  fake.faults.tooMany = 3;
  expect(await thrown(provider.retrieveIntent('pi_none'))).toMatchObject({
    status: 503,
    extras: { retryAfterSeconds: 5 },
  });
  fake.faults.tooMany = 0;
  expect(await provider.retrieveIntent('pi_none')).toBe(null);
});

test('a customer is forgotten, and forgetting again is no fault', async () => {
  const person = { userId: 'usr_2', email: 'bob@example.com', name: 'Bob' };
  const id = await provider.createCustomer(person);
  expect(await provider.createCustomer(person)).toBe(id);
  expect(await provider.createCustomer({ ...person, name: 'Robert' })).not.toBe(id);
  await provider.deleteCustomer(id);
  await provider.deleteCustomer(id);
});

describe('the catalogue', () => {
  test('the catalogue is made where it is missing, once, and compared', async () => {
    const other = await createTestStripe();
    const stripe = createStripe({ ...settings(), url: other.url });
    const states = async (onlyLooks: boolean) =>
      new Set((await syncCatalogue(stripe, onlyLooks)).map(({ state }) => state));
    expect(await states(true)).toEqual(new Set(['missing']));
    expect(await states(false)).toEqual(new Set(['made']));
    expect(await states(false)).toEqual(new Set(['same']));
    const [first] = packages;
    await stripe.products.update(`credits-${first?.id}`, { name: 'Another name' });
    expect(await states(true)).toEqual(new Set(['different', 'same']));
    expect(await states(false)).toEqual(new Set(['changed', 'same']));
    await other.close();
  });

  test('the catalogue is never sold at a price that is not its own', async () => {
    const other = await createTestStripe();
    const stripe = createStripe({ ...settings(), url: other.url });
    const [pack] = packages.filter(({ id }) => id === 'boost-20');
    if (!pack) throw new Error('There is no such package');
    const { id: product } = await stripe.products.create({ name: 'Something else' });
    await stripe.prices.create({
      product,
      currency: 'usd',
      unit_amount: 1,
      lookup_key: lookupKeyOf(pack),
    });
    const wrong = createStripeProvider({ ...settings(), url: other.url });
    const customer = await wrong.createCustomer({ userId: 'usr_1', email: 'a@b.c', name: 'A' });
    expect(
      await thrown(wrong.createCheckout({ ...wanted('boost-20'), customerId: customer })),
    ).toMatchObject({ message: expect.stringContaining('is another: amount') });
    const found = (await syncCatalogue(stripe, true)).find(({ key }) => key === lookupKeyOf(pack));
    expect(found).toMatchObject({ state: 'different' });
    await other.close();
  });
});
