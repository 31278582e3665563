import type { Balance } from '#services/credits/contract.ts';
import { credits } from '#services/platform/numbers.ts';

/** Four tiers of a balance, each with its icon and color. */
export type CreditTier = 'plenty' | 'enough' | 'low' | 'very-low';

/** Below this many available credits the page offers more. */
export const lowCredits = 20;

export function creditTier(available: number): CreditTier {
  if (available >= 50) return 'plenty';
  if (available >= lowCredits) return 'enough';
  if (available >= 10) return 'low';
  return 'very-low';
}

/** The state of a balance, in the same words wherever it stands. A debt comes first: it stops runs. */
export function stockWords({
  available_credits: available,
  debt_credits: debt,
  spending_frozen: isFrozen,
}: Pick<Balance, 'available_credits' | 'debt_credits' | 'spending_frozen'>): string {
  if (isFrozen) return 'Frozen';
  if (debt > 0) return `${credits(debt)} owed`;
  return available > lowCredits ? 'Well stocked' : 'Running low';
}
