import type Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  openWarnings,
  settleLeftOver,
  settleWarnings,
} from '#services/payments/disputes/fraud-warnings.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { createRefundHandlers, disputeMoved } from '#services/payments/refunds/webhooks.ts';
import type { CheckoutState, Purchase } from '#services/payments/contract.ts';
import { readStatement } from '#services/payments/statement.ts';
import type { DisputeView } from '#services/payments/provider.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { acceptWebhookEvent, processWebhookEvent } from '#services/payments/webhooks.ts';
import type { Transaction } from '#services/credits/contract.ts';
import { mailsTo } from '#tests/identity/browser.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import {
  accountOf,
  askBack,
  bought,
  hold,
  partsOf,
  purchasesOf,
  refundsAt,
  use,
} from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';

const dayMs = 86_400_000;

let shop: TestShop;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
afterAll(async () => {
  expect(shop.logged.filter((line) => line.includes('Failed task'))).toEqual([]);
  await shop.close();
});

async function balanceOf({ person }: Bought) {
  const { available, held, debt } = (await accountOf(shop, person)).balance;
  return { available, held, debt };
}

/** The lines of the history that a bank has caused, newest first. */
async function linesOf({ person }: Bought): Promise<string[]> {
  const lines = await shop.data<Transaction[]>('/credits/history', { token: person.token });
  return lines
    .filter(({ reason_code: reason }) => ['dispute', 'inquiry', 'debt'].includes(reason))
    .map(({ reason_code: reason, description }) => `${reason}: ${description}`);
}

type Row = { stage: string; status: string; amount_minor: number; closed: boolean };

async function stagesOf({ person }: Bought): Promise<Row[]> {
  const { rows } = await shop.database.pool.query<Row>(
    `select stage, status, amount_minor, closed_at is not null as closed from dispute
     where user_id = $1 order by created_at, id`,
    [person.userId],
  );
  return rows;
}

describe('mails about a dispute', () => {
  const buyer = async (): Promise<Bought> => {
    const one = await bought(shop, 'boost-20');
    await shop.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
      one.person.userId,
    ]);
    return one;
  };
  const mailsOf = async ({ person }: Bought) =>
    (await mailsTo(shop, person.email)).filter(({ kind }) => kind.startsWith('dispute'));

  test('mails about a dispute say what it took, what is owed and what that blocks, and that it is over; once each', async () => {
    const one = await buyer();
    await use(shop, one.person, 5);
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver({ copies: 2 });
    await disputeMoved(shop.payments, id);
    const [taken, ...others] = await mailsOf(one);
    expect([taken?.kind, others]).toEqual(['dispute-taken', []]);
    expect(taken?.subject).toBe('Your payment of $10.00 is disputed');
    for (const words of [
      'Your bank took back $10.00 of your payment for Boost 20',
      '15 credits were taken back from your account.',
      'You had already used 5 credits from this payment, so you owe them.',
      "You can't start an optimization until they're settled.",
      'The next credits you buy or receive settle them first',
      'No money moved',
      `${shop.core.publicUrl}/credits/purchase`,
    ])
      expect(taken?.text).toContain(words);
    expect(taken?.html).toContain('already used 5 credits from this payment');
    now += 1_000;
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver({ copies: 2 });
    await disputeMoved(shop.payments, id);
    const [, over, ...more] = await mailsOf(one);
    expect([over?.kind, more]).toEqual(['dispute-over', []]);
    expect(over?.subject).toBe('The dispute about your payment of $10.00 is closed');
    for (const words of [
      '15 credits are back in your balance.',
      'You no longer owe the 5 credits this dispute caused.',
      'You can start optimizations as usual.',
    ])
      expect(over?.text).toContain(words);
  });

  test('mails about a dispute are sent once, although old rows of mail are deleted', async () => {
    const one = await buyer();
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    expect(await mailsOf(one)).toHaveLength(1);
    await shop.database.ownerPool.query('delete from mail where user_id = $1', [one.person.userId]);
    await disputeMoved(shop.payments, id);
    expect(await mailsOf(one)).toEqual([]);
  });

  test('mails about a dispute differ from those about the inquiry that it began as', async () => {
    const one = await buyer();
    const { id } = shop.stripe.openDispute(one.intentId, { inquiry: true });
    await shop.deliver();
    const [inquiry] = await mailsOf(one);
    expect(inquiry?.subject).toBe('Your bank is asking about your payment of $10.00');
    expect(inquiry?.text).toContain('20 credits were taken back from your account.');
    expect(inquiry?.text).not.toContain('owe');
    now += 1_000;
    shop.stripe.moveDispute(id, 'needs_response');
    shop.stripe.moveDispute(id, 'lost');
    await shop.deliver();
    expect((await mailsOf(one)).map(({ kind }) => kind)).toEqual([
      'dispute-inquiry',
      'dispute-taken',
    ]);
  });

  test('mails about a dispute name what a run holds, what a later purchase paid comes back of, and what is owed besides', async () => {
    const one = await buyer();
    const run = await hold(shop, one.person, 14);
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    const [taken] = await mailsOf(one);
    expect(taken?.text).toContain('6 credits were taken back');
    expect(taken?.text).toContain('Up to 14 more credits are on hold for a running optimization');
    await run.capture();
    now += 1_000;
    await shop.buy(one.person, 'boost-20');
    now += 1_000;
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    const [, over] = await mailsOf(one);
    expect(over?.text).toContain('20 credits are back in your balance.');
  });

  test('mails about a dispute are not written of a dispute that took nothing, and not to an address that is not confirmed', async () => {
    const one = await buyer();
    await askBack(shop, one);
    await shop.deliver();
    shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    const two = await bought(shop, 'boost-20');
    shop.stripe.openDispute(two.intentId);
    await shop.deliver();
    expect([await mailsOf(one), await mailsOf(two)]).toEqual([[], []]);
  });
});

