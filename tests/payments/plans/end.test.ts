import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Purchase } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { cancelPlansOf, endPlanOf } from '#services/payments/plans/end.ts';
import { isCurrentPeriod } from '#services/payments/plans/period.ts';
import { findPlan, readPlans } from '#services/payments/plans/rows.ts';
import { sweepPlans } from '#services/payments/plans/sweep.ts';
import { disputeMoved } from '#services/payments/refunds/webhooks.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { createPlanShop, day } from './plan-shop.ts';
import type { PlanShop, Subscriber } from './plan-shop.ts';

/** Plans that we end ourselves, together with their tier. */
let shop: PlanShop;
beforeAll(async () => {
  shop = await createPlanShop();
});
afterEach(async () => shop.endPlans());
afterAll(async () => shop.close());

/** The provider answers nothing when a plan is to end. */
function withoutEnding(): PaymentDependencies {
  return {
    ...shop.payments,
    provider: {
      ...shop.payments.provider,
      cancelSubscription: async () => {
        throw new Problem('payment-provider', 'The payment provider is unavailable.');
      },
    },
  };
}

test('of two plans of one person the one that was paid later ends, and its credits go back', async () => {
  const person = await shop.subscriber();
  const { rows } = await shop.core.pool.query<{ customer_id: string }>(
    'select customer_id from stripe_customer where user_id = $1',
    [person.userId],
  );
  const second = await shop.payments.provider.createCheckout({
    purchaseId: derivedId('pur', randomUUID()),
    userId: person.userId,
    customerId: rows[0]?.customer_id ?? '',
    packageId: 'empire-builder',
    kind: 'monthly',
    successUrl: 'http://localhost:3000/credits/success',
    cancelUrl: 'http://localhost:3000/credits/purchase',
  });
  shop.move(1_000);
  shop.stripe.pay(second.sessionId, 'pay');
  await shop.deliver({ copies: 2, order: 'reversed' });
  await shop.deliver();
  const [first, later] = await readPlans(shop.core.pool, person.userId);
  expect([first?.status, first?.revoked_as]).toEqual(['active', null]);
  expect([later?.status, later?.revoked_as]).toEqual(['canceled', 'second']);
  expect(await shop.tierOf(person)).toBe('pro');
  expect((await shop.planOf(person)).plan).toMatchObject({ package_id: 'side-gig-builder' });
  expect(await shop.audited(person, 'plan.ended')).toEqual([{ reason: 'second' }]);
  const { lots, refunds, balance } = await shop.core.ledger.readAccount(person.userId);
  expect(lots.map((lot) => [lot.granted, lot.available])).toEqual([
    [50, 50],
    [400, 0],
  ]);
  expect(Object.values(refunds)).toMatchObject([
    { credits: 400, amountMinor: 15_000, status: 'confirmed' },
  ]);
  expect(balance.available).toBe(50);
});

test('giving back the credits of the present period ends the plan and its tier at once', async () => {
  const person = await shop.subscriber();
  await shop.renew(person);
  const token = await shop.tokenOf(person);
  const [latest, first] = await shop.data<Purchase[]>('/credits/purchases', { token });
  if (!latest || !first) throw new Error('There are two purchases');
  expect([latest.refundable?.ends_plan, first.refundable?.ends_plan ?? false]).toEqual([
    true,
    false,
  ]);
  const at = new Date(shop.time.now).toISOString();
  expect(await isCurrentPeriod(shop.core.pool, latest.id, at)).toBe(true);
  expect(await isCurrentPeriod(shop.core.pool, first.id, at)).toBe(false);
  // An older invoice that was paid late is for the older period all the same.
  await shop.core.pool.query('update purchase set paid_at = $2 where id = $1', [first.id, at]);
  expect(await isCurrentPeriod(shop.core.pool, latest.id, at)).toBe(true);
  expect(await isCurrentPeriod(shop.core.pool, first.id, at)).toBe(false);
  await shop.data(`/credits/purchases/${latest.id}/refund`, { token, method: 'POST' });
  expect(await shop.tierOf(person)).toBe('free');
  await shop.deliver();
  expect((await shop.planOf(person)).plan).toMatchObject({ status: 'ended' });
  expect(await shop.audited(person, 'plan.ended')).toEqual([{ reason: 'refunded' }]);
  expect((await findPlan(shop.core.pool, person.subscriptionId))?.ended_at).not.toBeNull();
});

