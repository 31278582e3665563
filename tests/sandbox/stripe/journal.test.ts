import { mkdtempSync, readdirSync, rmSync, statSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Stripe } from 'stripe';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeStripe } from '#services/sandbox/stripe/fake-stripe.ts';
import { createBuyer, day, refusal } from './buyer.ts';
import type { Buyer } from './buyer.ts';

/** The folder in which the sandbox keeps what it knows over a restart. */
let buyer: Buyer;
let fake: Buyer['fake'];
let stripe: Stripe;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sevenfold-stripe-'));
  await open();
});
afterEach(async () => {
  await fake.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(time?: Buyer['time']): Promise<void> {
  buyer = await createBuyer({ folder: join(folder, 'stripe') }, time);
  ({ fake, stripe } = buyer);
}

async function reopen(): Promise<void> {
  await fake.close();
  await open(buyer.time);
}

test('a restart with a folder forgets nothing: objects, keys, webhook events, the clock', async () => {
  const subscription = await buyer.subscribed();
  fake.advance(10 * day);
  await stripe.customers.create({ name: 'Ann' }, { idempotencyKey: 'ann' });
  const waiting = buyer.sentTypes();
  await reopen();
  expect(fake.nowMs()).toBe(buyer.time.now + 10 * day);
  expect(buyer.sentTypes()).toEqual(waiting);
  expect(await stripe.subscriptions.retrieve(subscription.id)).toEqual(subscription);
  const again = await stripe.customers.create({ name: 'Ann' }, { idempotencyKey: 'ann' });
  expect(again.lastResponse.headers['idempotent-replayed']).toBe('true');
  fake.advance(21 * day);
  expect((await stripe.invoices.list()).data).toHaveLength(2);
  expect(statSync(join(folder, 'stripe')).mode & 0o077).toBe(0);
});

test('a truncated line of the journal loses only a call that was never answered', async () => {
  const { id } = await buyer.customer();
  appendFileSync(join(folder, 'stripe', 'journal.jsonl'), '[["customer","cus_half",{"id":');
  await reopen();
  expect((await stripe.customers.list()).data.map((one) => one.id)).toEqual([id]);
  await buyer.customer();
  await reopen();
  expect((await stripe.customers.list()).data).toHaveLength(2);
  expect(readdirSync(join(folder, 'stripe'))).toEqual(['journal.jsonl']);
});

test('a second process reads the folder and changes nothing', async () => {
  const { charge } = await buyer.paid();
  const other = createFakeStripe({
    folder: join(folder, 'stripe'),
    clock: () => buyer.time.now,
    publicUrl: 'http://localhost:3000',
    webhookSecret: 'whsec_sandbox',
    deliver: async () => 200,
    readOnly: true,
  });
  expect(other.world.store.get('charge', charge)).toMatchObject({ paid: true });
  expect(() => other.warnOfFraud(charge)).toThrow(/only reads/);
});

test('a call that is refused in the middle leaves nothing in the folder', async () => {
  const wrong = stripe.prices.create({
    currency: 'usd',
    unit_amount: -1,
    product_data: { name: 'Boost' },
  });
  expect(await refusal(wrong)).toMatchObject({ param: 'unit_amount' });
  expect((await stripe.products.list()).data).toEqual([]);
  expect(buyer.sentTypes()).toEqual([]);
});
