import { Stripe } from 'stripe';
import * as v from 'valibot';
import { emailOf, idOf, mustId } from './customers.ts';
import { beginLater, decline, newIntent, succeed } from './payments.ts';
import { taxOf } from './tax.ts';
import {
  invalid,
  listFields,
  missing,
  pageOf,
  parametersOf,
  text,
} from '#services/sandbox/stripe/wire.ts';
import type { Params } from '#services/sandbox/stripe/wire.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Invoices of plans: a draft, finalised with its payment, and paid or not. */

export function beginInvoice(
  world: World,
  subscription: Stripe.Subscription,
  reason: 'subscription_create' | 'subscription_cycle',
): Stripe.Invoice {
  const id = world.store.newId('in_');
  const now = world.now();
  const [item] = subscription.items.data;
  if (item === undefined) throw new Error(`${subscription.id} has no item`);
  const subtotal = (item.price.unit_amount ?? 0) * (item.quantity ?? 1);
  const taxed = subscription.automatic_tax.enabled;
  const tax = taxed ? taxOf(subtotal) : 0;
  const customer = mustId(subscription.customer);
  const line = {
    id: world.store.newId('il_'),
    object: 'line_item',
    amount: subtotal,
    currency: subscription.currency,
    description: `1 × ${nameOf(world, item.price)}`,
    discount_amounts: [],
    discountable: true,
    discounts: [],
    invoice: id,
    livemode: false,
    metadata: subscription.metadata,
    parent: {
      invoice_item_details: null,
      subscription_item_details: {
        invoice_item: null,
        proration: false,
        proration_details: null,
        subscription: subscription.id,
        subscription_item: item.id,
      },
      type: 'subscription_item_details',
    },
    period: { start: item.current_period_start, end: item.current_period_end },
    pretax_credit_amounts: [],
    pricing: {
      price_details: { price: item.price.id, product: mustId(item.price.product) },
      type: 'price_details',
      unit_amount_decimal: item.price.unit_amount_decimal,
    },
    quantity: item.quantity ?? 1,
    quantity_decimal: Stripe.Decimal.from(item.quantity ?? 1),
    subscription: subscription.id,
    subtotal,
    taxes: [],
  } satisfies Stripe.InvoiceLineItem;
  const draft = world.store.put('invoice', id, {
    id,
    object: 'invoice',
    account_country: 'US',
    account_name: 'Sandbox',
    account_tax_ids: null,
    amount_due: subtotal + tax,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: subtotal + tax,
    amount_shipping: 0,
    application: null,
    attempt_count: 0,
    attempted: false,
    auto_advance: true,
    automatic_tax: {
      disabled_reason: null,
      enabled: taxed,
      liability: null,
      provider: taxed ? 'stripe' : null,
      status: taxed ? 'complete' : null,
    },
    automatically_finalizes_at: null,
    billing_reason: reason,
    collection_method: 'charge_automatically',
    created: now,
    currency: subscription.currency,
    custom_fields: null,
    customer,
    customer_account: null,
    customer_address: null,
    customer_email: emailOf(world, customer),
    customer_name: null,
    customer_phone: null,
    customer_shipping: null,
    customer_tax_exempt: 'none',
    customer_tax_ids: [],
    default_payment_method: null,
    default_source: null,
    default_tax_rates: [],
    description: null,
    discounts: [],
    due_date: null,
    effective_at: null,
    ending_balance: null,
    footer: null,
    from_invoice: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    issuer: { type: 'self' },
    last_finalization_error: null,
    latest_revision: null,
    lines: { object: 'list', data: [line], has_more: false, url: `/v1/invoices/${id}/lines` },
    livemode: false,
    metadata: {},
    next_payment_attempt: null,
    number: null,
    on_behalf_of: null,
    parent: {
      quote_details: null,
      subscription_details: {
        metadata: subscription.metadata,
        subscription: subscription.id,
      },
      type: 'subscription_details',
    },
    payment_settings: {
      default_mandate: null,
      payment_method_options: null,
      payment_method_types: null,
    },
    // Of the first one both are the beginning; of a renewal, the period that has just ended.
    period_end: item.current_period_start,
    period_start:
      reason === 'subscription_create'
        ? item.current_period_start
        : periodBefore(world, subscription),
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    receipt_number: null,
    rendering: null,
    shipping_cost: null,
    shipping_details: null,
    starting_balance: 0,
    statement_descriptor: null,
    status: 'draft',
    status_transitions: {
      finalized_at: null,
      marked_uncollectible_at: null,
      paid_at: null,
      voided_at: null,
    },
    subtotal,
    subtotal_excluding_tax: subtotal,
    test_clock: null,
    total: subtotal + tax,
    total_discount_amounts: [],
    total_excluding_tax: subtotal,
    total_pretax_credit_amounts: [],
    total_taxes: taxed
      ? [
          {
            amount: tax,
            tax_behavior: 'exclusive',
            tax_rate_details: { tax_rate: 'txr_sandbox' },
            taxability_reason: 'standard_rated',
            taxable_amount: subtotal,
            type: 'tax_rate_details',
          },
        ]
      : [],
    webhooks_delivered_at: null,
  });
  world.emit('invoice.created', draft);
  return finalize(world, draft, subscription);
}

