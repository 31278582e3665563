import { mkdtempSync, readdirSync, rmSync, statSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stripe } from 'stripe';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeStripe } from '#services/sandbox/stripe/fake-stripe.ts';
import { createTestStripe } from '#tests/support/stripe.ts';
import type { TestStripe } from '#tests/support/stripe.ts';

/** The payment provider of the sandbox as the real SDK meets it. */
let fake: TestStripe;
let stripe: Stripe;
let nowMs: number;

const second = 1_000;
const hour = 3_600 * second;
const day = 24 * hour;

function sdk(key: string = 'sk_test_sandbox'): Stripe {
  const { hostname, port } = new URL(fake.url);
  return new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 });
}

beforeEach(async () => {
  nowMs = Date.UTC(2026, 10, 20, 12);
  fake = await createTestStripe({ clock: () => nowMs });
  stripe = sdk();
});

afterEach(async () => fake.close());

// --- what is bought ---

async function pack(cents: number = 500): Promise<Stripe.Price> {
  return stripe.prices.create({
    currency: 'usd',
    unit_amount: cents,
    product_data: { name: 'Opportunity Finder' },
  });
}

async function plan(cents: number = 2_500): Promise<Stripe.Price> {
  return stripe.prices.create({
    currency: 'usd',
    unit_amount: cents,
    recurring: { interval: 'month' },
    product_data: { name: 'Side-Gig Builder' },
  });
}

async function customer(): Promise<Stripe.Customer> {
  return stripe.customers.create({
    email: 'ann@example.com',
    name: 'Ann',
    metadata: { user_id: 'usr_1' },
  });
}

async function open(
  more: Partial<Stripe.Checkout.SessionCreateParams> = {},
  price: Stripe.Price | null = null,
): Promise<Stripe.Checkout.Session> {
  const sold = price ?? (await pack());
  const metadata = { purchase_id: 'pur_1' };
  return stripe.checkout.sessions.create({
    customer: (await customer()).id,
    client_reference_id: 'usr_1',
    line_items: [{ price: sold.id, quantity: 1 }],
    metadata,
    success_url: 'http://localhost:3000/credits/success?session_id={CHECKOUT_SESSION_ID}',
    cancel_url: 'http://localhost:3000/credits/purchase',
    ...(sold.type === 'recurring'
      ? { mode: 'subscription', subscription_data: { metadata } }
      : { mode: 'payment', payment_intent_data: { metadata } }),
    ...more,
  });
}

/** The intent and the charge of a paid pack. */
async function paid(): Promise<{ intent: string; charge: string }> {
  const session = await open();
  fake.pay(session.id, 'pay');
  const done = await stripe.checkout.sessions.retrieve(session.id, { expand: ['payment_intent'] });
  const intent = done.payment_intent;
  if (intent === null || typeof intent === 'string') throw new Error('No intent');
  return { intent: intent.id, charge: idOf(intent.latest_charge) };
}

async function subscribed(): Promise<Stripe.Subscription> {
  const session = await open({}, await plan());
  fake.pay(session.id, 'pay');
  const done = await stripe.checkout.sessions.retrieve(session.id);
  return stripe.subscriptions.retrieve(idOf(done.subscription));
}

function idOf(named: string | { id: string } | null | undefined): string {
  if (named === null || named === undefined) throw new Error('There is nothing');
  return typeof named === 'string' ? named : named.id;
}

function sentTypes(): string[] {
  return fake.pendingWebhookEvents().map(({ type }) => type);
}

async function forget(): Promise<void> {
  fake.receive(async () => 200);
  await fake.deliverAll();
}

/** The error of a refused call. */
async function refusal(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error;
    throw error;
  }
  throw new Error('It was not refused');
}

