import { randomUUID } from 'node:crypto';
import type { Stripe } from 'stripe';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type { CheckoutState, Plan, Purchase } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { disputeMoved } from '#services/payments/refunds/webhooks.ts';
import { createPlanHandlers } from '#services/payments/plans/webhooks.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import {
  beginReading,
  cancelPlansOf,
  endPlanOf,
  findPlan,
  isCurrentPeriod,
  keepView,
  readPlans,
  sweepPlans,
} from '#services/payments/plans/plans.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { give } from '#tests/support/processes/service.ts';
import { endSubscriptions } from '#tests/payments/purchases/bought.ts';

/** Plans over the provider of the sandbox, whose clock is the application's. */
let shop: TestShop;
let now = Date.UTC(2026, 10, 2, 10);
const day = 86_400_000;

beforeAll(async () => {
  shop = await createTestShop({
    clock: () => now,
    env: { MONTHLY_LIMITS: 'free:1,pro:3,scale:-1' },
  });
});
afterAll(async () => shop.close());

// Plans of earlier tests would renew whenever the clock moves on by a month.
afterEach(async () => {
  endSubscriptions(shop);
  await shop.stripe.deliverAll({ drop: () => true });
  await shop.core.pool.query(
    'update plan set ended_at = now(), next_check_at = null where ended_at is null',
  );
});

/** Moves both clocks; what falls due at the provider happens at its time. */
function move(ms: number): void {
  now += ms;
  shop.stripe.advance(0);
}

async function newPerson(): Promise<Person> {
  const person = await shop.signUp();
  tokens.set(person.email, { token: person.token, at: now });
  await shop.core.pool.query('update users set email_confirmed_at = $2 where id = $1', [
    person.userId,
    new Date(now),
  ]);
  return person;
}

/** A token that is good at the present time: one is good for a few minutes, and costs a password. */
async function tokenOf({ email }: Person): Promise<string> {
  const kept = tokens.get(email);
  if (kept?.at === now) return kept.token;
  const body = { email, password: testPassword };
  const { token } = await shop.data<{ token: string }>('/auth/login', { body });
  tokens.set(email, { token, at: now });
  return token;
}
const tokens = new Map<string, { token: string; at: number }>();

async function subscriber(packageId = 'side-gig-builder') {
  const person = await newPerson();
  await shop.buy(person, packageId);
  const [plan] = await readPlans(shop.core.pool, person.userId);
  if (!plan) throw new Error('There is no plan');
  return { ...person, subscriptionId: plan.subscription_id };
}

async function planOf(person: Person): Promise<Plan> {
  return shop.data<Plan>('/credits/plan', { token: await tokenOf(person) });
}

async function act(person: Person, body: Record<string, string>): Promise<Response> {
  return shop.call('/credits/plan', { token: await tokenOf(person), body });
}

async function tierOf({ userId }: Person): Promise<string | undefined> {
  const { rows } = await shop.core.pool.query<{ tier: string }>(
    'select subscription_tier as tier from users where id = $1',
    [userId],
  );
  return rows[0]?.tier;
}

async function lotsOf({ userId }: Person): Promise<number[]> {
  const { lots } = await shop.core.ledger.readAccount(userId);
  return lots.map((lot) => lot.granted);
}

async function audited({ userId }: Person, action: string): Promise<unknown[]> {
  const { rows } = await shop.core.pool.query<{ detail: unknown }>(
    'select detail from audit_log where user_id = $1 and action = $2 order by entry_id',
    [userId, action],
  );
  return rows.map(({ detail }) => detail);
}

async function mailsOf({ userId }: Person, kind: string): Promise<number> {
  const { rowCount } = await shop.core.pool.query(
    'select from mail where user_id = $1 and kind = $2',
    [userId, kind],
  );
  return rowCount ?? 0;
}

/** The paid invoice whose event has not been sent. */
function pendingInvoice(): string {
  const event = shop.stripe.pendingWebhookEvents().find(({ type }) => type === 'invoice.paid');
  if (!event || !('id' in event.data.object)) throw new Error('There is no paid invoice');
  return event.data.object.id ?? '';
}

