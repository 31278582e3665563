import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Purchase } from '#services/payments/contract.ts';
import { sweepPlans } from '#services/payments/plans/sweep.ts';
import { give } from '#tests/support/processes/service.ts';
import { createPlanShop } from './plan-shop.ts';
import type { PlanShop } from './plan-shop.ts';

/** What users do with their plans, and what they see of it. */
let shop: PlanShop;
beforeAll(async () => {
  shop = await createPlanShop();
});
afterEach(async () => shop.endPlans());
afterAll(async () => shop.close());

test('a plan is bought, renewed by the clock and cancelled', async () => {
  const ann = await shop.subscriber();
  expect(await shop.planOf(ann)).toMatchObject({
    tier: 'pro',
    monthly_limit: 3,
    plan: {
      package_id: 'side-gig-builder',
      status: 'active',
      credits: 50,
      amount_cents: 2_500,
      current_period_end: '2026-12-02T10:00:00.000Z',
      grace_until: null,
      next_package_id: null,
    },
  });
  await shop.renew(ann);
  expect(await shop.lotsOf(ann)).toEqual([50, 50]);
  expect((await shop.planOf(ann)).plan?.current_period_end).toBe('2027-01-02T10:00:00.000Z');
  const purchases = await shop.data<Purchase[]>('/credits/purchases', {
    token: await shop.tokenOf(ann),
  });
  expect(purchases.map(({ kind, status, amount_cents }) => [kind, status, amount_cents])).toEqual([
    ['monthly', 'paid', 2_500],
    ['monthly', 'paid', 2_500],
  ]);

  expect((await shop.act(ann, { action: 'cancel' })).status).toBe(200);
  expect((await shop.planOf(ann)).plan).toMatchObject({ status: 'cancelling' });
  shop.move(Date.UTC(2027, 0, 2, 10) - 1 - shop.time.now);
  await sweepPlans(shop.payments);
  expect(await shop.tierOf(ann)).toBe('pro');
  shop.move(1);
  await sweepPlans(shop.payments);
  expect(await shop.tierOf(ann)).toBe('free');
  await shop.deliver();
  expect(await shop.planOf(ann)).toMatchObject({ tier: 'free', plan: { status: 'ended' } });
  expect(await shop.lotsOf(ann)).toEqual([50, 50]);
  expect(await shop.audited(ann, 'tier.changed')).toEqual([
    { from: 'free', to: 'pro' },
    { from: 'pro', to: 'free' },
  ]);
  expect((await shop.act(ann, { action: 'resume' })).status).toBe(409);
});

test('a plan that is past due and cancelled ends at once, since nothing of it is paid', async () => {
  const person = await shop.subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId, 4);
  await shop.renew(person);
  expect(await (await shop.act(person, { action: 'cancel' })).json()).toMatchObject({
    data: { tier: 'free', plan: { status: 'ended' } },
  });
});

test('a plan whose failed payment only the provider knows of ends at once when it is cancelled', async () => {
  const person = await shop.subscriber();
  shop.stripe.failNextRenewal(person.subscriptionId, 4);
  await shop.toPeriodEnd(person);
  expect((await shop.planOf(person)).plan?.status).toBe('active');
  expect(await (await shop.act(person, { action: 'cancel' })).json()).toMatchObject({
    data: { tier: 'free', plan: { status: 'ended' } },
  });
  await shop.deliver();
  expect((await shop.planOf(person)).plan?.status).toBe('ended');
});

test('a change takes effect with the next payment, and can be taken back until then', async () => {
  const person = await shop.subscriber();
  const change = async (packageId: string) =>
    (await shop.act(person, { action: 'change', package_id: packageId })).json();
  expect(await change('empire-builder')).toMatchObject({
    data: {
      tier: 'pro',
      plan: { package_id: 'side-gig-builder', next_package_id: 'empire-builder' },
    },
  });
  await shop.deliver();
  expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['pro', [50]]);
  expect(await change('side-gig-builder')).toMatchObject({
    data: { plan: { next_package_id: null } },
  });
  await change('side-gig-builder');
  expect(await shop.audited(person, 'plan.changed')).toHaveLength(2);
  await change('empire-builder');
  await shop.renew(person);
  expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['scale', [50, 400]]);
  expect((await shop.planOf(person)).plan).toMatchObject({
    package_id: 'empire-builder',
    amount_cents: 15_000,
    next_package_id: null,
  });
});

test('a cancelled plan is resumed before it is changed', async () => {
  const person = await shop.subscriber();
  await shop.act(person, { action: 'cancel' });
  const refused = await shop.act(person, { action: 'change', package_id: 'empire-builder' });
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'plan-cancelling' }]);
  await shop.act(person, { action: 'resume' });
  expect(await shop.mailsOf(person, 'plan-moved')).toBe(2);
  await shop.renew(person);
  expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['pro', [50, 50]]);
});

