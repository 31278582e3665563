import type { Stripe } from 'stripe';
import * as v from 'valibot';
import { createProduct, newPrice, priceFor } from './catalogue.ts';
import { createCustomer, customerFor, emailOf, idOf, mustId } from './customers.ts';
import {
  beginInvoice,
  intentOf,
  markFailed,
  markPaid,
  payInvoice,
  payInvoiceLater,
} from './invoices.ts';
import {
  beginLater,
  confirmLater,
  decline,
  failLater,
  newIntent,
  openIntent,
  retrieveIntent,
  succeed,
} from './payments.ts';
import type { SessionDetails } from '#services/sandbox/stripe/store.ts';
import { beginSubscription, changeSubscription } from './subscriptions.ts';
import { taxOf } from './tax.ts';
import {
  boolean,
  integer,
  invalid,
  listFields,
  metadata,
  missing,
  pageOf,
  parametersOf,
  text,
  withMetadata,
} from '#services/sandbox/stripe/wire.ts';
import type { Params } from '#services/sandbox/stripe/wire.ts';
import { daySeconds } from '#services/sandbox/stripe/world.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Checkout sessions: made by us, ended by the payer, by us, or by the clock. */

const shortestSeconds = 30 * 60;
/** How long a bank takes that confirms later. */
const bankSeconds = 3 * daySeconds;

const withMetadataOnly = v.optional(
  v.object({ metadata: v.optional(metadata), description: v.optional(text) }),
);

const readNew = parametersOf<Stripe.Checkout.SessionCreateParams>()(
  {
    automatic_tax: v.optional(v.object({ enabled: boolean })),
    cancel_url: v.optional(text),
    client_reference_id: v.optional(v.pipe(text, v.maxLength(200))),
    customer: v.optional(text),
    customer_email: v.optional(text),
    expires_at: v.optional(integer),
    line_items: v.pipe(
      v.array(
        v.object({
          price: v.optional(text),
          price_data: v.optional(
            v.object({
              currency: text,
              product: v.optional(text),
              product_data: v.optional(v.object({ name: text })),
              recurring: v.optional(
                v.object({
                  interval: v.picklist(['day', 'week', 'month', 'year']),
                  interval_count: v.optional(integer, '1'),
                }),
              ),
              unit_amount: integer,
            }),
          ),
          quantity: v.optional(integer, '1'),
        }),
      ),
      v.minLength(1),
    ),
    metadata: v.optional(metadata),
    mode: v.picklist(['payment', 'subscription']),
    payment_intent_data: withMetadataOnly,
    subscription_data: withMetadataOnly,
    success_url: text,
  },
  [
    'adaptive_pricing',
    'allow_promotion_codes',
    'billing_address_collection',
    'consent_collection',
    'customer_creation',
    'customer_update',
    'invoice_creation',
    'locale',
    'payment_method_collection',
    'payment_method_options',
    'saved_payment_method_options',
    'submit_type',
    'tax_id_collection',
    'ui_mode',
  ],
);
type NewSession = ReturnType<typeof readNew>;

