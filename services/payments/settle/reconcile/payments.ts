import type { Queryable } from '#db/connect.ts';
import type { PaidLot } from '#projections/paid-lot.ts';
import { amountText, isYoung, repairers } from './difference.ts';
import type { Difference } from './difference.ts';
import { parsePaymentKey } from '#services/payments/settle/find.ts';
import { grantOf } from '#services/payments/plans/invoice.ts';
import type { InvoiceGrant, NoGrant } from '#services/payments/plans/invoice.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import type { ChargeView, InvoiceView } from '#services/payments/provider.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';
import { invoiceOfIntent } from './books.ts';
import type { Books } from './books.ts';

/** Every succeeded payment is exactly one lot of the same amount, and every lot one payment. */
export async function comparePayments(
  { pool, provider }: { pool: Queryable; provider: PaymentProvider },
  books: Books,
): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const charge of books.charges)
    if (charge.isPaid && charge.amountMinor > 0)
      found.push(...(await compareCharge(pool, provider, books, charge)));
  for (const invoice of books.invoices) found.push(...compareInvoice(books, invoice));
  for (const lot of books.lots.values())
    if (Date.parse(lot.grantedAt) >= books.since)
      found.push(...(await compareLot(provider, books, lot)));
  found.push(...(await lotsTwice(pool, books)));
  return found;
}

async function compareCharge(
  pool: Queryable,
  provider: PaymentProvider,
  books: Books,
  charge: ChargeView,
): Promise<Difference[]> {
  const { intentId, amountMinor, currency } = charge;
  // What paid an invoice is compared there: the invoice is what is granted.
  if (intentId !== null && invoiceOfIntent(books, intentId) !== null) return [];
  const lot = intentId === null ? null : (books.lots.get(`pi:${intentId}`) ?? null);
  if (lot !== null) return compareAmounts(lot, intentId ?? charge.chargeId, amountMinor, currency);
  const intent = intentId === null ? null : await provider.retrieveIntent(intentId);
  const purchase =
    books.purchases.get(intentId ?? '') ??
    (intent?.purchaseId ? await findPurchase(pool, { purchaseId: intent.purchaseId }) : null);
  return [
    {
      kind: 'payment-without-lot',
      object: intentId ?? charge.chargeId,
      userId: purchase?.user_id ?? intent?.userId ?? null,
      expected: `a lot for ${amountText(amountMinor, currency)}`,
      found: 'no lot',
      ...causeOf(purchase, amountMinor, currency),
      isSettling: isYoung(charge.createdAt, books.now),
    },
  ];
}

function causeOf(
  purchase: PurchaseRow | null | undefined,
  amountMinor: number,
  currency: string,
): Pick<Difference, 'cause' | 'repairs'> {
  if (!purchase)
    return {
      cause: 'it belongs to no purchase of ours: made at the provider, or by another server',
      repairs: repairers.operator,
    };
  if (purchase.currency !== currency || purchase.amount_minor > amountMinor)
    return {
      cause: `${purchase.id} was agreed on ${amountText(purchase.amount_minor, purchase.currency)}, so it was not fulfilled`,
      repairs: repairers.operator,
    };
  if (purchase.failure?.startsWith('mismatch-'))
    return {
      cause: `it is not what was agreed in ${purchase.id} (${purchase.failure}), so it was not fulfilled`,
      repairs: repairers.operator,
    };
  switch (purchase.status) {
    case 'open':
    case 'processing':
      return {
        cause: `the webhook event was lost or is still on its way: ${purchase.id} is ${purchase.status}`,
        repairs: repairers.purchases,
      };
    case 'failed':
    case 'expired':
      return {
        cause: `it was paid after ${purchase.id} had ended as ${purchase.status}, and the webhook event was lost`,
        repairs: repairers.settling,
      };
    case 'paid':
      return {
        cause: `${purchase.id} says that it was granted, and the ledger does not`,
        repairs: repairers.operator,
      };
  }
}

function compareInvoice(books: Books, invoice: InvoiceView): Difference[] {
  const { invoiceId, paidMinor, currency, userId } = invoice;
  const lot = books.lots.get(`invoice:${invoiceId}`);
  // A lot of an unpaid one is found from the lot's side.
  const paidAt = invoice.paidAt ?? invoice.createdAt;
  if (invoice.status !== 'paid' || paidAt < books.since) return [];
  const isSettling = isYoung(paidAt, books.now);
  const granting = grantOf(invoice);
  if (lot && granting.grants === null)
    return [
      {
        kind: 'lot-without-reason',
        object: invoiceId,
        userId: lot.userId,
        expected: `no lot: ${whyNothing(invoice, granting)}`,
        found: `${lot.credits} credits in ${lot.lotId}`,
        cause: 'the invoice was granted as another one than it is',
        repairs: repairers.operator,
        isSettling: false,
      },
    ];
  if (lot) return compareAmounts(lot, invoiceId, paidMinor, currency);
  if (granting.grants === null && paidMinor === 0) return [];
  return [
    {
      kind: 'payment-without-lot',
      object: invoiceId,
      userId,
      expected: `a lot for ${amountText(paidMinor, currency)}`,
      found: 'no lot',
      ...invoiceCause(invoice, granting),
      isSettling,
    },
  ];
}

