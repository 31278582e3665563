import type { User } from '#services/identity/contract.ts';
import type { Usage } from '#services/optimizations/contract/panel.ts';

/** How close a plan's counted runs are to its limit. */
export type Nearness = {
  readonly level: 'calm' | 'attention' | 'warning';
  /** Whether to show 'Approaching Usage Limit'. */
  readonly isApproaching: boolean;
};

/** Without a limit, or with one that cannot block a run, there is nothing to warn about. */
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
