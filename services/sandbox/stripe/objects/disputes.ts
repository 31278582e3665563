import type { Stripe } from 'stripe';
import * as v from 'valibot';
import { disputeFee, recordTransaction } from './balance.ts';
import { idOf, mustId } from './customers.ts';
import { chargeBehind, chargeOf } from './payments.ts';
import {
  invalid,
  listFields,
  missing,
  pageOf,
  parametersOf,
  text,
} from '#services/sandbox/stripe/wire.ts';
import type { Params } from '#services/sandbox/stripe/wire.ts';
import { daySeconds } from '#services/sandbox/stripe/world.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Banks that take payments back, or ask about them, and their warnings of fraud. */

const answerSeconds = 9 * daySeconds;

export type DisputeMove = 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_closed';

/** By charge or intent. An inquiry asks first and takes no money. */
export function openDispute(
  world: World,
  chargeOrIntentId: string,
  { amountMinor, inquiry = false }: { amountMinor?: number; inquiry?: boolean } = {},
): Stripe.Dispute {
  const charge = chargeBehind(world, chargeOrIntentId);
  if (charge.status !== 'succeeded') throw invalid(`The charge ${charge.id} was never paid.`);
  const amount = amountMinor ?? charge.amount;
  if (amount < 1 || amount > charge.amount)
    throw invalid(`A dispute is over at most ${charge.amount}.`, { param: 'amount' });
  const id = world.store.newId('dp_');
  const now = world.now();
  const dispute = world.store.put('dispute', id, {
    id,
    object: 'dispute',
    amount,
    balance_transactions: [],
    charge: charge.id,
    created: now,
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: noEvidence,
    evidence_details: {
      due_by: now + answerSeconds,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: null,
    is_charge_refundable: inquiry,
    livemode: false,
    metadata: {},
    payment_intent: idOf(charge.payment_intent),
    payment_method_details: {
      card: {
        brand: 'visa',
        case_type: inquiry ? 'inquiry' : 'chargeback',
        network: 'visa',
        network_reason_code: '10.4',
      },
      type: 'card',
    },
    reason: 'fraudulent',
    status: inquiry ? 'warning_needs_response' : 'needs_response',
  });
  world.store.put('charge', charge.id, { ...charge, disputed: true });
  world.emit('charge.dispute.created', dispute);
  return inquiry ? dispute : withdraw(world, id);
}

/** The amount and the fee leave the balance at once. */
function withdraw(world: World, id: string): Stripe.Dispute {
  const before = retrieveDispute(world, id);
  const dispute = change(world, id, {
    balance_transactions: [
      ...before.balance_transactions,
      recordTransaction(world, {
        type: 'adjustment',
        amount: -before.amount,
        fee: disputeFee,
        currency: before.currency,
        source: id,
        description: `Chargeback withdrawal for ${mustId(before.charge)}`,
      }),
    ],
    is_charge_refundable: false,
  });
  world.emit('charge.dispute.funds_withdrawn', dispute);
  return dispute;
}

export function moveDispute(world: World, id: string, move: DisputeMove): Stripe.Dispute {
  const before = retrieveDispute(world, id);
  if (before.status === move) return before;
  if (['won', 'lost', 'warning_closed'].includes(before.status))
    throw invalid(`The dispute ${id} is ${before.status} already.`);
  const isInquiry = before.status.startsWith('warning_');
  if (move === 'warning_closed' && !isInquiry) throw invalid(`The dispute ${id} is no inquiry.`);
  if (isInquiry && (move === 'won' || move === 'lost'))
    throw invalid(`The dispute ${id} is an inquiry: no money was taken.`);
  if (move === 'under_review' || move === 'needs_response') return escalate(world, id, move);
  const closed = change(world, id, { status: move, is_charge_refundable: move !== 'lost' });
  if (move === 'won') reinstate(world, id);
  world.emit('charge.dispute.closed', retrieveDispute(world, id));
  return retrieveDispute(world, closed.id);
}

function escalate(
  world: World,
  id: string,
  move: 'under_review' | 'needs_response',
): Stripe.Dispute {
  const isInquiry = retrieveDispute(world, id).status.startsWith('warning_');
  const status = isInquiry && move === 'under_review' ? 'warning_under_review' : move;
  const updated = change(world, id, { status });
  world.emit('charge.dispute.updated', updated);
  return isInquiry && move === 'needs_response' ? withdraw(world, id) : updated;
}

/** The amount comes back; the fee does not. */
function reinstate(world: World, id: string): void {
  const before = retrieveDispute(world, id);
  const dispute = change(world, id, {
    balance_transactions: [
      ...before.balance_transactions,
      recordTransaction(world, {
        type: 'adjustment',
        amount: before.amount,
        fee: 0,
        currency: before.currency,
        source: id,
        description: `Chargeback reversal for ${mustId(before.charge)}`,
        category: 'dispute_reversal',
      }),
    ],
  });
  world.emit('charge.dispute.funds_reinstated', dispute);
}

function change(world: World, id: string, values: Partial<Stripe.Dispute>): Stripe.Dispute {
  return world.store.put('dispute', id, { ...retrieveDispute(world, id), ...values });
}

const noEvidence: Stripe.Dispute.Evidence = {
  access_activity_log: null,
  billing_address: null,
  cancellation_policy: null,
  cancellation_policy_disclosure: null,
  cancellation_rebuttal: null,
  customer_communication: null,
  customer_email_address: null,
  customer_name: null,
  customer_purchase_ip: null,
  customer_signature: null,
  duplicate_charge_documentation: null,
  duplicate_charge_explanation: null,
  duplicate_charge_id: null,
  enhanced_evidence: {},
  product_description: null,
  receipt: null,
  refund_policy: null,
  refund_policy_disclosure: null,
  refund_refusal_explanation: null,
  service_date: null,
  service_documentation: null,
  shipping_address: null,
  shipping_carrier: null,
  shipping_date: null,
  shipping_documentation: null,
  shipping_tracking_number: null,
  uncategorized_file: null,
  uncategorized_text: null,
};

// --- calls ---

export function retrieveDispute(world: World, id: string): Stripe.Dispute {
  const found = world.store.get('dispute', id);
  if (found === null) throw missing('dispute', id);
  return found;
}

const references = { charge: v.optional(text), payment_intent: v.optional(text) };
const readDisputes = parametersOf<Stripe.DisputeListParams>()({ ...listFields, ...references });
const readWarnings = parametersOf<Stripe.Radar.EarlyFraudWarningListParams>()({
  ...listFields,
  ...references,
});

export function listDisputes(world: World, given: Params) {
  const params = readDisputes(given);
  const rows = world.store.all('dispute').filter((one) => concerns(one, params));
  return pageOf(rows, params, '/v1/disputes');
}

function concerns(
  one: Stripe.Dispute | Stripe.Radar.EarlyFraudWarning,
  wanted: { charge?: string | undefined; payment_intent?: string | undefined },
): boolean {
  return (
    (wanted.charge === undefined || one.charge === wanted.charge) &&
    (wanted.payment_intent === undefined || one.payment_intent === wanted.payment_intent)
  );
}

/** By charge or intent. */
export function warnOfFraud(
  world: World,
  chargeOrIntentId: string,
): Stripe.Radar.EarlyFraudWarning {
  const charge = chargeBehind(world, chargeOrIntentId);
  const current = chargeOf(world, charge.id);
  const id = world.store.newId('issfr_');
  const intent = idOf(current.payment_intent);
  const warning = world.store.put('warning', id, {
    id,
    object: 'radar.early_fraud_warning',
    actionable: !current.refunded && !current.disputed,
    charge: current.id,
    created: world.now(),
    fraud_type: 'unauthorized_use_of_card',
    livemode: false,
    ...(intent === null ? {} : { payment_intent: intent }),
  });
  world.emit('radar.early_fraud_warning.created', warning);
  return warning;
}

export function retrieveWarning(world: World, id: string): Stripe.Radar.EarlyFraudWarning {
  const found = world.store.get('warning', id);
  if (found === null) throw missing('early fraud warning', id);
  return found;
}

export function listWarnings(world: World, given: Params) {
  const params = readWarnings(given);
  const rows = world.store.all('warning').filter((one) => concerns(one, params));
  return pageOf(rows, params, '/v1/radar/early_fraud_warnings');
}
