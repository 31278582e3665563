import type { Queryable } from '#db/connect.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { notifyOfDispute } from '#services/payments/disputes/mail.ts';
import { closeDispute, storeDispute } from '#services/payments/disputes/rows.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import { endPlanOf } from '#services/payments/plans/end.ts';
import type { DisputeView, ProviderRefused } from '#services/payments/provider.ts';
import { checkSoon, findPurchase, soon } from '#services/payments/purchases/rows.ts';
import type { GrantedPayment, PurchaseName } from '#services/payments/purchases/rows.ts';
import { keepBankRefunds } from '#services/payments/refunds/rows.ts';
import { readRefund, sendRefunds } from '#services/payments/refunds/send.ts';
import type { NamedRefund, SentRefunds } from '#services/payments/refunds/send.ts';
import { expected, lotOf, stands } from './expected.ts';
import type { Expected, ExpectedRefund } from './expected.ts';
import { findPaymentById, paymentOfLot } from './find.ts';
import { fulfil } from './fulfil.ts';
import type { Fulfilled } from './fulfil.ts';
import { queueSettle, triesAtMost, unlessMoved } from './lock.ts';
import { nextGrantedCheck } from './next-check.ts';

/**
 * Brings the rows and the ledger of one payment to what the provider shows of it. At any time, in any
 * order, at once and again: a job, a page and the sweeper may all call it.
 *
 * @throws Problem 503 while the provider is unavailable; ProviderRefused when it refuses a refund for now
 */
export async function settle(
  dependencies: PaymentDependencies,
  name: PurchaseName,
): Promise<Fulfilled> {
  const known = await findPurchase(dependencies.pool, name);
  if (known?.kind === 'invoice') await takeUngranted(dependencies, known.id, known.invoice_id);
  const fulfilled = await fulfil(dependencies, name);
  const { purchase } = fulfilled;
  const payment = purchase && (await findPaymentById(dependencies, purchase));
  if (payment) await settleGranted(dependencies, payment);
  else if (purchase?.status === 'paid')
    await rest(dependencies.pool, purchase.id, purchase.version, null);
  return fulfilled;
}

/** Its row stands before the grant, so a process may have been killed in between. */
async function takeUngranted(
  dependencies: PaymentDependencies,
  purchaseId: string,
  invoiceId: string | null,
): Promise<void> {
  if (invoiceId !== null && (await findPaymentById(dependencies, { id: purchaseId })) === null)
    await takePayment(dependencies, invoiceId);
}

export type Settled = {
  /** Ours, as they now are. */
  refunds: readonly ExpectedRefund[];
  disputes: readonly DisputeView[];
  /** Whether the ledger was changed. */
  isChanged: boolean;
  /** Why the provider makes a refund of ours not yet; it is requested again at the next check. */
  refusal: ProviderRefused | null;
};

/**
 * The second half: what went back of a payment that was granted. Null when other settlements came
 * between each time; a job then settles it.
 */
export async function settleGranted(
  dependencies: PaymentDependencies,
  payment: GrantedPayment,
): Promise<Settled | null> {
  const { pool, provider, clock, log } = dependencies;
  const { userId, purchaseId, intentId } = payment;
  for (let tries = 0; tries < triesAtMost; tries += 1) {
    const row = await findPurchase(pool, { purchaseId });
    if (row === null) throw new Error('A payment was granted without a purchase');
    const sent = await sendRefunds(dependencies, payment);
    const { refusal } = sent;
    const disputes = await provider.listDisputesOf(intentId);
    const applied = await unlessMoved(dependencies, row, async () =>
      apply(dependencies, payment, sent, disputes),
    ).catch(async (error: unknown) => {
      // If the lock's connection was lost, a later reading may have been applied before this one.
      await checkSoon(pool, purchaseId, new Date(clock()));
      throw error;
    });
    if (applied === 'moved') continue;
    await finish(dependencies, payment, applied, disputes);
    if (refusal !== null)
      log.warn(
        { user_id: userId, resource_id: purchaseId, code: refusal.code },
        'The payment provider refuses a refund for now; it is requested again later',
      );
    const nextCheckAt = nextGrantedCheck(applied.refunds, disputes, clock());
    await rest(pool, purchaseId, row.version + 1, nextCheckAt);
    const { should, isChanged } = applied;
    return { refunds: should.refunds, disputes, isChanged, refusal };
  }
  await queueSettle(pool, purchaseId);
  return null;
}

/**
 * What became of a refund of ours; null when its payment is settled later.
 *
 * @throws ProviderRefused for now
 */
