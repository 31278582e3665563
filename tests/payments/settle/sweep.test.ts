import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { packageOf } from '#services/payments/catalogue.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { unavailableProvider } from '#services/payments/unavailable.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** Automatic repairs after a lost webhook event or a killed process. */
let shop: TestShop;
let now = Date.now();

const minute = 60_000;
const day = 24 * 60 * minute;

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
beforeEach(async () => {
  await shop.stripe.deliverAll({ drop: () => true });
  await shop.database.pool.query('delete from purchase');
  await shop.database.pool.query('delete from webhook_poll');
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => shop.close());

/** The provider's clock, the application's and that of the sweeper's rows. */
function pass(milliseconds: number): void {
  now += milliseconds;
  shop.stripe.advance(0);
}

async function sweep(dependencies: PaymentDependencies = shop.payments): Promise<void> {
  await sweepPayments(dependencies);
}

async function available({ userId }: Person): Promise<number> {
  return (await shop.core.ledger.readAccount(userId)).balance.available;
}

async function grantsOf({ userId }: Person): Promise<number> {
  const { events } = await shop.core.readStream(`credits-${userId}`);
  return events.filter(({ type }) => type === 'CreditsGranted').length;
}

async function row(purchaseId: string): Promise<PurchaseRow | null> {
  return findPurchase(shop.core.pool, { purchaseId });
}

async function purchasesOf({ userId }: Person): Promise<PurchaseRow[]> {
  const { rows } = await shop.database.pool.query<PurchaseRow>(
    'select * from purchase where user_id = $1',
    [userId],
  );
  return rows;
}

/** Of one purchase, as the provider has them. */
function sessionsOf(purchaseId: string) {
  return shop.stripe.world.store
    .all('session')
    .filter(({ metadata }) => metadata?.['purchase_id'] === purchaseId);
}

/** No webhook event of what happened so far ever arrives. */
async function loseWebhookEvents(): Promise<void> {
  await shop.stripe.deliverAll({ drop: () => true });
}

describe('a purchase without a webhook event', () => {
  test.each([
    ['pay', 'paid', 20],
    ['pay-later', 'processing', 0],
    ['decline', 'open', 0],
    ['abandon', 'open', 0],
  ] as const)(
    'a purchase without a webhook event is checked after ten minutes: %s is %s',
    async (outcome, status, credits) => {
      const person = await shop.signUp();
      const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-20');
      shop.stripe.pay(id, outcome);
      vi.spyOn(shop.core.provider, 'listEvents').mockImplementation(async function* () {});
      pass(9 * minute);
      await sweep();
      expect(await row(purchaseId)).toMatchObject({ status: 'open', checked_at: null });
      pass(2 * minute);
      await sweep();
      expect(await row(purchaseId)).toMatchObject({ status });
      expect(await available(person)).toBe(credits);
    },
  );

  test('a purchase without a webhook event expires with its session, and is paid when the bank has paid', async () => {
    vi.spyOn(shop.core.provider, 'listEvents').mockImplementation(async function* () {});
    const person = await shop.signUp();
    const left = await shop.checkout(person, 'boost-20');
    const later = await shop.checkout(person, 'boost-50');
    shop.stripe.pay(later.session_id, 'pay-later');
    pass(2 * 60 * minute);
    await sweep();
    expect(await row(left.purchase_id)).toMatchObject({ status: 'expired' });
    expect(await row(later.purchase_id)).toMatchObject({ status: 'processing' });
    shop.stripe.settleLater(later.session_id, 'paid');
    pass(day);
    await sweep();
    expect(await row(later.purchase_id)).toMatchObject({ status: 'paid' });
    expect(await available(person)).toBe(50);
  });

  test('a purchase without a webhook event is checked less and less often, and by one of several sweepers', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay-later');
    const asked = vi.spyOn(shop.core.provider, 'retrieveCheckout');
    const times: number[] = [];
    const began = now;
    for (let step = 0; step < 100; step += 1) {
      pass(minute);
      asked.mockClear();
      await Promise.all([sweep(), sweep(), sweep()]);
      expect(asked.mock.calls.length).toBeLessThanOrEqual(1);
      if (asked.mock.calls.length > 0) times.push((now - began) / minute);
    }
    expect(times.slice(0, 4)).toEqual([10, 15, 20, 25]);
    expect(times.length).toBeLessThan(12);
  });

  test('a payment by another client ends with us after a day, and is paid when it is paid after all', async () => {
    vi.spyOn(shop.core.provider, 'listEvents').mockImplementation(async function* () {});
    const { token, userId, ...rest } = await shop.signUp();
    const { payment_intent_id: intentId, purchase_id: purchaseId } = await shop.data<{
      payment_intent_id: string;
      purchase_id: string;
    }>('/credits/create-payment-intent', { token, body: { package_id: 'boost-20' } });
    pass(20 * 60 * minute);
    await sweep();
    expect(await row(purchaseId)).toMatchObject({ status: 'open' });
    pass(10 * 60 * minute);
    await sweep();
    expect(await row(purchaseId)).toMatchObject({ status: 'expired' });
    shop.stripe.pay(intentId, 'pay');
    await shop.deliver();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
    expect(await available({ token, userId, ...rest })).toBe(20);
  });

  test('a purchase without a webhook event waits while the provider is unavailable, and nothing is lost', async () => {
    const person = await shop.signUp();
    const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay');
    await loseWebhookEvents();
    pass(11 * minute);
    const away = async () => {
      throw new Problem('payment-provider', 'Away');
    };
    vi.spyOn(shop.core.provider, 'retrieveCheckout').mockImplementation(away);
    await sweep().catch(() => undefined);
    expect(await row(purchaseId)).toMatchObject({ status: 'open' });
    vi.restoreAllMocks();
    pass(6 * minute);
    await sweep();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
  });

  test('no provider is called when payments are not configured', async () => {
    const person = await shop.signUp();
    await shop.checkout(person, 'boost-20');
    pass(11 * minute);
    await sweep({ ...shop.payments, provider: unavailableProvider });
  });
});