async function renew(person: { subscriptionId: string }): Promise<void> {
  const plan = await findPlan(shop.core.pool, person.subscriptionId);
  move((plan?.current_period_end?.getTime() ?? 0) - now);
  await shop.deliver();
}

test('a plan is bought, renewed by the clock and cancelled', async () => {
  const ann = await subscriber();
  expect(await planOf(ann)).toMatchObject({
    tier: 'pro',
    monthly_limit: 3,
    plan: {
      package_id: 'side-gig-builder',
      status: 'active',
      credits: 50,
      amount_cents: 2_500,
      current_period_end: '2026-12-02T10:00:00.000Z',
      grace_until: null,
      next_package_id: null,
    },
  });
  await renew(ann);
  expect(await lotsOf(ann)).toEqual([50, 50]);
  expect((await planOf(ann)).plan?.current_period_end).toBe('2027-01-02T10:00:00.000Z');
  const purchases = await shop.data<Purchase[]>('/credits/purchases', {
    token: await tokenOf(ann),
  });
  expect(purchases.map(({ kind, status, amount_cents }) => [kind, status, amount_cents])).toEqual([
    ['monthly', 'paid', 2_500],
    ['monthly', 'paid', 2_500],
  ]);

  expect((await act(ann, { action: 'cancel' })).status).toBe(200);
  expect((await planOf(ann)).plan).toMatchObject({ status: 'cancelling' });
  move(Date.UTC(2027, 0, 2, 10) - 1 - now);
  await sweepPlans(shop.payments);
  expect(await tierOf(ann)).toBe('pro');
  move(1);
  await sweepPlans(shop.payments);
  expect(await tierOf(ann)).toBe('free');
  await shop.deliver();
  expect(await planOf(ann)).toMatchObject({ tier: 'free', plan: { status: 'ended' } });
  expect(await lotsOf(ann)).toEqual([50, 50]);
  expect(await audited(ann, 'tier.changed')).toEqual([
    { from: 'free', to: 'pro' },
    { from: 'pro', to: 'free' },
  ]);
  expect((await act(ann, { action: 'resume' })).status).toBe(409);
});

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
  const person = await newPerson();
  const { session_id: session } = await shop.checkout(person, 'empire-builder');
  shop.stripe.pay(session, 'pay');
  const place = ({ type }: Stripe.Event) => order.indexOf(type);
  await shop.deliver({
    copies: 2,
    order: (events) => events.toSorted((left, right) => place(left) - place(right)),
  });
  expect(await lotsOf(person)).toEqual([400]);
  expect(await tierOf(person)).toBe('scale');
});

test('a payment that is reported twenty times at once is one lot', async () => {
  const person = await newPerson();
  const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(session, 'pay');
  const invoiceId = pendingInvoice();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async () => takePayment(shop.payments, invoiceId)),
  );
  expect(outcomes.filter((outcome) => outcome === 'fulfilled')).toHaveLength(1);
  expect(new Set(outcomes)).toEqual(new Set(['fulfilled', 'unchanged']));
  await shop.deliver();
  expect(await lotsOf(person)).toEqual([50]);
  expect(await audited(person, 'tier.changed')).toHaveLength(1);
});

test('a plan keeps the price that it was begun with, whatever the catalogue says by then', async () => {
  const person = await subscriber();
  const sold = packageOf('side-gig-builder');
  if (!sold) throw new Error('There is no such package');
  const { price_cents: agreed } = sold;
  sold.price_cents = 2_900;
  try {
    await renew(person);
    expect([await tierOf(person), await lotsOf(person)]).toEqual(['pro', [50, 50]]);
    expect((await planOf(person)).plan).toMatchObject({ amount_cents: agreed });
    move(day);
    expect((await reconcile(shop.payments, now - 2 * day)).differences).toEqual([]);
  } finally {
    sold.price_cents = agreed;
  }
});

