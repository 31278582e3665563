import type pg from 'pg';
import { findPaidLot } from '#projections/paid-lot.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';
import { fulfil } from './fulfil.ts';

/** The payment is ours, or may be, and has not been granted so far: a later try may find it. */
export class NotGrantedYet extends Error {
  override readonly name = 'NotGrantedYet';
}

/**
 * The payment behind what names a charge of the provider's, and perhaps its intent. A refund or a dispute
 * may be reported before the payment, so what has not been granted is granted here first.
 *
 * @returns null for a payment that is not ours, or for which nothing is ever granted
 * @throws NotGrantedYet
 */
export async function findPaymentOf(
  dependencies: PaymentDependencies,
  { intentId, chargeId }: { intentId: string | null; chargeId: string | null },
): Promise<GrantedPayment | null> {
  if (intentId !== null) return findPayment(dependencies, intentId);
  const charge = chargeId === null ? null : await dependencies.provider.retrieveCharge(chargeId);
  return charge?.intentId ? findPayment(dependencies, charge.intentId) : null;
}

async function findPayment(
  dependencies: PaymentDependencies,
  intentId: string,
): Promise<GrantedPayment | null> {
  const known = await grantedFor(dependencies.pool, intentId);
  if (known !== null) return known;
  const intent = await dependencies.provider.retrieveIntent(intentId);
  if (intent === null) return null;
  // A plan's payments do not name a purchase: they are granted by their invoices.
  if (intent.purchaseId === null) throw new NotGrantedYet('The payment names no purchase');
  const { outcome } = await fulfil(dependencies, { purchaseId: intent.purchaseId });
  const granted = await grantedFor(dependencies.pool, intentId);
  if (granted !== null) return granted;
  if (outcome === 'unknown' || outcome === 'mismatch') return null;
  throw new NotGrantedYet('The purchase is not paid yet');
}

async function grantedFor(pool: pg.Pool, intentId: string): Promise<GrantedPayment | null> {
  const lot =
    (await findPaidLot(pool, { paymentKey: `pi:${intentId}` })) ??
    (await invoiceLot(pool, intentId));
  return (
    lot && {
      userId: lot.userId,
      purchaseId: lot.purchaseId,
      lotId: lot.lotId,
      intentId,
      granted: lot.credits,
      paidMinor: lot.paidMinor,
    }
  );
}

async function invoiceLot(pool: pg.Pool, intentId: string) {
  const { rows } = await pool.query<{ id: string }>(
    'select id from purchase where payment_intent_id = $1',
    [intentId],
  );
  return rows[0] === undefined ? null : findPaidLot(pool, { purchaseId: rows[0].id });
}

/** Null for what has no lot, such as the checkout of a plan. */
export async function findPaymentById(
  dependencies: PaymentDependencies,
  { id: purchaseId }: { id: string },
): Promise<GrantedPayment | null> {
  const lot = await findPaidLot(dependencies.pool, { purchaseId });
  if (lot === null) return null;
  return findPaymentOfLot(dependencies, lot.userId, { ...lot, granted: lot.credits });
}

/** As `findPaymentOf`, from the lot. */
export async function paymentOfLot(
  dependencies: PaymentDependencies,
  userId: string,
  lot: Lot,
): Promise<GrantedPayment> {
  const payment = await findPaymentOfLot(dependencies, userId, lot);
  if (payment === null) throw new Error('The provider shows no payment for this invoice');
  return payment;
}

/** Null for an invoice that was settled without a payment that the provider knows. */
async function findPaymentOfLot(
  { pool, provider }: PaymentDependencies,
  userId: string,
  lot: Pick<Lot, 'purchaseId' | 'lotId' | 'granted' | 'paidMinor' | 'paymentKey'>,
): Promise<GrantedPayment | null> {
  const { purchaseId, lotId, granted, paidMinor, paymentKey } = lot;
  if (purchaseId === null || paymentKey === null || paidMinor === null)
    throw new Error('This lot was not paid for');
  const { kind, id } = parsePaymentKey(paymentKey);
  const intentId = kind === 'intent' ? id : await invoiceIntent(pool, provider, id);
  return intentId === null ? null : { userId, purchaseId, lotId, intentId, granted, paidMinor };
}

export function parsePaymentKey(paymentKey: string): { kind: 'intent' | 'invoice'; id: string } {
  const [prefix, id = ''] = paymentKey.split(':');
  return { kind: prefix === 'pi' ? 'intent' : 'invoice', id };
}

async function invoiceIntent(
  pool: pg.Pool,
  provider: PaymentDependencies['provider'],
  invoiceId: string,
): Promise<string | null> {
  const { rows } = await pool.query<{ payment_intent_id: string | null }>(
    'select payment_intent_id from purchase where invoice_id = $1',
    [invoiceId],
  );
  return (
    rows[0]?.payment_intent_id ?? (await provider.retrieveInvoice(invoiceId))?.intentId ?? null
  );
}