describe('a checkout session', () => {
  test('a checkout session is open, unpaid and without an intent until the buyer pays', async () => {
    const made = await open();
    expect(made).toMatchObject({
      object: 'checkout.session',
      status: 'open',
      payment_status: 'unpaid',
      payment_intent: null,
      amount_subtotal: 500,
      amount_total: 500,
      total_details: { amount_tax: 0 },
      client_reference_id: 'usr_1',
      metadata: { purchase_id: 'pur_1' },
      expires_at: nowMs / second + 24 * 3_600,
      url: `http://localhost:3000/dev/stripe/checkout/${made.id}`,
    });
    const lines = await stripe.checkout.sessions.listLineItems(made.id);
    expect(lines.data).toMatchObject([{ amount_total: 500, price: { unit_amount: 500 } }]);
    expect(sentTypes()).not.toContain('checkout.session.completed');
  });

  test('a checkout session that is paid has an intent, a charge with its fee, and says where to go', async () => {
    const made = await open();
    const { redirect } = fake.pay(made.id, 'pay');
    expect(redirect).toBe(`http://localhost:3000/credits/success?session_id=${made.id}`);
    const done = await stripe.checkout.sessions.retrieve(made.id, {
      expand: ['line_items', 'payment_intent.latest_charge.balance_transaction'],
    });
    expect(done).toMatchObject({
      status: 'complete',
      payment_status: 'paid',
      url: null,
      line_items: { object: 'list', data: [{ description: 'Opportunity Finder' }] },
      payment_intent: {
        status: 'succeeded',
        metadata: { purchase_id: 'pur_1' },
        latest_charge: {
          paid: true,
          amount: 500,
          balance_transaction: { amount: 500, fee: 45, net: 455, type: 'charge' },
        },
      },
    });
    expect(sentTypes().slice(-4)).toEqual([
      'payment_intent.created',
      'charge.succeeded',
      'payment_intent.succeeded',
      'checkout.session.completed',
    ]);
    expect(() => fake.pay(made.id, 'pay')).toThrow(/complete/);
  });

  test('a checkout session stays open after a decline, and the same intent can be paid', async () => {
    const made = await open();
    expect(fake.pay(made.id, 'decline').redirect).toBe(made.url);
    const tried = await stripe.checkout.sessions.retrieve(made.id, { expand: ['payment_intent'] });
    expect(tried).toMatchObject({
      status: 'open',
      payment_intent: {
        status: 'requires_payment_method',
        last_payment_error: { code: 'card_declined', decline_code: 'generic_decline' },
      },
    });
    expect(sentTypes().slice(-2)).toEqual(['charge.failed', 'payment_intent.payment_failed']);
    fake.pay(made.id, 'pay');
    const done = await stripe.checkout.sessions.retrieve(made.id);
    expect(done).toMatchObject({
      payment_status: 'paid',
      payment_intent: idOf(tried.payment_intent),
    });
  });

  test('a checkout session paid by a bank that confirms later is complete and unpaid until then', async () => {
    const [one, two, three] = [await open(), await open(), await open()];
    for (const { id } of [one, two, three]) fake.pay(id, 'pay-later');
    const waiting = await stripe.checkout.sessions.retrieve(one.id, {
      expand: ['payment_intent.latest_charge'],
    });
    expect(waiting).toMatchObject({
      status: 'complete',
      payment_status: 'unpaid',
      payment_intent: { status: 'processing', latest_charge: { status: 'pending', paid: false } },
    });
    fake.settleLater(one.id, 'paid');
    expect(sentTypes().at(-1)).toBe('checkout.session.async_payment_succeeded');
    fake.settleLater(two.id, 'failed');
    expect(sentTypes().at(-1)).toBe('checkout.session.async_payment_failed');
    fake.advance(4 * day);
    const states = await Promise.all(
      [one, two, three].map(
        async ({ id }) => (await stripe.checkout.sessions.retrieve(id)).payment_status,
      ),
    );
    expect(states).toEqual(['paid', 'unpaid', 'paid']);
    expect(() => fake.settleLater(two.id, 'paid')).toThrow(/does not wait/);
  });

  test('a checkout session ends when we end it or when it expires, and sends a webhook event', async () => {
    const [one, two] = [
      await open(),
      await open({ expires_at: Math.floor(nowMs / second) + 3_600 }),
    ];
    expect(fake.pay(two.id, 'abandon').redirect).toBe('http://localhost:3000/credits/purchase');
    await stripe.checkout.sessions.expire(one.id);
    nowMs += hour;
    const ended = await stripe.checkout.sessions.retrieve(two.id);
    expect(ended).toMatchObject({ status: 'expired', url: null });
    expect(sentTypes().filter((type) => type === 'checkout.session.expired')).toHaveLength(2);
    const refused = await refusal(stripe.checkout.sessions.expire(one.id));
    expect(refused).toMatchObject({ statusCode: 400, rawType: 'invalid_request_error' });
  });

  test('a checkout session with automatic tax adds a tenth', async () => {
    const made = await open({ automatic_tax: { enabled: true } });
    expect(made).toMatchObject({
      amount_subtotal: 500,
      amount_total: 550,
      total_details: { amount_tax: 50 },
    });
  });

  test('a checkout session can be sold for an hour although the clock of the provider is ahead', async () => {
    fake.advance(40 * day);
    const made = await open({ expires_at: Math.floor(nowMs / second) + 3_600 });
    expect(made.expires_at - made.created).toBe(3_600);
  });

  test('a checkout session is refused when the price does not fit or a reference does not exist', async () => {
    const monthly = await plan();
    expect(await refusal(open({ mode: 'payment' }, monthly))).toMatchObject({ statusCode: 400 });
    expect(await refusal(open({ customer: 'cus_none' }))).toMatchObject({
      statusCode: 400,
      code: 'resource_missing',
      param: 'customer',
    });
    expect(await refusal(open({ line_items: [{ price: 'price_none' }] }))).toMatchObject({
      code: 'resource_missing',
      param: 'line_items[0][price]',
    });
    expect(await refusal(open({ success_url: 'credits/success' }))).toMatchObject({
      code: 'url_invalid',
      param: 'success_url',
    });
  });
});