test('an invoice pays for the period of its own line, however far the plan is by then', async () => {
  const person = await newPerson();
  const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(session, 'pay');
  const first = pendingInvoice();
  move(65 * day);
  const { provider } = shop.payments;
  const invoices = await Array.fromAsync(provider.listInvoices(now - 70 * day));
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
    const person = await newPerson();
    const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(session, 'pay');
    const invoiceId = pendingInvoice();
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
    expect([await lotsOf(person), await tierOf(person)]).toEqual([[], 'free']);
  });
});

test('a payment that fails keeps the tier for seven days and is emailed once', async () => {
  const person = await subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId, 4);
  await renew(person);
  const failedAt = now;
  expect(await planOf(person)).toMatchObject({
    tier: 'pro',
    plan: {
      status: 'past_due',
      due_cents: 2_500,
      grace_until: new Date(failedAt + 7 * day).toISOString(),
    },
  });
  expect(await lotsOf(person)).toEqual([50]);
  const refused = await act(person, { action: 'change', package_id: 'empire-builder' });
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'plan-past-due' }]);

  // The provider tries again on the third day, which is the same failed invoice.
  move(7 * day - 1);
  await shop.deliver();
  await sweepPlans(shop.payments);
  expect(await tierOf(person)).toBe('pro');
  move(1);
  await sweepPlans(shop.payments);
  expect(await tierOf(person)).toBe('free');
  expect(await mailsOf(person, 'plan-payment-failed')).toBe(1);
});

test('a paid retry gives the credits and keeps the tier', async () => {
  const person = await subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId);
  await renew(person);
  expect((await planOf(person)).plan?.status).toBe('past_due');
  move(3 * day);
  await shop.deliver();
  expect(await planOf(person)).toMatchObject({
    tier: 'pro',
    plan: { status: 'active', due_cents: null },
  });
  expect(await lotsOf(person)).toEqual([50, 50]);
});

test('a plan that is past due and cancelled ends at once, since nothing of it is paid', async () => {
  const person = await subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId, 4);
  await renew(person);
  expect(await (await act(person, { action: 'cancel' })).json()).toMatchObject({
    data: { tier: 'free', plan: { status: 'ended' } },
  });
});

test('a change takes effect with the next payment, and can be taken back until then', async () => {
  const person = await subscriber();
  const change = async (packageId: string) =>
    (await act(person, { action: 'change', package_id: packageId })).json();
  expect(await change('empire-builder')).toMatchObject({
    data: {
      tier: 'pro',
      plan: { package_id: 'side-gig-builder', next_package_id: 'empire-builder' },
    },
  });
  await shop.deliver();
  expect([await tierOf(person), await lotsOf(person)]).toEqual(['pro', [50]]);
  expect(await change('side-gig-builder')).toMatchObject({
    data: { plan: { next_package_id: null } },
  });
  await change('side-gig-builder');
  expect(await audited(person, 'plan.changed')).toHaveLength(2);
  await change('empire-builder');
  await renew(person);
  expect([await tierOf(person), await lotsOf(person)]).toEqual(['scale', [50, 400]]);
  expect((await planOf(person)).plan).toMatchObject({
    package_id: 'empire-builder',
    amount_cents: 15_000,
    next_package_id: null,
  });
});

test('a cancelled plan is resumed before it is changed', async () => {
  const person = await subscriber();
  await act(person, { action: 'cancel' });
  const refused = await act(person, { action: 'change', package_id: 'empire-builder' });
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'plan-cancelling' }]);
  await act(person, { action: 'resume' });
  expect(await mailsOf(person, 'plan-moved')).toBe(2);
  await renew(person);
  expect([await tierOf(person), await lotsOf(person)]).toEqual(['pro', [50, 50]]);
});