describe('killed between the provider’s answer and ours', () => {
  async function lostSession(packageId: string) {
    const person = await shop.signUp();
    const { provider } = shop.core;
    const create = provider.createCheckout.bind(provider);
    vi.spyOn(provider, 'createCheckout').mockImplementationOnce(async (wanted) => {
      await create(wanted);
      throw new Error('Killed');
    });
    const body = { package_id: packageId };
    const path = '/credits/create-checkout-session';
    expect((await shop.call(path, { token: person.token, body })).status).toBe(500);
    const [purchase] = await purchasesOf(person);
    return { person, purchaseId: purchase!.id };
  }

  test('a checkout without its session gets the same one again', async () => {
    const { person, purchaseId } = await lostSession('boost-20');
    expect(await row(purchaseId)).toMatchObject({ status: 'open', session_id: null });
    pass(11 * minute);
    await sweep();
    const [session, ...others] = sessionsOf(purchaseId);
    expect(others).toEqual([]);
    expect(await row(purchaseId)).toMatchObject({ status: 'open', session_id: session?.id });
    shop.stripe.pay(session!.id, 'pay');
    await loseWebhookEvents();
    pass(10 * minute);
    await sweep();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
    expect(await available(person)).toBe(20);
  });

  test('a checkout that is too old to be asked for again ends, and is paid if it was paid', async () => {
    const { person, purchaseId } = await lostSession('boost-20');
    const [session] = sessionsOf(purchaseId);
    shop.stripe.pay(session!.id, 'pay');
    vi.spyOn(shop.core.provider, 'listEvents').mockImplementation(async function* () {});
    pass(30 * minute);
    await sweep();
    expect(await row(purchaseId)).toMatchObject({ status: 'expired' });
    await shop.deliver();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid', session_id: session?.id });
    expect(await grantsOf(person)).toBe(1);
  });

  test('a checkout whose price has changed is not begun at the new price, and is paid at its own', async () => {
    const { person, purchaseId } = await lostSession('boost-20');
    const boost = packageOf('boost-20')!;
    const { price_cents: agreed } = boost;
    boost.price_cents = 1_200;
    try {
      pass(11 * minute);
      await sweep();
      expect(await row(purchaseId)).toMatchObject({ status: 'expired', session_id: null });
      shop.stripe.pay(sessionsOf(purchaseId)[0]!.id, 'pay');
      await shop.deliver();
    } finally {
      boost.price_cents = agreed;
    }
    expect(await row(purchaseId)).toMatchObject({ status: 'paid', amount_minor: agreed });
    expect(await available(person)).toBe(20);
  });

  test('the checkout of a plan is ended when its person begins another one', async () => {
    const { person, purchaseId } = await lostSession('side-gig-builder');
    const { session_id: newer } = await shop.checkout(person, 'side-gig-builder');
    expect(sessionsOf(purchaseId).map(({ status }) => status)).toEqual(['expired']);
    expect(await row(purchaseId)).toMatchObject({ status: 'expired' });
    shop.stripe.pay(newer, 'pay');
    await shop.deliver();
    expect(await available(person)).toBe(50);
  });

  test('the checkout of a user who is erased meanwhile ends', async () => {
    const { person, purchaseId } = await lostSession('boost-20');
    await shop.database.pool.query('delete from stripe_customer where user_id = $1', [
      person.userId,
    ]);
    await shop.database.pool.query('update users set erasing_at = now() where id = $1', [
      person.userId,
    ]);
    pass(11 * minute);
    await sweep();
    expect(await row(purchaseId)).toMatchObject({ status: 'expired' });
  });

  /** The process dies at this step of granting. */
  function killed(step: 'before the append' | 'after the append'): PaymentDependencies {
    const { ledger } = shop.payments;
    return {
      ...shop.payments,
      ledger: {
        ...ledger,
        async grantPurchase(purchase) {
          if (step === 'after the append') await ledger.grantPurchase(purchase);
          throw new Error('Killed');
        },
      },
    };
  }

  test.each(['before the append', 'after the append'] as const)(
    'a process killed %s is followed by the sweeper, and there is one lot',
    async (step) => {
      const person = await shop.signUp();
      const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-50');
      shop.stripe.pay(id, 'pay');
      await expect(fulfil(killed(step), { sessionId: id })).rejects.toThrow('Killed');
      await loseWebhookEvents();
      expect(await row(purchaseId)).toMatchObject({ status: 'open', lot_id: null });
      expect(await available(person)).toBe(step === 'after the append' ? 50 : 0);
      pass(11 * minute);
      await sweep();
      const [lot] = (await shop.core.ledger.readAccount(person.userId)).lots;
      expect(await row(purchaseId)).toMatchObject({ status: 'paid', lot_id: lot?.lotId });
      expect(await available(person)).toBe(50);
      expect(await grantsOf(person)).toBe(1);
    },
  );

  test('a process killed after the append is followed by the receipt’s own job at once', async () => {
    const person = await shop.signUp();
    const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-50');
    shop.stripe.pay(id, 'pay');
    await expect(fulfil(killed('after the append'), { sessionId: id })).rejects.toThrow('Killed');
    await loseWebhookEvents();
    await shop.runJobs();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
    expect(await grantsOf(person)).toBe(1);
  });

  test('a process killed in the job of a webhook event is followed by the queue', async () => {
    const person = await shop.signUp();
    const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-50');
    shop.stripe.pay(id, 'pay');
    await shop.stripe.deliverAll();
    await shop.runJobs(killed('before the append'));
    expect(await row(purchaseId)).toMatchObject({ status: 'open' });
    await shop.database.pool.query('update graphile_worker._private_jobs set run_at = now()');
    await shop.runJobs();
    expect(await row(purchaseId)).toMatchObject({ status: 'paid' });
    expect(await grantsOf(person)).toBe(1);
  });
});

