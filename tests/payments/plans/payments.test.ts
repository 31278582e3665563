import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Stripe } from 'stripe';
import { packageOf } from '#services/payments/catalogue.ts';
import type { CheckoutState } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import { readPlans } from '#services/payments/plans/rows.ts';
import { sweepPlans } from '#services/payments/plans/sweep.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { createPlanShop, day } from './plan-shop.ts';
import type { PlanShop } from './plan-shop.ts';

/** Payments of plans: which credits they bring, and what follows when they fail. */
let shop: PlanShop;
beforeAll(async () => {
  shop = await createPlanShop();
});
afterEach(async () => shop.endPlans());
afterAll(async () => shop.close());

const firstWebhookEvents = [
  'checkout.session.completed',
  'customer.subscription.created',
  'invoice.paid',
];
const orders = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
].map((order) => order.map((index) => firstWebhookEvents[index] ?? ''));

test.each(orders)('the first period is one lot when %s, %s, %s is the order', async (...order) => {
  const person = await shop.newPerson();
  const { session_id: session } = await shop.checkout(person, 'empire-builder');
  shop.stripe.pay(session, 'pay');
  const place = ({ type }: Stripe.Event) => order.indexOf(type);
  await shop.deliver({
    copies: 2,
    order: (events) => events.toSorted((left, right) => place(left) - place(right)),
  });
  expect(await shop.lotsOf(person)).toEqual([400]);
  expect(await shop.tierOf(person)).toBe('scale');
});

test('a payment that is reported twenty times at once is one lot', async () => {
  const person = await shop.newPerson();
  const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(session, 'pay');
  const invoiceId = shop.pendingInvoice();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async () => takePayment(shop.payments, invoiceId)),
  );
  expect(outcomes.filter((outcome) => outcome === 'fulfilled')).toHaveLength(1);
  expect(new Set(outcomes)).toEqual(new Set(['fulfilled', 'unchanged']));
  await shop.deliver();
  expect(await shop.lotsOf(person)).toEqual([50]);
  expect(await shop.audited(person, 'tier.changed')).toHaveLength(1);
});

test('a plan keeps the price that it was begun with, whatever the catalogue says by then', async () => {
  const person = await shop.subscriber();
  const sold = packageOf('side-gig-builder');
  if (!sold) throw new Error('There is no such package');
  const { price_cents: agreed } = sold;
  sold.price_cents = 2_900;
  try {
    await shop.renew(person);
    expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['pro', [50, 50]]);
    expect((await shop.planOf(person)).plan).toMatchObject({ amount_cents: agreed });
    shop.move(day);
    expect((await reconcile(shop.payments, shop.time.now - 2 * day)).differences).toEqual([]);
  } finally {
    sold.price_cents = agreed;
  }
});

test('an invoice pays for the period of its own line, however far the plan is by then', async () => {
  const person = await shop.newPerson();
  const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(session, 'pay');
  const first = shop.pendingInvoice();
  shop.move(65 * day);
  const { provider } = shop.payments;
  const invoices = await Array.fromAsync(provider.listInvoices(shop.time.now - 70 * day));
  const own = invoices.filter(({ userId }) => userId === person.userId);
  expect(own.map(({ invoiceId }) => invoiceId)[0]).toBe(first);
  await shop.deliver({ drop: () => true });
  const paidUntil = async () =>
    (await readPlans(shop.core.pool, person.userId))[0]?.paid_until?.toISOString();
  await takePayment(shop.payments, first);
  expect(await paidUntil()).toBe(new Date(own[1]?.period?.start ?? 0).toISOString());
  await takePayment(shop.payments, own[2]?.invoiceId ?? '');
  await takePayment(shop.payments, own[1]?.invoiceId ?? '');
  expect(await paidUntil()).toBe(new Date(own[2]?.period?.end ?? 0).toISOString());
  const [plan] = await readPlans(shop.core.pool, person.userId);
  expect(plan?.invoice_id).toBe(own[2]?.invoiceId);
});

describe('an invoice grants nothing', () => {
  test.each([
    ['a change in the middle of a period', { reason: 'subscription_update' }, 'ignored'],
    ['something that is not paid', { status: 'open' }, 'ignored'],
    ['another amount than was agreed', { subtotalMinor: 2_400 }, 'mismatch'],
    ['a price whose name says nothing', { agreed: null }, 'mismatch'],
    ['another currency', { currency: 'eur' }, 'mismatch'],
    ['something that we do not sell', { packageId: null }, 'mismatch'],
    ['a package that is no plan', { packageId: 'boost-50' }, 'mismatch'],
  ] as const)('an invoice grants nothing for %s', async (_what, difference, outcome) => {
    const person = await shop.newPerson();
    const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(session, 'pay');
    const invoiceId = shop.pendingInvoice();
    const different: PaymentDependencies = {
      ...shop.payments,
      provider: {
        ...shop.payments.provider,
        async retrieveInvoice(id) {
          const invoice = await shop.payments.provider.retrieveInvoice(id);
          return invoice && { ...invoice, ...difference };
        },
      },
    };
    await shop.deliver({ drop: ({ type }) => /^(invoice.paid|checkout)/.test(type) });
    expect(await takePayment(different, invoiceId)).toBe(outcome);
    expect([await shop.lotsOf(person), await shop.tierOf(person)]).toEqual([[], 'free']);
  });
});