describe('a dispute', () => {
  test('a dispute takes what is unused and owes what was used, until it is won', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    expect(await balanceOf(one)).toEqual({ available: 0, held: 0, debt: 5 });
    expect(await stagesOf(one)).toEqual([
      { stage: 'withdrawn', status: 'needs_response', amount_minor: 1_000, closed: false },
    ]);
    expect((await purchasesOf(shop, one.person))[0]).toMatchObject({
      taken_back: true,
      refundable: null,
      refusal: 'taken_back',
    });
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await balanceOf(one)).toEqual({ available: 15, held: 0, debt: 0 });
    expect(await stagesOf(one)).toMatchObject([{ stage: 'won', closed: true }]);
    expect((await askBack(shop, one, { credits: 15 })).status).toBe(201);
    await shop.deliver();
  });

  test('a dispute that is won after a later purchase paid its debt gives that purchase its credits back', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 20);
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    expect(await balanceOf(one)).toEqual({ available: 0, held: 0, debt: 20 });
    now += 1_000;
    const checkout = await shop.checkout(one.person, 'boost-50');
    const stateOf = async () =>
      shop.data<CheckoutState>(`/credits/checkout-sessions/${checkout.session_id}`, {
        token: one.person.token,
      });
    expect(await stateOf()).toMatchObject({ status: 'open', settled_credits: 0 });
    shop.stripe.pay(checkout.session_id, 'pay');
    now += 2_000;
    expect(await stateOf()).toMatchObject({ status: 'paid', credits: 50, settled_credits: 20 });
    await shop.deliver();
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await balanceOf(one)).toEqual({ available: 50, held: 0, debt: 0 });
  });

  test('a dispute that begins as an inquiry only freezes, and owes once the money is taken', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    const { id } = shop.stripe.openDispute(one.intentId, { inquiry: true });
    await shop.deliver();
    expect((await balanceOf(one)).debt).toBe(0);
    shop.stripe.moveDispute(id, 'needs_response');
    await shop.deliver();
    expect((await balanceOf(one)).debt).toBe(5);
    shop.stripe.moveDispute(id, 'lost');
    await shop.deliver();
    expect(await stagesOf(one)).toMatchObject([{ stage: 'lost', closed: true }]);
  });

  test('a dispute that was an inquiry first has two words in the history, each for its time', async () => {
    const one = await bought(shop, 'boost-20');
    const run = await hold(shop, one.person, 14);
    const { id } = shop.stripe.openDispute(one.intentId, { inquiry: true });
    await shop.deliver();
    shop.stripe.moveDispute(id, 'needs_response');
    await shop.deliver();
    await run.release();
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await linesOf(one)).toEqual([
      'dispute: Dispute won, credits returned: Boost 20',
      'dispute: Credits from a disputed payment: Boost 20',
      'inquiry: Credits from a payment your bank is asking about: Boost 20',
    ]);
    const month = new Date(now).toISOString().slice(0, 7);
    const statement = await readStatement(shop.database.pool, one.person.userId, month, now);
    expect(statement?.lines.map(({ reason_code: reason }) => reason)).toEqual([
      'purchase',
      'inquiry',
      'dispute',
      'dispute',
    ]);
  });

  test('a dispute that was only an inquiry gives everything back when it is closed', async () => {
    const one = await bought(shop, 'boost-20');
    const { id } = shop.stripe.openDispute(one.intentId, { inquiry: true });
    await shop.deliver();
    shop.stripe.moveDispute(id, 'warning_closed');
    await shop.deliver();
    expect(await linesOf(one)).toEqual([
      'inquiry: Inquiry closed, credits returned: Boost 20',
      'inquiry: Credits from a payment your bank is asking about: Boost 20',
    ]);
    expect(await balanceOf(one)).toEqual({ available: 20, held: 0, debt: 0 });
    expect(await stagesOf(one)).toMatchObject([{ stage: 'closed', closed: true }]);
  });

  test('a dispute that is reported before its payment has that granted first', async () => {
    const person = await shop.signUp();
    const { session_id: sessionId, purchase_id: purchaseId } = await shop.checkout(
      person,
      'boost-20',
    );
    shop.stripe.pay(sessionId, 'pay');
    const view = await shop.payments.provider.retrieveCheckout(sessionId);
    const intentId = view?.intentId ?? '';
    shop.stripe.openDispute(intentId, { amountMinor: 500 });
    await shop.deliver({ drop: ({ type }) => !type.startsWith('charge.dispute') });
    expect(await partsOf(shop, { person, purchaseId, intentId })).toEqual({
      available: 10,
      revoked: 10,
    });
  });

  test('a dispute of a plan that is reported before its invoice is booked with it', async () => {
    const person = await shop.signUp();
    const { session_id: sessionId } = await shop.checkout(person, 'side-gig-builder');
    shop.stripe.pay(sessionId, 'pay');
    const paid = shop.stripe
      .pendingWebhookEvents()
      .find(({ type }) => type === 'payment_intent.succeeded');
    if (paid?.type !== 'payment_intent.succeeded') throw new Error('Nothing was paid');
    shop.stripe.openDispute(paid.data.object.id, { amountMinor: 1_250 });
    const disputesFirst = (events: Stripe.Event[]) =>
      events.toSorted((left, right) => rankOf(left) - rankOf(right));
    await shop.deliver({ order: disputesFirst });
    expect((await accountOf(shop, person)).balance).toMatchObject({ available: 25, revoked: 25 });
    const failed = shop.logged.filter((line) => line.includes('Failed task'));
    expect(failed).toHaveLength(2);
    shop.logged.splice(0);
    await shop.database.ownerPool.query(`update graphile_worker._private_jobs set run_at = now()`);
    await shop.runJobs();
    expect((await accountOf(shop, person)).balance).toMatchObject({ available: 25, revoked: 25 });
  });

  test('a dispute comes to the same end in any order, three times each and at once', async () => {
    for (const end of ['won', 'lost'] as const) {
      for (const turn of [1, 2, 3]) {
        const one = await bought(shop, 'boost-20');
        await use(shop, one.person, 5);
        const { id } = shop.stripe.openDispute(one.intentId, { inquiry: turn === 1 });
        if (turn === 1) shop.stripe.moveDispute(id, 'needs_response');
        shop.stripe.moveDispute(id, 'under_review');
        // Some events arrive on the way, the rest afterwards.
        if (turn === 2) await shop.deliver({ order: 'reversed', copies: 3 });
        shop.stripe.moveDispute(id, end);
        await shop.deliver({ order: shuffledBy(turn), copies: 3 });
        await Promise.all([1, 2, 3].map(async () => disputeMoved(shop.payments, id)));
        expect(await balanceOf(one)).toEqual(
          end === 'won' ? { available: 15, held: 0, debt: 0 } : { available: 0, held: 0, debt: 5 },
        );
      }
    }
  });

  test('a dispute is not put back by a reading from before it moved', async () => {
    const one = await bought(shop, 'boost-20');
    const { id } = shop.stripe.openDispute(one.intentId);
    const { provider } = shop.payments;
    const old = await provider.retrieveDispute(id);
    let reads: (DisputeView | null)[] = [old];
    const slow = {
      ...shop.payments,
      provider: {
        ...provider,
        retrieveDispute: async () => {
          const [first, ...rest] = reads;
          reads = rest;
          return first ?? provider.retrieveDispute(id);
        },
      },
    };
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
    expect(await disputeMoved(slow, id)).toBe('won');
    expect(await balanceOf(one)).toEqual({ available: 20, held: 0, debt: 0 });
    expect(await stagesOf(one)).toMatchObject([{ stage: 'won' }]);
  });

  test('a dispute is read again once a day while it is open', async () => {
    const one = await bought(shop, 'boost-20');
    const { id } = shop.stripe.openDispute(one.intentId);
    await shop.deliver();
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver({ drop: () => true });
    await sweepPayments(shop.payments);
    expect(await balanceOf(one)).toMatchObject({ available: 0 });
    now += dayMs;
    await sweepPayments(shop.payments);
    expect(await balanceOf(one)).toMatchObject({ available: 20 });
  });
});