test.each([
  ['before it is cancelled', ['change', 'cancel', 'resume']],
  ['at the provider while it is cancelled', ['cancel', 'elsewhere', 'resume']],
  ['at the provider, and cancelled again', ['cancel', 'elsewhere', 'cancel', 'resume']],
])('a change that was planned %s is dropped at the provider', async (_when, steps) => {
  const person = await subscriber();
  for (const action of steps)
    if (action === 'elsewhere') {
      await shop.payments.provider.changeSubscription(person.subscriptionId, 'empire-builder');
      await shop.deliver();
    } else {
      const what = action === 'change' ? { package_id: 'empire-builder' } : {};
      await act(person, { action, ...what });
    }
  expect((await planOf(person)).plan).toMatchObject({ status: 'active', next_package_id: null });
  await renew(person);
  expect([await tierOf(person), await lotsOf(person)]).toEqual(['pro', [50, 50]]);
  expect((await planOf(person)).plan).toMatchObject({ amount_cents: 2_500 });
});

test('an impossible change of a plan is refused with its reason', async () => {
  const person = await newPerson();
  const messages: string[] = [];
  const refusal = async (path: string, body: object) => {
    const response = await shop.call(path, { token: await tokenOf(person), body });
    const problem = (await response.json()) as { code: string; message: string };
    messages.push(problem.message);
    return [response.status, problem.code];
  };
  expect(await planOf(person)).toEqual({ tier: 'free', monthly_limit: 1, plan: null });
  expect(await refusal('/credits/plan', { action: 'cancel' })).toEqual([409, 'no-plan']);
  expect(await refusal('/credits/portal-session', {})).toEqual([409, 'nothing-bought']);
  await shop.buy(person, 'side-gig-builder');
  for (const package_id of ['boost-50', 'no-such-package'])
    expect(await refusal('/credits/plan', { action: 'change', package_id })).toEqual([
      400,
      'unknown-package',
    ]);
  const asPayment = { package_id: 'empire-builder' };
  expect((await refusal('/credits/create-payment-intent', asPayment))[1]).toBe('unknown-package');
  expect(messages.slice(-3)).toEqual([
    'This package is not a plan: it is bought once, through a checkout session.',
    'There is no such package.',
    'This package is a plan: it is bought through a checkout session.',
  ]);
  expect(await refusal('/credits/plan', { action: 'pause' })).toEqual([400, 'validation']);
  expect(
    await refusal('/credits/portal-session', { return_url: 'https://elsewhere.example/' }),
  ).toEqual([400, 'foreign-address']);
  const { url } = await shop.data<{ url: string }>('/credits/portal-session', {
    token: await tokenOf(person),
    body: {},
  });
  expect(url).toMatch(/^http/);
});

test('of two plans of one person the one that was paid later ends, and its credits go back', async () => {
  const person = await subscriber();
  const { rows } = await shop.core.pool.query<{ customer_id: string }>(
    'select customer_id from stripe_customer where user_id = $1',
    [person.userId],
  );
  const second = await shop.payments.provider.createCheckout({
    purchaseId: derivedId('pur', randomUUID()),
    userId: person.userId,
    customerId: rows[0]?.customer_id ?? '',
    packageId: 'empire-builder',
    kind: 'monthly',
    successUrl: 'http://localhost:3000/credits/success',
    cancelUrl: 'http://localhost:3000/credits/purchase',
  });
  move(1_000);
  shop.stripe.pay(second.sessionId, 'pay');
  await shop.deliver({ copies: 2, order: 'reversed' });
  await shop.deliver();
  const [first, later] = await readPlans(shop.core.pool, person.userId);
  expect([first?.status, first?.revoked_as]).toEqual(['active', null]);
  expect([later?.status, later?.revoked_as]).toEqual(['canceled', 'second']);
  expect(await tierOf(person)).toBe('pro');
  expect((await planOf(person)).plan).toMatchObject({ package_id: 'side-gig-builder' });
  expect(await audited(person, 'plan.ended')).toEqual([{ reason: 'second' }]);
  const { lots, refunds, balance } = await shop.core.ledger.readAccount(person.userId);
  expect(lots.map((lot) => [lot.granted, lot.available])).toEqual([
    [50, 50],
    [400, 0],
  ]);
  expect(Object.values(refunds)).toMatchObject([
    { credits: 400, amountMinor: 15_000, status: 'confirmed' },
  ]);
  expect(balance.available).toBe(50);
});

