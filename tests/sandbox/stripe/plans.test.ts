import type { Stripe } from 'stripe';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBuyer, day, idOf, refusal, second } from './buyer.ts';
import type { Buyer } from './buyer.ts';

/** Subscriptions, which renew by the clock of the sandbox. */
let buyer: Buyer;
let fake: Buyer['fake'];
let stripe: Stripe;

beforeEach(async () => {
  buyer = await createBuyer();
  ({ fake, stripe } = buyer);
});
afterEach(async () => fake.close());

test('a plan begins with a paid invoice that names it, its period and its payment', async () => {
  const subscription = await buyer.subscribed();
  expect(subscription).toMatchObject({
    status: 'active',
    metadata: { purchase_id: 'pur_1' },
    cancel_at_period_end: false,
    items: {
      data: [
        {
          current_period_start: buyer.time.now / second,
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
  expect(buyer.sentTypes()).toEqual(
    expect.arrayContaining([
      'customer.subscription.created',
      'invoice.paid',
      'customer.subscription.updated',
      'checkout.session.completed',
    ]),
  );
});

test('a plan renews by the clock, each month on its day, at the price of then', async () => {
  buyer.time.now = Date.UTC(2027, 0, 31, 12);
  const subscription = await buyer.subscribed();
  const [item] = subscription.items.data;
  const changed = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item?.id ?? '', price: (await buyer.plan(15_000)).id }],
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
  expect(fake.nowMs()).toBe(buyer.time.now + 63 * day);
});

test('a plan whose payment failed is past due until a retry is paid', async () => {
  const { id } = await buyer.subscribed();
  fake.receive(async () => 200);
  await fake.deliverAll();
  fake.failNextRenewal(id);
  fake.advance(31 * day);
  expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'past_due' });
  expect(buyer.sentTypes()).toEqual([
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
  const { id } = await buyer.subscribed();
  fake.failNextRenewal(id, 4);
  fake.advance(30 * day + 14 * day);
  expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'past_due' });
  fake.advance(2 * day);
  expect(await stripe.subscriptions.retrieve(id)).toMatchObject({
    status: 'canceled',
    cancellation_details: { reason: 'payment_failed' },
  });
  expect(buyer.sentTypes().at(-1)).toBe('customer.subscription.deleted');
  fake.advance(90 * day);
  expect((await stripe.invoices.list({ subscription: id })).data).toHaveLength(2);
});

test('a plan is cancelled for the end of its period, kept after all, or ended at once', async () => {
  const { id, customer: owner } = await buyer.subscribed();
  const cancelling = await stripe.subscriptions.update(id, { cancel_at_period_end: true });
  expect(cancelling).toMatchObject({ status: 'active', cancel_at_period_end: true });
  await stripe.subscriptions.update(id, { cancel_at_period_end: false });
  fake.advance(31 * day);
  expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'active' });
  await stripe.subscriptions.update(id, { cancel_at_period_end: true });
  fake.advance(31 * day);
  expect(await stripe.subscriptions.retrieve(id)).toMatchObject({ status: 'canceled' });
  expect((await stripe.invoices.list({ subscription: id })).data).toHaveLength(2);

  const other = await buyer.subscribed();
  expect(await stripe.subscriptions.cancel(other.id)).toMatchObject({ status: 'canceled' });
  expect(await refusal(stripe.subscriptions.cancel(other.id))).toMatchObject({
    code: 'resource_missing',
  });
  const of = async (status?: 'all') =>
    stripe.subscriptions.list({ customer: idOf(owner), ...(status ? { status } : {}) });
  expect([(await of()).data.length, (await of('all')).data.length]).toEqual([0, 1]);
});

test('a plan never paid for ends when the bank refuses its first payment', async () => {
  const session = await buyer.open({}, await buyer.plan());
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
    line_items: [{ price: (await buyer.plan()).id, quantity: 1 }],
    success_url: 'http://localhost:3000/credits/success',
  });
  fake.pay(id, 'pay');
  expect(await stripe.checkout.sessions.retrieve(id, { expand: ['customer'] })).toMatchObject({
    customer: { email: 'bob@example.com' },
  });
});
