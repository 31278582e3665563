import type { Purchase, PurchaseStatus, Refund } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { money } from '#web/ui/text/figures.ts';
import type { StatusTone } from '#web/ui/feedback/status.tsx';

export const purchaseStatusWords: Readonly<Record<PurchaseStatus, string>> = {
  open: 'Not confirmed',
  processing: 'Your bank is still confirming',
  paid: 'Paid',
  failed: 'Payment failed',
  expired: 'Expired',
};

export const purchaseStatusTones: Readonly<Record<PurchaseStatus, StatusTone>> = {
  open: 'neutral',
  processing: 'active',
  paid: 'ok',
  failed: 'bad',
  expired: 'neutral',
};

/** Explains a status whose meaning is not obvious. */
export const purchaseStatusNotes: Readonly<Record<PurchaseStatus, string | null>> = {
  open: "If you've paid, it will show here within minutes. If not, it closes on its own within an hour.",
  processing: 'Your credits will arrive once it does. You can leave this page.',
  paid: null,
  failed: "You weren't charged.",
  expired: "You weren't charged.",
};

type Refusal = NonNullable<Purchase['refusal']>;

/** Why a purchase cannot be refunded. Null where the rest of its row already says it. */
export const refusalWords: Readonly<Record<Refusal, string | null>> = {
  not_paid: null,
  pending: null,
  taken_back: null,
  nothing_left:
    'No credits left to refund: all are used, reserved, refunded, or went toward what you owed.',
  too_old: 'The 30-day refund window has ended.',
  debt: 'You owe credits. Once you settle them, you can refund unused credits.',
  free: 'These credits were free.',
};

export const refundTones: Readonly<Record<Refund['status'], StatusTone>> = {
  pending: 'active',
  done: 'ok',
  failed: 'bad',
};

/** The outcome of a refund, with its figures. */
export function refundWords(
  refund: Pick<Refund, 'status' | 'credits' | 'amount_cents' | 'currency'>,
): {
  word: string;
  note: string;
} {
  const amount = money(refund.amount_cents, refund.currency);
  const given = creditsInWords(refund.credits);
  switch (refund.status) {
    case 'pending':
      return { word: 'Refund pending', note: `${amount} for ${given} is on its way to you.` };
    case 'done':
      return {
        word: 'Refunded',
        note: `${amount} for ${given}. It may take your bank a few days to show it.`,
      };
    case 'failed':
      return {
        word: 'Refund failed',
        note: `We couldn't refund ${amount}. ${given} ${refund.credits === 1 ? 'is' : 'are'} back in your balance.`,
      };
  }
}

export type RefundFailure = {
  sentence: string;
  /** Whether something may have happened anyway. */
  certainty: string;
  /** A retry would be refused again. */
  isFinal: boolean;
};

/** What a failed refund request means. */
export function refundFailure(error: unknown): RefundFailure {
  const sentence = problemSentence(error);
  if (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500)
    return {
      sentence,
      certainty:
        "We don't know if your request arrived. It's safe to try again: you'll get only one refund.",
      isFinal: false,
    };
  return {
    sentence,
    certainty: 'Nothing was refunded.',
    isFinal: ![401, 429].includes(error.status),
  };
}

/** The sum of all current refunds; purchases share one currency. */
export function refundOf(
  purchases: readonly Purchase[],
): { credits: number; money: string } | null {
  const offers = purchases.flatMap(({ refundable }) => refundable ?? []);
  const cents = offers.reduce((sum, offer) => sum + offer.amount_cents, 0);
  if (cents === 0) return null;
  return {
    credits: offers.reduce((sum, offer) => sum + offer.credits, 0),
    money: money(cents, purchases[0]?.currency ?? 'usd'),
  };
}