test('giving back the credits of the present period ends the plan and its tier at once', async () => {
  const person = await subscriber();
  await renew(person);
  const token = await tokenOf(person);
  const [latest, first] = await shop.data<Purchase[]>('/credits/purchases', { token });
  if (!latest || !first) throw new Error('There are two purchases');
  expect([latest.refundable?.ends_plan, first.refundable?.ends_plan ?? false]).toEqual([
    true,
    false,
  ]);
  const at = new Date(now).toISOString();
  expect(await isCurrentPeriod(shop.core.pool, latest.id, at)).toBe(true);
  expect(await isCurrentPeriod(shop.core.pool, first.id, at)).toBe(false);
  // An older invoice that was paid late is for the older period all the same.
  await shop.core.pool.query('update purchase set paid_at = $2 where id = $1', [first.id, at]);
  expect(await isCurrentPeriod(shop.core.pool, latest.id, at)).toBe(true);
  expect(await isCurrentPeriod(shop.core.pool, first.id, at)).toBe(false);
  await shop.data(`/credits/purchases/${latest.id}/refund`, { token, method: 'POST' });
  expect(await tierOf(person)).toBe('free');
  await shop.deliver();
  expect((await planOf(person)).plan).toMatchObject({ status: 'ended' });
  expect(await audited(person, 'plan.ended')).toEqual([{ reason: 'refunded' }]);
  expect((await findPlan(shop.core.pool, person.subscriptionId))?.ended_at).not.toBeNull();
});

test.each([
  [2, [0, 0, 1]],
  [0, [0, 0, 0]],
] as const)(
  'where the clock of the provider is ahead, giving back payment %i leaves those before it',
  async (which, refunds) => {
    const person = await subscriber();
    const token = await tokenOf(person);
    const here = now;
    await renew(person);
    await renew(person);
    // The provider's clock is months ahead of ours.
    now = here + 1_000;
    await shop.core.pool.query(
      'update purchase set created_at = $2 where user_id = $1 and created_at > $2',
      [person.userId, new Date(here)],
    );
    const { rows } = await shop.core.pool.query<{ id: string; lot_id: string }>(
      `select id, lot_id from purchase where user_id = $1 and kind = 'invoice' order by period_end`,
      [person.userId],
    );
    const id = rows[which]?.id ?? '';
    await shop.data(`/credits/purchases/${id}/refund`, { token, method: 'POST' });
    await shop.runJobs();
    const account = await shop.core.ledger.readAccount(person.userId);
    const made = rows.map(
      (row) => Object.values(account.refunds).filter(({ lotId }) => lotId === row.lot_id).length,
    );
    expect(made).toEqual(refunds.map((count, index) => (index === which ? 1 : count)));
    now = here + 100 * day;
  },
);

