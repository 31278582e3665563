import type { Stripe } from 'stripe';
import * as v from 'valibot';
import { recordTransaction } from './balance.ts';
import { idOf, mustId } from './customers.ts';
import { chargeBehind, chargeOf, retrieveIntent } from './payments.ts';
import {
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
import type { World } from '#services/sandbox/stripe/world.ts';

const readNew = parametersOf<Stripe.RefundCreateParams>()(
  {
    amount: v.optional(integer),
    charge: v.optional(text),
    metadata: v.optional(metadata),
    payment_intent: v.optional(text),
    reason: v.optional(v.picklist(['duplicate', 'fraudulent', 'requested_by_customer'])),
  },
  ['instructions_email'],
);

export function createRefund(world: World, given: Params): Stripe.Refund {
  const params = readNew(given);
  return refundCharge(world, chargeFor(world, params), {
    amount: params.amount,
    metadata: withMetadata({}, params.metadata),
    reason: params.reason ?? null,
  });
}

function chargeFor(
  world: World,
  params: { charge?: string | undefined; payment_intent?: string | undefined },
): Stripe.Charge {
  if (params.charge !== undefined) return chargeOf(world, params.charge, 'charge');
  if (params.payment_intent === undefined)
    throw invalid(
      'One of the following params should be provided for this request: payment_intent or charge.',
    );
  const intent = world.store.get('intent', params.payment_intent);
  if (intent === null)
    throw missing('payment_intent', params.payment_intent, 'payment_intent', 400);
  if (intent.status !== 'succeeded')
    throw invalid(
      `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`,
      { param: 'payment_intent' },
    );
  return chargeOf(world, mustId(intent.latest_charge));
}

/** Requested by us, or made by the bank. */
function refundCharge(
  world: World,
  charge: Stripe.Charge,
  wanted: {
    amount: number | undefined;
    metadata: Stripe.Metadata;
    reason: Stripe.Refund.Reason | null;
  },
): Stripe.Refund {
  const rest = charge.amount - charge.amount_refunded;
  refuseUnrefundable(world, charge, rest, wanted.amount);
  const amount = wanted.amount ?? rest;
  const id = world.store.newId('re_');
  const transaction = recordTransaction(world, {
    type: 'refund',
    amount: -amount,
    fee: 0,
    currency: charge.currency,
    source: id,
    description: `REFUND FOR CHARGE`,
  });
  world.store.put('refund', id, {
    id,
    object: 'refund',
    amount,
    balance_transaction: transaction.id,
    charge: charge.id,
    created: world.now(),
    currency: charge.currency,
    customer: idOf(charge.customer),
    customer_account: null,
    destination_details: {
      card: {
        type: 'refund',
        reference_status: 'pending',
        reference_type: 'acquirer_reference_number',
      },
      type: 'card',
    },
    metadata: wanted.metadata,
    payment_intent: idOf(charge.payment_intent),
    payment_method: null,
    reason: wanted.reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: 'pending',
    transfer_reversal: null,
  });
  const outcome = world.faults.refunds ?? 'succeeded';
  const refund = change(world, id, { status: outcome === 'succeeded' ? 'succeeded' : 'pending' });
  const after = countRefund(world, charge.id, amount);
  world.emit('refund.created', refund);
  world.emit('charge.refunded', after);
  return outcome === 'failed' ? settleRefund(world, id, 'failed') : refund;
}

function refuseUnrefundable(
  world: World,
  charge: Stripe.Charge,
  rest: number,
  amount: number | undefined,
): void {
  if (charge.status !== 'succeeded')
    throw invalid(`Charge ${charge.id} has not been paid and cannot be refunded.`, {
      code: 'charge_not_refundable',
    });
  const dispute = world.store.all('dispute').find((one) => one.charge === charge.id);
  if (dispute !== undefined && !dispute.is_charge_refundable)
    throw invalid(`Charge ${charge.id} has been charged back; cannot issue a refund.`, {
      code: 'charge_disputed',
      charge: charge.id,
    });
  if (rest === 0)
    throw invalid(`Charge ${charge.id} has already been refunded.`, {
      code: 'charge_already_refunded',
      charge: charge.id,
    });
  if (amount !== undefined && amount < 1)
    throw invalid('This value must be greater than or equal to 1.', {
      code: 'parameter_invalid_integer',
      param: 'amount',
    });
  if (amount !== undefined && amount > rest)
    throw invalid(
      `Refund amount (${amount}) is greater than unrefunded amount on charge (${rest})`,
      { param: 'amount', charge: charge.id },
    );
}

function countRefund(world: World, chargeId: string, amount: number): Stripe.Charge {
  const charge = chargeOf(world, chargeId);
  const refunded = charge.amount_refunded + amount;
  return world.store.put('charge', chargeId, {
    ...charge,
    amount_refunded: refunded,
    refunded: refunded === charge.amount,
  });
}

/** The bank's final status of a refund. A refund that succeeded may still fail. */
export function settleRefund(
  world: World,
  id: string,
  outcome: 'succeeded' | 'failed',
): Stripe.Refund {
  const before = retrieveRefund(world, id);
  if (before.status === outcome || before.status === 'failed' || before.status === 'canceled')
    return before;
  if (outcome === 'succeeded') {
    const refund = change(world, id, { status: 'succeeded' });
    world.emit('refund.updated', refund);
    return refund;
  }
  const transaction = recordTransaction(world, {
    type: 'refund_failure',
    amount: before.amount,
    fee: 0,
    currency: before.currency,
    source: id,
    description: 'REFUND FAILURE',
  });
  const refund = change(world, id, {
    status: 'failed',
    failure_reason: 'expired_or_canceled_card',
    failure_balance_transaction: transaction.id,
  });
  countRefund(world, mustId(refund.charge), -refund.amount);
  world.emit('refund.updated', refund);
  world.emit('refund.failed', refund);
  return refund;
}

export function refundAtBank(world: World, intentId: string, amount: number): Stripe.Refund {
  const charge = chargeBehind(world, intentId);
  return refundCharge(world, charge, { amount, metadata: {}, reason: null });
}

function change(world: World, id: string, values: Partial<Stripe.Refund>): Stripe.Refund {
  return world.store.put('refund', id, { ...retrieveRefund(world, id), ...values });
}

export function retrieveRefund(world: World, id: string): Stripe.Refund {
  const found = world.store.get('refund', id);
  if (found === null) throw missing('refund', id);
  return found;
}

const readChange = parametersOf<Stripe.RefundUpdateParams>()({ metadata: v.optional(metadata) });

export function updateRefund(world: World, id: string, given: Params): Stripe.Refund {
  const params = readChange(given);
  const before = retrieveRefund(world, id);
  const refund = change(world, id, {
    metadata: withMetadata(before.metadata ?? {}, params.metadata),
  });
  world.emit('refund.updated', refund);
  return refund;
}

export function cancelRefund(world: World, id: string): Stripe.Refund {
  const { status } = retrieveRefund(world, id);
  throw invalid(`You cannot cancel a refund by card; its status is ${status}.`);
}

const readList = parametersOf<Stripe.RefundListParams>()({
  ...listFields,
  charge: v.optional(text),
  payment_intent: v.optional(text),
});

export function listRefunds(world: World, given: Params) {
  const params = readList(given);
  if (params.payment_intent !== undefined) retrieveIntent(world, params.payment_intent);
  const rows = world.store
    .all('refund')
    .filter(
      (one) =>
        (params.charge === undefined || one.charge === params.charge) &&
        (params.payment_intent === undefined || one.payment_intent === params.payment_intent),
    );
  return pageOf(rows, params, '/v1/refunds');
}
