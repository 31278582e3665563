/** Four tiers of a balance, each with its word. */
export type CreditTier = 'plenty' | 'enough' | 'low' | 'very-low';

/** Below this many available credits the page offers more. */
export const lowCredits = 20;

export function creditTier(available: number): CreditTier {
  if (available >= 50) return 'plenty';
  if (available >= lowCredits) return 'enough';
  if (available >= 10) return 'low';
  return 'very-low';
}

export const tierWords: Readonly<Record<CreditTier, string>> = {
  plenty: 'Plenty',
  enough: 'Enough',
  low: 'Low',
  'very-low': 'Very low',
};

export function stockWords(available: number): 'Well stocked' | 'Running low' {
  return available > 20 ? 'Well stocked' : 'Running low';
}
