import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Difference } from '#services/payments/settle/reconcile/difference.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import type { ReconcileDependencies } from '#services/payments/settle/reconcile/reconcile.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { askBack, bought, lotOf, partsOf, refundsAt } from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

/** Money that went back twice, and what looks like it. */
const hour = 60 * 60 * 1000;

let shop: TestShop;
let now = Date.parse('2026-11-20T10:00:00Z');
let one: Bought;

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
beforeEach(async () => {
  one = await bought(shop, 'boost-20');
});
afterAll(async () => shop.close());

async function unfilled(
  dependencies: ReconcileDependencies = shop.payments,
): Promise<Difference[]> {
  now += hour;
  const { differences } = await reconcile(dependencies);
  return differences.filter(
    ({ kind, userId }) => kind === 'clawback-unfilled' && userId === one.person.userId,
  );
}

async function refundedBack(): Promise<string> {
  const { refund } = await askBack(shop, one);
  await shop.deliver();
  await shop.deliver();
  return refund.id;
}

test('a dispute of what had been refunded is reported with the money that is lost', async () => {
  await refundedBack();
  const { id } = shop.stripe.openDispute(one.intentId, { amountMinor: 600 });
  await shop.deliver();
  expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
  const { lotId } = await lotOf(shop, one);
  expect(await unfilled()).toMatchObject([
    {
      object: id,
      expected: `12 credits of ${lotId} taken back`,
      found: '0, and nothing is left to take; $6.00 (600 usd) more went back than was paid',
      repairs: expect.stringContaining('operator'),
    },
  ]);
  shop.stripe.moveDispute(id, 'won');
  await shop.deliver();
  expect(await unfilled()).toEqual([]);
});

test('a refund that failed, was asked for again, and was paid after all is reported', async () => {
  const refundId = await refundedBack();
  const { userId } = one.person;
  const { ledger, provider } = shop.payments;
  const [first] = await refundsAt(shop, one);
  shop.stripe.settleRefund(first!.providerRefundId, 'failed');
  await shop.deliver();
  await refundedBack();
  expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
  expect(await unfilled()).toEqual([]);
  const at = new Date(now).toISOString();
  const { providerRefundId } = first!;
  const late = { userId, refundId, providerRefundId, at, actor: 'test' };
  await ledger.endRefund({ ...late, outcome: 'confirmed' });
  const changed: ReconcileDependencies = {
    ...shop.payments,
    provider: {
      ...provider,
      listRefunds: async (intentId) =>
        (await provider.listRefunds(intentId)).map((shown) => ({ ...shown, status: 'succeeded' })),
    },
  };
  expect(await unfilled(changed)).toMatchObject([
    { object: refundId, found: expect.stringContaining('$10.00 (1000 usd) more went back') },
  ]);
});

test('what a refund on its way may bring back is waited for, and no rounding is a loss', async () => {
  shop.stripe.refundAtBank(one.intentId, 1);
  await shop.deliver();
  const { id } = shop.stripe.openDispute(one.intentId, { amountMinor: 999 });
  await shop.deliver();
  // 0.02 and 19.98 credits, each a whole more.
  expect((await lotOf(shop, one)).clawbacks).toMatchObject([
    { wanted: 1, taken: 1 },
    { ref: id, wanted: 20, taken: 19 },
  ]);
  expect(await unfilled()).toEqual([]);
  one = await bought(shop, 'boost-20');
  shop.stripe.faults.refunds = 'pending';
  await askBack(shop, one);
  await shop.deliver();
  shop.stripe.openDispute(one.intentId);
  await shop.deliver();
  expect(await partsOf(shop, one)).toEqual({ cashPending: 20 });
  expect(await unfilled()).toEqual([]);
  const [made] = await refundsAt(shop, one);
  shop.stripe.settleRefund(made!.providerRefundId, 'succeeded');
  await shop.deliver();
  expect(await unfilled()).toHaveLength(1);
});
