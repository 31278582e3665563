/**
 * The port to the payment provider: what the rest of this slice asks of it, in our own words.
 * `stripe.ts` is the adapter. Every answer has been checked for what it is and whose id it has; money
 * is in minor units, times are milliseconds since 1970.
 *
 * Calls that write carry a key: the same key twice is done once, for at least 24 hours.
 *
 * @throws Problem 503 `payment-provider` (with Retry-After) when it is unavailable or refuses for now;
 *   `ProviderRefused` when it says no for good; anything else is a fault.
 */
export type PaymentProvider = {
  /** `replaces` is one that it no longer knows: under the same key it would return that one again. */
  createCustomer(customer: {
    userId: string;
    email: string;
    name: string;
    replaces?: string | null;
  }): Promise<string>;
  /** The ids of a person's customers that were made between two times, as far as they are left. */
  findCustomers(userId: string, made: { since: number; until: number }): Promise<string[]>;
  /** Takes name, address and cards of a person away; what was paid stays. */
  deleteCustomer(customerId: string): Promise<void>;
  createCheckout(checkout: NewCheckout): Promise<CheckoutView>;
  retrieveCheckout(sessionId: string): Promise<CheckoutView | null>;
  /** Ends an open one, so that it cannot be paid any more; of an ended one, how it ended. */
  expireCheckout(sessionId: string): Promise<CheckoutView>;
  createIntent(intent: NewIntent): Promise<IntentView>;
  retrieveIntent(intentId: string): Promise<IntentView | null>;
  retrieveCharge(chargeId: string): Promise<ChargeView | null>;
  createRefund(refund: {
    refundId: string;
    intentId: string;
    amountMinor: number;
    userId: string;
  }): Promise<RefundView>;
  retrieveRefund(providerRefundId: string): Promise<RefundView | null>;
  /** All refunds of one payment, ours and the bank's. */
  listRefunds(intentId: string): Promise<RefundView[]>;
  retrieveInvoice(invoiceId: string): Promise<InvoiceView | null>;
  retrieveSubscription(subscriptionId: string): Promise<SubscriptionView | null>;
  /** From the next renewal on another package, without proration. */
  changeSubscription(subscriptionId: string, packageId: string): Promise<SubscriptionView>;
  /** It also drops a change that was planned: it stays, or would be, a plan of `packageId`. In one call. */
  setCancelAtPeriodEnd(
    subscriptionId: string,
    cancels: boolean,
    packageId: string,
  ): Promise<SubscriptionView>;
  /** Ends it now; nothing is refunded by that. Ended already: as it is. */
  cancelSubscription(subscriptionId: string): Promise<SubscriptionView>;
  listSubscriptions(customerId: string): Promise<SubscriptionView[]>;
  retrieveDispute(disputeId: string): Promise<DisputeView | null>;
  /** All disputes of one payment. */
  listDisputesOf(intentId: string): Promise<DisputeView[]>;
  retrieveFraudWarning(warningId: string): Promise<FraudWarningView | null>;
  createPortal(portal: { customerId: string; returnUrl: string }): Promise<{ url: string }>;
  /**
   * The webhook event in `body`, when one of the secrets signed it within the last 300 s.
   * @throws Problem 400 `bad-signature`; `bad-webhook-event` for what is signed and no event
   */
  readWebhookEvent(body: string, signature: string | undefined): Promise<WebhookEvent>;
  /** Everything since a time, oldest first, page by page. */
  listEvents(since: number, undelivered?: boolean): AsyncIterable<WebhookEvent>;
  listCharges(since: number): AsyncIterable<ChargeView>;
  listAllRefunds(since: number): AsyncIterable<RefundView>;
  listInvoices(since: number): AsyncIterable<InvoiceView>;
  listDisputes(since: number): AsyncIterable<DisputeView>;
  listBalanceTransactions(since: number): AsyncIterable<BalanceTransactionView>;
};

/** It understood, and the answer will not change: `code` is its own, such as `charge_already_refunded`. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
  readonly code: string;
  /** Which field of the call it is about, as the provider names it. */
  readonly field: string | null;

  constructor(code: string, field: string | null = null) {
    super(`The payment provider refused: ${code}`);
    this.code = code;
    this.field = field;
  }
}

/** How long a checkout can be paid; the provider allows from half an hour to a day. */
export const checkoutMs = 3_600_000;

export type NewCheckout = {
  purchaseId: string;
  userId: string;
  customerId: string;
  packageId: string;
  kind: 'one_time' | 'monthly';
  successUrl: string;
  cancelUrl: string;
};

