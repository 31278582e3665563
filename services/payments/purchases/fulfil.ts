import { inTransaction } from '#db/transaction.ts';
import { derivedId } from '#services/platform/ids.ts';
import { purchaseLimits } from '#services/platform/limits.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { paymentFailedEmail } from '#services/payments/emails/payment-failed.ts';
import type { CheckoutView, IntentView } from '#services/payments/provider.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import { endUnpaidPlan } from '#services/payments/plans/plans.ts';
import { findPurchase, recordPaid, recordUnpaid } from './purchases.ts';
import type { PurchaseName, PurchaseRow } from './purchases.ts';

/**
 * From what the provider says of a payment to credits. Webhook, success page and sweeper all come here,
 * at any time, in any order and at once: what is true is read from the provider, the grant happens once
 * by its payment key, and the purchase moves by statements that say from where.
 *
 * The grant comes before the row says `paid`. Whoever is killed between the two leaves a row that is
 * still open, is asked about again, and finds the grant made.
 */
export type FulfilOutcome =
  | 'fulfilled'
  | 'unchanged'
  | 'open'
  | 'processing'
  | 'failed'
  | 'expired'
  /** Paid, but not what was agreed: nothing is granted, and somebody has to look. */
  | 'mismatch'
  /** Nothing of ours. */
  | 'unknown';

export type Fulfilled = { outcome: FulfilOutcome; purchase: PurchaseRow | null };

export async function fulfil(
  dependencies: PaymentDependencies,
  name: PurchaseName,
): Promise<Fulfilled> {
  const { pool } = dependencies;
  const known = await findPurchase(pool, name);
  if (known?.status === 'paid') return { outcome: 'unchanged', purchase: known };
  const asked = await askProvider(dependencies, name, known);
  if (asked === null)
    return known === null
      ? { outcome: 'unknown', purchase: null }
      : fulfilUnknown(dependencies, known);
  const row = known ?? (await namedPurchase(dependencies, asked.view));
  if (row === null) return { outcome: 'unknown', purchase: null };
  if (row.status === 'paid') return { outcome: 'unchanged', purchase: row };
  const outcome =
    asked.of === 'session'
      ? await fulfilSession(dependencies, row, asked.view)
      : await fulfilIntent(dependencies, row, asked.view);
  return { outcome, purchase: await findPurchase(pool, { purchaseId: row.id }) };
}

type Asked = { of: 'session'; view: CheckoutView } | { of: 'intent'; view: IntentView };

async function askProvider(
  { provider }: PaymentDependencies,
  name: PurchaseName,
  known: PurchaseRow | null,
): Promise<Asked | null> {
  if ('intentId' in name || known?.kind === 'intent') {
    const intentId = 'intentId' in name ? name.intentId : (known?.payment_intent_id ?? null);
    const view = intentId === null ? null : await provider.retrieveIntent(intentId);
    return view && { of: 'intent', view };
  }
  const sessionId = 'sessionId' in name ? name.sessionId : (known?.session_id ?? null);
  const view = sessionId === null ? null : await provider.retrieveCheckout(sessionId);
  return view && { of: 'session', view };
}

/**
 * What the provider does not know, of another account of it perhaps, is believed to come to nothing once
 * nobody could pay it any more. Should it be paid all the same, that is heard of like anything else.
 */
