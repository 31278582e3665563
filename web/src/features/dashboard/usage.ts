import type { User } from '#services/identity/contract.ts';
import type { Usage } from '#services/optimizations/contract.ts';

/** How near the month's runs are to the limit of a plan. */
export type Nearness = {
  readonly level: 'calm' | 'attention' | 'warning';
  /** Whether 'Approaching Usage Limit' is said. */
  readonly isApproaching: boolean;
};

/** Without a limit there is no share of it, and nothing to be near to. */
export function nearnessOf({ percentage }: Pick<Usage, 'percentage'>): Nearness {
  if (percentage === null) return { level: 'calm', isApproaching: false };
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