function invoiceCause(
  invoice: InvoiceView,
  granting: InvoiceGrant,
): Pick<Difference, 'cause' | 'repairs'> {
  if (granting.grants === null)
    return { cause: whyNothing(invoice, granting), repairs: repairers.operator };
  return {
    cause: 'the webhook event was lost or is still on its way',
    repairs: repairers.settling,
  };
}

function whyNothing({ reason, subtotalMinor, currency }: InvoiceView, granting: NoGrant): string {
  switch (granting.because) {
    case 'reason':
      return `it was paid for the reason ${reason}, which grants nothing`;
    case 'price':
      return 'its price is not ours';
    case 'amount': {
      const { agreed } = granting;
      return `it is over ${amountText(subtotalMinor, currency)}, and ${amountText(agreed.amountMinor, agreed.currency)} was agreed`;
    }
  }
}

function compareAmounts(
  lot: PaidLot,
  object: string,
  amountMinor: number,
  currency: string,
): Difference[] {
  if (lot.paidMinor === amountMinor && lot.currency === currency) return [];
  return [
    {
      kind: 'payment-amount',
      object,
      userId: lot.userId,
      expected: `${amountText(amountMinor, currency)}, as the provider was paid`,
      found: `${amountText(lot.paidMinor, lot.currency)} in ${lot.lotId}`,
      cause: 'the lot was granted with another amount than was paid',
      repairs: repairers.operator,
      isSettling: false,
    },
  ];
}

async function compareLot(
  provider: PaymentProvider,
  books: Books,
  lot: PaidLot,
): Promise<Difference[]> {
  const { kind, id } = parsePaymentKey(lot.paymentKey);
  const problem =
    kind === 'invoice'
      ? await invoiceProblem(provider, books, id)
      : await intentProblem(provider, books, lot, id);
  if (problem === null) return [];
  return [
    {
      kind: 'lot-without-payment',
      object: id,
      userId: lot.userId,
      expected: `a payment of ${amountText(lot.paidMinor, lot.currency)} for ${lot.lotId}`,
      found: problem,
      cause:
        'credits were granted that were not paid for, or the payment is in another account of the provider',
      repairs: repairers.operator,
      isSettling: false,
    },
  ];
}

async function intentProblem(
  provider: PaymentProvider,
  books: Books,
  lot: PaidLot,
  id: string,
): Promise<string | null> {
  const listed = books.charges.some(({ intentId, isPaid }) => intentId === id && isPaid);
  if (listed) return null;
  const intent = await provider.retrieveIntent(id);
  if (intent === null) return 'no such payment';
  if (intent.status !== 'succeeded') return `a payment that is ${intent.status}`;
  const isSame = intent.amountMinor === lot.paidMinor && intent.currency === lot.currency;
  return isSame ? null : `a payment of ${amountText(intent.amountMinor, intent.currency)}`;
}

async function invoiceProblem(
  provider: PaymentProvider,
  books: Books,
  id: string,
): Promise<string | null> {
  const listed = books.invoices.find(({ invoiceId }) => invoiceId === id);
  const invoice = listed ?? (await provider.retrieveInvoice(id));
  if (invoice === null) return 'no such invoice';
  return invoice.status === 'paid' ? null : `an invoice that is ${invoice.status}`;
}

async function lotsTwice(client: Queryable, { since }: Books): Promise<Difference[]> {
  const { rows } = await client.query<{ purchase: string; user_id: string; lots: string[] }>(
    `select purchase_id as purchase, min(user_id) as user_id, array_agg(lot_id order by lot_id) as lots
     from paid_lot
     where purchase_id in (select purchase_id from paid_lot where granted_at >= $1)
     group by purchase_id having count(*) > 1 order by purchase_id`,
    [new Date(since)],
  );
  return rows.map(({ purchase, user_id: userId, lots }) => ({
    kind: 'lot-twice',
    object: purchase,
    userId,
    expected: 'one lot',
    found: `${lots.length} lots: ${lots.join(', ')}`,
    cause: 'one purchase was paid twice, or granted under two payments',
    repairs: repairers.operator,
    isSettling: false,
  }));
}