describe('a payment intent', () => {
  test('a payment intent is confirmed by the test cards of the real one', async () => {
    const make = async () =>
      stripe.paymentIntents.create({
        amount: 1_000,
        currency: 'usd',
        customer: (await customer()).id,
        automatic_payment_methods: { enabled: true },
        metadata: { purchase_id: 'pur_1' },
      });
    const one = await make();
    expect(one).toMatchObject({ status: 'requires_payment_method', amount: 1_000 });
    expect(one.client_secret).toMatch(new RegExp(`^${one.id}_secret_`));
    const done = await stripe.paymentIntents.confirm(one.id, { payment_method: 'pm_card_visa' });
    expect(done).toMatchObject({ status: 'succeeded', amount_received: 1_000 });

    const two = await make();
    const declined = stripe.paymentIntents.confirm(two.id, {
      payment_method: 'pm_card_visa_chargeDeclined',
    });
    expect(await refusal(declined)).toMatchObject({
      statusCode: 402,
      rawType: 'card_error',
      code: 'card_declined',
    });
    expect(await stripe.paymentIntents.retrieve(two.id)).toMatchObject({
      last_payment_error: { code: 'card_declined' },
    });
    expect(await stripe.paymentIntents.cancel(two.id)).toMatchObject({ status: 'canceled' });
  });

  test('a payment intent is paid, declined, or left to a bank by hand', async () => {
    const make = async () => stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
    const [one, two] = [await make(), await make()];
    fake.pay(one.id, 'pay');
    fake.pay(two.id, 'pay-later');
    expect(await stripe.paymentIntents.retrieve(two.id)).toMatchObject({ status: 'processing' });
    fake.settleLater(two.id, 'failed');
    expect(await stripe.paymentIntents.retrieve(one.id)).toMatchObject({ status: 'succeeded' });
    expect(await stripe.paymentIntents.retrieve(two.id)).toMatchObject({
      status: 'requires_payment_method',
    });
    const tiny = stripe.paymentIntents.create({ amount: 49, currency: 'usd' });
    expect(await refusal(tiny)).toMatchObject({ code: 'amount_too_small' });
  });
});

describe('a refund', () => {
  test('a refund takes from the charge and the balance, and never more than the rest', async () => {
    const { intent, charge } = await paid();
    const first = await stripe.refunds.create({
      payment_intent: intent,
      amount: 200,
      metadata: { refund_id: 'ref_1' },
    });
    expect(first).toMatchObject({
      object: 'refund',
      status: 'succeeded',
      amount: 200,
      charge,
      payment_intent: intent,
      metadata: { refund_id: 'ref_1' },
    });
    expect(await stripe.charges.retrieve(charge)).toMatchObject({
      amount_refunded: 200,
      refunded: false,
    });
    expect(sentTypes().slice(-2)).toEqual(['refund.created', 'charge.refunded']);
    const tooMuch = stripe.refunds.create({ payment_intent: intent, amount: 301 });
    expect(await refusal(tooMuch)).toMatchObject({ statusCode: 400, param: 'amount' });
    const nothing = stripe.refunds.create({ payment_intent: intent, amount: 0 });
    expect(await refusal(nothing)).toMatchObject({ code: 'parameter_invalid_integer' });
    await stripe.refunds.create({ charge });
    expect(await stripe.charges.retrieve(charge)).toMatchObject({ refunded: true });
    expect(await refusal(stripe.refunds.create({ charge }))).toMatchObject({
      code: 'charge_already_refunded',
    });
    const all = await stripe.refunds.list({ payment_intent: intent });
    expect(all.data.map(({ amount }) => amount)).toEqual([300, 200]);
  });

  test('a refund may stay pending, succeed, and fail even after it has succeeded', async () => {
    const { intent, charge } = await paid();
    fake.faults.refunds = 'pending';
    const { id } = await stripe.refunds.create({ payment_intent: intent });
    expect(await stripe.refunds.retrieve(id)).toMatchObject({ status: 'pending' });
    fake.settleRefund(id, 'succeeded');
    expect(await stripe.refunds.retrieve(id)).toMatchObject({ status: 'succeeded' });
    fake.settleRefund(id, 'failed');
    const failed = await stripe.refunds.retrieve(id, { expand: ['failure_balance_transaction'] });
    expect(failed).toMatchObject({
      status: 'failed',
      failure_reason: 'expired_or_canceled_card',
      failure_balance_transaction: { amount: 500, type: 'refund_failure' },
    });
    expect(await stripe.charges.retrieve(charge)).toMatchObject({
      amount_refunded: 0,
      refunded: false,
    });
    expect(sentTypes().slice(-3)).toEqual(['refund.updated', 'refund.updated', 'refund.failed']);
  });

  test('a refund made by the bank carries no metadata of ours', async () => {
    const { intent } = await paid();
    fake.refundAtBank(intent, 150);
    const { data } = await stripe.refunds.list({ payment_intent: intent });
    expect(data).toMatchObject([{ amount: 150, metadata: {} }]);
  });

  test('a refund of an unpaid payment is refused', async () => {
    const { id } = await stripe.paymentIntents.create({ amount: 500, currency: 'usd' });
    const refused = await refusal(stripe.refunds.create({ payment_intent: id }));
    expect(refused).toMatchObject({ statusCode: 400, param: 'payment_intent' });
  });
});

