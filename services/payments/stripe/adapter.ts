import { createHash } from 'node:crypto';
import { Stripe } from 'stripe';
import { timeOfId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { checkoutMs, ProviderRefused } from '#services/payments/provider.ts';
import type {
  WebhookEvent,
  NewCheckout,
  PaymentProvider,
  SubscriptionView,
} from '#services/payments/provider.ts';
import { ask, askForOne, orNull, UnexpectedAnswer } from './errors.ts';
import { makeOnce } from './once.ts';
import { everyPage, sinceOldestFirst } from './pages.ts';
import { createPrices } from './prices.ts';
import {
  balanceTransactionView,
  chargeView,
  checked,
  checkoutView,
  webhookEventOf,
  disputeView,
  fraudWarningView,
  intentView,
  invoiceView,
  isIdOf,
  pricedLines,
  refundView,
  subscriptionView,
} from './views.ts';

export type StripeSettings = {
  secretKey: string;
  /** During a rotation there are two. */
  webhookSecrets: readonly string[];
  /** Where a fake listens; null is Stripe itself. */
  url: string | null;
  automaticTax: boolean;
  timeoutMs?: number;
  networkRetries?: number;
  /** Milliseconds since 1970. */
  clock?: () => number;
};

/** What the SDK's types describe. Another version is another wire format, whatever the key. */
const apiVersion = '2026-10-28.endive';
const timeoutMs = 10_000;
/** With the same key each time, so that nothing is done twice. */
const networkRetries = 2;
/** A webhook event that was signed longer ago may be a recorded one. */
const signatureSeconds = 300;
/** What a payment's metadata mean; sent with each. */
const ledgerVersion = '1';

export function createStripe(settings: StripeSettings): Stripe {
  const { secretKey, url } = settings;
  const address = url === null ? null : new URL(url);
  return new Stripe(secretKey, {
    apiVersion,
    timeout: settings.timeoutMs ?? timeoutMs,
    maxNetworkRetries: settings.networkRetries ?? networkRetries,
    telemetry: false,
    ...(address === null
      ? {}
      : {
          host: address.hostname,
          port: address.port === '' ? (address.protocol === 'https:' ? 443 : 80) : address.port,
          protocol: address.protocol === 'https:' ? 'https' : 'http',
        }),
  });
}

/** The adapter of Stripe, and of whatever speaks like it under `url`. */
export function createStripeProvider(settings: StripeSettings): PaymentProvider {
  const { webhookSecrets, automaticTax } = settings;
  const clock = settings.clock ?? Date.now;
  const stripe = createStripe(settings);
  const prices = createPrices(stripe, settings.url !== null);

  async function retrieveSubscription(id: string): Promise<Stripe.Subscription | null> {
    if (!isIdOf('subscription', id)) return null;
    const found = await askForOne('subscription', async () => stripe.subscriptions.retrieve(id));
    return found === null ? null : checked('subscription', found, id);
  }

  async function existingSubscription(id: string): Promise<Stripe.Subscription> {
    const found = await retrieveSubscription(id);
    if (!found) throw new ProviderRefused('resource_missing');
    return found;
  }

  async function viewOfSubscription(subscription: Stripe.Subscription): Promise<SubscriptionView> {
    const price = subscription.items.data[0]?.price;
    const ours = price === undefined ? null : await prices.describe(price);
    return subscriptionView(subscription, ours?.packageId ?? null, await dueOf(subscription));
  }

  /** Only of one that is overdue: every other reading would cost a call for nothing. */
  async function dueOf(subscription: Stripe.Subscription): Promise<number | null> {
    const isOverdue = subscription.status === 'past_due' || subscription.status === 'unpaid';
    const { latest_invoice: latest } = subscription;
    if (!isOverdue || latest === null) return null;
    const invoiceId = typeof latest === 'string' ? latest : latest.id;
    if (invoiceId === undefined) throw new UnexpectedAnswer('a subscription with an invoice');
    const found = await askForOne('invoice', async () => stripe.invoices.retrieve(invoiceId));
    const invoice = found && checked('invoice', found, invoiceId);
    return invoice?.status === 'open' ? invoice.amount_remaining : null;
  }

  /** What brings the price back to a package's; null where it is one of that package's already. */
  async function backTo(
    subscription: Stripe.Subscription,
    packageId: string,
  ): Promise<Stripe.SubscriptionUpdateParams | null> {
    const [item] = subscription.items.data;
    if (item === undefined) throw new UnexpectedAnswer('a subscription with a price');
    if ((await prices.describe(item.price))?.packageId === packageId) return null;
    const price = await prices.priceOf(packageId);
    return { items: [{ id: item.id, price }], proration_behavior: 'none' };
  }

  async function viewOfInvoice(invoice: Stripe.Invoice) {
    const checkedInvoice = checked('invoice', invoice);
    for (const { price, period } of pricedLines(checkedInvoice)) {
      const ours = await prices.describe(price);
      if (ours !== null) return invoiceView(checkedInvoice, { ...ours, period });
    }
    return invoiceView(checkedInvoice, null);
  }

  async function retrieveCheckout(sessionId: string) {
    if (!isIdOf('checkout.session', sessionId)) return null;
    const found = await askForOne('checkout', async () =>
      stripe.checkout.sessions.retrieve(sessionId, { expand: checkoutParts }),
    );
    return found === null ? null : checkoutView(found, sessionId);
  }

  /** One of this address that was made for this person, other than the one that was replaced. */
  async function findCustomer(
    { email, metadata }: { email: string; metadata: { user_id: string } },
    replaces: string | null,
  ): Promise<Stripe.Customer | null> {
    const list = async (query: Stripe.CustomerListParams) =>
      stripe.customers.list({ ...query, email });
    for await (const customer of everyPage('customers', list))
      if (customer.metadata['user_id'] === metadata.user_id && customer.id !== replaces)
        return customer;
    return null;
  }

  async function findCheckout({ purchaseId, customerId }: Keyed) {
    const list = async (query: Stripe.Checkout.SessionListParams) =>
      stripe.checkout.sessions.list({ ...query, customer: customerId });
    for await (const { id, metadata } of everyPage('checkouts', list))
      if (metadata?.['purchase_id'] === purchaseId)
        return stripe.checkout.sessions.retrieve(id, { expand: checkoutParts });
    return null;
  }

  async function findIntent({ purchaseId, customerId }: Keyed) {
    const list = async (query: Stripe.PaymentIntentListParams) =>
      stripe.paymentIntents.list({ ...query, customer: customerId });
    for await (const intent of everyPage('payments', list))
      if (intent.metadata['purchase_id'] === purchaseId) return intent;
    return null;
  }

  return {
    async createCustomer({ userId, email, name, replaces }) {
      const person = { email, name, metadata: { user_id: userId } };
      // A key is tied to what was sent with it, and people change their names.
      const key = `customer:${userId}:${fingerprint(email, name, replaces ?? '')}`;
      const made = await ask('customer', async () =>
        makeOnce(key, {
          make: async (options) => stripe.customers.create(person, options),
          find: async () => findCustomer(person, replaces ?? null),
        }),
      );
      return checked('customer', made).id;
    },

    // Not by the provider's search, which may be an hour behind.
    async findCustomers(userId, { since, until }) {
      const made = { gte: Math.floor(since / 1000), lte: Math.ceil(until / 1000) };
      const list = async (query: Stripe.CustomerListParams) => stripe.customers.list(query);
      const customers = await Array.fromAsync(everyPage('customers', list, made));
      return customers.filter(({ metadata }) => metadata['user_id'] === userId).map(({ id }) => id);
    },

    async deleteCustomer(customerId) {
      const gone = await askForOne('customer', async () => stripe.customers.del(customerId));
      if (gone !== null) checked('customer', gone, customerId);
    },

    async createCheckout(checkout) {
      const price = await prices.priceOf(checkout.packageId);
      const parameters = checkoutParameters(checkout, price, { automaticTax, now: clock() });
      try {
        const made = await ask('checkout', async () =>
          makeOnce(keyOf(checkout), {
            make: async (options) => stripe.checkout.sessions.create(parameters, options),
            find: async () => findCheckout(checkout),
          }),
        );
        return checkoutView(made);
      } catch (error) {
        if (error instanceof ProviderRefused) prices.forget();
        throw error;
      }
    },

    retrieveCheckout,

    async expireCheckout(sessionId) {
      const refusalOrView = await ask('checkout', async () =>
        stripe.checkout.sessions.expire(sessionId, { expand: checkoutParts }),
      ).then(
        (ended) => checkoutView(ended, sessionId),
        (error: unknown) => {
          if (error instanceof ProviderRefused) return error;
          throw error;
        },
      );
      if (!(refusalOrView instanceof ProviderRefused)) return refusalOrView;
      // It is refused for one that has ended, and while its payment is under way.
      const view = await retrieveCheckout(sessionId);
      if (view === null || view.status === 'open') throw refusalOrView;
      return view;
    },

    async createIntent({ purchaseId, userId, customerId, packageId, amountMinor, currency }) {
      const parameters = {
        amount: amountMinor,
        currency,
        customer: customerId,
        automatic_payment_methods: { enabled: true },
        metadata: metadataOf({ purchaseId, userId, packageId }),
      };
      const made = await ask('payment', async () =>
        makeOnce(keyOf({ purchaseId, customerId }), {
          make: async (options) => stripe.paymentIntents.create(parameters, options),
          find: async () => findIntent({ purchaseId, customerId }),
        }),
      );
      return intentView(made);
    },

    async retrieveIntent(intentId) {
      if (!isIdOf('payment_intent', intentId)) return null;
      const found = await askForOne('payment', async () =>
        stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }),
      );
      return found === null ? null : intentView(found, intentId);
    },

    async retrieveCharge(chargeId) {
      if (!isIdOf('charge', chargeId)) return null;
      const found = await askForOne('charge', async () => stripe.charges.retrieve(chargeId));
      return found === null ? null : chargeView(found, chargeId);
    },

    async createRefund({ refundId, intentId, amountMinor, userId }) {
      const made = await ask('refund', async () =>
        stripe.refunds.create(
          {
            payment_intent: intentId,
            amount: amountMinor,
            reason: 'requested_by_customer',
            metadata: { refund_id: refundId, user_id: userId },
          },
          { idempotencyKey: refundId },
        ),
      );
      return refundView(made);
    },

    async retrieveRefund(providerRefundId) {
      if (!isIdOf('refund', providerRefundId)) return null;
      const found = await askForOne('refund', async () =>
        stripe.refunds.retrieve(providerRefundId),
      );
      return found === null ? null : refundView(found, providerRefundId);
    },

    async listRefunds(intentId) {
      const refunds = everyPage('refunds', async (query) =>
        stripe.refunds.list({ ...query, payment_intent: intentId }),
      );
      return Array.fromAsync(refunds, (refund) => refundView(refund));
    },

    async retrieveInvoice(invoiceId) {
      if (!isIdOf('invoice', invoiceId)) return null;
      const found = await askForOne('invoice', async () =>
        stripe.invoices.retrieve(invoiceId, { expand: ['payments'] }),
      );
      return found === null ? null : viewOfInvoice(checked('invoice', found, invoiceId));
    },

    async retrieveSubscription(subscriptionId) {
      const found = await retrieveSubscription(subscriptionId);
      return found === null ? null : viewOfSubscription(found);
    },

    // The calls below say how something should be, so doing them again is harmless, and a key of ours
    // would be harmful: to there, back, and there again within a day would be answered from memory.
    async changeSubscription(subscriptionId, packageId) {
      const price = await prices.priceOf(packageId);
      const found = await existingSubscription(subscriptionId);
      const [item] = found.items.data;
      if (item === undefined) throw new UnexpectedAnswer('a subscription with a price');
      if (item.price.id === price) return viewOfSubscription(found);
      const changed = await ask('subscription', async () =>
        stripe.subscriptions.update(subscriptionId, {
          items: [{ id: item.id, price }],
          proration_behavior: 'none',
        }),
      );
      return viewOfSubscription(checked('subscription', changed, subscriptionId));
    },

    async setCancelAtPeriodEnd(subscriptionId, cancels, packageId) {
      const found = await existingSubscription(subscriptionId);
      const isSo = found.cancel_at_period_end || found.cancel_at !== null;
      const back = await backTo(found, packageId);
      if (isSo === cancels && back === null) return viewOfSubscription(found);
      const changed = await ask('subscription', async () =>
        stripe.subscriptions.update(subscriptionId, {
          // The provider's own pages may have set a time in place of the switch.
          ...(found.cancel_at_period_end || cancels
            ? { cancel_at_period_end: cancels }
            : { cancel_at: '' }),
          ...back,
        }),
      );
      return viewOfSubscription(checked('subscription', changed, subscriptionId));
    },

    async cancelSubscription(subscriptionId) {
      const found = await existingSubscription(subscriptionId);
      if (hasEnded(found)) return viewOfSubscription(found);
      const cancelled = await orNull(
        ask('subscription', async () =>
          stripe.subscriptions.cancel(subscriptionId, { prorate: false, invoice_now: false }),
        ),
      );
      // Another process ended it in between.
      const ended = cancelled ?? (await existingSubscription(subscriptionId));
      return viewOfSubscription(checked('subscription', ended, subscriptionId));
    },

    async listSubscriptions(customerId) {
      const subscriptions = everyPage('subscriptions', async (query) =>
        stripe.subscriptions.list({ ...query, customer: customerId, status: 'all' }),
      );
      // A customer that it does not know has none.
      return (await orNull(Array.fromAsync(subscriptions, viewOfSubscription))) ?? [];
    },

    async retrieveDispute(disputeId) {
      if (!isIdOf('dispute', disputeId)) return null;
      const found = await askForOne('dispute', async () => stripe.disputes.retrieve(disputeId));
      return found === null ? null : disputeView(found, disputeId);
    },

    async listDisputesOf(intentId) {
      const disputes = everyPage('disputes', async (query) =>
        stripe.disputes.list({ ...query, payment_intent: intentId }),
      );
      return Array.fromAsync(disputes, (dispute) => disputeView(dispute));
    },

    async retrieveFraudWarning(warningId) {
      if (!isIdOf('radar.early_fraud_warning', warningId)) return null;
      const found = await askForOne('fraud warning', async () =>
        stripe.radar.earlyFraudWarnings.retrieve(warningId),
      );
      return found === null ? null : fraudWarningView(found, warningId);
    },

    async createPortal({ customerId, returnUrl }) {
      const made = await ask('portal', async () =>
        stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl }),
      );
      return { url: checked('billing_portal.session', made).url };
    },

    readWebhookEvent: async (body, signature) =>
      readWebhookEvent(stripe, { body, signature, webhookSecrets, now: clock() }),

    async *listEvents(since, undelivered) {
      const events = sinceOldestFirst(
        'events',
        async (query) =>
          stripe.events.list({
            ...query,
            ...(undelivered === true ? { delivery_success: false } : {}),
          }),
        since,
        clock(),
      );
      for await (const event of events) yield webhookEventOf(event);
    },

    async *listCharges(since) {
      const list = async (query: Stripe.ChargeListParams) => stripe.charges.list(query);
      for await (const charge of sinceOldestFirst('charges', list, since, clock()))
        yield chargeView(charge);
    },

    async *listAllRefunds(since) {
      const list = async (query: Stripe.RefundListParams) => stripe.refunds.list(query);
      for await (const refund of sinceOldestFirst('refunds', list, since, clock()))
        yield refundView(refund);
    },

    async *listInvoices(since) {
      const list = async (query: Stripe.InvoiceListParams) =>
        stripe.invoices.list({ ...query, expand: ['data.payments'] });
      for await (const invoice of sinceOldestFirst('invoices', list, since, clock()))
        yield await viewOfInvoice(invoice);
    },

    async *listDisputes(since) {
      const list = async (query: Stripe.DisputeListParams) => stripe.disputes.list(query);
      for await (const dispute of sinceOldestFirst('disputes', list, since, clock()))
        yield disputeView(dispute);
    },

    async *listBalanceTransactions(since) {
      const list = async (query: Stripe.BalanceTransactionListParams) =>
        stripe.balanceTransactions.list(query);
      for await (const transaction of sinceOldestFirst('balance', list, since, clock()))
        yield balanceTransactionView(transaction);
    },
  };
}