test.each([
  ['before it is cancelled', ['change', 'cancel', 'resume']],
  ['at the provider while it is cancelled', ['cancel', 'elsewhere', 'resume']],
  ['at the provider, and cancelled again', ['cancel', 'elsewhere', 'cancel', 'resume']],
])('a change that was planned %s is dropped at the provider', async (_when, steps) => {
  const person = await shop.subscriber();
  for (const action of steps)
    if (action === 'elsewhere') {
      await shop.payments.provider.changeSubscription(person.subscriptionId, 'empire-builder');
      await shop.deliver();
    } else {
      const what = action === 'change' ? { package_id: 'empire-builder' } : {};
      await shop.act(person, { action, ...what });
    }
  expect((await shop.planOf(person)).plan).toMatchObject({
    status: 'active',
    next_package_id: null,
  });
  await shop.renew(person);
  expect([await shop.tierOf(person), await shop.lotsOf(person)]).toEqual(['pro', [50, 50]]);
  expect((await shop.planOf(person)).plan).toMatchObject({ amount_cents: 2_500 });
});

test('an impossible change of a plan is refused with its reason', async () => {
  const person = await shop.newPerson();
  const messages: string[] = [];
  const refusal = async (path: string, body: object) => {
    const response = await shop.call(path, { token: await shop.tokenOf(person), body });
    const problem = (await response.json()) as { code: string; message: string };
    messages.push(problem.message);
    return [response.status, problem.code];
  };
  expect(await shop.planOf(person)).toEqual({ tier: 'free', monthly_limit: 1, plan: null });
  expect(await refusal('/credits/plan', { action: 'cancel' })).toEqual([409, 'no-plan']);
  expect(await refusal('/credits/portal-session', {})).toEqual([409, 'nothing-bought']);
  await shop.buy(person, 'side-gig-builder');
  for (const package_id of ['boost-50', 'no-such-package'])
    expect(await refusal('/credits/plan', { action: 'change', package_id })).toEqual([
      400,
      'unknown-package',
    ]);
  const asPayment = { package_id: 'empire-builder' };
  expect((await refusal('/credits/create-payment-intent', asPayment))[1]).toBe('unknown-package');
  expect(messages.slice(-3)).toEqual([
    'This package is not a plan: it is bought once, through a checkout session.',
    "We don't offer this package.",
    'This package is a plan. Buy it through a checkout session.',
  ]);
  expect(await refusal('/credits/plan', { action: 'pause' })).toEqual([400, 'validation']);
  expect(
    await refusal('/credits/portal-session', { return_url: 'https://elsewhere.example/' }),
  ).toEqual([400, 'foreign-address']);
  const { url } = await shop.data<{ url: string }>('/credits/portal-session', {
    token: await shop.tokenOf(person),
    body: {},
  });
  expect(url).toMatch(/^http/);
});

test('a tier that came from no plan is left alone', async () => {
  const person = await shop.newPerson();
  await shop.core.pool.query(`update users set subscription_tier = 'scale' where id = $1`, [
    person.userId,
  ]);
  const { session_id: session } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(session, 'decline');
  await shop.deliver();
  await sweepPlans(shop.payments);
  expect([await shop.tierOf(person), await shop.planOf(person)]).toMatchObject([
    'scale',
    { tier: 'scale', monthly_limit: -1 },
  ]);
});

test('the monthly limit is that of the tier, from the moment on that the tier changes', async () => {
  const person = await shop.newPerson();
  await give(shop, person.userId, 50, 'bonus');
  const run = async () => {
    const response = await shop.call('/optimizations', {
      token: await shop.tokenOf(person),
      body: {
        challenge: 'Should we open a second shop?',
        strategy: 'ultra-economy',
        challenge_type: 'business_strategy',
        allow_simulated: true,
      },
    });
    const { data } = (await response.json()) as { data: { id: string } };
    const started = await shop.call(`/optimizations/${data.id}/process`, {
      token: await shop.tokenOf(person),
      method: 'POST',
    });
    return started.status === 202 ? 'started' : ((await started.json()) as { code: string }).code;
  };
  expect([await run(), await run()]).toEqual(['started', 'monthly-limit']);
  const [{ available_credits: before }, { subscriptionId }] = [
    await shop.data<Balance>('/credits/balance', { token: await shop.tokenOf(person) }),
    await shop.subscriber('side-gig-builder', person),
  ];
  // Bought credits are never blocked; so that this is about the limit, they are put aside.
  const { rows } = await shop.core.pool.query<{ id: string }>(
    `select id from purchase where subscription_id = $1 and kind = 'invoice'`,
    [subscriptionId],
  );
  const { lots } = await shop.core.ledger.readAccount(person.userId);
  const lot = lots.find(({ purchaseId }) => purchaseId === rows[0]?.id);
  await shop.core.ledger.setClawback({
    userId: person.userId,
    lotId: lot?.lotId ?? '',
    ref: 'dp_1',
    cause: 'dispute',
    wanted: 50,
    owes: false,
    actor: 'test',
  });
  expect([await run(), await run(), await run()]).toEqual(['started', 'started', 'monthly-limit']);
  expect(before).toBe(48);
});