async function fulfilUnknown(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<Fulfilled> {
  const age = dependencies.clock() - row.created_at.getTime();
  if (age < purchaseLimits.checkoutMs + purchaseLimits.resumeMs)
    return { outcome: 'open', purchase: row };
  await recordUnpaid(dependencies.pool, row.id, { status: 'expired' }, now(dependencies));
  const purchase = await findPurchase(dependencies.pool, { purchaseId: row.id });
  return { outcome: 'expired', purchase };
}

/** The provider may tell of a session before its id was stored with the purchase. */
async function namedPurchase(
  { pool }: PaymentDependencies,
  { purchaseId }: { purchaseId: string | null },
): Promise<PurchaseRow | null> {
  return purchaseId === null ? null : findPurchase(pool, { purchaseId });
}

// --- a checkout session ---

async function fulfilSession(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  view: CheckoutView,
): Promise<FulfilOutcome> {
  const { pool } = dependencies;
  const difference = sessionDifference(row, view);
  if (view.isPaid) {
    if (difference !== null)
      return row.session_id === view.sessionId
        ? mismatch(dependencies, row, difference)
        : mismatchOfOther(dependencies, row, difference, view.sessionId);
    return pay(dependencies, row, {
      sessionId: view.sessionId,
      intentId: view.intentId,
      subscriptionId: view.subscriptionId,
      invoiceId: view.invoiceId,
      paidMinor: view.totalMinor,
      taxMinor: view.taxMinor,
      receiptUrl: view.receiptUrl,
      paidAt: view.paidAt,
    });
  }
  // Whatever becomes of a session that is not this purchase's is nothing that happened to it.
  if (difference !== null) return 'unchanged';
  if (view.failure !== null) {
    if (view.subscriptionId !== null) await endUnpaidPlan(dependencies, view.subscriptionId);
    return fail(dependencies, row, view.failure);
  }
  if (view.isPending) {
    await recordUnpaid(pool, row.id, { status: 'processing' }, now(dependencies));
    return 'processing';
  }
  if (view.status !== 'expired') return 'open';
  await recordUnpaid(pool, row.id, { status: 'expired' }, now(dependencies));
  return 'expired';
}

/** What of a session is not as it was agreed, in one word; the price is compared without tax. */
function sessionDifference(row: PurchaseRow, view: CheckoutView): string | null {
  if (view.purchaseId !== row.id) return 'purchase';
  if (row.session_id !== null && row.session_id !== view.sessionId) return 'session';
  if (view.userId !== row.user_id) return 'user';
  if (row.kind !== (view.mode === 'subscription' ? 'plan_checkout' : 'checkout')) return 'kind';
  if (view.currency !== row.currency) return 'currency';
  return view.subtotalMinor === row.amount_minor ? null : 'amount';
}

// --- a payment that another client makes itself ---

async function fulfilIntent(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  view: IntentView,
): Promise<FulfilOutcome> {
  const { pool } = dependencies;
  // The payment behind a checkout session: the session tells of it.
  if (row.kind !== 'intent') return 'unchanged';
  const difference = intentDifference(row, view);
  if (view.status === 'succeeded') {
    if (difference !== null)
      return row.payment_intent_id === view.intentId
        ? mismatch(dependencies, row, difference)
        : mismatchOfOther(dependencies, row, difference, view.intentId);
    return pay(dependencies, row, {
      sessionId: null,
      intentId: view.intentId,
      subscriptionId: null,
      invoiceId: null,
      paidMinor: view.amountMinor,
      taxMinor: 0,
      receiptUrl: view.receiptUrl,
      paidAt: view.paidAt,
    });
  }
  if (difference !== null) return 'unchanged';
  if (view.status === 'canceled') {
    await recordUnpaid(pool, row.id, { status: 'expired' }, now(dependencies));
    return 'expired';
  }
  if (view.status === 'processing') {
    await recordUnpaid(pool, row.id, { status: 'processing' }, now(dependencies));
    return 'processing';
  }
  if (view.failure === null) return 'open';
  // Who pays sees it at once and may try another card, so nobody is written to.
  const ending = { status: 'failed', failure: view.failure } as const;
  await recordUnpaid(pool, row.id, ending, now(dependencies));
  return 'failed';
}

function intentDifference(row: PurchaseRow, view: IntentView): string | null {
  if (view.purchaseId !== row.id) return 'purchase';
  if (row.payment_intent_id !== null && row.payment_intent_id !== view.intentId) return 'session';
  if (view.userId !== row.user_id) return 'user';
  if (view.currency !== row.currency) return 'currency';
  return view.amountMinor === row.amount_minor ? null : 'amount';
}

// --- what becomes of it ---

type Payment = {
  sessionId: string | null;
  intentId: string | null;
  subscriptionId: string | null;
  invoiceId: string | null;
  paidMinor: number;
  taxMinor: number;
  receiptUrl: string | null;
  paidAt: number | null;
};

async function pay(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  payment: Payment,
): Promise<FulfilOutcome> {
  const paidAt = new Date(payment.paidAt ?? dependencies.clock());
  const granted =
    row.kind === 'plan_checkout'
      ? await begin(dependencies, payment)
      : await grant(dependencies, row, payment, paidAt);
  if (granted === null) return mismatch(dependencies, row, 'payment');
  const isFirst = await recordPaid(dependencies.pool, {
    ...payment,
    ...granted,
    purchaseId: row.id,
    paidAt,
    now: now(dependencies),
  });
  if (!isFirst) return 'unchanged';
  dependencies.log.info(
    { resource_id: row.id, user_id: row.user_id, outcome: 'fulfilled' },
    'A purchase was paid',
  );
  return 'fulfilled';
}

/**
 * The invoices of a plan grant, and its checkout only begins it; null when it has begun none. The first
 * invoice is there by now, and whoever has just paid it does not wait until it is told of.
 */
async function begin(
  dependencies: PaymentDependencies,
  { subscriptionId, invoiceId }: Payment,
): Promise<{ paymentKey: null; lotId: null } | null> {
  if (subscriptionId === null) return null;
  if (invoiceId !== null) await takePayment(dependencies, invoiceId);
  return { paymentKey: null, lotId: null };
}

/** Null when there is no payment, or one that was granted before for something else. */
async function grant(
  { ledger }: PaymentDependencies,
  row: PurchaseRow,
  { intentId, paidMinor }: Payment,
  paidAt: Date,
): Promise<{ paymentKey: string; lotId: string } | null> {
  if (intentId === null) return null;
  const paymentKey = `pi:${intentId}`;
  try {
    const { lotId, state } = await ledger.grantPurchase({
      userId: row.user_id,
      purchaseId: row.id,
      paymentKey,
      packageId: row.package_id,
      credits: row.credits,
      paidMinor,
      currency: row.currency,
      paidAt: paidAt.toISOString(),
      actor: 'system:payments',
    });
    // The same figures may have been granted for another purchase.
    const lot = state.lots.find((one) => one.lotId === lotId);
    return lot?.purchaseId === row.id ? { paymentKey, lotId } : null;
  } catch (error) {
    if (error instanceof Problem && error.status === 409) return null;
    throw error;
  }
}

/** Money came for something that was never agreed; `cli credits reconcile` lists it, too. */
async function mismatch(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  reason: string,
): Promise<'mismatch'> {
  dependencies.log.error(
    { resource_id: row.id, user_id: row.user_id, reason },
    'A payment does not fit its purchase, and nothing was granted',
  );
  const ending = { status: 'failed', failure: `mismatch-${reason}` } as const;
  await recordUnpaid(dependencies.pool, row.id, ending, now(dependencies));
  return 'mismatch';
}

/**
 * It names this purchase as its own, and the purchase does not know it. Whoever is paying for that
 * one is not to be kept from it by what somebody wrote into another payment.
 */
async function mismatchOfOther(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  reason: string,
  providerId: string,
): Promise<'mismatch'> {
  if (reason !== 'session' && reason !== 'user') return mismatch(dependencies, row, reason);
  const { log, audit } = dependencies;
  log.error(
    { resource_id: row.id, user_id: row.user_id, reason },
    'A payment names a purchase that is not its own, and nothing was granted',
  );
  await audit({
    actor: 'system:payments',
    action: 'payment.mismatched',
    subject: row.id,
    userId: row.user_id,
    detail: { reason, payment: providerId },
  });
  return 'mismatch';
}

/** The person has long left the page, so the row and a mail come together. */
async function fail(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  failure: string,
): Promise<'failed'> {
  const { pool, queueMail, noticeAddress } = dependencies;
  const to = await noticeAddress(row.user_id);
  await inTransaction(pool, async (client) => {
    const ending = { status: 'failed', failure } as const;
    const isFirst = await recordUnpaid(client, row.id, ending, now(dependencies));
    if (!isFirst || to === null) return;
    try {
      await queueMail(
        {
          id: derivedId('mai', row.id, 'payment-failed'),
          userId: row.user_id,
          to,
          kind: 'payment-failed',
          content: paymentFailedEmail({
            ...dependencies,
            packageName: packageOf(row.package_id)?.name ?? row.package_id,
            amountMinor: row.amount_minor,
            currency: row.currency,
          }),
        },
        client,
      );
    } catch (error) {
      if (!(error instanceof ErasedKeyError)) throw error;
    }
  });
  return 'failed';
}

function now({ clock }: PaymentDependencies): Date {
  return new Date(clock());
}