export function createSession(world: World, given: Params): Stripe.Checkout.Session {
  const params = readNew(given);
  refuseContradictions(params);
  const customer = params.customer === undefined ? null : customerFor(world, params.customer);
  const taxed = params.automatic_tax?.enabled === true;
  const lines = params.line_items.map((line, index) => lineOf(world, line, index, taxed));
  refuseMixture(params, lines);
  const now = world.now();
  const expiresAt =
    params.expires_at === undefined ? now + daySeconds : params.expires_at + world.ahead();
  if (expiresAt < now + shortestSeconds || expiresAt > now + daySeconds)
    throw invalid(
      '`expires_at` must be between 30 minutes and 24 hours from Checkout Session creation.',
      {
        param: 'expires_at',
      },
    );
  const id = world.store.newId('cs_test_');
  const total = (pick: (line: Stripe.LineItem) => number) =>
    lines.reduce((sum, line) => sum + pick(line), 0);
  const email = params.customer_email ?? customer?.email ?? null;
  const details: SessionDetails = {
    lines,
    intentMetadata: withMetadata({}, params.payment_intent_data?.metadata),
    subscriptionMetadata: withMetadata({}, params.subscription_data?.metadata),
    decline: null,
    settlesAt: null,
  };
  world.store.put('sessionDetails', id, details);
  return world.store.put('session', id, {
    id,
    object: 'checkout.session',
    adaptive_pricing: { enabled: false },
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: null,
    amount_subtotal: total((line) => line.amount_subtotal),
    amount_total: total((line) => line.amount_total),
    automatic_tax: {
      enabled: taxed,
      liability: taxed ? { type: 'self' } : null,
      provider: taxed ? 'stripe' : null,
      status: taxed ? 'complete' : null,
    },
    billing_address_collection: null,
    cancel_url: params.cancel_url ?? null,
    client_reference_id: params.client_reference_id ?? null,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created: now,
    currency: lines[0]?.currency ?? 'usd',
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: customer?.id ?? null,
    customer_account: null,
    customer_creation: customer === null ? 'if_required' : null,
    customer_details: {
      address: null,
      business_name: null,
      email,
      individual_name: null,
      name: customer?.name ?? null,
      phone: null,
      tax_exempt: 'none',
      tax_ids: null,
    },
    customer_email: params.customer_email ?? null,
    discounts: [],
    expires_at: expiresAt,
    integration_identifier: null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale: null,
    managed_payments: null,
    metadata: withMetadata({}, params.metadata),
    mode: params.mode,
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: params.mode === 'subscription' ? 'always' : 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card', 'us_bank_account'],
    payment_status: 'unpaid',
    permissions: null,
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: params.success_url,
    total_details: {
      amount_discount: 0,
      amount_shipping: 0,
      amount_tax: total((line) => line.amount_tax),
    },
    ui_mode: 'hosted_page',
    url: `${world.publicUrl}/dev/stripe/checkout/${id}`,
    wallet_options: null,
  });
}

function refuseContradictions(params: NewSession): void {
  if (params.customer !== undefined && params.customer_email !== undefined)
    throw invalid('You may only specify one of these parameters: customer, customer_email.', {
      code: 'parameters_exclusive',
    });
  if (params.mode === 'subscription' && params.payment_intent_data !== undefined)
    throw invalid('You can not pass `payment_intent_data` in `subscription` mode.', {
      param: 'payment_intent_data',
    });
  if (params.mode === 'payment' && params.subscription_data !== undefined)
    throw invalid('You can not pass `subscription_data` in `payment` mode.', {
      param: 'subscription_data',
    });
  for (const [param, address] of Object.entries({
    success_url: params.success_url,
    cancel_url: params.cancel_url,
  }))
    if (address !== undefined && !/^https?:\/\/./.test(address))
      throw invalid('Not a valid URL', { code: 'url_invalid', param });
}

function refuseMixture(params: NewSession, lines: readonly Stripe.LineItem[]): void {
  const recurring = lines.filter(({ price }) => price?.type === 'recurring').length;
  if (params.mode === 'payment' && recurring > 0)
    throw invalid('You specified `payment` mode but passed a recurring price.', {
      param: 'line_items',
    });
  if (params.mode === 'subscription' && (recurring !== lines.length || lines.length !== 1))
    throw invalid('You must provide exactly one recurring price in `subscription` mode.', {
      param: 'line_items',
    });
  if (new Set(lines.map(({ currency }) => currency)).size > 1)
    throw invalid('All line items must have the same currency.', { param: 'line_items' });
}

function lineOf(
  world: World,
  wanted: NewSession['line_items'][number],
  index: number,
  taxed: boolean,
): Stripe.LineItem {
  const param = `line_items[${index}]`;
  const price = priceOfLine(world, wanted, param);
  if (wanted.quantity < 1)
    throw invalid('This value must be greater than or equal to 1.', {
      code: 'parameter_invalid_integer',
      param: `${param}[quantity]`,
    });
  const subtotal = (price.unit_amount ?? 0) * wanted.quantity;
  const tax = taxed ? taxOf(subtotal) : 0;
  return {
    id: world.store.newId('li_'),
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: subtotal,
    amount_tax: tax,
    amount_total: subtotal + tax,
    currency: price.currency,
    description: world.store.get('product', mustId(price.product))?.name ?? null,
    metadata: {},
    price,
    quantity: wanted.quantity,
  };
}

