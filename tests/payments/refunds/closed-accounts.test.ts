import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { askForErasure, eraseAccount } from '#services/identity/erasure/erasure.ts';
import type { ErasureDependencies } from '#services/identity/erasure/erasure.ts';
import type { Difference } from '#services/payments/settle/reconcile/difference.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { failedAgainMs, failedTries } from '#services/payments/refunds/closed-accounts.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { erasureOf } from '#services/core.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import {
  accountOf,
  bought,
  hold,
  partsOf,
  refundsAt,
  use,
} from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

/** Credits that become available in the account of an erased user. */
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let shop: TestShop;
let erasure: ErasureDependencies;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
  erasure = erasureOf(shop.core);
});
afterEach(() => {
  const { faults } = shop.stripe;
  for (const name of Object.keys(faults) as (keyof typeof faults)[]) delete faults[name];
});
afterAll(async () => {
  expect(shop.logged.filter((line) => line.includes('Failed task'))).toEqual([]);
  await shop.close();
});

async function leave({ person: { userId } }: Bought, dependencies = erasure): Promise<void> {
  await askForErasure(dependencies, { userId, actor: userId });
  expect(await eraseAccount(dependencies, userId)).toBe('erased');
}

/** The repeated sweeps of a worker. */
async function sweep(): Promise<void> {
  await sweepPayments(shop.payments);
  await shop.deliver();
}

async function laterBy(ms: number): Promise<void> {
  now += ms;
  await sweep();
}

/** Our refunds of a purchase, the oldest first, as the provider has them. */
async function statuses(of: Bought): Promise<string[]> {
  return (await refundsAt(shop, of))
    .toSorted((left, right) => left.createdAt - right.createdAt)
    .map(({ status }) => status);
}

async function listed({ person }: Bought): Promise<Difference[]> {
  const { differences } = await reconcile({ ...shop.payments, pool: shop.core.pool }, now);
  return differences.filter(({ userId }) => userId === person.userId);
}

/** The bank takes a refund, and says days later that it cannot. */
async function failsLater(of: Bought): Promise<void> {
  shop.stripe.faults.refunds = 'pending';
  await leave(of);
  const [made] = await refundsAt(shop, of);
  shop.stripe.settleRefund(made?.providerRefundId ?? '', 'failed');
  delete shop.stripe.faults.refunds;
  await shop.deliver();
}

test('a dispute that is won after its user was erased is refunded at once', async () => {
  const one = await bought(shop, 'boost-20');
  const { id } = shop.stripe.openDispute(one.intentId);
  await shop.deliver();
  await leave(one);
  await sweep();
  expect(await partsOf(shop, one)).toEqual({ revoked: 20 });
  shop.stripe.moveDispute(id, 'won');
  await shop.deliver();
  await Promise.all([1, 2, 3].map(async () => sweepPayments(shop.payments)));
  await sweep();
  expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
  expect(await statuses(one)).toEqual(['succeeded']);
  expect(await listed(one)).toEqual([]);
});

test('credits too old to be refunded stay, and are checked once', async () => {
  const one = await bought(shop, 'boost-20');
  now += 31 * dayMs;
  await leave(one);
  await sweep();
  const read = vi.spyOn(shop.core.ledger, 'readClosedAccount');
  await laterBy(dayMs);
  expect(read).not.toHaveBeenCalled();
  read.mockRestore();
  expect(await partsOf(shop, one)).toEqual({ available: 20 });
});

test('credits that a run held during a first refund are refunded afterwards', async () => {
  const one = await bought(shop, 'boost-20');
  const run = await hold(shop, one.person, 14);
  shop.stripe.faults.refunds = 'pending';
  await askForErasure(erasure, { userId: one.person.userId, actor: 'test' });
  expect(await eraseAccount(erasure, one.person.userId)).toEqual({ waitsFor: 'close-account' });
  await run.release();
  expect(await eraseAccount(erasure, one.person.userId)).toBe('erased');
  expect(await partsOf(shop, one)).toEqual({ available: 14, cashPending: 6 });
  delete shop.stripe.faults.refunds;
  const [made] = await refundsAt(shop, one);
  shop.stripe.settleRefund(made?.providerRefundId ?? '', 'succeeded');
  await shop.deliver();
  await sweep();
  expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
});

describe('a failed refund of an erased user', () => {
  test('a failed refund of an erased account is requested again after some days, and listed until then', async () => {
    const one = await bought(shop, 'boost-20');
    await failsLater(one);
    await laterBy(hourMs);
    await laterBy(dayMs);
    expect(await statuses(one)).toEqual(['failed']);
    expect(await listed(one)).toMatchObject([
      {
        kind: 'refund-failed-erased',
        object: Object.keys((await accountOf(shop, one.person)).refunds)[0],
        expected: '$10.00 (1000 usd) paid back for 20 credits',
      },
    ]);
    await laterBy(failedAgainMs);
    expect(await statuses(one)).toEqual(['failed', 'succeeded']);
    expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
    expect(await listed(one)).toEqual([]);
  });

  test(
    'a failed refund of an erased account is not retried for ever, but stays listed',
    { tags: ['long'] },
    async () => {
      const one = await bought(shop, 'boost-20');
      await failsLater(one);
      shop.stripe.faults.refunds = 'failed';
      for (let days = 0; days < 30; days += 1) await laterBy(dayMs);
      expect(await statuses(one)).toEqual(Array.from({ length: failedTries }, () => 'failed'));
      expect(await partsOf(shop, one)).toEqual({ available: 20 });
      expect(await listed(one)).toMatchObject([{ kind: 'refund-failed-erased' }]);
      delete shop.stripe.faults.refunds;
      await laterBy(40 * dayMs);
      expect(await statuses(one)).toHaveLength(failedTries);
    },
  );

  test('a failed refund of an erased account is not sent as well once the rest was used up by a dispute', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    await failsLater(one);
    shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    await laterBy(failedAgainMs);
    expect(await statuses(one)).toEqual(['failed']);
    expect(await partsOf(shop, one)).toEqual({ consumed: 5, revoked: 15 });
    expect(await listed(one)).toEqual([]);
  });
});

test('a provider that refuses for now does not keep an account from being erased', async () => {
  const one = await bought(shop, 'boost-20');
  now += 1_000;
  const two = await bought(shop, 'boost-50', one.person);
  const { provider } = shop.core;
  const poor = erasureOf({
    ...shop.core,
    provider: {
      ...provider,
      createRefund: async () => Promise.reject(new ProviderRefused('balance_insufficient')),
    },
  });
  await leave(one, poor);
  expect(await partsOf(shop, one)).toEqual({ cashPending: 20 });
  expect(await partsOf(shop, two)).toEqual({ cashPending: 50 });
  await laterBy(hourMs);
  expect([await statuses(one), await statuses(two)]).toEqual([['succeeded'], ['succeeded']]);
});