test.each([
  [2, [0, 0, 1]],
  [0, [0, 0, 0]],
] as const)(
  'where the clock of the provider is ahead, giving back payment %i leaves those before it',
  async (which, refunds) => {
    const person = await shop.subscriber();
    const token = await shop.tokenOf(person);
    const here = shop.time.now;
    await shop.renew(person);
    await shop.renew(person);
    // The provider's clock is months ahead of ours.
    shop.time.now = here + 1_000;
    await shop.core.pool.query(
      'update purchase set created_at = $2 where user_id = $1 and created_at > $2',
      [person.userId, new Date(here)],
    );
    const { rows } = await shop.core.pool.query<{ id: string; lot_id: string }>(
      `select id, lot_id from purchase where user_id = $1 and kind = 'invoice' order by period_end`,
      [person.userId],
    );
    const id = rows[which]?.id ?? '';
    await shop.data(`/credits/purchases/${id}/refund`, { token, method: 'POST' });
    await shop.runJobs();
    const account = await shop.core.ledger.readAccount(person.userId);
    const made = rows.map(
      (row) => Object.values(account.refunds).filter(({ lotId }) => lotId === row.lot_id).length,
    );
    expect(made).toEqual(refunds.map((count, index) => (index === which ? 1 : count)));
    shop.time.now = here + 100 * day;
  },
);

describe('a payment that was taken back', () => {
  /** A plan in its second period, and how the provider knows the payments of both. */
  async function renewed() {
    const person = await shop.subscriber();
    await shop.renew(person);
    const { rows } = await shop.core.pool.query<{ intent: string }>(
      `select payment_intent_id as intent from purchase
       where subscription_id = $1 and kind = 'invoice' order by period_end`,
      [person.subscriptionId],
    );
    const [earlier = '', present = ''] = rows.map(({ intent }) => intent);
    return { ...person, earlier, present };
  }
  const standing = async (person: Subscriber) => {
    const plan = await findPlan(shop.core.pool, person.subscriptionId);
    return [await shop.tierOf(person), plan?.status, plan?.revoked_as];
  };
  const kept = ['pro', 'active', null];
  const ended = ['free', 'canceled', 'taken_back'];

  test('a payment that was taken back in full by a dispute ends the plan, and one that is won does not bring it back', async () => {
    const person = await renewed();
    const { id } = shop.stripe.openDispute(person.present, { inquiry: true });
    await shop.deliver();
    expect(await standing(person)).toEqual(kept);
    shop.stripe.moveDispute(id, 'needs_response');
    await shop.deliver({ copies: 2, order: 'reversed' });
    expect(await standing(person)).toEqual(ended);
    expect(await shop.audited(person, 'plan.ended')).toEqual([{ reason: 'taken_back' }]);
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await standing(person)).toEqual(ended);
    const { lots } = await shop.core.ledger.readAccount(person.userId);
    expect(lots.map(({ available }) => available)).toEqual([50, 50]);
    shop.move(32 * day);
    await shop.deliver();
    expect(await shop.lotsOf(person)).toEqual([50, 50]);
  });

  const halfMinor = 1_250;

  test('a plan ends when the payment of its period went back in pieces of several kinds', async () => {
    const person = await renewed();
    shop.stripe.refundAtBank(person.present, halfMinor);
    await shop.deliver();
    expect(await standing(person)).toEqual(kept);
    const { id } = shop.stripe.openDispute(person.present, { amountMinor: halfMinor });
    shop.stripe.moveDispute(id, 'lost');
    await shop.deliver();
    expect(await standing(person)).toEqual(ended);
  });

  test('a plan ends when the payment of its period went back in pieces that are reported at once and in the wrong order', async () => {
    const person = await renewed();
    shop.stripe.refundAtBank(person.present, halfMinor);
    const { id } = shop.stripe.openDispute(person.present, { amountMinor: halfMinor });
    shop.stripe.moveDispute(id, 'lost');
    await shop.deliver({ copies: 2, order: 'reversed' });
    expect(await standing(person)).toEqual(ended);
  });

  test('a payment that was taken back nearly in full, or for an earlier period, leaves the plan', async () => {
    const person = await renewed();
    shop.stripe.refundAtBank(person.earlier, 2_500);
    shop.stripe.openDispute(person.present, { amountMinor: 2_499 });
    await shop.deliver();
    expect(await standing(person)).toEqual(kept);
  });

  test('a payment that was taken back ends the plan also when its end at the provider has to wait', async () => {
    const person = await renewed();
    const { id } = shop.stripe.openDispute(person.present);
    shop.stripe.moveDispute(id, 'lost');
    await expect(disputeMoved(withoutEnding(), id)).rejects.toMatchObject({ status: 503 });
    expect(await standing(person)).toEqual(['free', 'active', 'taken_back']);
    // The plan is checked again until everything is done.
    const { rows } = await shop.core.pool.query(
      'select stage, closed_at from dispute where id = $1',
      [id],
    );
    expect(rows).toEqual([{ stage: 'lost', closed_at: null }]);
    await shop.deliver({ drop: () => true });
    shop.move(day);
    await sweepPayments(shop.payments);
    expect(await standing(person)).toEqual(ended);
  });
});