/**
 * What of a checkout is expanded: the receipt is the charge's, or the invoice's of a plan; and a plan's
 * checkout has no intent, so whether its payment has failed is the subscription's to say.
 */
const checkoutParts = ['payment_intent.latest_charge', 'invoice', 'subscription'];

function checkoutParameters(
  checkout: NewCheckout,
  price: string,
  { automaticTax, now }: { automaticTax: boolean; now: number },
): Stripe.Checkout.SessionCreateParams {
  const metadata = metadataOf(checkout);
  return {
    client_reference_id: checkout.userId,
    customer: checkout.customerId,
    line_items: [{ price, quantity: 1 }],
    metadata,
    success_url: withSessionId(checkout.successUrl),
    cancel_url: checkout.cancelUrl,
    expires_at: Math.floor((startOf(checkout.purchaseId, now) + checkoutMs) / 1000),
    // The amount is checked against ours and refunded in its currency, so it stays as it was set.
    adaptive_pricing: { enabled: false },
    automatic_tax: { enabled: automaticTax },
    ...(automaticTax ? { customer_update: { address: 'auto', name: 'auto' } } : {}),
    ...(checkout.kind === 'monthly'
      ? { mode: 'subscription', subscription_data: { metadata } }
      : { mode: 'payment', payment_intent_data: { metadata } }),
    expand: checkoutParts,
  };
}

