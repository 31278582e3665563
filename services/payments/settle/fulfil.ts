import { inTransaction } from '#db/transaction.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { paymentFailedEmail } from '#services/payments/emails/payment-failed.ts';
import { checkoutMs } from '#services/payments/provider.ts';
import type { CheckoutView, IntentView } from '#services/payments/provider.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import { endAtProvider } from '#services/payments/plans/end.ts';
import { nextCheckAt } from './next-check.ts';
import { queueSettle, triesAtMost, unlessMoved } from './lock.ts';
import {
  findPurchase,
  recordPaid,
  recordUnpaid,
  resumeMs,
} from '#services/payments/purchases/rows.ts';
import type { PurchaseName, PurchaseRow } from '#services/payments/purchases/rows.ts';

/**
 * From what the provider says of a payment to credits: the first half of `settle`, and all that a page
 * waits for. The grant happens once by its payment key, and the purchase moves by statements that say
 * from where.
 *
 * The grant comes before the row says `paid`. A process that is killed between the two leaves a row that
 * is still open, is checked again, and finds the grant made.
 */
export type FulfilOutcome =
  | 'fulfilled'
  | 'unchanged'
  | 'open'
  | 'processing'
  | 'failed'
  | 'expired'
  /** Paid, but not what was agreed: nothing is granted, and an operator has to check it. */
  | 'mismatch'
  /** Not ours. */
  | 'unknown'
  /** It moved faster than it could be read: a job settles it. */
  | 'queued';

export type Fulfilled = { outcome: FulfilOutcome; purchase: PurchaseRow | null };

export async function fulfil(
  dependencies: PaymentDependencies,
  name: PurchaseName,
): Promise<Fulfilled> {
  const { pool } = dependencies;
  for (let tries = 0; tries < triesAtMost; tries += 1) {
    const known = await findPurchase(pool, name);
    if (known?.status === 'paid') return { outcome: 'unchanged', purchase: known };
    const asked = await askProvider(dependencies, name, known);
    const row = known ?? (asked && (await namedPurchase(dependencies, asked.view)));
    if (row === null) return { outcome: 'unknown', purchase: null };
    if (row.status === 'paid') return { outcome: 'unchanged', purchase: row };
    const outcome = await fulfilAs(dependencies, row, asked);
    if (outcome === 'moved') continue;
    if (outcome === 'open' || outcome === 'processing') await recordChecked(dependencies, row.id);
    return { outcome, purchase: await findPurchase(pool, { purchaseId: row.id }) };
  }
  const purchase = await findPurchase(pool, name);
  if (purchase !== null) await queueSettle(pool, purchase.id);
  return { outcome: 'queued', purchase };
}

const pageEveryMs = 2_000;

/** For a page: the provider is asked about one payment at most every two seconds, by all pages together. */
export async function fulfilForPage(
  dependencies: PaymentDependencies,
  purchaseId: string,
): Promise<PurchaseRow | null> {
  const { pool, clock } = dependencies;
  const { rowCount } = await pool.query(
    `update purchase set checked_at = $2
     where id = $1 and (checked_at is null or checked_at <= $3)`,
    [purchaseId, now(dependencies), new Date(clock() - pageEveryMs)],
  );
  return rowCount === 1
    ? (await fulfil(dependencies, { purchaseId })).purchase
    : findPurchase(pool, { purchaseId });
}

type Outcome = FulfilOutcome | 'moved';

async function fulfilAs(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  asked: Asked | null,
): Promise<Outcome> {
  if (asked === null) return fulfilUnknown(dependencies, row);
  return asked.of === 'session'
    ? fulfilSession(dependencies, row, asked.view)
    : fulfilIntent(dependencies, row, asked.view);
}

async function recordChecked(dependencies: PaymentDependencies, purchaseId: string): Promise<void> {
  const { pool, clock } = dependencies;
  const row = await findPurchase(pool, { purchaseId });
  // What became paid meanwhile has a next check of its own.
  if (row === null || row.status === 'paid') return;
  await pool.query(
    `update purchase set checked_at = $3, next_check_at = $4
     where id = $1 and version = $2`,
    [purchaseId, row.version, now(dependencies), nextCheckAt(row, clock())],
  );
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
 * What the provider does not know, of another account of it perhaps, has expired once no one could pay it
 * any more. Should it be paid all the same, a webhook event says so.
 */
async function fulfilUnknown(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<Outcome> {
  const age = dependencies.clock() - row.created_at.getTime();
  if (age < checkoutMs + resumeMs) return 'open';
  return recordAs(dependencies, row, 'expired');
}

async function recordAs(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  status: 'processing' | 'expired',
): Promise<Outcome> {
  return unlessMoved(dependencies, row, async () => {
    await recordUnpaid(dependencies.pool, row.id, { status }, now(dependencies));
    return status;
  });
}

/** The provider may report a session before its id was stored with the purchase. */
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
): Promise<Outcome> {
  const difference = sessionDifference(row, view);
  if (view.isPaid) {
    if (difference !== null)
      return refuse(dependencies, row, difference, {
        paidBy: view.sessionId,
        isOwn: row.session_id === view.sessionId,
      });
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
    if (view.subscriptionId !== null) await endAtProvider(dependencies, view.subscriptionId);
    const { failure } = view;
    return unlessMoved(dependencies, row, async () => fail(dependencies, row, failure));
  }
  if (view.isPending) return recordAs(dependencies, row, 'processing');
  return view.status === 'expired' ? recordAs(dependencies, row, 'expired') : 'open';
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
): Promise<Outcome> {
  // The payment behind a checkout session: the session says what became of it.
  if (row.kind !== 'intent') return 'unchanged';
  const difference = intentDifference(row, view);
  if (view.status === 'succeeded') {
    if (difference !== null)
      return refuse(dependencies, row, difference, {
        paidBy: view.intentId,
        isOwn: row.payment_intent_id === view.intentId,
      });
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
  if (view.status === 'canceled') return recordAs(dependencies, row, 'expired');
  if (view.status === 'processing') return recordAs(dependencies, row, 'processing');
  if (view.failure === null) return 'open';
  const ending = { status: 'failed', failure: view.failure } as const;
  // The buyer sees it at once and may try another card, so no mail is sent.
  return unlessMoved(dependencies, row, async () => {
    await recordUnpaid(dependencies.pool, row.id, ending, now(dependencies));
    return ending.status;
  });
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
): Promise<Outcome> {
  // It asks the provider, so it comes before the lock.
  if (row.kind === 'plan_checkout' && payment.invoiceId !== null && payment.subscriptionId !== null)
    await takePayment(dependencies, payment.invoiceId);
  return unlessMoved(dependencies, row, async () => {
    const paidAt = new Date(payment.paidAt ?? dependencies.clock());
    const granted =
      row.kind === 'plan_checkout'
        ? begun(payment)
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
  });
}

/** The invoices of a plan grant, and its checkout only begins it; null when it has begun none. */
function begun({ subscriptionId }: Payment): { paymentKey: null; lotId: null } | null {
  return subscriptionId === null ? null : { paymentKey: null, lotId: null };
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

type Paid = { paidBy: string; isOwn: boolean };

async function refuse(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
  reason: string,
  { paidBy, isOwn }: Paid,
): Promise<Outcome> {
  return unlessMoved(dependencies, row, async () =>
    isOwn
      ? mismatch(dependencies, row, reason)
      : mismatchOfOther(dependencies, row, reason, paidBy),
  );
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
 * It names this purchase as its own, and the purchase does not know it. The buyer is not to be kept from
 * paying by what was written into another payment.
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
