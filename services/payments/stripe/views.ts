import type { Stripe } from 'stripe';
import * as v from 'valibot';
import type {
  BalanceTransactionView,
  ChargeView,
  CheckoutView,
  WebhookEvent,
  DisputeView,
  FraudWarningView,
  IntentView,
  InvoiceView,
  RefundView,
  SubscriptionView,
} from '#services/payments/provider.ts';
import { UnexpectedAnswer } from './errors.ts';

/**
 * The provider's objects in our words. Each is checked for what it is and for its id before anything is
 * made of it: the SDK hands on whatever JSON came back, also a proxy's 404, as if it were the answer.
 */

/** What an object calls itself, and how ids of its kind begin. */
const kinds = {
  customer: 'cus',
  'checkout.session': 'cs',
  payment_intent: 'pi',
  charge: 'ch|py',
  refund: 're|pyr',
  invoice: 'in',
  subscription: 'sub',
  dispute: 'dp|du|pdp',
  'radar.early_fraud_warning': 'issfr',
  balance_transaction: 'txn',
  'billing_portal.session': 'bps',
  event: 'evt',
  price: 'price',
} as const;
type Kind = keyof typeof kinds;

/** Ids of prices and products may be chosen when they are made. */
const anyId = v.pipe(v.string(), v.regex(/^[\w-]{1,255}$/));

/** An id as it can stand in an address; anything else is nothing that the provider could know. */
export function isIdOf(kind: Kind, id: string): boolean {
  return new RegExp(`^(?:${kinds[kind]})_\\w{1,250}$`).test(id);
}

/** @throws UnexpectedAnswer */
export function checked<Answer extends { object: string; id: string }>(
  kind: Answer['object'] & (Kind | 'product'),
  answer: Answer,
  expectedId?: string,
): Answer {
  const id = expectedId === undefined ? anyId : v.literal(expectedId);
  if (v.is(v.object({ object: v.literal(kind), id }), answer)) return answer;
  throw new UnexpectedAnswer(kind);
}

/** @throws UnexpectedAnswer */
export function checkedList<Page extends { data: unknown[]; has_more: boolean }>(
  what: string,
  page: Page,
): Page {
  const list = v.object({
    object: v.literal('list'),
    data: v.array(v.object({ object: v.string(), id: anyId })),
    has_more: v.boolean(),
  });
  if (v.is(list, page)) return page;
  throw new UnexpectedAnswer(`a list (${what})`);
}

export function checkoutView(answer: Stripe.Checkout.Session, expectedId?: string): CheckoutView {
  const session = checked('checkout.session', answer, expectedId);
  const intent = whole(session.payment_intent);
  const invoice = whole(session.invoice);
  const charge = whole(intent?.latest_charge);
  // A first payment that was tried again shows in the invoice.
  const isPaid = session.payment_status === 'paid' || invoice?.status === 'paid';
  const isUnpaid = session.status === 'complete' && !isPaid;
  const failure = isUnpaid ? (failureOf(intent) ?? planFailureOf(session)) : null;
  return {
    sessionId: session.id,
    url: session.url,
    status: oneOf(['open', 'complete', 'expired'], session.status, 'the status of a checkout'),
    isPaid,
    isPending: isUnpaid && failure === null,
    mode: oneOf(['payment', 'subscription'], session.mode, 'the mode of a checkout'),
    userId: session.client_reference_id,
    purchaseId: session.metadata?.['purchase_id'] ?? null,
    subtotalMinor: minor(session.amount_subtotal),
    totalMinor: minor(session.amount_total),
    taxMinor: minor(session.total_details?.amount_tax ?? 0),
    currency: currencyOf(session.currency),
    intentId: idOf(session.payment_intent),
    failure,
    subscriptionId: idOf(session.subscription),
    invoiceId: idOf(session.invoice),
    receiptUrl: isPaid ? (charge?.receipt_url ?? invoice?.hosted_invoice_url ?? null) : null,
    paidAt: isPaid
      ? timeOf(charge?.created ?? invoice?.status_transitions.paid_at ?? session.created)
      : null,
  };
}