type Keyed = Pick<NewCheckout, 'purchaseId' | 'customerId'>;

/**
 * What was refused because of its customer is refused again under the same key, so one that is asked for
 * with another customer has another.
 */
function keyOf({ purchaseId, customerId }: Keyed): string {
  return `${purchaseId}:${customerId}`;
}

/**
 * When the purchase was made: its id says it. A repeat with the same key must send the same figures,
 * or it is refused, so the clock alone will not do.
 */
function startOf(purchaseId: string, now: number): number {
  const made = timeOfId(purchaseId);
  const isPlausible = made !== null && Math.abs(now - made) < checkoutMs / 2;
  return isPlausible ? made : now;
}

/** The provider fills the braces in; in a URL they would be written otherwise. */
function withSessionId(url: string): string {
  const [address = '', ...fragment] = url.split('#');
  const joint = address.includes('?') ? '&' : '?';
  const tail = fragment.length === 0 ? '' : `#${fragment.join('#')}`;
  return `${address}${joint}session_id={CHECKOUT_SESSION_ID}${tail}`;
}

function metadataOf(bought: { purchaseId: string; userId: string; packageId: string }) {
  return {
    purchase_id: bought.purchaseId,
    user_id: bought.userId,
    package: bought.packageId,
    ledger_version: ledgerVersion,
  };
}

