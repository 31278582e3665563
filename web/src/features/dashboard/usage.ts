import type { User } from '#services/identity/contract.ts';
import type { Usage } from '#services/optimizations/contract.ts';

/** How near the runs that a plan's limit counts are to it. */
export type Nearness = {
  readonly level: 'calm' | 'attention' | 'warning';
  /** Whether 'Approaching Usage Limit' is said. */
  readonly isApproaching: boolean;
};

/** A limit that there is not, or that cannot block a run, is nothing to be near to. */
export function nearnessOf({
  percentage,
  can_block: canBlock,
}: Pick<Usage, 'percentage' | 'can_block'>): Nearness {
  if (percentage === null || !canBlock) return { level: 'calm', isApproaching: false };
  return {
    level: percentage >= 90 ? 'warning' : percentage >= 75 ? 'attention' : 'calm',
    isApproaching: percentage >= 80,
  };
}

export const planWords: Readonly<Record<User['subscription_tier'], string>> = {
  free: 'Free Plan',
  pro: 'Pro Plan',
  scale: 'Scale Plan',
};
