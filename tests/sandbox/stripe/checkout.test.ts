import type { Stripe } from 'stripe';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBuyer, day, hour, idOf, refusal, second } from './buyer.ts';
import type { Buyer } from './buyer.ts';

/** Checkout sessions and payment intents. */
let buyer: Buyer;
let fake: Buyer['fake'];
let stripe: Stripe;

beforeEach(async () => {
  buyer = await createBuyer();
  ({ fake, stripe } = buyer);
});
afterEach(async () => fake.close());

test('a checkout session is open, unpaid and without an intent until the buyer pays', async () => {
  const made = await buyer.open();
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
    expires_at: buyer.time.now / second + 24 * 3_600,
    url: `http://localhost:3000/dev/stripe/checkout/${made.id}`,
  });
  const lines = await stripe.checkout.sessions.listLineItems(made.id);
  expect(lines.data).toMatchObject([{ amount_total: 500, price: { unit_amount: 500 } }]);
  expect(buyer.sentTypes()).not.toContain('checkout.session.completed');
});

test('a checkout session that is paid has an intent, a charge with its fee, and says where to go', async () => {
  const made = await buyer.open();
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
  expect(buyer.sentTypes().slice(-4)).toEqual([
    'payment_intent.created',
    'charge.succeeded',
    'payment_intent.succeeded',
    'checkout.session.completed',
  ]);
  expect(() => fake.pay(made.id, 'pay')).toThrow(/complete/);
});

test('a checkout session stays open after a decline, and the same intent can be paid', async () => {
  const made = await buyer.open();
  expect(fake.pay(made.id, 'decline').redirect).toBe(made.url);
  const tried = await stripe.checkout.sessions.retrieve(made.id, { expand: ['payment_intent'] });
  expect(tried).toMatchObject({
    status: 'open',
    payment_intent: {
      status: 'requires_payment_method',
      last_payment_error: { code: 'card_declined', decline_code: 'generic_decline' },
    },
  });
  expect(buyer.sentTypes().slice(-2)).toEqual(['charge.failed', 'payment_intent.payment_failed']);
  fake.pay(made.id, 'pay');
  const done = await stripe.checkout.sessions.retrieve(made.id);
  expect(done).toMatchObject({
    payment_status: 'paid',
    payment_intent: idOf(tried.payment_intent),
  });
});

test('a checkout session paid by a bank that confirms later is complete and unpaid until then', async () => {
  const [one, two, three] = [await buyer.open(), await buyer.open(), await buyer.open()];
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
  expect(buyer.sentTypes().at(-1)).toBe('checkout.session.async_payment_succeeded');
  fake.settleLater(two.id, 'failed');
  expect(buyer.sentTypes().at(-1)).toBe('checkout.session.async_payment_failed');
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
    await buyer.open(),
    await buyer.open({ expires_at: Math.floor(buyer.time.now / second) + 3_600 }),
  ];
  expect(fake.pay(two.id, 'abandon').redirect).toBe('http://localhost:3000/credits/purchase');
  await stripe.checkout.sessions.expire(one.id);
  buyer.time.now += hour;
  const ended = await stripe.checkout.sessions.retrieve(two.id);
  expect(ended).toMatchObject({ status: 'expired', url: null });
  expect(buyer.sentTypes().filter((type) => type === 'checkout.session.expired')).toHaveLength(2);
  const refused = await refusal(stripe.checkout.sessions.expire(one.id));
  expect(refused).toMatchObject({ statusCode: 400, rawType: 'invalid_request_error' });
});

test('a checkout session with automatic tax adds a tenth', async () => {
  const made = await buyer.open({ automatic_tax: { enabled: true } });
  expect(made).toMatchObject({
    amount_subtotal: 500,
    amount_total: 550,
    total_details: { amount_tax: 50 },
  });
});

test('a checkout session can be sold for an hour although the clock of the provider is ahead', async () => {
  fake.advance(40 * day);
  const made = await buyer.open({ expires_at: Math.floor(buyer.time.now / second) + 3_600 });
  expect(made.expires_at - made.created).toBe(3_600);
});

test('a checkout session is refused when the price does not fit or a reference does not exist', async () => {
  const monthly = await buyer.plan();
  expect(await refusal(buyer.open({ mode: 'payment' }, monthly))).toMatchObject({
    statusCode: 400,
  });
  expect(await refusal(buyer.open({ customer: 'cus_none' }))).toMatchObject({
    statusCode: 400,
    code: 'resource_missing',
    param: 'customer',
  });
  expect(await refusal(buyer.open({ line_items: [{ price: 'price_none' }] }))).toMatchObject({
    code: 'resource_missing',
    param: 'line_items[0][price]',
  });
  expect(await refusal(buyer.open({ success_url: 'credits/success' }))).toMatchObject({
    code: 'url_invalid',
    param: 'success_url',
  });
});

test('a payment intent is confirmed by the test cards of the real one', async () => {
  const make = async () =>
    stripe.paymentIntents.create({
      amount: 1_000,
      currency: 'usd',
      customer: (await buyer.customer()).id,
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