describe('a first payment that the bank refuses days later', () => {
  async function waiting() {
    const person = await shop.newPerson();
    const begun = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(begun.session_id, 'pay-later');
    await shop.deliver();
    shop.move(day);
    shop.stripe.settleLater(begun.session_id, 'failed');
    return { ...person, ...begun };
  }
  type Waiting = Awaited<ReturnType<typeof waiting>>;
  const stateOf = async (person: Waiting) =>
    shop.data<CheckoutState>(`/credits/checkout-sessions/${person.session_id}`, {
      token: await shop.tokenOf(person),
    });
  async function expectClosed(person: Waiting): Promise<void> {
    expect(await findPurchase(shop.core.pool, { purchaseId: person.purchase_id })).toMatchObject({
      status: 'failed',
      failure: 'payment_failed',
    });
    expect(await stateOf(person)).toMatchObject({ status: 'failed' });
    await shop.deliver();
    expect(await shop.mailsOf(person, 'payment-failed')).toBe(1);
    expect(await shop.mailsOf(person, 'plan-payment-failed')).toBe(0);
    expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['free', []]);
    await shop.buy({ ...person, token: await shop.tokenOf(person) }, 'empire-builder');
    expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['scale', [400]]);
  }

  test.each([['checkout.session.async_payment_failed'], ['customer.subscription.updated']])(
    'a first payment that the bank refuses days later closes the checkout when all that arrives is %s',
    async (arriving) => {
      const person = await waiting();
      await shop.deliver({ copies: 2, drop: ({ type }) => type !== arriving });
      await expectClosed(person);
    },
  );

  test('a first payment that the bank refuses days later closes the checkout when nothing arrives, by the sweeper', async () => {
    const person = await waiting();
    await shop.deliver({ drop: () => true });
    await sweepPayments(shop.payments);
    await expectClosed(person);
  });

  test('a first payment that the bank refuses days later ends the plan also where the provider would ask for the money again', async () => {
    const person = await waiting();
    const { store } = shop.stripe.world;
    const session = store.get('session', person.session_id);
    const id = typeof session?.subscription === 'string' ? session.subscription : '';
    const plan = store.get('subscription', id);
    if (!plan) throw new Error('There is no plan');
    store.put('subscription', id, { ...plan, status: 'past_due', ended_at: null });
    await shop.deliver({ drop: () => true });
    expect(await stateOf(person)).toMatchObject({ status: 'failed' });
    expect(store.get('subscription', id)?.status).toBe('canceled');
    await expectClosed(person);
  });
});

test('a payment that fails keeps the tier for seven days and is emailed once', async () => {
  const person = await shop.subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId, 4);
  await shop.renew(person);
  const failedAt = shop.time.now;
  expect(await shop.planOf(person)).toMatchObject({
    tier: 'pro',
    plan: {
      status: 'past_due',
      due_cents: 2_500,
      grace_until: new Date(failedAt + 7 * day).toISOString(),
    },
  });
  expect(await shop.lotsOf(person)).toEqual([50]);
  const refused = await shop.act(person, { action: 'change', package_id: 'empire-builder' });
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'plan-past-due' }]);

  // The provider tries again on the third day, which is the same failed invoice.
  shop.move(7 * day - 1);
  await shop.deliver();
  await sweepPlans(shop.payments);
  expect(await shop.tierOf(person)).toBe('pro');
  shop.move(1);
  await sweepPlans(shop.payments);
  expect(await shop.tierOf(person)).toBe('free');
  expect(await shop.mailsOf(person, 'plan-payment-failed')).toBe(1);
});

test.each([
  ['a webhook event', async () => shop.deliver()],
  [
    'the daily reading',
    async () => {
      await shop.stripe.deliverAll({ drop: () => true });
      shop.move(day);
      await sweepPlans(shop.payments);
    },
  ],
])(
  'a plan whose renewal fails after it was cancelled is collected no more: %s ends it',
  async (_, hear) => {
    const person = await shop.subscriber();
    const { store } = shop.stripe.world;
    shop.stripe.failNextRenewal(person.subscriptionId, 4);
    await shop.toPeriodEnd(person);
    // As the provider keeps it when the user cancels between the new period and its first charge.
    const plan = store.get('subscription', person.subscriptionId);
    if (!plan) throw new Error('There is no plan');
    store.put('subscription', person.subscriptionId, { ...plan, cancel_at_period_end: true });
    await hear();
    expect(store.get('subscription', person.subscriptionId)?.status).toBe('canceled');
    expect(await shop.planOf(person)).toMatchObject({ tier: 'free', plan: { status: 'ended' } });
    expect(await shop.mailsOf(person, 'plan-payment-failed')).toBe(0);
  },
);

test('a paid retry gives the credits and keeps the tier', async () => {
  const person = await shop.subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId);
  await shop.renew(person);
  expect((await shop.planOf(person)).plan?.status).toBe('past_due');
  shop.move(3 * day);
  await shop.deliver();
  expect(await shop.planOf(person)).toMatchObject({
    tier: 'pro',
    plan: { status: 'active', due_cents: null },
  });
  expect(await shop.lotsOf(person)).toEqual([50, 50]);
});
