import type { JobHelpers } from 'graphile-worker';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { askForRefund } from '#services/payments/refunds/ask.ts';
import { fulfil, fulfilForPage } from '#services/payments/settle/fulfil.ts';
import { settle } from '#services/payments/settle/settle.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { askAgainMs } from '#services/payments/purchases/rows.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import { newId } from '#services/platform/ids.ts';
import { mailsTo } from '#tests/identity/browser.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { bought, partsOf } from '#tests/payments/purchases/bought.ts';

let shop: TestShop;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
afterAll(async () => shop.close());

/** Delays each reading of the disputes: `meanwhile` runs before the response is used. */
function slow(meanwhile: () => Promise<unknown>): {
  payments: PaymentDependencies;
  listed: ReturnType<typeof vi.fn>;
} {
  const { provider } = shop.payments;
  const listed = vi.fn<PaymentProvider['listDisputesOf']>(async (intentId) => {
    const disputes = await provider.listDisputesOf(intentId);
    await meanwhile();
    return disputes;
  });
  return {
    payments: { ...shop.payments, provider: { ...provider, listDisputesOf: listed } },
    listed,
  };
}

async function jobs(): Promise<string[]> {
  const { rows } = await shop.database.ownerPool.query<{ task: string }>(
    'select task_identifier as task from graphile_worker.jobs',
  );
  return rows.map(({ task }) => task);
}

test('a reading from before the payment moved is not applied', async () => {
  const one = await bought(shop, 'boost-20');
  const { id } = shop.stripe.openDispute(one.intentId);
  let isFirst = true;
  const { payments, listed } = slow(async () => {
    if (!isFirst) return;
    isFirst = false;
    shop.stripe.moveDispute(id, 'won');
    await shop.deliver();
  });
  await settle(payments, { purchaseId: one.purchaseId });
  expect(listed).toHaveBeenCalledTimes(2);
  expect(await partsOf(shop, one)).toEqual({ available: 20 });
});

test('a later reading is applied after an earlier one that is being applied', async () => {
  const one = await bought(shop, 'boost-20');
  const { id } = shop.stripe.openDispute(one.intentId);
  await shop.stripe.deliverAll({ drop: () => true });
  const { ledger } = shop.payments;
  let later: Promise<unknown> | undefined;
  const setClawback: typeof ledger.setClawback = async (command) => {
    shop.stripe.moveDispute(id, 'won');
    later = settle(shop.payments, { purchaseId: one.purchaseId });
    await expect.poll(waitingForLock).toBe(1);
    return ledger.setClawback(command);
  };
  const payments = { ...shop.payments, ledger: { ...ledger, setClawback } };
  await settle(payments, { purchaseId: one.purchaseId });
  await later;
  expect(await partsOf(shop, one)).toEqual({ available: 20 });
});

test('the email of a refund is sent although other settlements came between', async () => {
  const one = await bought(shop, 'boost-20');
  const { userId, email } = one.person;
  const { ownerPool } = shop.database;
  await ownerPool.query('update users set email_confirmed_at = now() where id = $1', [userId]);
  shop.stripe.faults.refunds = 'pending';
  const refundId = newId('ref', now);
  await askForRefund(shop.payments, {
    userId,
    purchaseId: one.purchaseId,
    refundId,
    agreed: null,
    reason: 'customer',
    actor: userId,
  });
  const { payments } = slow(async () =>
    ownerPool.query('update purchase set version = version + 1 where id = $1', [one.purchaseId]),
  );
  const send = paymentTasks(payments)['send-refund']!;
  await expect(send({ userId, refundId }, {} as JobHelpers)).rejects.toThrow('payment changed');
  await shop.runJobs();
  delete shop.stripe.faults.refunds;
  expect(await mailsTo(shop, email, 'refund-pending')).toHaveLength(1);
});

