import type { Stripe } from 'stripe';
import * as v from 'valibot';
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

/** The account's balance transactions, and its payouts to the bank. */

/** Of a payment by card: 2.9 % and 30 minor units. */
export function feeOf(amount: number): number {
  return Math.round(amount * 0.029) + 30;
}

/** The fee of a dispute, won or lost. */
export const disputeFee = 1_500;

const secondsUntilAvailable = 2 * daySeconds;

const categories: Readonly<Record<string, string>> = {
  charge: 'charge',
  refund: 'refund',
  refund_failure: 'refund_failure',
  payment_failure_refund: 'refund',
  adjustment: 'dispute',
  payout: 'payout',
};

export function recordTransaction(
  world: World,
  moved: {
    type: Stripe.BalanceTransaction.Type;
    amount: number;
    fee: number;
    currency: string;
    source: string;
    description: string | null;
    category?: string;
  },
): Stripe.BalanceTransaction {
  const { type, amount, fee, currency } = moved;
  const id = world.store.newId('txn_');
  const now = world.now();
  return world.store.put('transaction', id, {
    id,
    object: 'balance_transaction',
    amount,
    available_on: now + secondsUntilAvailable,
    balance_type: 'payments',
    created: now,
    currency,
    description: moved.description,
    exchange_rate: null,
    fee,
    fee_details:
      fee === 0
        ? []
        : [
            {
              amount: fee,
              application: null,
              currency,
              description: type === 'adjustment' ? 'Dispute fee' : 'Stripe processing fees',
              type: 'stripe_fee',
            },
          ],
    net: amount - fee,
    reporting_category: moved.category ?? categories[type] ?? 'other_adjustment',
    source: moved.source,
    status: 'pending',
    type,
  });
}

/** Sends all that is left of a currency to the bank; null when there is nothing to send. */
export function payOut(world: World, currency: string = 'usd'): Stripe.Payout | null {
  const all = world.store.all('transaction').filter((one) => one.currency === currency);
  const amount = all.reduce((sum, { net }) => sum + net, 0);
  if (amount <= 0) return null;
  const id = world.store.newId('po_');
  const now = world.now();
  const moved = { amount: -amount, fee: 0, currency, source: id, description: 'STRIPE PAYOUT' };
  const transaction = recordTransaction(world, { type: 'payout', ...moved });
  const payout = world.store.put('payout', id, {
    id,
    object: 'payout',
    amount,
    application_fee: null,
    application_fee_amount: null,
    arrival_date: now + secondsUntilAvailable,
    automatic: true,
    balance_transaction: transaction.id,
    created: now,
    currency,
    description: 'STRIPE PAYOUT',
    destination: null,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: {},
    method: 'standard',
    original_payout: null,
    payout_method: null,
    reconciliation_status: 'completed',
    reversed_by: null,
    source_type: 'card',
    statement_descriptor: null,
    status: 'paid',
    trace_id: null,
    type: 'bank_account',
  });
  world.emit('payout.created', payout);
  world.emit('payout.paid', payout);
  world.emit('payout.reconciliation_completed', payout);
  return payout;
}

const readTransactions = parametersOf<Stripe.BalanceTransactionListParams>()({
  ...listFields,
  currency: v.optional(text),
  payout: v.optional(text),
  source: v.optional(text),
  type: v.optional(text),
});

export function listTransactions(world: World, given: Params) {
  const params = readTransactions(given);
  if (params.payout !== undefined && world.store.get('payout', params.payout) === null)
    throw invalid(`No such payout: '${params.payout}'`, { param: 'payout' });
  const rows = world.store
    .all('transaction')
    .filter(
      (one) =>
        (params.type === undefined || one.type === params.type) &&
        (params.currency === undefined || one.currency === params.currency) &&
        (params.source === undefined || one.source === params.source) &&
        (params.payout === undefined || isIn(world, one, params.payout)),
    );
  return pageOf(rows, params, '/v1/balance_transactions');
}

/** A payout takes everything that came before it and was in no earlier one. */
function isIn(world: World, one: Stripe.BalanceTransaction, payoutId: string): boolean {
  const all = world.store.all('transaction').filter(({ currency }) => currency === one.currency);
  const later = all.slice(all.indexOf(one)).find(({ type }) => type === 'payout');
  return later?.source === payoutId;
}

export function retrieveTransaction(world: World, id: string): Stripe.BalanceTransaction {
  const found = world.store.get('transaction', id);
  if (found === null) throw missing('balance transaction', id);
  return found;
}

const readPayouts = parametersOf<Stripe.PayoutListParams>()(
  { ...listFields, status: v.optional(text) },
  ['arrival_date', 'destination'],
);

export function listPayouts(world: World, given: Params) {
  const params = readPayouts(given);
  const rows = world.store
    .all('payout')
    .filter(({ status }) => params.status === undefined || status === params.status);
  return pageOf(rows, params, '/v1/payouts');
}

export function retrievePayout(world: World, id: string): Stripe.Payout {
  const found = world.store.get('payout', id);
  if (found === null) throw missing('payout', id);
  return found;
}
