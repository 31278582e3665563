import type { Transaction } from '#services/credits/contract.ts';
import type { CheckoutState, Purchase, Refund, Statement } from '#services/payments/contract.ts';
import { balance, lineOf } from './member-site.ts';

/** Purchases and a ledger with every possible case. */
const dayMs = 86_400_000;

function daysAgo(days: number): string {
  return new Date(Date.now() - days * dayMs).toISOString();
}

const purchaseId = (number: number): string => `pur_${String(number).padStart(26, '0')}`;
const lotId = (number: number): string => `lot_${String(number).padStart(26, '0')}`;

export function purchaseOf(number: number, change: Partial<Purchase> = {}): Purchase {
  return {
    id: purchaseId(number),
    package_id: 'boost-20',
    package_name: 'Boost 20',
    kind: 'one_time',
    status: 'paid',
    credits: 20,
    amount_cents: 1_000,
    currency: 'usd',
    created_at: daysAgo(number),
    paid_at: daysAgo(number),
    receipt_url: `https://receipts.example/${number}`,
    checkout_url: null,
    lot_id: lotId(number),
    unused_credits: 12,
    taken_back: false,
    refundable: { credits: 12, amount_cents: 600, until: daysAgo(number - 30), ends_plan: false },
    refusal: null,
    refunds: [],
    ...change,
  };
}

export function refundOf(change: Partial<Refund> = {}): Refund {
  return {
    id: `ref_${'0'.repeat(26)}`,
    status: 'pending',
    credits: 12,
    amount_cents: 600,
    currency: 'usd',
    requested_at: daysAgo(0),
    ended_at: null,
    ...change,
  };
}

const nothingToRefund = { refundable: null, unused_credits: 0 } as const;

/** One purchase for each state, newest first. */
export const purchases: readonly Purchase[] = [
  purchaseOf(1, {
    ...nothingToRefund,
    status: 'open',
    checkout_url: 'https://checkout.example/1',
    paid_at: null,
    receipt_url: null,
    lot_id: null,
    refusal: 'not_paid',
  }),
  purchaseOf(2, {
    ...nothingToRefund,
    status: 'processing',
    package_name: 'Boost 50',
    paid_at: null,
    receipt_url: null,
    lot_id: null,
    refusal: 'not_paid',
  }),
  purchaseOf(3, {
    package_id: 'side-gig-builder',
    package_name: 'Side-Gig Builder',
    kind: 'monthly',
    credits: 50,
    amount_cents: 2_500,
    unused_credits: 37,
    refundable: { credits: 37, amount_cents: 1_850, until: daysAgo(-27), ends_plan: true },
  }),
  purchaseOf(4),
  purchaseOf(5, { ...nothingToRefund, refusal: 'pending', refunds: [refundOf()] }),
  purchaseOf(6, {
    ...nothingToRefund,
    refusal: 'nothing_left',
    refunds: [refundOf({ status: 'done', ended_at: daysAgo(2) })],
  }),
  purchaseOf(7, {
    refunds: [refundOf({ status: 'failed', credits: 1, amount_cents: 50, ended_at: daysAgo(1) })],
  }),
  purchaseOf(8, { ...nothingToRefund, taken_back: true, refusal: 'taken_back' }),
  purchaseOf(44, { refundable: null, refusal: 'too_old' }),
];

/** A line for each cause, newest first. */
export const ledger: readonly Transaction[] = (
  [
    ['run', 'consumption', -14, 'Balanced run'],
    ['run_return', 'refund', 7, 'Fast run: credits returned'],
    ['service', 'consumption', -3, 'Credits used by a connected service'],
    ['cash_refund', 'other', 12, 'Refund that failed'],
    ['cash_refund', 'other', -12, 'Credits of a refunded payment'],
    ['debt', 'other', 6, 'Debt of a dispute that was won'],
    ['dispute', 'other', 14, 'Credits of a dispute that was won'],
    ['debt', 'other', -6, 'Owed: used credits from a disputed payment'],
    ['dispute', 'other', -14, 'Credits from a disputed payment'],
    ['correction', 'other', -1, 'Correction'],
    ['grant', 'other', 50, 'Credits granted by the operator'],
    ['bonus', 'bonus', 50, 'Onboarding bonus'],
    ['purchase', 'purchase', 20, 'Purchase: Boost 20'],
  ] as const
).map(([reason_code, transaction_type, amount, description], index) => {
  const { run_id: runId, ...line } = lineOf(index + 1);
  const isOfRun = reason_code === 'run' || reason_code === 'run_return';
  return {
    ...line,
    reason_code,
    transaction_type,
    amount,
    description,
    ...(isOfRun && runId !== undefined ? { run_id: runId } : {}),
    ...(reason_code === 'purchase' ? { purchase_id: purchaseId(4) } : {}),
    ...(['cash_refund', 'dispute', 'debt'].includes(reason_code) ? { lot_id: lotId(8) } : {}),
  };
});

export const month = new Date().toISOString().slice(0, 7);

/** The same ledger as the statement of a month. */
export const statement: Statement = {
  month,
  name: 'Ada Example',
  email: 'ada@example.com',
  opening_balance: 0,
  closing_balance: 109,
  is_running: true,
  totals: { purchased: 20, bonus: 50, consumed: 10, other: 49 },
  lines: ledger.toReversed().map((line, index, lines) => ({
    ...line,
    balance_after: lines.slice(0, index + 1).reduce((sum, { amount }) => sum + amount, 0),
    payment:
      line.reason_code === 'purchase'
        ? { amount_cents: 1_000, currency: 'usd', receipt_url: 'https://receipts.example/4' }
        : line.reason_code === 'cash_refund'
          ? { amount_cents: line.amount < 0 ? -600 : 600, currency: 'usd', receipt_url: null }
          : null,
    lots:
      line.reason_code === 'run'
        ? [
            {
              lot_id: lotId(4),
              credits: 10,
              purchase_id: purchaseId(4),
              receipt_url: 'https://receipts.example/4',
            },
            { lot_id: lotId(99), credits: 4, purchase_id: null, receipt_url: null },
          ]
        : [],
  })),
};

/** A paid checkout. */
export function stateOf(change: Partial<CheckoutState> = {}): CheckoutState {
  return {
    session_id: 'cs_test_of_this_test',
    purchase_id: 'pur_00000000000000000000000001',
    package_id: 'boost-50',
    package_name: 'Boost 50',
    kind: 'one_time',
    status: 'paid',
    credits: 50,
    settled_credits: 0,
    amount_cents: 2_500,
    currency: 'usd',
    receipt_url: 'https://pay.example/receipts/1',
    receipt_by_email: true,
    balance: { ...balance, available_credits: 136, total_credits: 150, total_purchased: 150 },
    ...change,
  };
}