describe('a first payment that the bank refuses days later', () => {
  async function waiting() {
    const person = await newPerson();
    const begun = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(begun.session_id, 'pay-later');
    await shop.deliver();
    move(day);
    shop.stripe.settleLater(begun.session_id, 'failed');
    return { ...person, ...begun };
  }
  type Waiting = Awaited<ReturnType<typeof waiting>>;
  const stateOf = async (person: Waiting) =>
    shop.data<CheckoutState>(`/credits/checkout-sessions/${person.session_id}`, {
      token: await tokenOf(person),
    });
  async function expectClosed(person: Waiting): Promise<void> {
    expect(await findPurchase(shop.core.pool, { purchaseId: person.purchase_id })).toMatchObject({
      status: 'failed',
      failure: 'payment_failed',
    });
    expect(await stateOf(person)).toMatchObject({ status: 'failed' });
    await shop.deliver();
    expect(await mailsOf(person, 'payment-failed')).toBe(1);
    expect(await mailsOf(person, 'plan-payment-failed')).toBe(0);
    expect([await tierOf(person), await lotsOf(person)]).toEqual(['free', []]);
    await shop.buy({ ...person, token: await tokenOf(person) }, 'empire-builder');
    expect([await tierOf(person), await lotsOf(person)]).toEqual(['scale', [400]]);
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

describe('a payment that was taken back', () => {
  /** A plan in its second period, and how the provider knows the payments of both. */
  async function renewed() {
    const person = await subscriber();
    await renew(person);
    const { rows } = await shop.core.pool.query<{ intent: string }>(
      `select payment_intent_id as intent from purchase
       where subscription_id = $1 and kind = 'invoice' order by period_end`,
      [person.subscriptionId],
    );
    const [earlier = '', present = ''] = rows.map(({ intent }) => intent);
    return { ...person, earlier, present };
  }
  const standing = async (person: Person & { subscriptionId: string }) => {
    const plan = await findPlan(shop.core.pool, person.subscriptionId);
    return [await tierOf(person), plan?.status, plan?.revoked_as];
  };
  const kept = ['pro', 'active', null];
  const ended = ['free', 'canceled', 'taken_back'];

  test('a payment that was taken back in full by a dispute ends the plan, and one that is won does not bring it back', async () => {
    const person = await renewed();
    const { id } = shop.stripe.openDispute(person.present, { inquiry: true });
    await shop.deliver();
    expect(await standing(person)).toEqual(kept);
    shop.stripe.moveDispute(id, 'needs_response');
    await shop.deliver({ copies: 2, order: 'reversed' });
    expect(await standing(person)).toEqual(ended);
    expect(await audited(person, 'plan.ended')).toEqual([{ reason: 'taken_back' }]);
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await standing(person)).toEqual(ended);
    const { lots } = await shop.core.ledger.readAccount(person.userId);
    expect(lots.map(({ available }) => available)).toEqual([50, 50]);
    move(32 * day);
    await shop.deliver();
    expect(await lotsOf(person)).toEqual([50, 50]);
  });

  test('a payment that was taken back in full by the bank ends the plan', async () => {
    const person = await renewed();
    shop.stripe.refundAtBank(person.present, 1_500);
    await shop.deliver();
    expect(await standing(person)).toEqual(kept);
    shop.stripe.refundAtBank(person.present, 1_000);
    await shop.deliver();
    expect(await standing(person)).toEqual(ended);
  });

  test('a payment that was taken back in part, or for an earlier period, leaves the plan', async () => {
    const person = await renewed();
    shop.stripe.refundAtBank(person.earlier, 2_500);
    shop.stripe.openDispute(person.present, { amountMinor: 2_499 });
    await shop.deliver();
    expect(await standing(person)).toEqual(kept);
  });

  test('a payment that was taken back ends the plan also when its end at the provider has to wait', async () => {
    const person = await renewed();
    const { id } = shop.stripe.openDispute(person.present);
    shop.stripe.moveDispute(id, 'lost');
    const away: PaymentDependencies = {
      ...shop.payments,
      provider: {
        ...shop.payments.provider,
        cancelSubscription: async () => {
          throw new Problem('payment-provider', 'The payment provider is unavailable.');
        },
      },
    };
    await expect(disputeMoved(away, id)).rejects.toMatchObject({ status: 503 });
    expect(await standing(person)).toEqual(['free', 'active', 'taken_back']);
    // The plan is checked again until everything is done.
    const { rows } = await shop.core.pool.query(
      'select stage, closed_at from dispute where id = $1',
      [id],
    );
    expect(rows).toEqual([{ stage: 'lost', closed_at: null }]);
    await shop.deliver({ drop: () => true });
    move(day);
    await sweepPayments(shop.payments);
    expect(await standing(person)).toEqual(ended);
  });
});

describe('readings and webhook events', () => {
  test('of two readings of a plan the one that began later counts, whichever is stored last', async () => {
    const person = await subscriber();
    const { provider } = shop.payments;
    const older = await beginReading(shop.core.pool);
    const before = await provider.retrieveSubscription(person.subscriptionId);
    await provider.cancelSubscription(person.subscriptionId);
    await shop.deliver();
    expect((await findPlan(shop.core.pool, person.subscriptionId))?.status).toBe('canceled');
    if (!before) throw new Error('There is no subscription');
    await keepView(shop.payments, before, older);
    expect((await findPlan(shop.core.pool, person.subscriptionId))?.status).toBe('canceled');
  });

  test('many webhook events at once leave the tier of the last state', async () => {
    const person = await subscriber();
    const handlers = createPlanHandlers(shop.payments);
    const report = async () =>
      handlers['customer.subscription.updated']?.({
        eventId: 'evt_1',
        type: 'customer.subscription.updated',
        objectId: person.subscriptionId,
        createdAt: now,
        receivedAt: now,
      });
    await act(person, { action: 'change', package_id: 'empire-builder' });
    const plan = await findPlan(shop.core.pool, person.subscriptionId);
    move((plan?.current_period_end?.getTime() ?? 0) - now);
    await Promise.all([
      ...Array.from({ length: 6 }, report),
      shop.deliver({ copies: 3, order: 'reversed' }),
      ...Array.from({ length: 6 }, report),
    ]);
    expect([await tierOf(person), await lotsOf(person)]).toEqual(['scale', [50, 400]]);
  });

  test('a change of a plan without a webhook event is found within a day', async () => {
    const person = await subscriber();
    await shop.payments.provider.setCancelAtPeriodEnd(
      person.subscriptionId,
      true,
      'side-gig-builder',
    );
    await shop.deliver({ drop: () => true });
    expect((await planOf(person)).plan?.status).toBe('active');
    move(day);
    while ((await sweepPlans(shop.payments)) > 0) await shop.deliver();
    expect((await planOf(person)).plan?.status).toBe('cancelling');
  });

  test('a subscription that belongs to no user changes nothing', async () => {
    const handlers = createPlanHandlers(shop.payments);
    const event = { eventId: 'evt_2', type: 'invoice.paid', createdAt: now, receivedAt: now };
    for (const type of Object.keys(handlers))
      expect(await handlers[type]?.({ ...event, objectId: null })).toBe('ignored');
    expect(await handlers['invoice.paid']?.({ ...event, objectId: 'in_unknown' })).toBe('ignored');
  });
});

test('a tier that came from no plan is left alone', async () => {
  const person = await newPerson();
  await shop.core.pool.query(`update users set subscription_tier = 'scale' where id = $1`, [
    person.userId,
  ]);
  const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(session, 'decline');
  await shop.deliver();
  await sweepPlans(shop.payments);
  expect([await tierOf(person), await planOf(person)]).toMatchObject([
    'scale',
    { tier: 'scale', monthly_limit: -1 },
  ]);
});

test('the monthly limit is that of the tier, from the moment on that the tier changes', async () => {
  const person = await newPerson();
  await give(shop, person.userId, 50, 'bonus');
  const run = async () => {
    const response = await shop.call('/optimizations', {
      token: await tokenOf(person),
      body: {
        challenge: 'Should we open a second shop?',
        strategy: 'ultra-economy',
        challenge_type: 'business_strategy',
        allow_simulated: true,
      },
    });
    const { data } = (await response.json()) as { data: { id: string } };
    const started = await shop.call(`/optimizations/${data.id}/process`, {
      token: await tokenOf(person),
      method: 'POST',
    });
    return started.status === 202 ? 'started' : ((await started.json()) as { code: string }).code;
  };
  expect([await run(), await run()]).toEqual(['started', 'monthly-limit']);
  const [{ available_credits: before }, { subscriptionId }] = [
    await shop.data<Balance>('/credits/balance', { token: await tokenOf(person) }),
    await buyPlan(person),
  ];
  // Bought credits are never blocked; so that this is about the limit, they are put aside.
  const { rows } = await shop.core.pool.query<{ id: string }>(
    `select id from purchase where subscription_id = $1 and kind = 'invoice'`,
    [subscriptionId],
  );
  const { lots } = await shop.core.ledger.readAccount(person.userId);
  const lot = lots.find(({ purchaseId }) => purchaseId === rows[0]?.id);
  await shop.core.ledger.setClawback({
    userId: person.userId,
    lotId: lot?.lotId ?? '',
    ref: 'dp_1',
    cause: 'dispute',
    wanted: 50,
    owes: false,
    actor: 'test',
  });
  expect([await run(), await run(), await run()]).toEqual(['started', 'started', 'monthly-limit']);
  expect(before).toBe(48);
});

async function buyPlan(person: Person): Promise<{ subscriptionId: string }> {
  await shop.buy(person, 'side-gig-builder');
  const [plan] = await readPlans(shop.core.pool, person.userId);
  return { subscriptionId: plan?.subscription_id ?? '' };
}

test('a payment for a period after its plan had ended is refunded', async () => {
  const person = await subscriber();
  const { rows } = await shop.core.pool.query<{ id: string }>(
    `select id from purchase where subscription_id = $1 and kind = 'invoice'`,
    [person.subscriptionId],
  );
  const askedAt = new Date(now + day).toISOString();
  await renew(person);
  // The answer to the refund was late, and the plan has renewed meanwhile.
  await endPlanOf(shop.payments, rows[0]?.id ?? '', askedAt);
  await endPlanOf(shop.payments, rows[0]?.id ?? '', askedAt);
  await shop.deliver();
  const { lots, refunds } = await shop.core.ledger.readAccount(person.userId);
  expect(lots.map((lot) => lot.available)).toEqual([50, 0]);
  expect(Object.values(refunds)).toMatchObject([{ amountMinor: 2_500, status: 'confirmed' }]);
  expect(await tierOf(person)).toBe('free');
});

test('a plan that could not be ended at the provider is ended there by the sweeper', async () => {
  const person = await subscriber();
  const { rows } = await shop.core.pool.query<{ id: string }>(
    `select id from purchase where subscription_id = $1 and kind = 'invoice'`,
    [person.subscriptionId],
  );
  const away: PaymentDependencies = {
    ...shop.payments,
    provider: {
      ...shop.payments.provider,
      cancelSubscription: async () => {
        throw new Problem('payment-provider', 'The payment provider is unavailable.');
      },
    },
  };
  await expect(
    endPlanOf(away, rows[0]?.id ?? '', new Date(now).toISOString()),
  ).rejects.toMatchObject({ status: 503 });
  expect(await tierOf(person)).toBe('free');
  await sweepPlans(shop.payments);
  expect((await findPlan(shop.core.pool, person.subscriptionId))?.status).toBe('canceled');
});

test('a tier ends on time while the provider is unavailable', async () => {
  const person = await subscriber();
  move(40 * day);
  await shop.deliver({ drop: () => true });
  const away: PaymentDependencies = {
    ...shop.payments,
    provider: {
      ...shop.payments.provider,
      retrieveSubscription: async () => {
        throw new Problem('payment-provider', 'The payment provider is unavailable.');
      },
    },
  };
  for (let sweeps = 0; sweeps < 3; sweeps += 1) await sweepPlans(away);
  expect(await tierOf(person)).toBe('free');
});

test('a closed account has no plan, also when a payment arrives in the last moment', async () => {
  const [first, second] = [await subscriber(), await subscriber()];
  await cancelPlansOf(shop.payments, first.userId);
  await cancelPlansOf(shop.payments, first.userId);
  await shop.core.pool.query('update users set erasing_at = $2 where id = $1', [
    second.userId,
    new Date(now),
  ]);
  await renew(second);
  for (const { subscriptionId } of [first, second])
    expect(await findPlan(shop.core.pool, subscriptionId)).toMatchObject({
      status: 'canceled',
      revoked_as: 'erased',
    });
});