describe('a dispute', () => {
  test('a dispute takes the amount and a fee at once, and a won one gives back the amount', async () => {
    const { intent, charge } = await paid();
    const { id } = fake.openDispute(intent);
    expect(sentTypes().slice(-2)).toEqual([
      'charge.dispute.created',
      'charge.dispute.funds_withdrawn',
    ]);
    expect(await stripe.disputes.retrieve(id)).toMatchObject({
      status: 'needs_response',
      amount: 500,
      charge,
      payment_intent: intent,
      is_charge_refundable: false,
      balance_transactions: [{ amount: -500, fee: 1_500, net: -2_000, type: 'adjustment' }],
    });
    expect(await stripe.charges.retrieve(charge)).toMatchObject({ disputed: true });
    expect(await refusal(stripe.refunds.create({ charge }))).toMatchObject({
      code: 'charge_disputed',
    });
    fake.moveDispute(id, 'won');
    expect(sentTypes().slice(-2)).toEqual([
      'charge.dispute.funds_reinstated',
      'charge.dispute.closed',
    ]);
    expect(await stripe.disputes.retrieve(id)).toMatchObject({
      status: 'won',
      balance_transactions: [{ amount: -500 }, { amount: 500, fee: 0 }],
    });
    expect(() => fake.moveDispute(id, 'lost')).toThrow(/won already/);
  });

  test('a dispute begins as an inquiry without money, which is closed or becomes one', async () => {
    const [one, two] = [await paid(), await paid()];
    const first = fake.openDispute(one.charge, { inquiry: true });
    expect(first).toMatchObject({ status: 'warning_needs_response', balance_transactions: [] });
    fake.moveDispute(first.id, 'warning_closed');
    expect(sentTypes().at(-1)).toBe('charge.dispute.closed');
    const other = fake.openDispute(two.charge, { inquiry: true, amountMinor: 300 });
    fake.moveDispute(other.id, 'needs_response');
    fake.moveDispute(other.id, 'lost');
    const all = await stripe.disputes.list();
    expect(all.data).toMatchObject([
      { status: 'lost', amount: 300, balance_transactions: [{ amount: -300 }] },
      { status: 'warning_closed', balance_transactions: [] },
    ]);
  });

  test('a warning of fraud names the charge, its intent and the kind of fraud', async () => {
    const { intent, charge } = await paid();
    const { id } = fake.warnOfFraud(intent);
    expect(sentTypes().at(-1)).toBe('radar.early_fraud_warning.created');
    expect(await stripe.radar.earlyFraudWarnings.retrieve(id)).toMatchObject({
      actionable: true,
      charge,
      payment_intent: intent,
      fraud_type: 'unauthorized_use_of_card',
    });
  });
});