export function intentView(answer: Stripe.PaymentIntent, expectedId?: string): IntentView {
  const intent = checked('payment_intent', answer, expectedId);
  const charge = whole(intent.latest_charge);
  const isPaid = intent.status === 'succeeded';
  return {
    intentId: intent.id,
    clientSecret: intent.client_secret,
    status: intentStatus(intent.status),
    failure: isPaid ? null : (intent.last_payment_error?.code ?? null),
    userId: intent.metadata['user_id'] ?? null,
    purchaseId: intent.metadata['purchase_id'] ?? null,
    amountMinor: minor(intent.amount),
    currency: currencyOf(intent.currency),
    chargeId: idOf(intent.latest_charge),
    receiptUrl: isPaid ? (charge?.receipt_url ?? null) : null,
    paidAt: isPaid ? timeOf(charge?.created ?? intent.created) : null,
  };
}

/** What still waits for the person, in whichever way, is open. */
function intentStatus(status: string): IntentView['status'] {
  return status === 'succeeded' || status === 'processing' || status === 'canceled'
    ? status
    : 'open';
}

/** Why a complete checkout will never be paid; null while the bank still thinks. */
function failureOf(intent: Stripe.PaymentIntent | null): string | null {
  if (intent === null) return null;
  const isOver = intent.status === 'canceled' || intent.status === 'requires_payment_method';
  return isOver ? (intent.last_payment_error?.code ?? 'payment_failed') : null;
}

/**
 * The same for a plan, which begins before its first payment has come: it has ended without it, or continues
 * in debt, which we do not let it.
 */
function planFailureOf({ subscription, invoice }: Stripe.Checkout.Session): string | null {
  const plan = whole(subscription)?.status ?? '';
  const bill = whole(invoice)?.status ?? '';
  const isOver =
    ['incomplete_expired', 'canceled', 'past_due', 'unpaid'].includes(plan) ||
    ['void', 'uncollectible'].includes(bill);
  return isOver ? 'payment_failed' : null;
}

export function chargeView(answer: Stripe.Charge, expectedId?: string): ChargeView {
  const charge = checked('charge', answer, expectedId);
  return {
    chargeId: charge.id,
    intentId: idOf(charge.payment_intent),
    amountMinor: minor(charge.amount),
    refundedMinor: minor(charge.amount_refunded),
    currency: currencyOf(charge.currency),
    isPaid: charge.paid && charge.status === 'succeeded',
    createdAt: timeOf(charge.created),
    balanceTransactionId: idOf(charge.balance_transaction),
  };
}

export function refundView(answer: Stripe.Refund, expectedId?: string): RefundView {
  const refund = checked('refund', answer, expectedId);
  return {
    providerRefundId: refund.id,
    refundId: refund.metadata?.['refund_id'] ?? null,
    intentId: idOf(refund.payment_intent),
    chargeId: idOf(refund.charge),
    amountMinor: minor(refund.amount),
    currency: currencyOf(refund.currency),
    status: refundStatus(refund.status),
    failure: refund.failure_reason ?? null,
    createdAt: timeOf(refund.created),
  };
}

/** What is neither done nor given up is pending, whatever it is called. */
function refundStatus(status: string | null): RefundView['status'] {
  if (status === 'succeeded') return 'succeeded';
  return status === 'failed' || status === 'canceled' ? 'failed' : 'pending';
}

