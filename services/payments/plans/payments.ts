import { derivedId } from '#services/platform/ids.ts';
import type { Package } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { grantOf } from './invoice.ts';
import type { Period } from './invoice.ts';
import { endSurplusPlans, finishEnding } from './end.ts';
import { readPlan } from './read.ts';
import type { InvoiceView } from '#services/payments/provider.ts';
import { soon } from '#services/payments/purchases/rows.ts';

/**
 * From a paid invoice of a plan to its credits and its tier. The outcome is `fulfilled`, `unchanged`,
 * `mismatch` when something else was paid than we sell, or `ignored`.
 */
export async function takePayment(
  dependencies: PaymentDependencies,
  invoiceId: string,
): Promise<string> {
  const invoice = await dependencies.provider.retrieveInvoice(invoiceId);
  if (invoice?.status !== 'paid' || invoice.subscriptionId === null) return 'ignored';
  const granting = grantOf(invoice);
  if (granting.grants === null) {
    if (granting.because === 'reason') return 'ignored';
    dependencies.log.error(
      { resource_id: invoiceId, reason: granting.because },
      'A paid invoice is for nothing that we sell, and nothing was granted',
    );
    return 'mismatch';
  }
  const { grants: bought, period } = granting;
  const plan = await readPlan(dependencies, invoice.subscriptionId, {
    invoiceId,
    packageId: bought.id,
    paidAt: invoice.paidAt ?? invoice.createdAt,
    paidUntil: period.end,
  });
  const userId = plan?.user_id ?? invoice.userId;
  if (userId === null) {
    dependencies.log.error({ resource_id: invoiceId }, 'A paid invoice belongs to no user');
    return 'mismatch';
  }
  const isNew = await grant(dependencies, { ...invoice, userId, period }, bought);
  await finishEnding(dependencies, invoice.subscriptionId);
  await endSurplusPlans(dependencies, userId);
  return isNew ? 'fulfilled' : 'unchanged';
}

/**
 * The purchase is stored before the grant, whose receipt names it. Both ids derive from the invoice, so
 * a repeat after a crash in between makes the same two.
 */
async function grant(
  { pool, ledger, clock }: PaymentDependencies,
  invoice: InvoiceView & { userId: string; period: Period },
  bought: Package,
): Promise<boolean> {
  const { invoiceId, userId } = invoice;
  const purchaseId = derivedId('pur', invoiceId);
  const paymentKey = `invoice:${invoiceId}`;
  const paidAt = new Date(invoice.paidAt ?? clock());
  await pool.query(
    `insert into purchase (id, user_id, package_id, kind, credits, amount_minor, currency, status,
       payment_intent_id, invoice_id, subscription_id, payment_key, lot_id, paid_minor, tax_minor,
       receipt_url, created_at, updated_at, paid_at, period_start, period_end, next_check_at)
     values ($1, $2, $3, 'invoice', $4, $5, $6, 'paid', $7, $8, $9, $10, $11, $12, $13, $14, $15, $15,
       $16, $17, $18, $19)
     on conflict (id) do nothing`,
    [
      purchaseId,
      userId,
      bought.id,
      bought.credits,
      invoice.subtotalMinor,
      invoice.currency,
      invoice.intentId,
      invoiceId,
      invoice.subscriptionId,
      paymentKey,
      derivedId('lot', paymentKey),
      invoice.paidMinor,
      invoice.taxMinor,
      invoice.receiptUrl,
      new Date(clock()),
      paidAt,
      new Date(invoice.period.start),
      new Date(invoice.period.end),
      soon(new Date(clock())),
    ],
  );
  const { isNew } = await ledger.grantPurchase({
    userId,
    purchaseId,
    paymentKey,
    packageId: bought.id,
    credits: bought.credits,
    paidMinor: invoice.paidMinor,
    currency: invoice.currency,
    paidAt: paidAt.toISOString(),
    actor: 'system:payments',
  });
  return isNew;
}