describe('a plan', () => {
  test('a plan begins with a paid invoice that names it, its period and its payment', async () => {
    const subscription = await subscribed();
    expect(subscription).toMatchObject({
      status: 'active',
      metadata: { purchase_id: 'pur_1' },
      cancel_at_period_end: false,
      items: {
        data: [
          {
            current_period_start: nowMs / second,
            current_period_end: Date.UTC(2026, 11, 20, 12) / second,
          },
        ],
      },
    });
    const invoice = await stripe.invoices.retrieve(idOf(subscription.latest_invoice), {
      expand: ['payments.data.payment.payment_intent.latest_charge'],
    });
    expect(invoice).toMatchObject({
      status: 'paid',
      billing_reason: 'subscription_create',
      amount_paid: 2_500,
      parent: {
        type: 'subscription_details',
        subscription_details: {
          subscription: subscription.id,
          metadata: { purchase_id: 'pur_1' },
        },
      },
      payments: {
        data: [
          {
            status: 'paid',
            payment: { type: 'payment_intent', payment_intent: { latest_charge: { paid: true } } },
          },
        ],
      },
      lines: { data: [{ pricing: { price_details: {} }, subtotal: 2_500 }] },
    });
    expect(sentTypes()).toEqual(
      expect.arrayContaining([
        'customer.subscription.created',
        'invoice.paid',
        'customer.subscription.updated',
        'checkout.session.completed',
      ]),
    );
  });

  test('a plan renews by the clock, each month on its day, at the price of then', async () => {
    nowMs = Date.UTC(2027, 0, 31, 12);
    const subscription = await subscribed();
    const [item] = subscription.items.data;
    const changed = await stripe.subscriptions.update(subscription.id, {
      items: [{ id: item?.id ?? '', price: (await plan(15_000)).id }],
      proration_behavior: 'none',
    });
    expect(changed.items.data[0]).toMatchObject({
      price: { unit_amount: 15_000 },
      current_period_end: item?.current_period_end,
    });
    fake.advance(63 * day);
    const { data } = await stripe.invoices.list({ subscription: subscription.id });
    expect(data.map((one) => [one.billing_reason, one.amount_paid, one.status])).toEqual([
      ['subscription_cycle', 15_000, 'paid'],
      ['subscription_cycle', 15_000, 'paid'],
      ['subscription_create', 2_500, 'paid'],
    ]);
    expect(data.map(({ created }) => new Date(created * second).toISOString())).toEqual([
      '2027-03-31T12:00:00.000Z',
      '2027-02-28T12:00:00.000Z',
      '2027-01-31T12:00:00.000Z',
    ]);
    expect(fake.nowMs()).toBe(nowMs + 63 * day);
  });

  test('a plan whose payment failed is past due until a retry is paid', async () => {
    const { id } = await subscribed();
    await forget();
    fake.failNextRenewal(id);
    fake.advance(31 * day);
    expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'past_due' });
    expect(sentTypes()).toEqual([
      'invoice.created',
      'payment_intent.created',
      'invoice.finalized',
      'customer.subscription.updated',
      'charge.failed',
      'payment_intent.payment_failed',
      'invoice.payment_failed',
      'customer.subscription.updated',
    ]);
    const [invoice] = (await stripe.invoices.list({ status: 'open' })).data;
    expect(invoice).toMatchObject({ attempt_count: 1, amount_remaining: 2_500 });
    fake.advance(3 * day);
    expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'active' });
    expect(await stripe.invoices.retrieve(invoice?.id ?? '')).toMatchObject({
      status: 'paid',
      attempt_count: 2,
    });
  });

  test('a plan ends after three retries that failed, fifteen days after its payment was due', async () => {
    const { id } = await subscribed();
    fake.failNextRenewal(id, 4);
    fake.advance(30 * day + 14 * day);
    expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'past_due' });
    fake.advance(2 * day);
    expect(await stripe.subscriptions.retrieve(id)).toMatchObject({
      status: 'canceled',
      cancellation_details: { reason: 'payment_failed' },
    });
    expect(sentTypes().at(-1)).toBe('customer.subscription.deleted');
    fake.advance(90 * day);
    expect((await stripe.invoices.list({ subscription: id })).data).toHaveLength(2);
  });

  test('a plan is cancelled for the end of its period, kept after all, or ended at once', async () => {
    const { id, customer: owner } = await subscribed();
    const cancelling = await stripe.subscriptions.update(id, { cancel_at_period_end: true });
    expect(cancelling).toMatchObject({ status: 'active', cancel_at_period_end: true });
    await stripe.subscriptions.update(id, { cancel_at_period_end: false });
    fake.advance(31 * day);
    expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'active' });
    await stripe.subscriptions.update(id, { cancel_at_period_end: true });
    fake.advance(31 * day);
    expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'canceled' });
    expect((await stripe.invoices.list({ subscription: id })).data).toHaveLength(2);

    const other = await subscribed();
    expect(await stripe.subscriptions.cancel(other.id)).toMatchObject({ status: 'canceled' });
    expect(await refusal(stripe.subscriptions.cancel(other.id))).toMatchObject({
      code: 'resource_missing',
    });
    const of = async (status?: 'all') =>
      stripe.subscriptions.list({ customer: idOf(owner), ...(status ? { status } : {}) });
    expect([(await of()).data.length, (await of('all')).data.length]).toEqual([0, 1]);
  });

  test('a plan never paid for ends when the bank refuses its first payment', async () => {
    const session = await open({}, await plan());
    fake.pay(session.id, 'pay-later');
    const { subscription } = await stripe.checkout.sessions.retrieve(session.id);
    expect(await stripe.subscriptions.retrieve(idOf(subscription))).toMatchObject({
      status: 'active',
      latest_invoice: expect.any(String),
    });
    fake.settleLater(session.id, 'failed');
    expect(await stripe.subscriptions.retrieve(idOf(subscription))).toMatchObject({
      status: 'incomplete_expired',
    });
  });

  test('a plan makes a customer of a buyer without one', async () => {
    const { id } = await stripe.checkout.sessions.create({
      mode: 'subscription',
      customer_email: 'bob@example.com',
      line_items: [{ price: (await plan()).id, quantity: 1 }],
      success_url: 'http://localhost:3000/credits/success',
    });
    fake.pay(id, 'pay');
    expect(await stripe.checkout.sessions.retrieve(id, { expand: ['customer'] })).toMatchObject({
      customer: { email: 'bob@example.com' },
    });
  });

  test('a plan is managed on a page of its own', async () => {
    const { customer: owner } = await subscribed();
    const portal = await stripe.billingPortal.sessions.create({
      customer: idOf(owner),
      return_url: 'http://localhost:3000/credits/plan',
    });
    expect(portal.url).toBe(`http://localhost:3000/dev/stripe/portal/${portal.id}`);
  });
});

describe('customers, products and prices', () => {
  test('a customer keeps its metadata, is changed, and is returned as deleted', async () => {
    const { id } = await customer();
    const changed = await stripe.customers.update(id, {
      name: '',
      metadata: { user_id: '', a: 'b' },
    });
    expect(changed).toMatchObject({ name: null, email: 'ann@example.com', metadata: { a: 'b' } });
    expect(await stripe.customers.del(id)).toMatchObject({ deleted: true });
    expect(await stripe.customers.retrieve(id)).toMatchObject({ id, deleted: true });
    expect((await stripe.customers.list({ email: 'ann@example.com' })).data).toEqual([]);
  });

  test('a price is found by its lookup key, which belongs to one price', async () => {
    const product = await stripe.products.create({ id: 'credits-boost', name: 'Boost' });
    const make = async (more: Partial<Stripe.PriceCreateParams> = {}) =>
      stripe.prices.create({
        product: product.id,
        currency: 'usd',
        unit_amount: 1_000,
        lookup_key: 'boost:usd:1000',
        ...more,
      });
    const first = await make();
    expect(await refusal(make())).toMatchObject({ param: 'lookup_key' });
    const next = await make({ transfer_lookup_key: true });
    const { data } = await stripe.prices.list({
      lookup_keys: ['boost:usd:1000', 'none'],
      active: true,
      expand: ['data.product'],
    });
    expect(data).toMatchObject([{ id: next.id, product: { id: 'credits-boost', name: 'Boost' } }]);
    expect(data[0]?.unit_amount_decimal?.toString()).toBe('1000');
    await stripe.prices.update(first.id, { active: false });
    const sale = open({ line_items: [{ price: first.id }] });
    expect(await refusal(sale)).toMatchObject({ param: 'line_items[0][price]' });
    const twice = stripe.products.create({ id: product.id, name: 'Boost' });
    expect(await refusal(twice)).toMatchObject({ code: 'resource_already_exists' });
  });
});

