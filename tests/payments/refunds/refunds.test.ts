import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { askForRefund } from '#services/payments/refunds/ask.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { refundMoved } from '#services/payments/refunds/webhooks.ts';
import { settleRefund } from '#services/payments/settle/settle.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { mailsTo } from '#tests/identity/browser.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import {
  accountOf,
  askBack,
  bought,
  hold,
  lotOf,
  partsOf,
  purchasesOf,
  refundsAt,
  use,
} from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

let shop: TestShop;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
afterAll(async () => shop.close());
afterEach(() => {
  const { faults } = shop.stripe;
  for (const name of Object.keys(faults) as (keyof typeof faults)[]) delete faults[name];
});

/** The same without a session, which would not live through the days that pass here. */
async function ask(of: Bought): Promise<string> {
  const { userId } = of.person;
  const refundId = newId('ref', now);
  await askForRefund(shop.payments, {
    userId,
    purchaseId: of.purchaseId,
    refundId,
    agreed: null,
    reason: 'customer',
    actor: userId,
  });
  return refundId;
}

/** A refusal ends a refund only then. */
async function aDayLater(): Promise<void> {
  now += dayMs;
  await sweepPayments(shop.payments);
}

async function waitingJobsOf(refundId: string): Promise<string[]> {
  const { rows } = await shop.database.ownerPool.query<{ task: string }>(
    `select job.task_identifier as task
     from graphile_worker.jobs job join graphile_worker._private_jobs using (id)
     where payload ->> 'refundId' = $1`,
    [refundId],
  );
  return rows.map(({ task }) => task);
}

function withProvider(changes: Partial<PaymentProvider>): PaymentDependencies {
  return { ...shop.payments, provider: { ...shop.payments.provider, ...changes } };
}

async function statusOf(of: Bought, refundId: string): Promise<string | undefined> {
  return (await accountOf(shop, of.person)).refunds[refundId]?.status;
}

describe('the list of purchases', () => {
  test('the list of purchases shows what was paid, what is unused and what can be refunded', async () => {
    const one = await bought(shop, 'boost-50');
    await use(shop, one.person, 14);
    const { person } = one;
    now += 1_000;
    const other = await shop.checkout(person, 'boost-20');
    expect(await purchasesOf(shop, person)).toEqual([
      expect.objectContaining({
        id: other.purchase_id,
        status: 'open',
        credits: 20,
        amount_cents: 1_000,
        refundable: null,
        refusal: 'not_paid',
        lot_id: null,
      }),
      {
        id: one.purchaseId,
        package_id: 'boost-50',
        package_name: 'Boost 50',
        kind: 'one_time',
        status: 'paid',
        credits: 50,
        amount_cents: 2_500,
        currency: 'usd',
        created_at: expect.any(String),
        paid_at: expect.any(String),
        receipt_url: expect.stringContaining('http'),
        checkout_url: null,
        lot_id: (await lotOf(shop, one)).lotId,
        unused_credits: 36,
        taken_back: false,
        refundable: {
          credits: 36,
          amount_cents: 1_800,
          until: expect.any(String),
          ends_plan: false,
        },
        refusal: null,
        refunds: [],
      },
    ]);
  });

  test('the list of purchases pages by the last one that is known, and leaves out what expired', async () => {
    const person = await shop.signUp();
    const first = await shop.checkout(person, 'boost-20');
    now += 1_000;
    const second = await shop.checkout(person, 'boost-20');
    now += 1_000;
    const third = await shop.checkout(person, 'boost-20');
    await shop.payments.provider.expireCheckout(second.session_id);
    await shop.deliver();
    const ids = async (query: string) =>
      (
        await shop.data<{ id: string }[]>(`/credits/purchases${query}`, { token: person.token })
      ).map(({ id }) => id);
    expect(await ids('')).toEqual([third.purchase_id, first.purchase_id]);
    expect(await ids(`?before=${third.purchase_id}`)).toEqual([first.purchase_id]);
    expect(await ids(`?before=${newId('pur')}`)).toEqual([]);
  });

  test('the list of purchases shows nothing of another person', async () => {
    const one = await bought(shop, 'boost-20');
    const stranger = await shop.signUp();
    expect(await purchasesOf(shop, stranger)).toEqual([]);
    const query = `?before=${one.purchaseId}`;
    expect(await shop.data(`/credits/purchases${query}`, { token: stranger.token })).toEqual([]);
  });
});

