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
      return { word: 'Given to you', note: null };
    case 'run':
      return { word: 'Consumption', note: null };
    case 'service':
      return { word: 'Consumption by a service', note: null };
    case 'run_return':
      return { word: 'Refund', note: 'What the run did not earn came back.' };
    case 'cash_refund':
      return gives
        ? {
            word: 'Refund of money failed',
            note: 'The money could not be paid back, so the credits are yours again.',
          }
        : {
            word: 'Refund of money',
            note: 'Their price goes back to the card that it was paid with.',
          };
    case 'dispute':
      return gives
        ? { word: 'Dispute ended', note: 'The payment stands, so the credits are yours again.' }
        : {
            word: 'Dispute',
            note: 'Their payment is disputed at the bank. They come back if the payment stands.',
          };
    case 'inquiry':
      return gives
        ? { word: 'Inquiry ended', note: 'The payment stands, so the credits are yours again.' }
        : {
            word: 'Inquiry',
            note: 'Your bank asks about their payment, and no money has gone back. They come back if the payment stands.',
          };
    case 'debt':
      return gives
        ? { word: 'Debt cancelled', note: 'The payment behind it stands after all.' }
        : {
            word: 'Debt',
            note: 'They had been used already. The next credits you receive settle it first.',
          };
    case 'correction':
      return { word: 'Correction', note: 'The operator set something right.' };
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