async function waitingForLock(): Promise<number | null> {
  const { rowCount } = await shop.database.ownerPool.query(
    `select from pg_locks where locktype = 'advisory' and not granted
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return rowCount;
}

test('a payment is checked again soon after the lock was lost while a reading was applied', async () => {
  const one = await bought(shop, 'boost-20');
  const { id } = shop.stripe.openDispute(one.intentId);
  await shop.stripe.deliverAll({ drop: () => true });
  const { ledger } = shop.payments;
  const setClawback: typeof ledger.setClawback = async (command) => {
    await shop.database.ownerPool.query(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
         and database = (select oid from pg_database where datname = current_database())`,
    );
    shop.stripe.moveDispute(id, 'won');
    await settle(shop.payments, { purchaseId: one.purchaseId });
    return ledger.setClawback(command);
  };
  const payments = { ...shop.payments, ledger: { ...ledger, setClawback } };
  await expect(settle(payments, { purchaseId: one.purchaseId })).rejects.toThrow('connection');
  expect(await partsOf(shop, one)).toEqual({ revoked: 20 });
  const { rows } = await shop.database.pool.query<{ next_check_at: Date | null }>(
    'select next_check_at from purchase where id = $1',
    [one.purchaseId],
  );
  expect(rows).toEqual([{ next_check_at: new Date(now + askAgainMs) }]);
  now += askAgainMs;
  await sweepPayments(shop.payments);
  expect(await partsOf(shop, one)).toEqual({ available: 20 });
});

test('a stale answer that a payment is open leaves the next check of a paid one', async () => {
  const { purchase_id: purchaseId, session_id: session } = await shop.checkout(
    await shop.signUp(),
    'boost-20',
  );
  const { provider } = shop.payments;
  const retrieveCheckout: typeof provider.retrieveCheckout = async (sessionId) => {
    const open = await provider.retrieveCheckout(sessionId);
    shop.stripe.pay(session, 'pay');
    await fulfil(shop.payments, { purchaseId });
    return open;
  };
  const payments = { ...shop.payments, provider: { ...provider, retrieveCheckout } };
  const { purchase } = await fulfil(payments, { purchaseId });
  expect(purchase).toMatchObject({ status: 'paid', next_check_at: expect.any(Date) });
});

test('a payment that keeps moving is left to a job after three readings', async () => {
  const one = await bought(shop, 'boost-20');
  shop.stripe.openDispute(one.intentId);
  await shop.stripe.deliverAll({ drop: () => true });
  const { payments, listed } = slow(async () =>
    shop.database.pool.query('update purchase set version = version + 1 where id = $1', [
      one.purchaseId,
    ]),
  );
  await settle(payments, { purchaseId: one.purchaseId });
  expect(listed).toHaveBeenCalledTimes(3);
  expect(await partsOf(shop, one)).toEqual({ available: 20 });
  expect(await jobs()).toContain('settle-payment');
  await shop.runJobs();
  expect(await partsOf(shop, one)).toEqual({ revoked: 20 });
});

test('twenty settlements at once hold no more connections than there are', async () => {
  const one = await bought(shop, 'boost-20');
  await Promise.all(
    Array.from({ length: 20 }, async () => settle(shop.payments, { purchaseId: one.purchaseId })),
  );
  await shop.runJobs();
  expect(await partsOf(shop, one)).toEqual({ available: 20 });
});

test('pages ask the provider about one payment at most every two seconds', async () => {
  const { purchase_id: id, session_id: session } = await shop.checkout(
    await shop.signUp(),
    'boost-20',
  );
  const asked = vi.spyOn(shop.payments.provider, 'retrieveCheckout');
  await fulfilForPage(shop.payments, id);
  shop.stripe.pay(session, 'pay');
  now += 1_999;
  expect(await fulfilForPage(shop.payments, id)).toMatchObject({ status: 'open' });
  expect(asked).toHaveBeenCalledTimes(1);
  now += 1;
  expect(await fulfilForPage(shop.payments, id)).toMatchObject({ status: 'paid' });
});
