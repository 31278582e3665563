import type { Stripe } from 'stripe';
import * as v from 'valibot';
import { feeOf, recordTransaction } from './balance.ts';
import { customerFor, emailOf, idOf, mustId } from './customers.ts';
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
  WireError,
  withMetadata,
} from '#services/sandbox/stripe/wire.ts';
import type { Params } from '#services/sandbox/stripe/wire.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Payment intents and their charges. */

export type NewIntent = {
  amount: number;
  currency: string;
  customer: string | null;
  metadata: Stripe.Metadata;
  description: string | null;
};

export function newIntent(world: World, wanted: NewIntent): Stripe.PaymentIntent {
  const id = world.store.newId('pi_');
  const intent = world.store.put('intent', id, {
    id,
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount: wanted.amount,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: { enabled: true, allow_redirects: 'always' },
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: `${id}_secret_${world.store.newId('')}`,
    confirmation_method: 'automatic',
    created: world.now(),
    currency: wanted.currency,
    customer: wanted.customer,
    customer_account: null,
    description: wanted.description,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    managed_payments: null,
    metadata: wanted.metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card', 'us_bank_account'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_group: null,
  });
  world.emit('payment_intent.created', intent);
  return intent;
}

/** The card pays at once. */
export function succeed(world: World, intentId: string): Stripe.Charge {
  const charge = newCharge(world, intentId, 'card', 'succeeded');
  return collect(world, charge);
}

/** The bank pays, and says so later. */
export function beginLater(world: World, intentId: string): Stripe.Charge {
  const charge = newCharge(world, intentId, 'us_bank_account', 'pending');
  const intent = changeIntent(world, intentId, {
    status: 'processing',
    latest_charge: charge.id,
    last_payment_error: null,
  });
  world.emit('payment_intent.processing', intent);
  world.emit('charge.pending', charge);
  return charge;
}

export function confirmLater(world: World, intentId: string): Stripe.Charge {
  const charge = chargeOf(world, mustId(retrieveIntent(world, intentId).latest_charge));
  return collect(world, charge);
}

export function failLater(world: World, intentId: string): Stripe.PaymentIntent {
  const pending = chargeOf(world, mustId(retrieveIntent(world, intentId).latest_charge));
  const failure = 'The bank account has insufficient funds.';
  return refuse(world, pending, 'insufficient_funds', failure);
}

/** The card is declined; the intent waits for another one. */
export function decline(world: World, intentId: string): Stripe.PaymentIntent {
  const charge = newCharge(world, intentId, 'card', 'failed');
  return refuse(world, charge, 'card_declined', 'Your card was declined.');
}

function collect(world: World, before: Stripe.Charge): Stripe.Charge {
  const transaction = recordTransaction(world, {
    type: before.payment_method_details?.type === 'card' ? 'charge' : 'payment',
    amount: before.amount,
    fee: feeOf(before.amount),
    currency: before.currency,
    source: before.id,
    description: before.description,
    category: 'charge',
  });
  const charge = world.store.put('charge', before.id, {
    ...before,
    status: 'succeeded',
    paid: true,
    captured: true,
    amount_captured: before.amount,
    balance_transaction: transaction.id,
    outcome: outcome('authorized', 'approved_by_network', 'Payment complete.'),
    receipt_url: `${world.publicUrl}/dev/stripe/receipts/${before.id}`,
  });
  const intent = changeIntent(world, mustId(charge.payment_intent), {
    status: 'succeeded',
    amount_received: charge.amount,
    latest_charge: charge.id,
    last_payment_error: null,
  });
  world.emit('charge.succeeded', charge);
  world.emit('payment_intent.succeeded', intent);
  return charge;
}

function refuse(
  world: World,
  before: Stripe.Charge,
  code: string,
  message: string,
): Stripe.PaymentIntent {
  const charge = world.store.put('charge', before.id, {
    ...before,
    status: 'failed',
    failure_code: code,
    failure_message: message,
    outcome: outcome('issuer_declined', 'declined_by_network', message),
  });
  const intent = changeIntent(world, mustId(charge.payment_intent), {
    status: 'requires_payment_method',
    latest_charge: charge.id,
    last_payment_error: {
      charge: charge.id,
      code,
      ...(code === 'card_declined' ? { decline_code: 'generic_decline' } : {}),
      message,
      type: code === 'card_declined' ? 'card_error' : 'invalid_request_error',
    },
  });
  world.emit('charge.failed', charge);
  world.emit('payment_intent.payment_failed', intent);
  return intent;
}