function priceOfLine(
  world: World,
  { price, price_data: data }: NewSession['line_items'][number],
  param: string,
): Stripe.Price {
  if (price !== undefined) return priceFor(world, price, `${param}[price]`);
  if (data === undefined)
    throw invalid(`Missing required param: ${param}[price].`, {
      code: 'parameter_missing',
      param: `${param}[price]`,
    });
  const productId =
    data.product ?? createProduct(world, { name: data.product_data?.name ?? 'Product' }).id;
  const made = newPrice(world, productId, data);
  // An inline price is valid for this one sale.
  return world.store.put('price', made.id, { ...made, active: false });
}

// --- what happens to one ---

export type Outcome = 'pay' | 'decline' | 'pay-later' | 'abandon';

/** The payer's action on the page; returns where the browser goes next. */
export function endCheckout(world: World, id: string, outcome: Outcome): string | null {
  const session = openSession(world, id);
  if (outcome === 'abandon') return session.cancel_url;
  if (outcome === 'decline') {
    declineSession(world, session);
    return session.url;
  }
  const paid = outcome === 'pay';
  const done =
    session.mode === 'payment' ? payOnce(world, session, paid) : subscribe(world, session, paid);
  const completed = change(world, id, {
    ...done,
    status: 'complete',
    payment_status: paid ? 'paid' : 'unpaid',
    url: null,
  });
  changeDetails(world, id, {
    decline: null,
    settlesAt: paid ? null : world.now() + bankSeconds,
  });
  world.emit('checkout.session.completed', completed);
  return completed.success_url?.replaceAll('{CHECKOUT_SESSION_ID}', id) ?? null;
}

function payOnce(
  world: World,
  session: Stripe.Checkout.Session,
  paid: boolean,
): Partial<Stripe.Checkout.Session> {
  const intent = intentFor(world, session);
  if (paid) succeed(world, intent.id);
  else beginLater(world, intent.id);
  return { payment_intent: intent.id };
}

/**
 * The intent of an earlier try, or a new one: like the real Stripe, none exists before the first try.
 */
function intentFor(world: World, session: Stripe.Checkout.Session): Stripe.PaymentIntent {
  const known = idOf(session.payment_intent);
  if (known !== null) return openIntent(world, known, 'confirm');
  return newIntent(world, {
    amount: session.amount_total ?? 0,
    currency: session.currency ?? 'usd',
    customer: idOf(session.customer),
    metadata: detailsOf(world, session.id).intentMetadata,
    description: null,
  });
}

function subscribe(
  world: World,
  session: Stripe.Checkout.Session,
  paid: boolean,
): Partial<Stripe.Checkout.Session> {
  const { lines, subscriptionMetadata } = detailsOf(world, session.id);
  const [line] = lines;
  if (line === undefined || line.price === null) throw new Error(`${session.id} sells nothing`);
  const customer = idOf(session.customer) ?? newCustomer(world, session);
  const subscription = beginSubscription(world, {
    customer,
    price: line.price,
    quantity: line.quantity ?? 1,
    metadata: subscriptionMetadata,
    taxed: session.automatic_tax.enabled,
  });
  const invoice = beginInvoice(world, subscription, 'subscription_create');
  if (paid) payInvoice(world, invoice.id);
  else payInvoiceLater(world, invoice.id);
  const active = changeSubscription(world, subscription.id, { status: 'active' });
  world.emit('customer.subscription.updated', active);
  return { subscription: subscription.id, invoice: invoice.id, customer };
}

/** A plan belongs to a customer, so a payer without one gets one. */
function newCustomer(world: World, session: Stripe.Checkout.Session): string {
  const email = session.customer_details?.email ?? null;
  return createCustomer(world, email === null ? {} : { email }).id;
}

function declineSession(world: World, session: Stripe.Checkout.Session): void {
  if (session.mode === 'payment') {
    const intent = intentFor(world, session);
    change(world, session.id, { payment_intent: intent.id });
    decline(world, intent.id);
  }
  changeDetails(world, session.id, { decline: "Your card was declined. You weren't charged." });
}

/** The bank has decided about a payment that was to be confirmed later. */
export function settleLater(
  world: World,
  id: string,
  outcome: 'paid' | 'failed',
): Stripe.Checkout.Session {
  const session = retrieveSession(world, id);
  if (session.status !== 'complete' || session.payment_status !== 'unpaid')
    throw invalid(`The session ${id} does not wait for a bank.`);
  const intentId = laterIntent(world, session);
  if (retrieveIntent(world, intentId).status !== 'processing')
    throw invalid(`The session ${id} does not wait for a bank.`);
  changeDetails(world, id, { settlesAt: null });
  const invoiceId = idOf(session.invoice);
  if (outcome === 'paid') {
    confirmLater(world, intentId);
    if (invoiceId !== null) markPaid(world, invoiceId);
    const paid = change(world, id, { payment_status: 'paid' });
    world.emit('checkout.session.async_payment_succeeded', paid);
    return paid;
  }
  failLater(world, intentId);
  if (invoiceId !== null) failFirst(world, mustId(session.subscription), invoiceId);
  world.emit('checkout.session.async_payment_failed', session);
  return session;
}