function nameOf(world: World, price: Stripe.Price): string {
  return world.store.get('product', mustId(price.product))?.name ?? 'Product';
}

function periodBefore(world: World, subscription: Stripe.Subscription): number {
  const id = idOf(subscription.latest_invoice);
  const last = id === null ? null : world.store.get('invoice', id);
  return last?.lines.data[0]?.period.start ?? subscription.created;
}

/** Gets its number and the intent that is to pay it. */
function finalize(
  world: World,
  draft: Stripe.Invoice,
  subscription: Stripe.Subscription,
): Stripe.Invoice {
  const now = world.now();
  const intent = newIntent(world, {
    amount: draft.amount_due,
    currency: draft.currency,
    customer: idOf(draft.customer),
    metadata: {},
    description:
      draft.billing_reason === 'subscription_create'
        ? 'Subscription creation'
        : 'Subscription update',
  });
  const id = world.store.newId('inpay_');
  world.store.put('invoicePayment', id, {
    id,
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: draft.amount_due,
    created: now,
    currency: draft.currency,
    invoice: draft.id,
    is_default: true,
    livemode: false,
    payment: { payment_intent: intent.id, type: 'payment_intent' },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
  const page = `${world.publicUrl}/dev/stripe/invoices/${draft.id}`;
  const invoice = change(world, draft.id, {
    status: 'open',
    number: `SANDBOX-${draft.id.slice(3, 9).toUpperCase()}`,
    effective_at: now,
    hosted_invoice_url: page,
    invoice_pdf: page,
    status_transitions: { ...draft.status_transitions, finalized_at: now },
  });
  changeLatest(world, subscription.id, draft.id);
  world.emit('invoice.finalized', invoice);
  return invoice;
}

function changeLatest(world: World, subscriptionId: string, invoiceId: string): void {
  const subscription = world.store.get('subscription', subscriptionId);
  if (subscription === null) return;
  world.store.put('subscription', subscriptionId, { ...subscription, latest_invoice: invoiceId });
}

export function payInvoice(world: World, id: string): Stripe.Invoice {
  succeed(world, intentOf(world, id));
  return markPaid(world, id);
}

/** By a bank that confirms later: it stays open. */
export function payInvoiceLater(world: World, id: string): Stripe.Invoice {
  beginLater(world, intentOf(world, id));
  const before = retrieveInvoice(world, id);
  return change(world, id, { attempted: true, attempt_count: before.attempt_count + 1 });
}

/** Its payment has succeeded. */
export function markPaid(world: World, id: string): Stripe.Invoice {
  const before = retrieveInvoice(world, id);
  const now = world.now();
  const payment = paymentOf(world, id);
  const paid = world.store.put('invoicePayment', payment.id, {
    ...payment,
    status: 'paid',
    amount_paid: before.amount_due,
    status_transitions: { canceled_at: null, paid_at: now },
  });
  const invoice = change(world, id, {
    status: 'paid',
    amount_paid: before.amount_due,
    amount_remaining: 0,
    attempted: true,
    attempt_count: before.attempt_count + 1,
    auto_advance: false,
    ending_balance: 0,
    next_payment_attempt: null,
    status_transitions: { ...before.status_transitions, paid_at: now },
  });
  world.emit('invoice.paid', invoice);
  world.emit('invoice.payment_succeeded', invoice);
  world.emit('invoice_payment.paid', paid);
  return invoice;
}

export function declineInvoice(world: World, id: string, nextTry: number | null): Stripe.Invoice {
  decline(world, intentOf(world, id));
  return markFailed(world, id, nextTry);
}

/** Its payment has failed. */
export function markFailed(world: World, id: string, nextTry: number | null): Stripe.Invoice {
  const invoice = change(world, id, {
    attempted: true,
    attempt_count: retrieveInvoice(world, id).attempt_count + 1,
    auto_advance: nextTry !== null,
    next_payment_attempt: nextTry,
  });
  world.emit('invoice.payment_failed', invoice);
  return invoice;
}

export function intentOf(world: World, invoiceId: string): string {
  return mustId(paymentOf(world, invoiceId).payment.payment_intent);
}

function paymentOf(world: World, invoiceId: string): Stripe.InvoicePayment {
  const found = paymentsOf(world, invoiceId)[0];
  if (found === undefined) throw invalid(`The invoice ${invoiceId} has no payment`);
  return found;
}

/** What an invoice shows when `payments` is expanded. */
export function paymentsOf(world: World, invoiceId: string): Stripe.InvoicePayment[] {
  return world.store.all('invoicePayment').filter(({ invoice }) => invoice === invoiceId);
}

function change(world: World, id: string, values: Partial<Stripe.Invoice>): Stripe.Invoice {
  return world.store.put('invoice', id, { ...retrieveInvoice(world, id), ...values });
}

export function retrieveInvoice(world: World, id: string): Stripe.Invoice {
  const found = world.store.get('invoice', id);
  if (found === null) throw missing('invoice', id);
  return found;
}

const readList = parametersOf<Stripe.InvoiceListParams>()(
  {
    ...listFields,
    customer: v.optional(text),
    status: v.optional(text),
    subscription: v.optional(text),
  },
  ['collection_method', 'due_date'],
);

export function listInvoices(world: World, given: Params) {
  const params = readList(given);
  const rows = world.store
    .all('invoice')
    .filter(
      (one) =>
        (params.customer === undefined || one.customer === params.customer) &&
        (params.status === undefined || one.status === params.status) &&
        (params.subscription === undefined || subscriptionOf(one) === params.subscription),
    );
  return pageOf(rows, params, '/v1/invoices');
}

function subscriptionOf(invoice: Stripe.Invoice): string | null {
  return idOf(invoice.parent?.subscription_details?.subscription ?? null);
}

const readPayments = parametersOf<Stripe.InvoicePaymentListParams>()({
  ...listFields,
  invoice: v.optional(text),
  payment: v.optional(v.object({ type: text, payment_intent: v.optional(text) })),
  status: v.optional(text),
});

export function listInvoicePayments(world: World, given: Params) {
  const params = readPayments(given);
  const rows = world.store
    .all('invoicePayment')
    .filter(
      (one) =>
        (params.invoice === undefined || one.invoice === params.invoice) &&
        (params.payment?.payment_intent === undefined ||
          one.payment.payment_intent === params.payment.payment_intent) &&
        (params.status === undefined || one.status === params.status),
    );
  return pageOf(rows, params, '/v1/invoice_payments');
}

export function retrieveInvoicePayment(world: World, id: string): Stripe.InvoicePayment {
  const found = world.store.get('invoicePayment', id);
  if (found === null) throw missing('invoice_payment', id);
  return found;
}