function hasEnded(subscription: Stripe.Subscription): boolean {
  return subscription.status === 'canceled' || subscription.status === 'incomplete_expired';
}

function fingerprint(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\u001f')).digest('hex').slice(0, 16);
}

async function readWebhookEvent(
  stripe: Stripe,
  {
    body,
    signature,
    webhookSecrets,
    now,
  }: {
    body: string;
    signature: string | undefined;
    webhookSecrets: readonly string[];
    now: number;
  },
): Promise<WebhookEvent> {
  for (const secret of webhookSecrets) {
    try {
      const event = await stripe.webhooks.constructEventAsync(
        body,
        signature ?? '',
        secret,
        signatureSeconds,
        undefined,
        now,
      );
      return webhookEventOf(event);
    } catch (error) {
      if (!(error instanceof Stripe.errors.StripeSignatureVerificationError))
        throw badWebhookEvent();
    }
  }
  throw badSignature();
}

/** The same for a forged and an old one: a reply that says more would help to forge. */
function badSignature(): Problem {
  return new Problem('bad-signature', "The webhook signature isn't valid.");
}

/** Signed, and still nothing that the provider would send. */
function badWebhookEvent(): Problem {
  return new Problem('bad-webhook-event', "The request is signed but isn't a webhook event.");
}