describe('the balance', () => {
  test('the balance adds up to the payouts, and a payout names its transactions', async () => {
    const { charge } = await paid();
    await stripe.refunds.create({ charge, amount: 100 });
    const payout = fake.payOut();
    expect(payout).toMatchObject({ amount: 500 - 45 - 100, status: 'paid' });
    expect(sentTypes().slice(-1)).toEqual(['payout.reconciliation_completed']);
    await paid();
    const { data } = await stripe.balanceTransactions.list({ payout: payout?.id ?? '' });
    expect(data.map(({ type, net }) => [type, net])).toEqual([
      ['payout', -355],
      ['refund', -100],
      ['charge', 455],
    ]);
    expect(fake.payOut()).toMatchObject({ amount: 455 });
    expect(fake.payOut()).toBeNull();
  });
});

describe('lists', () => {
  test('lists come newest first, by pages in both directions, and by time', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 7; count += 1) {
      ids.unshift((await customer()).id);
      nowMs += second;
    }
    const paged: string[] = [];
    for await (const one of stripe.customers.list({ limit: 3 })) paged.push(one.id);
    expect(paged).toEqual(ids);
    const before = await stripe.customers.list({ limit: 2, ending_before: ids[4] ?? '' });
    expect(before).toMatchObject({ has_more: true, data: [{ id: ids[2] }, { id: ids[3] }] });
    const start = Math.floor(nowMs / second) - 7;
    const some = await stripe.customers.list({ created: { gte: start + 2, lt: start + 4 } });
    expect(some.data.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
    expect(await refusal(stripe.customers.list({ limit: 101 }))).toMatchObject({ param: 'limit' });
    const lost = stripe.customers.list({ starting_after: 'cus_none' });
    expect(await refusal(lost)).toMatchObject({ statusCode: 400, code: 'resource_missing' });
  });

  test('lists hold whole objects where the call expands them, and nothing else is expanded', async () => {
    const { intent } = await paid();
    const { data } = await stripe.paymentIntents.list({ expand: ['data.latest_charge'] });
    expect(data).toMatchObject([{ id: intent, latest_charge: { object: 'charge' } }]);
    const wrong = stripe.paymentIntents.retrieve(intent, { expand: ['nothing'] });
    expect(await refusal(wrong)).toMatchObject({ statusCode: 400, param: 'expand' });
  });
});