function rankOf({ type }: Stripe.Event): number {
  return type.startsWith('charge.dispute') ? 0 : 1;
}

/** Another order for each number, the same each time. */
function shuffledBy(turn: number): (events: Stripe.Event[]) => Stripe.Event[] {
  return (events) =>
    events
      .map((event, index) => ({ event, rank: ((index + turn) * 7_919) % 31 }))
      .toSorted((left, right) => left.rank - right.rank)
      .map(({ event }) => event);
}

/** The payments of the statement, line by line: paid, withdrawn and returned. */
async function moneyOf({ person }: Bought): Promise<number[]> {
  const month = new Date(shop.core.clock()).toISOString().slice(0, 7);
  const statement = await readStatement(
    shop.database.pool,
    person.userId,
    month,
    shop.core.clock(),
  );
  return (statement?.lines ?? []).flatMap(({ payment }) => payment?.amount_cents ?? []);
}

test('the statement names the money of a dispute once it is withdrawn, and when it is back', async () => {
  const one = await bought(shop, 'boost-20');
  const { id } = shop.stripe.openDispute(one.intentId, { inquiry: true });
  await shop.deliver();
  expect(await moneyOf(one)).toEqual([1_000]);
  shop.stripe.moveDispute(id, 'needs_response');
  await shop.deliver({ copies: 2 });
  expect(await moneyOf(one)).toEqual([1_000, -1_000]);
  shop.stripe.moveDispute(id, 'won');
  await shop.deliver();
  expect(await moneyOf(one)).toEqual([1_000, -1_000, 1_000]);
});