/** `sold` is of its line with a price of ours, which the line only names. */
export function invoiceView(
  answer: Stripe.Invoice,
  sold: Pick<InvoiceView, 'packageId' | 'agreed' | 'period'> | null,
  expectedId?: string,
): InvoiceView {
  const invoice = checked('invoice', answer, expectedId);
  const plan = invoice.parent?.subscription_details ?? null;
  const payment = invoice.payments?.data.find(
    (one) => one.status === 'paid' && one.payment.type === 'payment_intent',
  );
  return {
    invoiceId: invoice.id,
    subscriptionId: idOf(plan?.subscription),
    customerId: idOf(invoice.customer),
    userId: plan?.metadata?.['user_id'] ?? null,
    packageId: sold?.packageId ?? null,
    agreed: sold?.agreed ?? null,
    period: sold?.period ?? null,
    reason: invoice.billing_reason ?? 'manual',
    status: oneOf(
      ['draft', 'open', 'paid', 'void', 'uncollectible'],
      invoice.status,
      'the status of an invoice',
    ),
    subtotalMinor: minor(invoice.subtotal),
    paidMinor: minor(invoice.amount_paid),
    taxMinor: (invoice.total_taxes ?? []).reduce((sum, tax) => sum + minor(tax.amount), 0),
    currency: currencyOf(invoice.currency),
    intentId: idOf(payment?.payment.payment_intent),
    receiptUrl: invoice.hosted_invoice_url ?? null,
    paidAt: timeOrNull(invoice.status_transitions.paid_at),
    createdAt: timeOf(invoice.created),
  };
}

/**
 * The lines of an invoice that name a price, its own before what was carried over. The invoice has a
 * period, too, which is that of whatever was carried over and not the one that is paid for.
 */
export function pricedLines(invoice: Stripe.Invoice) {
  return invoice.lines.data.flatMap(({ pricing, period }) => {
    const price = idOf(pricing?.price_details?.price);
    return price === null
      ? []
      : [{ price, period: { start: timeOf(period.start), end: timeOf(period.end) } }];
  });
}

export function subscriptionView(
  answer: Stripe.Subscription,
  packageId: string | null,
  dueMinor: number | null,
  expectedId?: string,
): SubscriptionView {
  const subscription = checked('subscription', answer, expectedId);
  const item = subscription.items.data[0];
  const isOver = subscription.ended_at !== null;
  return {
    subscriptionId: subscription.id,
    customerId: idOf(subscription.customer) ?? '',
    userId: subscription.metadata['user_id'] ?? null,
    packageId,
    status: oneOf(
      [
        'incomplete',
        'incomplete_expired',
        'trialing',
        'active',
        'past_due',
        'canceled',
        'unpaid',
        'paused',
      ],
      subscription.status,
      'the status of a subscription',
    ),
    periodStart: timeOrNull(item?.current_period_start ?? null),
    periodEnd: timeOrNull(item?.current_period_end ?? null),
    // The provider's own pages may set the time instead of the switch.
    cancelsAtPeriodEnd:
      !isOver && (subscription.cancel_at_period_end || subscription.cancel_at !== null),
    dueMinor,
    endedAt: timeOrNull(subscription.ended_at),
    createdAt: timeOf(subscription.created),
  };
}

export function disputeView(answer: Stripe.Dispute, expectedId?: string): DisputeView {
  const dispute = checked('dispute', answer, expectedId);
  return {
    disputeId: dispute.id,
    chargeId: idOf(dispute.charge) ?? '',
    intentId: idOf(dispute.payment_intent),
    amountMinor: minor(dispute.amount),
    currency: currencyOf(dispute.currency),
    status: dispute.status,
    stage: stageOf(dispute),
    createdAt: timeOf(dispute.created),
  };
}

/** New statuses appear: what they mean follows from whether the money is withdrawn. */
function stageOf(dispute: Stripe.Dispute): DisputeView['stage'] {
  switch (dispute.status) {
    case 'warning_needs_response':
    case 'warning_under_review':
      return 'inquiry';
    case 'needs_response':
    case 'under_review':
      return 'withdrawn';
    case 'won':
      return 'won';
    case 'lost':
      return 'lost';
    // One that was prevented ended by a refund, which is a refund of its own.
    case 'warning_closed':
    case 'prevented':
      return 'closed';
    default:
      return isMoneyAway(dispute) ? 'withdrawn' : 'inquiry';
  }
}

