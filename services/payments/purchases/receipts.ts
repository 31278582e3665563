import { readBalance } from '#projections/credit-account.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import { derivedId } from '#services/platform/ids.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { packageName, packageOf } from '#services/payments/catalogue.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { isLive } from '#services/payments/plans/tier.ts';
import { findPlan } from '#services/payments/plans/rows.ts';
import { findPurchase } from './rows.ts';
import type { PurchaseRow } from './rows.ts';
import { receiptEmail } from '#services/payments/emails/receipt.ts';

/**
 * One mail for each payment that was granted. The grant comes first and enqueues this, so the purchase
 * may not say yet that it is paid; when the process was killed in between, this repairs it.
 */
export async function mailReceipt(
  dependencies: PaymentDependencies,
  { userId, lotId }: { userId: string; lotId: string },
): Promise<void> {
  const { pool, queueMail, noticeAddress } = dependencies;
  const lot = await findPaidLot(pool, { lotId });
  if (lot === null) throw new Error('A receipt for a lot that was not paid for');
  const purchase = await paidPurchase(dependencies, lot.purchaseId);
  const to = await noticeAddress(userId);
  if (to === null) return;
  const balance = await readBalance(pool, userId);
  const content = receiptEmail({
    ...dependencies,
    purchaseId: purchase.id,
    packageName: packageName(purchase.package_id),
    isPlan: purchase.kind === 'invoice',
    renewal: await renewalOf(dependencies, purchase),
    credits: purchase.credits,
    paidMinor: purchase.paid_minor ?? lot.paidMinor,
    taxMinor: purchase.tax_minor ?? 0,
    currency: purchase.currency,
    paidAt: purchase.paid_at ?? purchase.created_at,
    receiptUrl: purchase.receipt_url,
    available: balance.available_credits,
    debt: balance.debt_credits,
    frozen: balance.spending_frozen,
  });
  try {
    await queueMail({ id: mailIdOf(lotId), userId, to, kind: 'receipt', content });
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

const mailIdOf = (lotId: string): string => derivedId('mai', lotId, 'receipt');

/**
 * Whether a receipt of a payment was emailed, or will be once it is paid: what a page may announce.
 * `lotId` is null before credits were granted for it.
 */
export async function isReceiptMailed(
  { pool, noticeAddress, sendsMail }: PaymentDependencies,
  userId: string,
  lotId: string | null,
): Promise<boolean> {
  const { rows } = await pool.query<{ status: string }>('select status from mail where id = $1', [
    lotId === null ? null : mailIdOf(lotId),
  ]);
  const status = rows[0]?.status;
  if (status === undefined) return sendsMail && (await noticeAddress(userId)) !== null;
  return status === 'sent' || (sendsMail && status === 'queued');
}

/** Of what the plan is by now: it may have been cancelled or changed since it was paid. */
async function renewalOf(
  { pool }: PaymentDependencies,
  purchase: PurchaseRow,
): Promise<{ at: Date; amountMinor: number } | null> {
  const { subscription_id: id, period_end: at, package_id: paidFor } = purchase;
  const plan = id === null || purchase.kind !== 'invoice' ? null : await findPlan(pool, id);
  if (plan === null || at === null || !isLive(plan) || plan.cancel_at_period_end) return null;
  const next = plan.next_package_id === paidFor ? null : packageOf(plan.next_package_id);
  return { at, amountMinor: next?.price_cents ?? purchase.amount_minor };
}

async function paidPurchase(
  dependencies: PaymentDependencies,
  purchaseId: string,
): Promise<PurchaseRow> {
  const row = await findPurchase(dependencies.pool, { purchaseId });
  if (row?.status === 'paid') return row;
  const { purchase } =
    row === null || row.kind === 'invoice'
      ? { purchase: null }
      : await fulfil(dependencies, { purchaseId });
  if (purchase?.status !== 'paid') throw new Error('The purchase does not say yet that it is paid');
  return purchase;
}
