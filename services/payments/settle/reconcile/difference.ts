import { moneyText } from '#services/platform/numbers.ts';

/** One thing on which the ledger and the provider, or the ledger and our own rows, disagree. */
export type Difference = {
  kind: DifferenceKind;
  /** The object that it is about: `pi_…`, `in_…`, `re_…`, `dp_…`, `pur_…` … */
  object: string;
  userId: string | null;
  /** What one side says, and what the other does. */
  expected: string;
  found: string;
  /** What has most probably happened, in words. */
  cause: string;
  /** What will repair it: a sweeper, a command, or an operator. */
  repairs: string;
  /** Too young to be one for sure: the sweeper has hardly had a turn yet. */
  isSettling: boolean;
};

export type DifferenceKind =
  | 'payment-without-lot'
  | 'payment-amount'
  | 'lot-without-payment'
  | 'lot-twice'
  | 'lot-without-reason'
  | 'purchase-behind'
  | 'purchase-without-lot'
  | 'purchase-stuck'
  | 'webhook-event-not-processed'
  | 'refund-not-booked'
  | 'refund-contradicts'
  | 'refund-amount'
  | 'refund-twice'
  | 'refund-unknown'
  | 'refund-not-sent'
  | 'refund-only-here'
  | 'refund-failed-erased'
  | 'bank-refund'
  | 'dispute-missing'
  | 'dispute-only-here'
  | 'dispute-stage'
  | 'dispute-clawback'
  | 'clawback-unfilled'
  | 'plan-behind'
  | 'balance-missing'
  | 'balance-amount'
  | 'cash-unbalanced';

/** After so long, the sweeper should have repaired it. */
export const settleMs = 15 * 60 * 1000;

export const repairers = {
  purchases: 'a worker asks about open purchases every 5 minutes and fulfils it',
  /** A difference with these words becomes a job (`repair.ts`). */
  settling: 'a worker settles it now that it is found here',
  payment:
    'it is booked with its payment, once that is granted; if that is not ours, an operator has to check it',
  refunds:
    'a worker asks about open refunds, at first after 5 minutes and then less and less often',
  plans:
    'a worker reads every plan once a day; `customer.subscription.updated`, sent again at the provider, does so at once',
  next: 'the next comparison stores it',
  operator: 'an operator has to check it, in the ledger and at the provider',
} as const;

/** `$10.00`, or another amount in words that name both figures. */
export function amountText(minor: number, currency: string): string {
  return `${moneyText(minor, currency)} (${minor} ${currency})`;
}
