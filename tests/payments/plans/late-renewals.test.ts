import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { askForRefund } from '#services/payments/refunds/ask.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { endPlanOf } from '#services/payments/plans/end.ts';
import { readPlans } from '#services/payments/plans/rows.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { accountOf, bought, endSubscriptions } from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

/** Plans whose next period has begun at the provider, or is about to, before we have been notified. */
const dayMs = 86_400_000;
let shop: TestShop;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
afterEach(() => endSubscriptions(shop));
afterAll(async () => shop.close());

async function planOf({ person }: Bought) {
  const [plan] = await readPlans(shop.core.pool, person.userId);
  if (!plan) throw new Error('There is no plan');
  return plan;
}

async function tierOf({ person: { userId } }: Bought): Promise<string | undefined> {
  const { rows } = await shop.core.pool.query<{ tier: string }>(
    'select subscription_tier as tier from users where id = $1',
    [userId],
  );
  return rows[0]?.tier;
}

async function askBack(of: Bought, dependencies: PaymentDependencies = shop.payments) {
  return askForRefund(dependencies, {
    userId: of.person.userId,
    purchaseId: of.purchaseId,
    refundId: newId('ref', now),
    agreed: null,
    reason: 'operator',
    actor: 'test',
  });
}

function withProvider(changes: Partial<PaymentProvider>): PaymentDependencies {
  return { ...shop.payments, provider: { ...shop.payments.provider, ...changes } };
}

/** The figures of each lot in the account, oldest first. */
async function lotsOf({ person }: Bought): Promise<unknown[]> {
  const { lots } = await accountOf(shop, person);
  return lots.map(({ available, cashPending, cashRefunded }) => ({
    available,
    back: cashPending + cashRefunded,
  }));
}

test('a paid next period continues when the credits of the last one go back', async () => {
  const one = await bought(shop, 'side-gig-builder');
  now += 31 * dayMs;
  shop.stripe.advance(0);
  await askBack(one);
  await shop.runJobs();
  expect([await tierOf(one), (await planOf(one)).revoked_at]).toEqual(['pro', null]);
  await shop.deliver();
  expect(await tierOf(one)).toBe('pro');
  expect(await planOf(one)).toMatchObject({ status: 'active', revoked_at: null });
  expect(await lotsOf(one)).toEqual([
    { available: 0, back: 50 },
    { available: 50, back: 0 },
  ]);
});

test('a payment that is taken back after its period leaves the one that is paid', async () => {
  const one = await bought(shop, 'side-gig-builder');
  now += 31 * dayMs;
  shop.stripe.advance(0);
  await shop.stripe.deliverAll({ drop: () => true });
  shop.stripe.openDispute(one.intentId);
  await shop.deliver();
  expect([await tierOf(one), (await planOf(one)).revoked_at]).toEqual(['pro', null]);
});

test('a payment for the next period that arrives while the plan ends is refunded, whichever clock is ahead', async () => {
  const one = await bought(shop, 'side-gig-builder');
  const { current_period_end: end, subscription_id: subscriptionId } = await planOf(one);
  const before = await shop.payments.provider.retrieveSubscription(subscriptionId);
  // Here the period is over, and the provider begins the next one only when it is to end the plan.
  now = (end?.getTime() ?? 0) + 1_000;
  const slow = withProvider({
    retrieveSubscription: async () => before,
    async cancelSubscription(id) {
      shop.stripe.advance(0);
      await shop.stripe.deliverAll({ drop: ({ type }) => type !== 'invoice.paid' });
      return shop.payments.provider.cancelSubscription(id);
    },
  });
  await askBack(one, slow);
  await shop.deliver();
  expect(await planOf(one)).toMatchObject({ status: 'canceled', revoked_as: 'refunded' });
  expect(await tierOf(one)).toBe('free');
  expect(await lotsOf(one)).toEqual([
    { available: 0, back: 50 },
    { available: 0, back: 50 },
  ]);
});

test('the provider decides whether a plan has renewed, and while it is unavailable nothing ends', async () => {
  const one = await bought(shop, 'side-gig-builder');
  const { subscription_id: subscriptionId } = await planOf(one);
  const before = await shop.payments.provider.retrieveSubscription(subscriptionId);
  now += 31 * dayMs;
  const away = withProvider({
    retrieveSubscription: async () => {
      throw new Problem('payment-provider', 'The payment provider is unavailable.');
    },
  });
  const at = new Date(now).toISOString();
  await expect(endPlanOf(away, one.purchaseId, at)).rejects.toMatchObject({ status: 503 });
  expect((await planOf(one)).revoked_at).toBeNull();
  const notRenewed = withProvider({ retrieveSubscription: async () => before });
  await endPlanOf(notRenewed, one.purchaseId, at);
  expect((await planOf(one)).revoked_as).toBe('refunded');
});