describe('a webhook event', () => {
  test('a webhook event whose job is gone gets another one', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay');
    await shop.stripe.deliverAll();
    await shop.database.ownerPool.query(
      `delete from graphile_worker._private_jobs where key like 'evt%'`,
    );
    await shop.runJobs();
    expect(await available(person)).toBe(0);
    await sweep();
    await shop.runJobs();
    expect(await available(person)).toBe(0);
    pass(3 * minute);
    await Promise.all([sweep(), sweep()]);
    await shop.runJobs();
    expect(await available(person)).toBe(20);
    expect(await grantsOf(person)).toBe(1);
  });

  test('a webhook event is kept for as long as it could arrive again', async () => {
    const count = async () => {
      const { rows } = await shop.database.pool.query<{ count: number }>(
        'select count(*)::int from stripe_event',
      );
      return rows[0]?.count ?? 0;
    };
    vi.spyOn(shop.core.provider, 'listEvents').mockImplementation(async function* () {});
    await shop.checkout(await shop.signUp(), 'boost-20');
    await shop.deliver();
    expect(await count()).toBeGreaterThan(0);
    pass(59 * day);
    await sweep();
    expect(await count()).toBeGreaterThan(0);
    pass(2 * day);
    await sweep();
    expect(await count()).toBe(0);
  });

  test('a webhook event that never arrived is fetched within five minutes', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'side-gig-builder');
    await sweep();
    shop.stripe.pay(id, 'pay');
    await loseWebhookEvents();
    pass(4 * minute);
    await sweep();
    await shop.runJobs();
    expect(await available(person)).toBe(0);
    pass(2 * minute);
    await sweep();
    await shop.runJobs();
    expect(await available(person)).toBe(50);
    expect(await grantsOf(person)).toBe(1);
  });

  test('a webhook event that never arrived is fetched weeks later by the first sweep of all', async () => {
    const person = await shop.signUp();
    const { session_id: id } = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(id, 'pay');
    await shop.deliver();
    expect(await available(person)).toBe(50);
    pass(32 * day);
    await loseWebhookEvents();
    pass(20 * day);
    await sweep();
    await shop.runJobs();
    expect(await available(person)).toBe(100);
  });

  test('a webhook event that never arrived is fetched by one of several sweepers, from the last poll on', async () => {
    const list = vi.spyOn(shop.core.provider, 'listEvents');
    await Promise.all([sweep(), sweep(), sweep()]);
    expect(list.mock.calls).toEqual([[now - 30 * day - 60 * minute, true]]);
    const first = now;
    pass(6 * minute);
    list.mockImplementationOnce(() => {
      throw new Problem('payment-provider', 'Away');
    });
    await sweep().catch(() => undefined);
    pass(6 * minute);
    await sweep();
    expect(list.mock.calls.slice(1)).toEqual([
      [first - 60 * minute, true],
      [first - 60 * minute, true],
    ]);
  });
});