describe('refusals', () => {
  test('a refusal has the error envelope of Stripe, even for an unknown address or parameter', async () => {
    expect(await refusal(stripe.coupons.list())).toMatchObject({
      statusCode: 404,
      rawType: 'invalid_request_error',
      message: expect.stringContaining('Unrecognized request URL (GET: /v1/coupons)'),
      requestId: expect.stringMatching(/^req_/),
    });
    expect(await refusal(stripe.charges.retrieve('ch_none'))).toMatchObject({
      statusCode: 404,
      code: 'resource_missing',
    });
    const unknown = { amount: 500, currency: 'usd', colour: 'red' };
    expect(await refusal(stripe.paymentIntents.create(unknown))).toMatchObject({
      code: 'parameter_unknown',
      param: 'colour',
    });
    const none: Partial<Stripe.PaymentIntentCreateParams> = { currency: 'usd' };
    const call = stripe.rawRequest('POST', '/v1/payment_intents', none);
    expect(await refusal(call)).toMatchObject({ code: 'parameter_missing', param: 'amount' });
  });

  test('the sandbox refuses every key but its own', async () => {
    const refused = await refusal(sdk('sk_test_another').customers.list());
    expect(refused).toMatchObject({ statusCode: 401 });
    expect(refused.message).not.toContain('another');
    const bare = await fetch(`${fake.url}/v1/customers`);
    expect(bare.status).toBe(401);
    expect(await bare.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    const basic = Buffer.from('sk_test_sandbox:').toString('base64');
    const curl = await fetch(`${fake.url}/v1/customers`, {
      headers: { authorization: `Basic ${basic}` },
    });
    expect(curl.status).toBe(200);
  });
});

describe('the same key twice', () => {
  test('a repeated key does the call once and returns the first answer, even when that was a refusal', async () => {
    const { charge } = await paid();
    const refund = async (amount: number, key: string) =>
      stripe.refunds.create({ charge, amount }, { idempotencyKey: key });
    const [first, again] = [await refund(500, 'one'), await refund(500, 'one')];
    expect(again.id).toBe(first.id);
    expect(again.lastResponse.headers['idempotent-replayed']).toBe('true');
    expect(await refusal(refund(1, 'two'))).toMatchObject({ code: 'charge_already_refunded' });
    fake.settleRefund(first.id, 'failed');
    expect(await refusal(refund(1, 'two'))).toMatchObject({ code: 'charge_already_refunded' });
    expect((await stripe.refunds.list()).data).toHaveLength(1);
  });

  test('a repeated key with other parameters is refused, and after a day the key is new', async () => {
    const make = async (name: string) =>
      stripe.customers.create({ name }, { idempotencyKey: 'ann' });
    const ann = await make('Ann');
    expect(await refusal(make('Bob'))).toMatchObject({
      statusCode: 400,
      rawType: 'idempotency_error',
    });
    nowMs += 24 * hour + second;
    expect((await make('Ann')).id).not.toBe(ann.id);
  });

  test('a repeated key is refused as in use while the first call is under way', async () => {
    const holding = Promise.withResolvers<void>();
    fake.faults.holdReplies = holding.promise;
    const make = async () => stripe.customers.create({}, { idempotencyKey: 'ann' });
    const first = make();
    const other = await refusal(make());
    expect(other).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' });
    expect(other.headers?.['stripe-should-retry']).toBe('true');
    holding.resolve();
    expect((await first).object).toBe('customer');
  });

  test('a key may be used again after its parameters were refused', async () => {
    const make = async (amount: number) =>
      stripe.paymentIntents.create({ amount, currency: 'usd' }, { idempotencyKey: 'pur_1' });
    const wrong = stripe.rawRequest(
      'POST',
      '/v1/payment_intents',
      { currency: 'usd' },
      { idempotencyKey: 'pur_1' },
    );
    expect(await refusal(wrong)).toMatchObject({ code: 'parameter_missing' });
    expect(await make(500)).toMatchObject({ amount: 500 });
  });
});

describe('faults', () => {
  test('a call answered 429 does nothing, and a call answered 500 after its commit repeats that answer', async () => {
    fake.faults.tooMany = 1;
    expect(await refusal(customer())).toMatchObject({ statusCode: 429, code: 'rate_limit' });
    expect((await stripe.customers.list()).data).toEqual([]);
    fake.faults.failAfterCommit = 1;
    const make = async () => stripe.customers.create({}, { idempotencyKey: 'ann' });
    const failed = await refusal(make());
    expect(failed).toMatchObject({ statusCode: 500, rawType: 'api_error' });
    expect(failed.headers?.['stripe-should-retry']).toBe('false');
    expect(await refusal(make())).toMatchObject({ statusCode: 500 });
    expect((await stripe.customers.list()).data).toHaveLength(1);
  });

  test('a call with a lost reply was done, and the same key finds it', async () => {
    // The SDK retries one lost reply.
    fake.faults.loseReply = 2;
    const make = async () => stripe.customers.create({}, { idempotencyKey: 'ann' });
    expect(await refusal(make())).toBeInstanceOf(Stripe.errors.StripeConnectionError);
    const { id } = await make();
    expect((await stripe.customers.list()).data).toMatchObject([{ id }]);
  });

  test('faults affect only the calls that they name', async () => {
    fake.faults.failAfterCommit = 1;
    fake.faults.only = /^POST \/v1\/refunds/;
    const { charge } = await paid();
    expect(await refusal(stripe.refunds.create({ charge }))).toMatchObject({ statusCode: 500 });
    expect((await stripe.refunds.list({ charge })).data).toHaveLength(1);
  });
});

describe('webhook events', () => {
  test('webhook events hold their objects as of then, signed so that the SDK accepts them', async () => {
    const { charge } = await paid();
    fake.refundAtBank(charge, 100);
    fake.receive(async () => 200);
    await fake.deliverAll();
    const events = await Promise.all(
      fake.received.map(async ({ body, signature }) =>
        stripe.webhooks.constructEventAsync(
          body,
          signature,
          'whsec_sandbox',
          300,
          undefined,
          nowMs,
        ),
      ),
    );
    const succeeded = events.find(({ type }) => type === 'charge.succeeded');
    expect(succeeded).toMatchObject({
      object: 'event',
      api_version: '2026-10-28.endive',
      pending_webhooks: 1,
      data: { object: { id: charge, amount_refunded: 0 } },
    });
    expect(fake.pendingWebhookEvents()).toEqual([]);
    expect(await stripe.events.retrieve(succeeded?.id ?? '')).toMatchObject({
      pending_webhooks: 0,
    });
  });

  test('webhook events can be signed for another time', async () => {
    fake.faults.signatureSkewSeconds = -301;
    await customer();
    await fake.deliverAll();
    const [{ body, signature } = { body: '', signature: '' }] = fake.received;
    await expect(
      stripe.webhooks.constructEventAsync(body, signature, 'whsec_sandbox', 300, undefined, nowMs),
    ).rejects.toThrow(/tolerance/);
  });

  test('webhook events can be sent by hand in any order, any number of times, or not at all', async () => {
    fake.receive(async () => 200);
    await customer();
    await pack();
    const all = sentTypes();
    expect(all).toEqual(['customer.created', 'product.created', 'price.created']);
    const delivered = await fake.deliverAll({
      order: 'reversed',
      copies: 2,
      drop: ({ type }) => type === 'product.created',
    });
    expect(delivered.map(({ event }) => event.type)).toEqual([
      'price.created',
      'price.created',
      'customer.created',
      'customer.created',
    ]);
    const lost = await stripe.events.list({ delivery_success: false });
    expect(lost.data.map(({ type }) => type)).toEqual(['product.created']);
    const some = await stripe.events.list({ types: ['price.created', 'customer.*'] });
    expect(some.data).toHaveLength(2);
  });

  test('webhook events that were refused are sent again, later each time, and given up after three days', async () => {
    const tries: number[] = [];
    fake.receive(async () => {
      tries.push(fake.nowMs() - nowMs);
      return 503;
    });
    await customer();
    await fake.deliverAll();
    expect(fake.pendingWebhookEvents()).toHaveLength(1);
    fake.advance(3 * day + second);
    await fake.deliverAll();
    expect(tries).toEqual([0, 3 * day + second]);
    expect(fake.pendingWebhookEvents()).toEqual([]);
    expect((await stripe.events.list({ delivery_success: false })).data).toHaveLength(1);
  });

  test('webhook events are sent automatically once that is started, until they are accepted', async () => {
    const taken = Promise.withResolvers<string>();
    let refusals = 0;
    const itself = await createTestStripe({
      deliver: async (body) => {
        refusals += 1;
        if (refusals === 1) throw new Error('The server is not up yet');
        taken.resolve(body);
        return 200;
      },
    });
    itself.startDelivering();
    const { hostname, port } = new URL(itself.url);
    const client = new Stripe('sk_test_sandbox', { host: hostname, port, protocol: 'http' });
    await client.customers.create({});
    expect(JSON.parse(await taken.promise)).toMatchObject({ type: 'customer.created' });
    await itself.close();
  });

  test('webhook events are lost, duplicated and reordered by switches', async () => {
    const types: string[] = [];
    const both = Promise.withResolvers<void>();
    const itself = await createTestStripe({
      faults: { drop: 1, duplicate: 1, reorder: true },
      deliver: async (body) => {
        types.push((JSON.parse(body) as Stripe.Event).type);
        if (types.length === 4) both.resolve();
        return 200;
      },
    });
    const { hostname, port } = new URL(itself.url);
    const client = new Stripe('sk_test_sandbox', { host: hostname, port, protocol: 'http' });
    await client.customers.create({});
    await client.products.create({ name: 'Boost' });
    await client.paymentIntents.create({ amount: 500, currency: 'usd' });
    itself.startDelivering();
    await both.promise;
    await itself.close();
    expect(types).toEqual([
      'payment_intent.created',
      'payment_intent.created',
      'product.created',
      'product.created',
    ]);
  });
});

describe('with a folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sevenfold-stripe-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const reopen = async () => {
    await fake.close();
    fake = await createTestStripe({ clock: () => nowMs, folder: join(folder, 'stripe') });
    stripe = sdk();
  };

  test('a restart with a folder forgets nothing: objects, keys, webhook events, the clock', async () => {
    await reopen();
    const subscription = await subscribed();
    fake.advance(10 * day);
    await stripe.customers.create({ name: 'Ann' }, { idempotencyKey: 'ann' });
    const waiting = sentTypes();
    await reopen();
    expect(fake.nowMs()).toBe(nowMs + 10 * day);
    expect(sentTypes()).toEqual(waiting);
    expect(await stripe.subscriptions.retrieve(subscription.id)).toEqual(subscription);
    const again = await stripe.customers.create({ name: 'Ann' }, { idempotencyKey: 'ann' });
    expect(again.lastResponse.headers['idempotent-replayed']).toBe('true');
    fake.advance(21 * day);
    expect((await stripe.invoices.list()).data).toHaveLength(2);
    expect(statSync(join(folder, 'stripe')).mode & 0o077).toBe(0);
  });

  test('a truncated line of the journal loses only a call that was never answered', async () => {
    await reopen();
    const { id } = await customer();
    appendFileSync(join(folder, 'stripe', 'journal.jsonl'), '[["customer","cus_half",{"id":');
    await reopen();
    expect((await stripe.customers.list()).data.map((one) => one.id)).toEqual([id]);
    await customer();
    await reopen();
    expect((await stripe.customers.list()).data).toHaveLength(2);
    expect(readdirSync(join(folder, 'stripe'))).toEqual(['journal.jsonl']);
  });

  test('a second process reads the folder and changes nothing', async () => {
    await reopen();
    const { charge } = await paid();
    const other = createFakeStripe({
      folder: join(folder, 'stripe'),
      clock: () => nowMs,
      publicUrl: 'http://localhost:3000',
      webhookSecret: 'whsec_sandbox',
      deliver: async () => 200,
      readOnly: true,
    });
    expect(other.world.store.get('charge', charge)).toMatchObject({ paid: true });
    expect(() => other.warnOfFraud(charge)).toThrow(/only reads/);
  });

  test('a call that is refused in the middle leaves nothing in the folder', async () => {
    await reopen();
    const wrong = stripe.prices.create({
      currency: 'usd',
      unit_amount: -1,
      product_data: { name: 'Boost' },
    });
    expect(await refusal(wrong)).toMatchObject({ param: 'unit_amount' });
    expect((await stripe.products.list()).data).toEqual([]);
    expect(sentTypes()).toEqual([]);
  });
});