describe('a refund request', () => {
  test('a refund request pays back the unused part to the cent, and only that', async () => {
    const one = await bought(shop, 'boost-125');
    await use(shop, one.person, 14);
    const { status, refund } = await askBack(shop, one);
    expect([status, refund]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ref_/),
        status: 'pending',
        credits: 111,
        amount_cents: 4_440,
        currency: 'usd',
        requested_at: new Date(now).toISOString(),
        ended_at: null,
      },
    ]);
    expect(await partsOf(shop, one)).toEqual({ consumed: 14, cashPending: 111 });
    await shop.runJobs();
    expect(await refundsAt(shop, one)).toMatchObject([
      { refundId: refund.id, amountMinor: 4_440, status: 'succeeded' },
    ]);
    expect(await partsOf(shop, one)).toEqual({ consumed: 14, cashRefunded: 111 });
    const [purchase] = await purchasesOf(shop, one.person);
    expect(purchase).toMatchObject({
      refundable: null,
      refusal: 'nothing_left',
      refunds: [{ id: refund.id, status: 'done', amount_cents: 4_440 }],
    });
  });

  test('a refund request for more or fewer credits than were shown is refused, and nothing happens', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 14);
    const { status, problem } = await askBack(shop, one, { credits: 20 });
    expect([status, problem]).toMatchObject([409, { code: 'refund-changed', credits: 6 }]);
    expect(await partsOf(shop, one)).toEqual({ available: 6, consumed: 14 });
    expect((await askBack(shop, one, { credits: 6 })).status).toBe(201);
  });

  test('a refund request while a run begins is compared with the credits left when it is decided', async () => {
    const one = await bought(shop, 'boost-20');
    const { userId } = one.person;
    const { ledger } = shop.payments;
    let isHeld = false;
    const meanwhile: PaymentDependencies = {
      ...shop.payments,
      ledger: {
        ...ledger,
        async readAccount(id) {
          const account = await ledger.readAccount(id);
          if (!isHeld) await hold(shop, one.person, 14);
          isHeld = true;
          return account;
        },
      },
    };
    const asking = askForRefund(meanwhile, {
      userId,
      purchaseId: one.purchaseId,
      refundId: newId('ref', now),
      agreed: 20,
      reason: 'customer',
      actor: userId,
    });
    await expect(asking).rejects.toMatchObject({
      code: 'refund-changed',
      extras: { members: { credits: 6 } },
    });
    expect(await partsOf(shop, one)).toEqual({ available: 6, held: 14 });
  });

  test('a refund request covers what a bank has left of a payment', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    shop.stripe.refundAtBank(one.intentId, 301);
    await shop.deliver();
    // 301 of 1,000 cents are 6.02 of 20 credits: 7, which leaves 8.
    expect((await purchasesOf(shop, one.person))[0]).toMatchObject({
      taken_back: true,
      refundable: { credits: 8, amount_cents: 400 },
      refusal: null,
    });
    expect((await askBack(shop, one, { credits: 8 })).status).toBe(201);
    await shop.deliver();
    await shop.deliver();
    expect(await partsOf(shop, one)).toEqual({ consumed: 5, cashRefunded: 8, revoked: 7 });
  });

  test('two refund requests at once are one refund, also without a key', async () => {
    const one = await bought(shop, 'boost-20');
    const answers = await Promise.all([askBack(shop, one), askBack(shop, one)]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
    expect(answers.find(({ status }) => status === 409)?.problem).toMatchObject({
      code: 'refund-not-possible',
      reason: 'pending',
    });
    await shop.runJobs();
    expect(await refundsAt(shop, one)).toHaveLength(1);
  });

  test('a refund request repeated with the same key is the same refund', async () => {
    const one = await bought(shop, 'boost-20');
    const first = await askBack(shop, one, { key: 'click' });
    const again = await askBack(shop, one, { key: 'click' });
    expect(again).toEqual(first);
    await shop.runJobs();
    expect(await refundsAt(shop, one)).toHaveLength(1);
  });

  test('a refund request for another user’s purchase, or an unknown one, is a 404', async () => {
    const one = await bought(shop, 'boost-20');
    const person = await shop.signUp();
    const foreign = await askBack(shop, { person, purchaseId: one.purchaseId });
    const unknown = await askBack(shop, { person, purchaseId: newId('pur') });
    const comparable = ({ status, problem }: typeof foreign) => ({
      status,
      ...problem,
      request_id: '',
    });
    expect(foreign.status).toBe(404);
    expect(comparable(foreign)).toEqual(comparable(unknown));
  });

  test('a refund request for an unpaid purchase says so', async () => {
    const person = await shop.signUp();
    const { purchase_id: purchaseId } = await shop.checkout(person, 'boost-20');
    expect((await askBack(shop, { person, purchaseId })).problem).toMatchObject({
      code: 'refund-not-possible',
      reason: 'not_paid',
    });
  });

  test('a refund request is possible for 30 days of 24 hours, to the millisecond', async () => {
    const early = await bought(shop, 'boost-20');
    const late = await bought(shop, 'boost-20');
    const before = now;
    now = Date.parse((await lotOf(shop, early)).grantedAt) + 30 * dayMs;
    await ask(early);
    now = Date.parse((await lotOf(shop, late)).grantedAt) + 30 * dayMs + 1;
    await expect(ask(late)).rejects.toMatchObject({
      code: 'refund-not-possible',
      extras: { members: { reason: 'too_old' } },
    });
    now = before;
    await shop.runJobs();
  });

  test('a refund request and a run’s reservation at once never use the same credit', async () => {
    const one = await bought(shop, 'boost-20');
    const [refund, run] = await Promise.allSettled([
      askBack(shop, one),
      hold(shop, one.person, 14),
    ]);
    const parts = await partsOf(shop, one);
    expect(parts).toEqual(
      run.status === 'fulfilled' ? { held: 14, cashPending: 6 } : { cashPending: 20 },
    );
    expect(refund).toMatchObject({ status: 'fulfilled', value: { status: 201 } });
    await shop.runJobs();
  });
});

