import type { RefundReason } from './events.ts';
import type { AccountState } from './state.ts';
import { creditLimits } from '#services/credits/contract.ts';
import { gapOf } from './lots.ts';
import type { Clawback, Lot } from './lots.ts';

/** Why no credits of a lot can be refunded in cash. */
export type RefundRefusal = 'nothing_left' | 'too_old' | 'pending' | 'taken_back' | 'debt' | 'free';

export type RefundOffer =
  | {
      /** Every available credit of the lot. */
      credits: number;
      /** The amount paid for them, rounded down. */
      amountMinor: number;
      /** ISO 8601: the last moment for a customer's request. */
      until: string;
    }
  | { refusal: RefundRefusal };

const dayMs = 86_400_000;

/** Days of 24 hours. */
export function refundDaysAfter(time: string): string {
  return new Date(Date.parse(time) + creditLimits.refundDays * dayMs).toISOString();
}

/**
 * The possible refund of a lot at this moment, or why there is none. The list of purchases and the
 * decision both use it.
 */
export function refundOffer(
  state: AccountState,
  lot: Lot,
  nowMs: number,
  reason: RefundReason = 'customer',
): RefundOffer {
  const amountMinor = paidFor(lot);
  const until = refundableUntil(lot);
  const refusal = refusalOf(state, lot, amountMinor);
  if (refusal !== null) return { refusal };
  if (reason === 'customer' && nowMs > Date.parse(until)) return { refusal: 'too_old' };
  return { credits: lot.available, amountMinor, until };
}

function refusalOf(state: AccountState, lot: Lot, amountMinor: number): RefundRefusal | null {
  if (lot.source !== 'purchase' || lot.paymentKey === null || !lot.paidMinor) return 'free';
  if (lot.clawbacks.some(isOpen)) return 'taken_back';
  if (lot.cashPending > 0) return 'pending';
  if (lot.available === 0 || amountMinor === 0) return 'nothing_left';
  return state.balance.debt > 0 ? 'debt' : null;
}

/**
 * A dispute concerns the whole payment, whatever it has taken so far. A refund by the bank is over once
 * it has its credits: the rest of the money paid for the rest of the lot. Parts are rounded against the
 * customer, so that all parts together are never more than was paid.
 */
function isOpen(clawback: Clawback): boolean {
  return clawback.cause === 'dispute' || gapOf(clawback) !== 0;
}

/** In bigint: the product may exceed a safe integer. */
function paidFor({ paidMinor, available, granted }: Lot): number {
  return Number((BigInt(paidMinor ?? 0) * BigInt(available)) / BigInt(granted));
}

function refundableUntil({ grantedAt, refundableUntil: extended }: Lot): string {
  const usual = refundDaysAfter(grantedAt);
  return extended !== null && extended > usual ? extended : usual;
}

export const refundRefusals: Readonly<Record<RefundRefusal, string>> = {
  nothing_left: 'This purchase has no unused credits left.',
  too_old: `You can refund unused credits for ${creditLimits.refundDays} days after buying them.`,
  pending: 'A refund for this purchase is already on its way.',
  taken_back: "Your bank has taken back or is asking about this payment, so we can't refund it.",
  debt: 'You owe credits. Once you settle them, you can refund unused credits.',
  free: "These credits were free, so there's nothing to refund.",
};
