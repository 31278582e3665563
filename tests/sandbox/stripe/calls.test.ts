import { Stripe } from 'stripe';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBuyer, hour, refusal, sdk, second } from './buyer.ts';
import type { Buyer } from './buyer.ts';

/** What all calls share: lists, refusals, idempotency keys and faults. */
let buyer: Buyer;
let fake: Buyer['fake'];
let stripe: Stripe;

beforeEach(async () => {
  buyer = await createBuyer();
  ({ fake, stripe } = buyer);
});
afterEach(async () => fake.close());

test('a customer keeps its metadata, is changed, and is returned as deleted', async () => {
  const { id } = await buyer.customer();
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
  const sale = buyer.open({ line_items: [{ price: first.id }] });
  expect(await refusal(sale)).toMatchObject({ param: 'line_items[0][price]' });
  const twice = stripe.products.create({ id: product.id, name: 'Boost' });
  expect(await refusal(twice)).toMatchObject({ code: 'resource_already_exists' });
});

test('lists come newest first, by pages in both directions, and by time', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 7; count += 1) {
    ids.unshift((await buyer.customer()).id);
    buyer.time.now += second;
  }
  const paged: string[] = [];
  for await (const one of stripe.customers.list({ limit: 3 })) paged.push(one.id);
  expect(paged).toEqual(ids);
  const before = await stripe.customers.list({ limit: 2, ending_before: ids[4] ?? '' });
  expect(before).toMatchObject({ has_more: true, data: [{ id: ids[2] }, { id: ids[3] }] });
  const start = Math.floor(buyer.time.now / second) - 7;
  const some = await stripe.customers.list({ created: { gte: start + 2, lt: start + 4 } });
  expect(some.data.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
  expect(await refusal(stripe.customers.list({ limit: 101 }))).toMatchObject({ param: 'limit' });
  const lost = stripe.customers.list({ starting_after: 'cus_none' });
  expect(await refusal(lost)).toMatchObject({ statusCode: 400, code: 'resource_missing' });
});

test('lists hold whole objects where the call expands them, and nothing else is expanded', async () => {
  const { intent } = await buyer.paid();
  const { data } = await stripe.paymentIntents.list({ expand: ['data.latest_charge'] });
  expect(data).toMatchObject([{ id: intent, latest_charge: { object: 'charge' } }]);
  const wrong = stripe.paymentIntents.retrieve(intent, { expand: ['nothing'] });
  expect(await refusal(wrong)).toMatchObject({ statusCode: 400, param: 'expand' });
});

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
  const refused = await refusal(sdk(fake, 'sk_test_another').customers.list());
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

test('a repeated key does the call once and returns the first answer, even when that was a refusal', async () => {
  const { charge } = await buyer.paid();
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
  const make = async (name: string) => stripe.customers.create({ name }, { idempotencyKey: 'ann' });
  const ann = await make('Ann');
  expect(await refusal(make('Bob'))).toMatchObject({
    statusCode: 400,
    rawType: 'idempotency_error',
  });
  buyer.time.now += 24 * hour + second;
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

test('a call answered 429 does nothing, and a call answered 500 after its commit repeats that answer', async () => {
  fake.faults.tooMany = 1;
  expect(await refusal(buyer.customer())).toMatchObject({ statusCode: 429, code: 'rate_limit' });
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
  const { charge } = await buyer.paid();
  expect(await refusal(stripe.refunds.create({ charge }))).toMatchObject({ statusCode: 500 });
  expect((await stripe.refunds.list({ charge })).data).toHaveLength(1);
});