function isMoneyAway(dispute: Stripe.Dispute): boolean {
  return dispute.balance_transactions.reduce((sum, one) => sum + one.amount, 0) < 0;
}

export function fraudWarningView(
  answer: Stripe.Radar.EarlyFraudWarning,
  expectedId?: string,
): FraudWarningView {
  const warning = checked('radar.early_fraud_warning', answer, expectedId);
  return {
    warningId: warning.id,
    chargeId: idOf(warning.charge) ?? '',
    intentId: idOf(warning.payment_intent),
    fraudType: warning.fraud_type,
    createdAt: timeOf(warning.created),
  };
}

export function balanceTransactionView(answer: Stripe.BalanceTransaction): BalanceTransactionView {
  const transaction = checked('balance_transaction', answer);
  return {
    transactionId: transaction.id,
    type: transaction.type,
    amountMinor: signedMinor(transaction.amount),
    feeMinor: signedMinor(transaction.fee),
    netMinor: signedMinor(transaction.net),
    currency: currencyOf(transaction.currency),
    sourceId: idOf(transaction.source),
    createdAt: timeOf(transaction.created),
  };
}

/**
 * A signed event may contain anything, and it is stored before the provider is asked about it. So it is
 * checked first: Postgres takes neither every character nor every time.
 *
 * @throws UnexpectedAnswer
 */
export function webhookEventOf(answer: Stripe.Event): WebhookEvent {
  if (!v.is(DeliveredEvent, answer)) throw new UnexpectedAnswer('event');
  const { id } = answer.data.object;
  return {
    eventId: answer.id,
    type: answer.type,
    objectId: typeof id === 'string' ? id : null,
    createdAt: timeOf(answer.created),
  };
}

const DeliveredEvent = v.object({
  object: v.literal('event'),
  id: v.pipe(
    v.string(),
    v.check((id) => isIdOf('event', id)),
  ),
  type: v.pipe(v.string(), v.regex(/^[\w.]{1,128}$/)),
  created: v.number(),
  data: v.object({
    object: v.object({
      // Some have none, such as a balance.
      id: v.optional(
        v.union([
          v.pipe(v.string(), v.regex(/^\P{Cc}{1,255}$/u)),
          v.custom<unknown>((id) => typeof id !== 'string'),
        ]),
      ),
    }),
  }),
});

/** Of something that is given by its id or, when it was expanded, whole. */
function idOf(given: string | { id: string } | null | undefined): string | null {
  if (given === null || given === undefined) return null;
  return typeof given === 'string' ? given : given.id;
}

function whole<Whole extends object>(given: string | Whole | null | undefined): Whole | null {
  return typeof given === 'object' ? given : null;
}

function oneOf<const Allowed extends readonly string[]>(
  allowed: Allowed,
  value: string | null,
  what: string,
): Allowed[number] {
  const found = allowed.find((one): one is Allowed[number] => one === value);
  if (found === undefined) throw new UnexpectedAnswer(what);
  return found;
}

function minor(value: number | null): number {
  if (value === null || !Number.isSafeInteger(value) || value < 0)
    throw new UnexpectedAnswer('an amount of money');
  return value;
}

function signedMinor(value: number): number {
  if (!Number.isSafeInteger(value)) throw new UnexpectedAnswer('an amount of money');
  return value;
}

function currencyOf(value: string | null): string {
  if (value === null || !/^[a-z]{3}$/.test(value)) throw new UnexpectedAnswer('a currency');
  return value;
}

/** The end of the year 9999. A later time is an error that `Date` and Postgres may not be able to hold. */
const lastSecond = 253_402_300_799;

/** Seconds since 1970 as milliseconds. */
function timeOf(seconds: number): number {
  if (!Number.isSafeInteger(seconds) || seconds < 0 || seconds > lastSecond)
    throw new UnexpectedAnswer('a time');
  return seconds * 1000;
}

function timeOrNull(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : timeOf(seconds);
}