export type CheckoutView = {
  sessionId: string;
  url: string | null;
  status: 'open' | 'complete' | 'expired';
  isPaid: boolean;
  /** Complete, and the bank still has to confirm. */
  isPending: boolean;
  mode: 'payment' | 'subscription';
  userId: string | null;
  purchaseId: string | null;
  subtotalMinor: number;
  totalMinor: number;
  taxMinor: number;
  currency: string;
  intentId: string | null;
  /** Set when its payment failed for good. */
  failure: string | null;
  subscriptionId: string | null;
  /** Of a plan, its first. */
  invoiceId: string | null;
  receiptUrl: string | null;
  paidAt: number | null;
};

export type NewIntent = {
  purchaseId: string;
  userId: string;
  customerId: string;
  packageId: string;
  amountMinor: number;
  currency: string;
};

export type IntentView = {
  intentId: string;
  clientSecret: string | null;
  status: 'open' | 'processing' | 'succeeded' | 'canceled';
  /** Why the last try of an open one failed, such as `card_declined`. */
  failure: string | null;
  userId: string | null;
  purchaseId: string | null;
  amountMinor: number;
  currency: string;
  chargeId: string | null;
  receiptUrl: string | null;
  paidAt: number | null;
};

export type ChargeView = {
  chargeId: string;
  intentId: string | null;
  amountMinor: number;
  /** Of all refunds that have not failed. */
  refundedMinor: number;
  currency: string;
  isPaid: boolean;
  createdAt: number;
  balanceTransactionId: string | null;
};

export type RefundView = {
  providerRefundId: string;
  /** Ours, when we asked for it. */
  refundId: string | null;
  intentId: string | null;
  chargeId: string | null;
  amountMinor: number;
  currency: string;
  status: 'pending' | 'succeeded' | 'failed';
  failure: string | null;
  createdAt: number;
};

export type InvoiceView = {
  invoiceId: string;
  subscriptionId: string | null;
  customerId: string | null;
  /** From the subscription's metadata. */
  userId: string | null;
  /** Of the price on its line; null when it is not ours. */
  packageId: string | null;
  /**
   * What was agreed for that price, without tax, as its name says: today's price of the package may be
   * another. Null when it has no name of ours, or costs something else.
   */
  agreed: { amountMinor: number; currency: string } | null;
  /** What that line pays for; null without such a line. */
  period: { start: number; end: number } | null;
  /** `subscription_create` and `subscription_cycle` grant; every other reason grants nothing. */
  reason: string;
  status: 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';
  subtotalMinor: number;
  paidMinor: number;
  taxMinor: number;
  currency: string;
  intentId: string | null;
  receiptUrl: string | null;
  paidAt: number | null;
  createdAt: number;
};

export type SubscriptionView = {
  subscriptionId: string;
  customerId: string;
  userId: string | null;
  /** Of its current price, which after a change is what the next invoice will be for. */
  packageId: string | null;
  status:
    | 'incomplete'
    | 'incomplete_expired'
    | 'trialing'
    | 'active'
    | 'past_due'
    | 'canceled'
    | 'unpaid'
    | 'paused';
  periodStart: number | null;
  periodEnd: number | null;
  cancelsAtPeriodEnd: boolean;
  /** What is left to pay of its latest invoice while that is overdue. */
  dueMinor: number | null;
  endedAt: number | null;
  createdAt: number;
};

export type DisputeView = {
  disputeId: string;
  chargeId: string;
  intentId: string | null;
  amountMinor: number;
  currency: string;
  /** As the provider names it; new ones appear. */
  status: string;
  /**
   * What it means for us. Unknown statuses count as `withdrawn` while the money is withdrawn, and as
   * `inquiry` otherwise.
   */
  stage: 'inquiry' | 'withdrawn' | 'won' | 'lost' | 'closed';
  createdAt: number;
};

export type FraudWarningView = {
  warningId: string;
  chargeId: string;
  intentId: string | null;
  fraudType: string;
  createdAt: number;
};

export type BalanceTransactionView = {
  transactionId: string;
  type: string;
  amountMinor: number;
  feeMinor: number;
  netMinor: number;
  currency: string;
  /** The charge, refund, dispute or payout behind it. */
  sourceId: string | null;
  createdAt: number;
};

/** That something happened to an object; what it is like now is asked of the provider. */
export type WebhookEvent = {
  eventId: string;
  type: string;
  objectId: string | null;
  createdAt: number;
};
