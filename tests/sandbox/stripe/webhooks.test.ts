import type { Stripe } from 'stripe';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestStripe } from '#tests/support/stripe.ts';
import { createBuyer, day, sdk, second } from './buyer.ts';
import type { Buyer } from './buyer.ts';

/** Webhook events: their signature, order, repeats and loss. */
let buyer: Buyer;
let fake: Buyer['fake'];
let stripe: Stripe;

beforeEach(async () => {
  buyer = await createBuyer();
  ({ fake, stripe } = buyer);
});
afterEach(async () => fake.close());

test('webhook events hold their objects as of then, signed so that the SDK accepts them', async () => {
  const { charge } = await buyer.paid();
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
        buyer.time.now,
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
  await buyer.customer();
  await fake.deliverAll();
  const [{ body, signature } = { body: '', signature: '' }] = fake.received;
  await expect(
    stripe.webhooks.constructEventAsync(
      body,
      signature,
      'whsec_sandbox',
      300,
      undefined,
      buyer.time.now,
    ),
  ).rejects.toThrow(/tolerance/);
});

test('webhook events can be sent by hand in any order, any number of times, or not at all', async () => {
  fake.receive(async () => 200);
  await buyer.customer();
  await buyer.pack();
  const all = buyer.sentTypes();
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
    tries.push(fake.nowMs() - buyer.time.now);
    return 503;
  });
  await buyer.customer();
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
  const client = sdk(itself);
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
  const client = sdk(itself);
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