function outcome(type: string, status: string, message: string): Stripe.Charge.Outcome {
  return {
    advice_code: null,
    network_advice_code: null,
    network_decline_code: null,
    network_status: status,
    reason: type === 'authorized' ? null : 'generic_decline',
    risk_level: 'normal',
    risk_score: 17,
    seller_message: message,
    type,
  };
}

function newCharge(
  world: World,
  intentId: string,
  method: 'card' | 'us_bank_account',
  status: 'succeeded' | 'pending' | 'failed',
): Stripe.Charge {
  const intent = retrieveIntent(world, intentId);
  const id = world.store.newId('ch_');
  const customer = idOf(intent.customer);
  return world.store.put('charge', id, {
    id,
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: {
      address: null,
      email: emailOf(world, customer),
      name: null,
      phone: null,
      tax_id: null,
    },
    calculated_statement_descriptor: 'SANDBOX',
    captured: false,
    created: world.now(),
    currency: intent.currency,
    customer,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    fraud_details: {},
    livemode: false,
    metadata: intent.metadata,
    on_behalf_of: null,
    outcome: null,
    paid: false,
    payment_intent: intentId,
    payment_method: null,
    payment_method_details: method === 'card' ? card : bankAccount,
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status,
    transfer_data: null,
    transfer_group: null,
  });
}

const card: Stripe.Charge.PaymentMethodDetails = {
  type: 'card',
  card: {
    amount_authorized: null,
    authorization_code: null,
    brand: 'visa',
    checks: null,
    country: 'US',
    electronic_commerce_indicator: null,
    exp_month: 12,
    exp_year: 2040,
    funding: 'credit',
    installments: null,
    last4: '4242',
    mandate: null,
    network: 'visa',
    network_transaction_id: null,
    regulated_status: 'unregulated',
    three_d_secure: null,
    transaction_link_id: null,
    wallet: null,
  },
};

const bankAccount: Stripe.Charge.PaymentMethodDetails = {
  type: 'us_bank_account',
  us_bank_account: {
    account_holder_type: 'individual',
    account_type: 'checking',
    bank_name: 'STRIPE TEST BANK',
    fingerprint: null,
    last4: '6789',
    payment_reference: null,
    routing_number: '110000000',
  },
};

// --- calls ---

export function retrieveIntent(world: World, id: string): Stripe.PaymentIntent {
  const found = world.store.get('intent', id);
  if (found === null) throw missing('payment_intent', id, 'intent');
  return found;
}

function changeIntent(
  world: World,
  id: string,
  change: Partial<Stripe.PaymentIntent>,
): Stripe.PaymentIntent {
  return world.store.put('intent', id, { ...retrieveIntent(world, id), ...change });
}

export function chargeOf(world: World, id: string, param: string = 'id'): Stripe.Charge {
  const found = world.store.get('charge', id);
  if (found === null) throw missing('charge', id, param, param === 'id' ? 404 : 400);
  return found;
}

/** The charge of an intent, or the charge itself. */
export function chargeBehind(world: World, chargeOrIntentId: string): Stripe.Charge {
  if (!chargeOrIntentId.startsWith('pi_')) return chargeOf(world, chargeOrIntentId);
  const { latest_charge: charge } = retrieveIntent(world, chargeOrIntentId);
  if (charge === null) throw invalid(`The intent ${chargeOrIntentId} has no charge`);
  return chargeOf(world, mustId(charge));
}

const smallestAmount = 50;

const readNew = parametersOf<Stripe.PaymentIntentCreateParams>()(
  {
    amount: integer,
    automatic_payment_methods: v.optional(
      v.object({ enabled: boolean, allow_redirects: v.optional(text) }),
    ),
    confirm: v.optional(boolean),
    currency: text,
    customer: v.optional(text),
    description: v.optional(text),
    metadata: v.optional(metadata),
    payment_method: v.optional(text),
  },
  [
    'capture_method',
    'off_session',
    'payment_method_options',
    'receipt_email',
    'return_url',
    'setup_future_usage',
    'statement_descriptor',
    'statement_descriptor_suffix',
  ],
);