describe('a refund by the bank', () => {
  test('a refund by the bank takes its share of the credits, twice, and gives back what fails', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    const first = shop.stripe.refundAtBank(one.intentId, 250);
    await shop.deliver({ order: 'reversed', copies: 3 });
    now += 1_000;
    shop.stripe.refundAtBank(one.intentId, 601);
    await shop.deliver({ order: 'reversed', copies: 3 });
    // 851 of 1,000 cents are 17.02 of 20 credits: 18.
    const [{ refunds }] = (await purchasesOf(shop, one.person)) as [Purchase];
    expect(refunds.map((refund) => [refund.status, refund.amount_cents, refund.credits])).toEqual(
      expect.arrayContaining([
        ['done', 250, 5],
        ['done', 601, 13],
      ]),
    );
    expect(await moneyOf(one)).toEqual([1_000, -250, -601]);
    now += 1_000;
    shop.stripe.settleRefund(first.id, 'failed');
    await shop.deliver();
    expect(await moneyOf(one)).toEqual([1_000, -250, -601, 250]);
    expect(await balanceOf(one)).toEqual({ available: 2, held: 0, debt: 0 });
  });

  test('a refund by the bank beside one of ours takes only what is not on its way already', async () => {
    const one = await bought(shop, 'boost-20');
    await use(shop, one.person, 5);
    await askBack(shop, one);
    await shop.runJobs();
    shop.stripe.refundAtBank(one.intentId, 100);
    await shop.deliver({ copies: 2 });
    expect(await balanceOf(one)).toEqual({ available: 0, held: 0, debt: 2 });
    const ours = (await refundsAt(shop, one)).find(({ refundId }) => refundId !== null);
    shop.stripe.settleRefund(ours?.providerRefundId ?? '', 'failed');
    await shop.deliver();
    expect(await balanceOf(one)).toEqual({ available: 13, held: 0, debt: 0 });
  });

  test('a refund by the bank of an unknown payment is left alone', async () => {
    const { provider } = shop.payments;
    const person = await shop.signUp();
    await bought(shop, 'boost-20', person);
    const { rows } = await shop.database.pool.query<{ customer_id: string }>(
      'select customer_id from stripe_customer where user_id = $1',
      [person.userId],
    );
    const { intentId } = await provider.createIntent({
      purchaseId: 'pur_00000000000000000000000000',
      userId: person.userId,
      customerId: rows[0]?.customer_id ?? '',
      packageId: 'boost-20',
      amountMinor: 1_000,
      currency: 'usd',
    });
    shop.stripe.pay(intentId, 'pay');
    shop.stripe.refundAtBank(intentId, 1_000);
    shop.stripe.openDispute(intentId, { amountMinor: 10, inquiry: true });
    await shop.deliver();
    const { rows: outcomes } = await shop.database.pool.query<{ outcome: string }>(
      `select distinct outcome from stripe_event
       where type ~ '^(refund|charge.refunded|charge.dispute)' and created_at >= $1
         and object_id is not null and outcome = 'ignored'`,
      [new Date(now)],
    );
    expect(outcomes).toEqual([{ outcome: 'ignored' }]);
    expect((await accountOf(shop, person)).balance).toMatchObject({ available: 20, debt: 0 });
  });
});

