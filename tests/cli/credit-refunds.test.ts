import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { creditRefundCommands } from '#services/cli/credits/refunds.ts';
import { askForErasure, eraseAccount } from '#services/identity/erasure/erasure.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { erasureOf } from '#services/core.ts';
import { bought, partsOf, refundsAt, use } from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

let shop: TestShop;
let one: Bought;

beforeAll(async () => {
  vi.stubEnv('SUDO_USER', 'olga');
  shop = await createTestShop();
  one = await bought(shop, 'boost-20');
  await use(shop, one.person, 5);
  shop.stripe.warnOfFraud(one.intentId);
  await shop.deliver();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await shop.close();
});

/** What a command printed. */
async function ran<Printed>(verb: string, ...args: string[]): Promise<Printed> {
  const { out } = await runHere(shop, creditRefundCommands, ['credits', verb, ...args, '--json']);
  return JSON.parse(out) as Printed;
}

async function audited({ purchaseId }: Bought): Promise<unknown[]> {
  const { rows } = await shop.database.pool.query<{ action: string; detail: unknown }>(
    `select action, detail from audit_log
     where actor = 'operator:olga' and subject = $1 order by entry_id`,
    [purchaseId],
  );
  return rows.map(({ action, detail }) => [action, detail]);
}

test('an operator lists probable fraud and refunds its unused credits, and both are recorded', async () => {
  expect(await ran('warnings')).toMatchObject([
    {
      purchase_id: one.purchaseId,
      user_id: one.person.userId,
      unused_credits: 15,
      granted_credits: 20,
    },
  ]);
  const asked = await ran<{ id: string }>('refund', one.purchaseId, '--reason', 'fraud warning');
  expect(asked).toMatchObject({
    purchase_id: one.purchaseId,
    credits: 15,
    amount_cents: 750,
    warnings_settled: 1,
  });
  const detail = { refund: asked.id, credits: 15, amount_minor: 750, reason: 'fraud warning' };
  expect(await audited(one)).toEqual([['purchase.refunded', detail]]);
  await shop.runJobs();
  expect(await partsOf(shop, one)).toEqual({ consumed: 5, cashRefunded: 15 });
  expect(await refundsAt(shop, one)).toMatchObject([{ refundId: asked.id, amountMinor: 750 }]);
  expect(await ran('warnings')).toEqual([]);
});

test('an impossible refund is refused with its reason, and a reason that names the user is refused', async () => {
  await expect(ran('refund', one.purchaseId, '--reason', 'again')).rejects.toMatchObject({
    code: 'refund-not-possible',
    message: 'This purchase has no unused credits left.',
  });
  const named = ran('refund', one.purchaseId, '--reason', 'asked by a person');
  await expect(named).rejects.toThrow(UsageError);
  await expect(ran('refund', one.purchaseId)).rejects.toThrow('Missing: --reason');
  await expect(ran('refund', 'pur_1', '--reason', 'again')).rejects.toThrow('Purchase not found');
  expect(await audited(one)).toHaveLength(1);
});

test('a warning is settled without a refund, once', async () => {
  const other = await bought(shop, 'boost-20');
  shop.stripe.warnOfFraud(other.intentId);
  await shop.deliver();
  expect(await ran('warnings', '--keep', other.purchaseId)).toMatchObject({ settled: 1 });
  expect(await ran('warnings')).toEqual([]);
  await expect(ran('warnings', '--keep', other.purchaseId)).rejects.toThrow('no open warning');
  expect(await partsOf(shop, other)).toEqual({ available: 20 });
});

describe('purchases of erased users', () => {
  let gone: Bought;
  beforeAll(async () => {
    gone = await bought(shop, 'boost-20');
    shop.stripe.faults.refunds = 'failed';
    const { userId } = gone.person;
    const erasure = erasureOf(shop.core);
    await askForErasure(erasure, { userId, actor: 'test' });
    expect(await eraseAccount(erasure, userId)).toBe('erased');
    await shop.deliver();
    delete shop.stripe.faults.refunds;
    expect(await partsOf(shop, gone)).toEqual({ available: 20 });
  });

  test('an operator refunds a purchase of an erased user', async () => {
    shop.stripe.faults.refunds = 'failed';
    const asked = await ran('refund', gone.purchaseId, '--reason', 'another card');
    expect(asked).toMatchObject({ credits: 20, amount_cents: 1_000 });
    await shop.runJobs();
    delete shop.stripe.faults.refunds;
    expect(await partsOf(shop, gone)).toEqual({ available: 20 });
  });

  test('an operator records once that such a purchase was paid back otherwise; no bank is asked again', async () => {
    const asked = [
      'refund',
      gone.purchaseId,
      '--paid-otherwise',
      '--reason',
      'by cheque 12',
    ] as const;
    expect(await ran(...asked)).toMatchObject({
      purchase_id: gone.purchaseId,
      credits: 20,
      amount_cents: 1_000,
      currency: 'usd',
    });
    expect(await partsOf(shop, gone)).toEqual({ revoked: 20 });
    expect(await audited(gone)).toMatchObject([
      ['purchase.refunded', { reason: 'another card' }],
      ['purchase.paid-otherwise', { credits: 20, amount_minor: 1_000, reason: 'by cheque 12' }],
    ]);
    await expect(ran(...asked)).rejects.toMatchObject({ code: 'refund-not-possible' });
    await sweepPayments(shop.payments);
    await shop.runJobs();
    expect(await partsOf(shop, gone)).toEqual({ revoked: 20 });
  });

  test('paying back otherwise is refused for a user who was not erased', async () => {
    const other = await bought(shop, 'boost-20');
    const asked = ran('refund', other.purchaseId, '--paid-otherwise', '--reason', 'by cheque 13');
    await expect(asked).rejects.toMatchObject({ code: 'refund-not-possible' });
    expect(await partsOf(shop, other)).toEqual({ available: 20 });
  });
});
