import type { Transaction, TransactionType } from '#services/credits/contract.ts';

export const transactionWords: Readonly<Record<TransactionType, string>> = {
  purchase: 'Purchase',
  consumption: 'Consumption',
  refund: 'Refund',
  bonus: 'Bonus',
  other: 'Other',
};

export type LineWords = {
  /** What happened, in a few words. */
  word: string;
  /** Why, where the word does not say it. */
  note: string | null;
};

/** The name of a ledger line. Causes that can give and take are named by their sign. */
export function lineWords({
  reason_code: reason,
  amount,
}: Pick<Transaction, 'reason_code' | 'amount'>): LineWords {
  const gives = amount > 0;
  switch (reason) {
    case 'purchase':
      return { word: 'Purchase', note: null };
    case 'bonus':
      return { word: 'Bonus', note: null };
    case 'grant':
      return { word: 'Free credits', note: null };
    case 'run':
      return { word: 'Consumption', note: null };
    case 'service':
      return { word: 'Used by a connected service', note: null };
    case 'run_return':
      return { word: 'Refund', note: "Returned: the part of the price the run didn't earn." };
    case 'cash_refund':
      return gives
        ? {
            word: 'Refund failed',
            note: "We couldn't return the money, so the credits are yours again.",
          }
        : {
            word: 'Money refunded',
            note: 'The money is going back to your original payment method.',
          };
    case 'dispute':
      return gives
        ? { word: 'Dispute closed', note: 'The payment stands, so the credits are yours again.' }
        : {
            word: 'Dispute',
            note: 'The payment for these credits is disputed. You get them back if the payment stands.',
          };
    case 'inquiry':
      return gives
        ? { word: 'Inquiry ended', note: 'The payment stands, so the credits are yours again.' }
        : {
            word: 'Inquiry',
            note: 'Your bank is asking about the payment for these credits. No money has moved. You get them back if the payment stands.',
          };
    case 'debt':
      return gives
        ? { word: 'Debt cleared', note: 'The payment behind it stands after all.' }
        : {
            word: 'Debt',
            note: 'You had already used these credits. The next credits you receive settle this first.',
          };
    case 'correction':
      return { word: 'Correction', note: 'We corrected an entry.' };
  }
}

/** The target of a line: its run, or the purchase its credits come from. */
export type LineTarget =
  | { readonly kind: 'run'; readonly runId: string }
  /** `anchor` is the id of an element on the credits page. */
  | { readonly kind: 'purchase'; readonly anchor: string };

export function lineTarget(
  line: Pick<Transaction, 'reason_code' | 'run_id' | 'purchase_id' | 'lot_id'>,
): LineTarget | null {
  if (line.run_id !== undefined) return { kind: 'run', runId: line.run_id };
  if (line.purchase_id !== undefined)
    return { kind: 'purchase', anchor: purchaseAnchor(line.purchase_id) };
  if (line.lot_id !== undefined && isOfPayment(line.reason_code))
    return { kind: 'purchase', anchor: lotAnchor(line.lot_id) };
  return null;
}

export const purchaseAnchor = (purchaseId: string): string => `purchase-${purchaseId}`;
export const lotAnchor = (lotId: string): string => `lot-${lotId}`;

/** Causes that name a lot and always concern a paid one. */
function isOfPayment(reason: Transaction['reason_code']): boolean {
  return ['purchase', 'cash_refund', 'dispute', 'inquiry', 'debt'].includes(reason);
}