const warningType = 'radar.early_fraud_warning.created';

/** The first payment of a plan, without a webhook event; `look` opens its success page. */
async function unheard(): Promise<{ person: Person; intentId: string; look: () => Promise<void> }> {
  const person = await shop.signUp();
  const { session_id: sessionId } = await shop.checkout(person, 'side-gig-builder');
  shop.stripe.pay(sessionId, 'pay');
  const paid = shop.stripe
    .pendingWebhookEvents()
    .find(({ type }) => type === 'payment_intent.succeeded');
  if (paid?.type !== 'payment_intent.succeeded') throw new Error('Nothing was paid');
  await shop.deliver({ drop: () => true });
  // The sweeper does not ask about it.
  await shop.database.pool.query(
    `update purchase set status = 'expired', next_check_at = null where user_id = $1`,
    [person.userId],
  );
  return {
    person,
    intentId: paid.data.object.id,
    look: async () => {
      await fulfil(shop.payments, { sessionId });
      await shop.runJobs();
    },
  };
}

describe('a warning of fraud', () => {
  test('a warning of fraud is kept until it is settled, and says whether the credits are unused', async () => {
    const [fresh, used] = [await bought(shop, 'boost-20'), await bought(shop, 'boost-20')];
    await use(shop, used.person, 1);
    for (const { intentId } of [fresh, used]) shop.stripe.warnOfFraud(intentId);
    await shop.deliver({ copies: 3 });
    const open = await openWarnings(shop.payments);
    expect(
      [fresh, used].map(
        ({ purchaseId }) =>
          open.find((warning) => warning.purchase_id === purchaseId)?.unused_credits,
      ),
    ).toEqual([20, 19]);
    expect(shop.logged.filter((line) => line.includes('probably fraud'))).toHaveLength(2);
    const { pool } = shop.database;
    expect(await settleWarnings(pool, used.purchaseId, 'kept', new Date(now))).toBe(1);
    expect(await settleWarnings(pool, used.purchaseId, 'refunded', new Date(now))).toBe(0);
    const left = await openWarnings(shop.payments);
    expect(left.map((warning) => warning.purchase_id)).toEqual([fresh.purchaseId]);
    await settleWarnings(pool, fresh.purchaseId, 'kept', new Date(now));
  });

  test('a warning of fraud of an ungranted payment is shown until that is granted or the warning settled', async () => {
    const [late, never] = [await unheard(), await unheard()];
    const ids = [late, never].map(({ intentId }) => shop.stripe.warnOfFraud(intentId).id);
    now += 4 * dayMs;
    const { pool } = shop.database;
    const handlers = createRefundHandlers(shop.payments);
    for (const id of ids) {
      const event = { eventId: `evt_${id}`, type: warningType, objectId: id, createdAt: now };
      await acceptWebhookEvent(pool, event, new Date(now - 4 * dayMs));
      await processWebhookEvent(shop.payments, handlers, event.eventId);
    }
    const open = async () => (await openWarnings(shop.payments)).map(({ id }) => id).toSorted();
    expect(await open()).toEqual(ids.toSorted());
    now += 90 * dayMs;
    // A first poll goes back a day, and finds neither of the two again.
    await pool.query('delete from webhook_poll');
    await sweepPayments(shop.payments);
    expect(await open()).toEqual(ids.toSorted());
    // The first is granted after all, and its warning is one like any other.
    await late.look();
    const [first] = (await openWarnings(shop.payments)).filter(({ id }) => id === ids[0]);
    expect(first).toMatchObject({ user_id: late.person.userId, granted_credits: 50 });
    expect(await settleWarnings(pool, first?.purchase_id ?? '', 'kept', new Date(now))).toBe(1);
    expect(await open()).toEqual([ids[1]]);
    expect(await settleLeftOver(pool, ids[1] ?? '')).toBe(true);
    expect(await settleLeftOver(pool, ids[1] ?? '')).toBe(false);
    expect(await open()).toEqual([]);
  });
});