export function createIntent(world: World, given: Params): Stripe.PaymentIntent | WireError {
  const params = readNew(given);
  if (params.amount < smallestAmount)
    throw invalid('Amount must be at least $0.50 usd', {
      code: 'amount_too_small',
      param: 'amount',
    });
  const customer = params.customer === undefined ? null : customerFor(world, params.customer).id;
  const intent = newIntent(world, {
    amount: params.amount,
    currency: params.currency.toLowerCase(),
    customer,
    metadata: withMetadata({}, params.metadata),
    description: params.description ?? null,
  });
  return params.confirm === true ? confirm(world, intent.id, params.payment_method) : intent;
}

const readConfirm = parametersOf<Stripe.PaymentIntentConfirmParams>()(
  { payment_method: v.optional(text) },
  ['return_url', 'off_session', 'mandate_data', 'payment_method_options'],
);

export function confirmIntent(
  world: World,
  id: string,
  given: Params,
): Stripe.PaymentIntent | WireError {
  return confirm(world, id, readConfirm(given).payment_method);
}

/**
 * The test payment methods of the real Stripe decide the outcome. A decline is returned and not
 * thrown, so that its changes stay.
 */
function confirm(
  world: World,
  id: string,
  method: string | undefined,
): Stripe.PaymentIntent | WireError {
  openIntent(world, id, 'confirm');
  if (method === undefined)
    throw invalid('You cannot confirm this PaymentIntent because it is missing a payment method.', {
      code: 'payment_intent_unexpected_state',
    });
  if (method === 'pm_usBankAccount') beginLater(world, id);
  else if (/declined/i.test(method)) decline(world, id);
  else succeed(world, id);
  const intent = retrieveIntent(world, id);
  const error = intent.last_payment_error;
  if (error === null) return intent;
  return new WireError(402, 'card_error', error.message ?? 'Declined', {
    code: error.code,
    decline_code: error.decline_code,
    charge: error.charge,
    payment_intent: intent,
  });
}

/** An intent that can still be paid. */
export function openIntent(world: World, id: string, verb: string): Stripe.PaymentIntent {
  const intent = retrieveIntent(world, id);
  if (intent.status === 'requires_payment_method' || intent.status === 'requires_confirmation')
    return intent;
  throw invalid(
    `You cannot ${verb} this PaymentIntent because it has a status of ${intent.status}.`,
    { code: 'payment_intent_unexpected_state', payment_intent: intent },
  );
}

const readCancel = parametersOf<Stripe.PaymentIntentCancelParams>()({
  cancellation_reason: v.optional(
    v.picklist(['abandoned', 'duplicate', 'fraudulent', 'requested_by_customer']),
  ),
});

export function cancelIntent(world: World, id: string, given: Params): Stripe.PaymentIntent {
  const params = readCancel(given);
  openIntent(world, id, 'cancel');
  const intent = changeIntent(world, id, {
    status: 'canceled',
    canceled_at: world.now(),
    cancellation_reason: params.cancellation_reason ?? null,
  });
  world.emit('payment_intent.canceled', intent);
  return intent;
}

const readIntents = parametersOf<Stripe.PaymentIntentListParams>()(
  { ...listFields, customer: v.optional(text) },
  ['customer_account'],
);

export function listIntents(world: World, given: Params) {
  const params = readIntents(given);
  const rows = world.store
    .all('intent')
    .filter(({ customer }) => params.customer === undefined || customer === params.customer);
  return pageOf(rows, params, '/v1/payment_intents');
}

const readCharges = parametersOf<Stripe.ChargeListParams>()(
  { ...listFields, customer: v.optional(text), payment_intent: v.optional(text) },
  ['transfer_group'],
);

export function listCharges(world: World, given: Params) {
  const params = readCharges(given);
  const rows = world.store
    .all('charge')
    .filter(
      (one) =>
        (params.customer === undefined || one.customer === params.customer) &&
        (params.payment_intent === undefined || one.payment_intent === params.payment_intent),
    );
  return pageOf(rows, params, '/v1/charges');
}
