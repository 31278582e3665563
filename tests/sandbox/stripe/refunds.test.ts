import type { Stripe } from 'stripe';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBuyer, refusal } from './buyer.ts';
import type { Buyer } from './buyer.ts';

/** What goes back of a payment, and what the balance makes of it. */
let buyer: Buyer;
let fake: Buyer['fake'];
let stripe: Stripe;

beforeEach(async () => {
  buyer = await createBuyer();
  ({ fake, stripe } = buyer);
});
afterEach(async () => fake.close());

test('a refund takes from the charge and the balance, and never more than the rest', async () => {
  const { intent, charge } = await buyer.paid();
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
  expect(buyer.sentTypes().slice(-2)).toEqual(['refund.created', 'charge.refunded']);
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
  const { intent, charge } = await buyer.paid();
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
  expect(buyer.sentTypes().slice(-3)).toEqual([
    'refund.updated',
    'refund.updated',
    'refund.failed',
  ]);
});

test('a refund of an unpaid payment is refused', async () => {
  const { id } = await stripe.paymentIntents.create({ amount: 500, currency: 'usd' });
  const refused = await refusal(stripe.refunds.create({ payment_intent: id }));
  expect(refused).toMatchObject({ statusCode: 400, param: 'payment_intent' });
});

test('a dispute takes the amount and a fee at once, and a won one gives back the amount', async () => {
  const { intent, charge } = await buyer.paid();
  const { id } = fake.openDispute(intent);
  expect(buyer.sentTypes().slice(-2)).toEqual([
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
  expect(buyer.sentTypes().slice(-2)).toEqual([
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
  const [one, two] = [await buyer.paid(), await buyer.paid()];
  const first = fake.openDispute(one.charge, { inquiry: true });
  expect(first).toMatchObject({ status: 'warning_needs_response', balance_transactions: [] });
  fake.moveDispute(first.id, 'warning_closed');
  expect(buyer.sentTypes().at(-1)).toBe('charge.dispute.closed');
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
  const { intent, charge } = await buyer.paid();
  const { id } = fake.warnOfFraud(intent);
  expect(buyer.sentTypes().at(-1)).toBe('radar.early_fraud_warning.created');
  expect(await stripe.radar.earlyFraudWarnings.retrieve(id)).toMatchObject({
    actionable: true,
    charge,
    payment_intent: intent,
    fraud_type: 'unauthorized_use_of_card',
  });
});

test('the balance adds up to the payouts, and a payout names its transactions', async () => {
  const { charge } = await buyer.paid();
  await stripe.refunds.create({ charge, amount: 100 });
  const payout = fake.payOut();
  expect(payout).toMatchObject({ amount: 500 - 45 - 100, status: 'paid' });
  expect(buyer.sentTypes().slice(-1)).toEqual(['payout.reconciliation_completed']);
  await buyer.paid();
  const { data } = await stripe.balanceTransactions.list({ payout: payout?.id ?? '' });
  expect(data.map(({ type, net }) => [type, net])).toEqual([
    ['payout', -355],
    ['refund', -100],
    ['charge', 455],
  ]);
  expect(fake.payOut()).toMatchObject({ amount: 455 });
  expect(fake.payOut()).toBeNull();
});