export async function settleRefund(
  dependencies: PaymentDependencies,
  named: NamedRefund,
): Promise<ExpectedRefund | null> {
  const { lot } = await readRefund(dependencies, named);
  const payment = await paymentOfLot(dependencies, named.userId, lot);
  const settled = await settleGranted(dependencies, payment);
  if (settled?.refusal) throw settled.refusal;
  return settled?.refunds.find(({ refundId }) => refundId === named.refundId) ?? null;
}

type Applied = {
  should: Expected;
  isChanged: boolean;
  /** Disputes that are open, or have moved since they were stored. */
  moved: readonly DisputeView[];
  refunds: readonly AccountState['refunds'][string][];
};

/** Under the payment's lock. Rows come first, so that the lines of the ledger are found to be about them. */
async function apply(
  dependencies: PaymentDependencies,
  payment: GrantedPayment,
  { refunds, refused }: SentRefunds,
  disputes: readonly DisputeView[],
): Promise<Applied> {
  const { pool, ledger, clock } = dependencies;
  const { userId, lotId } = payment;
  const now = clock();
  const before = await ledger.readAccount(userId);
  const should = expected({ payment, account: before, refunds, disputes, refused, now });
  await keepBankRefunds(pool, payment, should.bankRefunds, new Date(now));
  const moved: DisputeView[] = [];
  for (const dispute of disputes)
    if (await storeDispute(dependencies, dispute, payment)) moved.push(dispute);
  await pool.query(
    'update purchase set version = version + 1, checked_at = $2, next_check_at = $3 where id = $1',
    [payment.purchaseId, new Date(now), soon(new Date(now))],
  );
  let account = await endRefunds(dependencies, payment, before, should.refunds);
  for (const clawback of should.clawbacks)
    if (!stands(lotOf(account, lotId), clawback))
      account = await ledger.setClawback({ userId, lotId, ...clawback, actor });
  await freeze(dependencies, payment, account, should.freeze);
  return {
    should,
    moved,
    isChanged: account !== before,
    refunds: Object.values(account.refunds).filter((refund) => refund.lotId === lotId),
  };
}

const actor = 'system:payments';

async function endRefunds(
  { ledger, clock, log }: PaymentDependencies,
  { userId }: GrantedPayment,
  before: AccountState,
  refunds: readonly ExpectedRefund[],
): Promise<AccountState> {
  let account = before;
  for (const { refundId, status, shown } of refunds) {
    const refund = account.refunds[refundId];
    if (refund === undefined) continue;
    if (shown && (shown.amountMinor !== refund.amountMinor || shown.currency !== refund.currency))
      throw new Error('The provider shows another amount for a refund than was asked for');
    // One that is pending again there, after it had ended, is waited for.
    if (status === refund.status || status === 'pending') continue;
    const providerRefundId = shown?.providerRefundId ?? null;
    const at = new Date(clock()).toISOString();
    account = await ledger.endRefund({
      userId,
      refundId,
      outcome: status,
      providerRefundId,
      at,
      actor,
    });
    log.info({ user_id: userId, resource_id: refundId, outcome: status }, 'A refund has ended');
  }
  return account;
}

/** A dispute freezes once, also when an operator has lifted it since. */
async function freeze(
  { ledger, log }: PaymentDependencies,
  { userId, lotId, purchaseId }: GrantedPayment,
  { frozenBy }: AccountState,
  wanted: Expected['freeze'],
): Promise<void> {
  if (wanted === null || frozenBy.includes(wanted.ref)) return;
  await ledger.freezeSpending({ userId, lotId, ...wanted, actor });
  log.warn(
    { user_id: userId, resource_id: purchaseId, reason: wanted.ref },
    'A payment was refunded and lost to a dispute: spending is frozen until cli credits unfreeze',
  );
}

/** What asks the provider or writes to people. A process that is killed in it is followed by the sweeper. */
async function finish(
  dependencies: PaymentDependencies,
  payment: GrantedPayment,
  { should, moved }: Applied,
  disputes: readonly DisputeView[],
): Promise<void> {
  for (const dispute of moved) await notifyOfDispute(dependencies, dispute, payment);
  if (should.plan === 'ended') {
    const at = new Date(dependencies.clock()).toISOString();
    await endPlanOf(dependencies, payment.purchaseId, at, 'taken_back');
  }
  for (const dispute of disputes) await closeDispute(dependencies, dispute);
}

/** Nothing is left to do now; another settlement that has begun meanwhile sets its own time. */
async function rest(
  pool: Queryable,
  purchaseId: string,
  version: number,
  nextCheckAt: Date | null,
): Promise<void> {
  await pool.query('update purchase set next_check_at = $3 where id = $1 and version = $2', [
    purchaseId,
    version,
    nextCheckAt,
  ]);
}
