import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { beginReading, keepView } from '#services/payments/plans/read.ts';
import { findPlan } from '#services/payments/plans/rows.ts';
import { sweepPlans } from '#services/payments/plans/sweep.ts';
import { createPlanHandlers } from '#services/payments/plans/webhooks.ts';
import { Problem } from '#services/platform/problem.ts';
import { createPlanShop, day } from './plan-shop.ts';
import type { PlanShop } from './plan-shop.ts';

/** Readings of plans, by webhook events and by the sweep. */
let shop: PlanShop;
beforeAll(async () => {
  shop = await createPlanShop();
});
afterEach(async () => shop.endPlans());
afterAll(async () => shop.close());

test('of two readings of a plan the one that began later counts, whichever is stored last', async () => {
  const person = await shop.subscriber();
  const { provider } = shop.payments;
  const older = await beginReading(shop.core.pool);
  const before = await provider.retrieveSubscription(person.subscriptionId);
  await provider.cancelSubscription(person.subscriptionId);
  await shop.deliver();
  expect((await findPlan(shop.core.pool, person.subscriptionId))?.status).toBe('canceled');
  if (!before) throw new Error('There is no subscription');
  await keepView(shop.payments, before, older);
  expect((await findPlan(shop.core.pool, person.subscriptionId))?.status).toBe('canceled');
});

test('many webhook events at once leave the tier of the last state', async () => {
  const person = await shop.subscriber();
  const handlers = createPlanHandlers(shop.payments);
  const report = async () =>
    handlers['customer.subscription.updated']?.({
      eventId: 'evt_1',
      type: 'customer.subscription.updated',
      objectId: person.subscriptionId,
      createdAt: shop.time.now,
      receivedAt: shop.time.now,
    });
  await shop.act(person, { action: 'change', package_id: 'empire-builder' });
  await shop.toPeriodEnd(person);
  await Promise.all([
    ...Array.from({ length: 6 }, report),
    shop.deliver({ copies: 3, order: 'reversed' }),
    ...Array.from({ length: 6 }, report),
  ]);
  expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['scale', [50, 400]]);
});

test('a change of a plan without a webhook event is found within a day', async () => {
  const person = await shop.subscriber();
  await shop.payments.provider.setCancelAtPeriodEnd(
    person.subscriptionId,
    true,
    'side-gig-builder',
  );
  await shop.deliver({ drop: () => true });
  expect((await shop.planOf(person)).plan?.status).toBe('active');
  shop.move(day);
  while ((await sweepPlans(shop.payments)) > 0) await shop.deliver();
  expect((await shop.planOf(person)).plan?.status).toBe('cancelling');
});

test('a subscription that belongs to no user changes nothing', async () => {
  const handlers = createPlanHandlers(shop.payments);
  const event = {
    eventId: 'evt_2',
    type: 'invoice.paid',
    createdAt: shop.time.now,
    receivedAt: shop.time.now,
  };
  for (const type of Object.keys(handlers))
    expect(await handlers[type]?.({ ...event, objectId: null })).toBe('ignored');
  expect(await handlers['invoice.paid']?.({ ...event, objectId: 'in_unknown' })).toBe('ignored');
});

test('a tier ends on time while the provider is unavailable', async () => {
  const person = await shop.subscriber();
  shop.move(40 * day);
  await shop.deliver({ drop: () => true });
  const away: PaymentDependencies = {
    ...shop.payments,
    provider: {
      ...shop.payments.provider,
      retrieveSubscription: async () => {
        throw new Problem('payment-provider', 'The payment provider is unavailable.');
      },
    },
  };
  for (let sweeps = 0; sweeps < 3; sweeps += 1) await sweepPlans(away);
  expect(await shop.tierOf(person)).toBe('free');
});