function laterIntent(world: World, session: Stripe.Checkout.Session): string {
  const invoiceId = idOf(session.invoice);
  return invoiceId === null ? mustId(session.payment_intent) : intentOf(world, invoiceId);
}

/** A plan ends when its first payment fails, because it was never paid for. */
function failFirst(world: World, subscriptionId: string, invoiceId: string): void {
  markFailed(world, invoiceId, null);
  const ended = changeSubscription(world, subscriptionId, {
    status: 'incomplete_expired',
    ended_at: world.now(),
  });
  world.emit('customer.subscription.updated', ended);
}

export function expireSession(world: World, id: string): Stripe.Checkout.Session {
  const session = retrieveSession(world, id);
  if (session.status !== 'open')
    throw invalid(
      `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${session.status}\`.`,
    );
  const intentId = idOf(session.payment_intent);
  if (intentId !== null) {
    openIntent(world, intentId, 'cancel');
    const canceled = world.store.put('intent', intentId, {
      ...retrieveIntent(world, intentId),
      status: 'canceled',
      canceled_at: world.now(),
      cancellation_reason: 'expired',
    });
    world.emit('payment_intent.canceled', canceled);
  }
  const expired = change(world, id, { status: 'expired', url: null });
  world.emit('checkout.session.expired', expired);
  return expired;
}

function openSession(world: World, id: string): Stripe.Checkout.Session {
  const session = retrieveSession(world, id);
  if (session.status === 'open') return session;
  throw invalid(`The session ${id} is ${session.status}.`);
}

function change(
  world: World,
  id: string,
  values: Partial<Stripe.Checkout.Session>,
): Stripe.Checkout.Session {
  return world.store.put('session', id, { ...retrieveSession(world, id), ...values });
}

function changeDetails(world: World, id: string, values: Partial<SessionDetails>): void {
  world.store.put('sessionDetails', id, { ...detailsOf(world, id), ...values });
}

// --- calls ---

export function retrieveSession(world: World, id: string): Stripe.Checkout.Session {
  const found = world.store.get('session', id);
  if (found === null) throw missing('checkout.session', id, 'session');
  return found;
}

export function detailsOf(world: World, id: string): SessionDetails {
  const found = world.store.get('sessionDetails', id);
  if (found === null) throw missing('checkout.session', id, 'session');
  return found;
}

const readLines = parametersOf<Stripe.Checkout.SessionListLineItemsParams>()({
  limit: listFields.limit,
  starting_after: listFields.starting_after,
  ending_before: listFields.ending_before,
});

export function listLines(world: World, id: string, given: Params) {
  const params = readLines(given);
  retrieveSession(world, id);
  // Lines keep the order in which they were sent; paging reverses a list.
  const rows = detailsOf(world, id).lines.toReversed();
  return pageOf(rows, params, `/v1/checkout/sessions/${id}/line_items`);
}

const readList = parametersOf<Stripe.Checkout.SessionListParams>()(
  {
    ...listFields,
    customer: v.optional(text),
    payment_intent: v.optional(text),
    status: v.optional(v.picklist(['open', 'complete', 'expired'])),
    subscription: v.optional(text),
  },
  ['customer_details', 'payment_link'],
);

export function listSessions(world: World, given: Params) {
  const params = readList(given);
  const rows = world.store
    .all('session')
    .filter(
      (one) =>
        (params.customer === undefined || one.customer === params.customer) &&
        (params.payment_intent === undefined || one.payment_intent === params.payment_intent) &&
        (params.status === undefined || one.status === params.status) &&
        (params.subscription === undefined || one.subscription === params.subscription),
    );
  return pageOf(rows, params, '/v1/checkout/sessions');
}

export function sessionEmail(world: World, session: Stripe.Checkout.Session): string | null {
  return session.customer_details?.email ?? emailOf(world, idOf(session.customer));
}