test('a payment for a period after its plan had ended is refunded', async () => {
  const person = await shop.subscriber();
  const { rows } = await shop.core.pool.query<{ id: string }>(
    `select id from purchase where subscription_id = $1 and kind = 'invoice'`,
    [person.subscriptionId],
  );
  const askedAt = new Date(shop.time.now + day).toISOString();
  await shop.renew(person);
  // The answer to the refund was late, and the plan has renewed meanwhile.
  await endPlanOf(shop.payments, rows[0]?.id ?? '', askedAt);
  await endPlanOf(shop.payments, rows[0]?.id ?? '', askedAt);
  await shop.deliver();
  const { lots, refunds } = await shop.core.ledger.readAccount(person.userId);
  expect(lots.map((lot) => lot.available)).toEqual([50, 0]);
  expect(Object.values(refunds)).toMatchObject([{ amountMinor: 2_500, status: 'confirmed' }]);
  expect(await shop.tierOf(person)).toBe('free');
});

test('a plan that could not be ended at the provider is ended there by the sweeper', async () => {
  const person = await shop.subscriber();
  const { rows } = await shop.core.pool.query<{ id: string }>(
    `select id from purchase where subscription_id = $1 and kind = 'invoice'`,
    [person.subscriptionId],
  );
  await expect(
    endPlanOf(withoutEnding(), rows[0]?.id ?? '', new Date(shop.time.now).toISOString()),
  ).rejects.toMatchObject({ status: 503 });
  expect(await shop.tierOf(person)).toBe('free');
  await sweepPlans(shop.payments);
  expect((await findPlan(shop.core.pool, person.subscriptionId))?.status).toBe('canceled');
});

test('a closed account has no plan, also when a payment arrives in the last moment', async () => {
  const [first, second] = [await shop.subscriber(), await shop.subscriber()];
  await cancelPlansOf(shop.payments, first.userId);
  await cancelPlansOf(shop.payments, first.userId);
  await shop.core.pool.query('update users set erasing_at = $2 where id = $1', [
    second.userId,
    new Date(shop.time.now),
  ]);
  await shop.renew(second);
  for (const { subscriptionId } of [first, second])
    expect(await findPlan(shop.core.pool, subscriptionId)).toMatchObject({
      status: 'canceled',
      revoked_as: 'erased',
    });
});