describe('a plan', () => {
  test('a plan ends with its tier when its present credits are refunded, before the money moves', async () => {
    const one = await bought(shop, 'empire-builder');
    const tier = async () =>
      (await shop.data<{ tier: string }>('/credits/plan', { token: one.person.token })).tier;
    expect(await tier()).toBe('scale');
    await use(shop, one.person, 1);
    expect((await purchasesOf(shop, one.person))[0]).toMatchObject({
      kind: 'monthly',
      // 399 of 400 credits for 150 dollars are 149.625: rounded down.
      refundable: { credits: 399, amount_cents: 14_962, ends_plan: true },
    });
    expect((await askBack(shop, one)).status).toBe(201);
    expect(await tier()).toBe('free');
    const { rows } = await shop.database.pool.query<{ ended: boolean }>(
      'select ended_at is not null as ended from plan where user_id = $1',
      [one.person.userId],
    );
    expect(rows).toEqual([{ ended: true }]);
    expect(await refundsAt(shop, one)).toEqual([]);
    await shop.runJobs();
    expect(await refundsAt(shop, one)).toMatchObject([{ amountMinor: 14_962 }]);
  });

  test('a plan is not ended unseen, nor promised to end, when that has changed since it was shown', async () => {
    const one = await bought(shop, 'side-gig-builder');
    const { token, userId } = one.person;
    const path = `/credits/purchases/${one.purchaseId}/refund`;
    const asked = async (endsPlan: boolean, key: string) => {
      const response = await shop.call(path, { token, key, body: { ends_plan: endsPlan } });
      return [response.status, await response.json()];
    };
    expect(await asked(false, 'unseen')).toMatchObject([
      409,
      { code: 'refund-changed', ends_plan: true },
    ]);
    expect(await partsOf(shop, one)).toEqual({ available: 50 });
    // The plan renews by the provider's clock, without a webhook event.
    now += 31 * dayMs;
    shop.stripe.advance(0);
    await shop.deliver({ drop: () => true });
    const late = {
      userId,
      purchaseId: one.purchaseId,
      refundId: newId('ref', now),
      agreed: null,
      reason: 'operator',
      actor: 'test',
    } as const;
    await expect(askForRefund(shop.payments, { ...late, endsPlan: true })).rejects.toMatchObject({
      code: 'refund-changed',
      extras: { members: { ends_plan: false } },
    });
    await askForRefund(shop.payments, { ...late, endsPlan: false });
    // A repeat is the same refund, whatever was shown.
    await askForRefund(shop.payments, { ...late, endsPlan: true });
    const { rows } = await shop.database.pool.query<{ lives: boolean }>(
      'select revoked_at is null and ended_at is null as lives from plan where user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ lives: true }]);
  });

  test('a plan ends by the job when the provider was unavailable for the request', async () => {
    const one = await bought(shop, 'side-gig-builder');
    const away = withProvider({ cancelSubscription: isUnavailable });
    const { userId } = one.person;
    const refundId = newId('ref', now);
    await askForRefund(away, {
      userId,
      purchaseId: one.purchaseId,
      refundId,
      agreed: null,
      reason: 'customer',
      actor: userId,
    });
    await expect(settleRefund(away, { userId, refundId })).rejects.toMatchObject({ status: 503 });
    expect(await refundsAt(shop, one)).toEqual([]);
    expect(await settleRefund(shop.payments, { userId, refundId })).toMatchObject({
      status: 'confirmed',
    });
    const { rows } = await shop.database.pool.query<{ ended: boolean }>(
      'select ended_at is not null as ended from plan where user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ ended: true }]);
  });
});

async function isUnavailable(): Promise<never> {
  throw new Problem('payment-provider', 'Away');
}

/** As if the process were killed after the provider's answer, before it could be written down. */
class Killed extends Error {}

function killedAfterRefund(): PaymentDependencies {
  let isDead = false;
  const { provider } = shop.payments;
  return withProvider({
    async createRefund(refund) {
      await provider.createRefund(refund);
      isDead = true;
      throw new Killed();
    },
    async listRefunds(intentId) {
      if (isDead) throw new Killed();
      return provider.listRefunds(intentId);
    },
  });
}

describe('a refund', () => {
  test.each(['succeeded', 'pending'] as const)(
    'a refund is found after the process was killed at the answer: %s',
    async (status) => {
      const one = await bought(shop, 'boost-20');
      const refundId = await ask(one);
      const named = { userId: one.person.userId, refundId };
      shop.stripe.faults.refunds = status;
      await expect(settleRefund(killedAfterRefund(), named)).rejects.toThrow(Killed);
      expect(await statusOf(one, refundId)).toBe('pending');
      expect(await refundsAt(shop, one)).toMatchObject([{ refundId, status }]);
      now += 6 * minuteMs;
      await sweepPayments(shop.payments);
      expect(await statusOf(one, refundId)).toBe(status === 'pending' ? 'pending' : 'confirmed');
      const [made] = await refundsAt(shop, one);
      // The bank decides, without a webhook event.
      shop.stripe.settleRefund(made!.providerRefundId, 'succeeded');
      now += dayMs;
      await sweepPayments(shop.payments);
      expect(await statusOf(one, refundId)).toBe('confirmed');
      expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
      expect(await refundsAt(shop, one)).toHaveLength(1);
      await shop.deliver();
    },
  );

  test('a refund is found when the answer never arrives, or is a fault after the fact', async () => {
    for (const fault of [{ loseReply: 3 }, { failAfterCommit: 1 }]) {
      const one = await bought(shop, 'boost-20');
      const refundId = await ask(one);
      Object.assign(shop.stripe.faults, fault, { only: /^POST \/v1\/refunds/ });
      expect(
        await settleRefund(shop.payments, { userId: one.person.userId, refundId }),
      ).toMatchObject({ status: 'confirmed' });
      Object.assign(shop.stripe.faults, { loseReply: 0, failAfterCommit: 0 });
      expect(await refundsAt(shop, one)).toHaveLength(1);
    }
    await shop.deliver();
  });

  test('a refund stays open while the provider is unavailable, and is requested once it is back', async () => {
    const one = await bought(shop, 'boost-20');
    const refundId = await ask(one);
    await shop.runJobs(withProvider({ createRefund: isUnavailable, listRefunds: isUnavailable }));
    expect(await partsOf(shop, one)).toEqual({ cashPending: 20 });
    // Longer than the provider remembers a key.
    now += 2 * dayMs;
    await sweepPayments(shop.payments);
    expect(await statusOf(one, refundId)).toBe('confirmed');
    await shop.deliver();
  });

  test('a refund is checked by one of several processes', async () => {
    const one = await bought(shop, 'boost-20');
    await ask(one);
    let asked = 0;
    const { provider } = shop.payments;
    const counting = withProvider({
      async listRefunds(intentId) {
        if (intentId === one.intentId) asked += 1;
        return provider.listRefunds(intentId);
      },
      createRefund: isUnavailable,
    });
    now += 6 * minuteMs;
    await Promise.all([1, 2, 3].map(async () => sweepPayments(counting)));
    // Once before it is asked for and once after.
    expect(asked).toBe(2);
    await shop.runJobs();
  });

  test('a refund gives the credits back for good when the bank turns it down, with 30 more days', async () => {
    const one = await bought(shop, 'boost-20');
    shop.stripe.faults.refunds = 'pending';
    const { refund } = await askBack(shop, one);
    await shop.deliver();
    await shop.deliver();
    expect(await statusOf(one, refund.id)).toBe('pending');
    const [made] = await refundsAt(shop, one);
    now += 29 * dayMs;
    shop.stripe.settleRefund(made!.providerRefundId, 'failed');
    await shop.deliver({ order: 'reversed', copies: 2 });
    expect(await partsOf(shop, one)).toEqual({ available: 20 });
    now += 29 * dayMs;
    delete shop.stripe.faults.refunds;
    const second = await ask(one);
    await shop.runJobs();
    expect(await statusOf(one, second)).toBe('confirmed');
    await shop.deliver();
  });

  test('a refund may fail after it succeeded, with or without a webhook event', async () => {
    const [reported, unreported] = [await bought(shop, 'boost-20'), await bought(shop, 'boost-20')];
    const ids = [await ask(reported), await ask(unreported)] as const;
    await shop.deliver();
    await shop.deliver();
    for (const one of [reported, unreported]) {
      expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
      const [made] = await refundsAt(shop, one);
      shop.stripe.settleRefund(made!.providerRefundId, 'failed');
    }
    const [unreportedRefund] = await refundsAt(shop, unreported);
    const isUnreported = (event: { data: { object: object } }) =>
      'id' in event.data.object && event.data.object.id === unreportedRefund?.providerRefundId;
    await shop.deliver({ drop: isUnreported });
    expect(await statusOf(reported, ids[0])).toBe('failed');
    expect(await partsOf(shop, reported)).toEqual({ available: 20 });
    expect(await statusOf(unreported, ids[1])).toBe('confirmed');
    now += dayMs;
    await sweepPayments(shop.payments);
    expect(await partsOf(shop, unreported)).toEqual({ available: 20 });
  });

  test('a refund may have been paid after it had failed, and then its credits are gone for good', async () => {
    const one = await bought(shop, 'boost-20');
    const refundId = await ask(one);
    const named = { userId: one.person.userId, refundId };
    const { ledger, provider } = shop.payments;
    await settleRefund(shop.payments, named);
    const at = new Date(now).toISOString();
    const ended = { ...named, providerRefundId: null, at, actor: 'test' };
    await ledger.endRefund({ ...ended, outcome: 'failed' });
    expect(await partsOf(shop, one)).toEqual({ available: 20 });
    // Its webhook event also settles what a bank may have refunded.
    const [made] = await provider.listRefunds(one.intentId);
    await refundMoved(shop.payments, made!.providerRefundId);
    await shop.deliver();
    expect(await partsOf(shop, one)).toEqual({ revoked: 20 });
  });

  test('a refund fails a day after the bank has paid back everything before us', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    const refundId = await ask(one);
    shop.stripe.refundAtBank(one.intentId, 1_000);
    await shop.runJobs();
    expect(await statusOf(one, refundId)).toBe('pending');
    await aDayLater();
    expect(await statusOf(one, refundId)).toBe('failed');
    const account = await accountOf(shop, one.person);
    expect([account.balance.available, account.balance.debt]).toEqual([0, 5]);
    await shop.deliver();
    expect(await accountOf(shop, one.person)).toMatchObject({
      balance: account.balance,
      debts: account.debts,
    });
  });

  test('a refund fails a day after its payment was disputed before it was sent', async () => {
    const one = await bought(shop, 'boost-20');
    const refundId = await ask(one);
    const dispute = shop.stripe.openDispute(one.intentId);
    await shop.runJobs();
    expect(await statusOf(one, refundId)).toBe('pending');
    expect(await waitingJobsOf(refundId)).not.toContain('send-refund');
    await aDayLater();
    expect(await statusOf(one, refundId)).toBe('failed');
    await shop.deliver();
    expect(await partsOf(shop, one)).toEqual({ revoked: 20 });
    shop.stripe.moveDispute(dispute.id, 'won');
    await shop.deliver();
    expect(await partsOf(shop, one)).toEqual({ available: 20 });
  });

  test('a refund is sent again after a refusal that may pass', async () => {
    const one = await bought(shop, 'boost-20');
    const refundId = await ask(one);
    const poor = withProvider({
      createRefund: async () => {
        throw new ProviderRefused('balance_insufficient');
      },
    });
    await shop.runJobs(poor);
    expect(await partsOf(shop, one)).toEqual({ cashPending: 20 });
    now += 10 * minuteMs;
    await sweepPayments(shop.payments);
    expect(await statusOf(one, refundId)).toBe('confirmed');
  });
});

test('a refund that is refused for now fails no other job of its payment', async () => {
  const one = await bought(shop, 'boost-20');
  const refundId = await ask(one);
  shop.stripe.refundAtBank(one.intentId, 100);
  await shop.runJobs();
  expect(await statusOf(one, refundId)).toBe('pending');
  // The provider answers a repeat as it did at first, although there would be enough left again.
  const [bank] = await shop.payments.provider.listRefunds(one.intentId);
  shop.stripe.settleRefund(bank!.providerRefundId, 'failed');
  await shop.stripe.deliverAll();
  await shop.runJobs();
  expect(await waitingJobsOf(refundId)).toEqual([]);
  const { rows } = await shop.database.ownerPool.query(
    `select last_error from graphile_worker.jobs where task_identifier = 'process-webhook-event'`,
  );
  expect(rows).toEqual([]);
});

describe('a refund that has ended', () => {
  test('a refund that was confirmed stays so when the provider shows it as pending again', async () => {
    const one = await bought(shop, 'boost-20');
    const refundId = await ask(one);
    await shop.runJobs();
    const { provider } = shop.payments;
    const payments = withProvider({
      listRefunds: async (intentId) =>
        (await provider.listRefunds(intentId)).map((refund) => ({ ...refund, status: 'pending' })),
    });
    await settleRefund(payments, { userId: one.person.userId, refundId });
    expect(await statusOf(one, refundId)).toBe('confirmed');
    expect(await partsOf(shop, one)).toEqual({ cashRefunded: 20 });
  });

  test('a refund that failed for good is not requested again', async () => {
    const one = await bought(shop, 'boost-20');
    const refundId = await ask(one);
    shop.stripe.openDispute(one.intentId);
    await shop.runJobs();
    await aDayLater();
    expect(await statusOf(one, refundId)).toBe('failed');
    const requested: string[] = [];
    const payments = withProvider({
      createRefund: async (refund) => {
        requested.push(refund.refundId);
        return shop.payments.provider.createRefund(refund);
      },
    });
    await settleRefund(payments, { userId: one.person.userId, refundId });
    expect(requested).toEqual([]);
  });
});

describe('the emails of a refund', () => {
  test('the emails of a refund name each outcome once, to the cent', async () => {
    const one = await bought(shop, 'boost-20');
    const { userId, email } = one.person;
    await shop.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
      userId,
    ]);
    shop.stripe.faults.refunds = 'pending';
    await use(shop, one.person, 1);
    const refundId = await ask(one);
    await shop.runJobs();
    const [made] = await refundsAt(shop, one);
    for (const outcome of ['succeeded', 'failed'] as const) {
      now += 1_000;
      shop.stripe.settleRefund(made!.providerRefundId, outcome);
      await shop.deliver({ copies: 2 });
    }
    await settleRefund(shop.payments, { userId, refundId });
    const mails = (await mailsTo(shop, email)).filter(({ kind }) => kind.startsWith('refund'));
    expect(mails.map(({ kind, subject }) => `${kind}: ${subject}`)).toEqual([
      'refund-pending: Your refund of $9.50 is on its way',
      'refund-confirmed: We refunded $9.50',
      "refund-failed: Your refund of $9.50 didn't go through",
    ]);
    const [, , failed] = mails;
    const until = new Date(now + 30 * dayMs).toISOString().slice(0, 10);
    expect(failed?.text).toContain(`ask for the refund again until ${until} (UTC)`);
  });

  test('the emails of a refund say of a payment that the bank has paid back in part what is left, and until when', async () => {
    const one = await bought(shop, 'boost-20');
    await shop.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
      one.person.userId,
    ]);
    const refundId = await ask(one);
    shop.stripe.refundAtBank(one.intentId, 400);
    await shop.runJobs();
    await aDayLater();
    expect(await statusOf(one, refundId)).toBe('failed');
    await shop.deliver();
    expect(await partsOf(shop, one)).toEqual({ available: 12, revoked: 8 });
    const mails = await mailsTo(shop, one.person.email);
    const failed = mails.find(({ kind }) => kind === 'refund-failed');
    const until = new Date(now + 30 * dayMs).toISOString().slice(0, 10);
    expect(failed?.text).toContain('12 credits are back in your balance');
    expect(failed?.text).toContain(`ask for the refund again until ${until} (UTC)`);
  });

  test('the emails of a refund promise nothing of a payment that is disputed', async () => {
    const one = await bought(shop, 'boost-20');
    await shop.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
      one.person.userId,
    ]);
    await ask(one);
    shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    await aDayLater();
    await shop.deliver();
    const mails = await mailsTo(shop, one.person.email);
    const failed = mails.find(({ kind }) => kind === 'refund-failed');
    expect(failed?.text).toContain("You can't use these credits");
  });
});
