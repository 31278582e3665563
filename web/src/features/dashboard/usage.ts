import type { User } from '#services/identity/contract.ts';

/** The runs of a month against the limit of a plan. */
export type Usage = {
  readonly used: number;
  /** Null is unlimited. */
  readonly limit: number | null;
  /** Whole percent, rounded down; more than 100 when paid runs go beyond the limit. */
  readonly percent: number | null;
  readonly level: 'calm' | 'attention' | 'warning';
  /** Whether 'Approaching Usage Limit' is said. */
  readonly isApproaching: boolean;
};

export function usageOf({
  optimizations_used: used,
  optimizations_limit: limit,
}: Pick<User, 'optimizations_used' | 'optimizations_limit'>): Usage {
  if (limit < 0) return { used, limit: null, percent: null, level: 'calm', isApproaching: false };
  const share = limit === 0 ? 100 : Math.floor((used / limit) * 100);
  return {
    used,
    limit,
    percent: share,
    level: share >= 90 ? 'warning' : share >= 75 ? 'attention' : 'calm',
    isApproaching: share >= 80,
  };
}

/** The first moment of the next UTC month: then the count begins anew. */
export function nextMonth(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
}

export const planWords: Readonly<Record<User['subscription_tier'], string>> = {
  free: 'Free Plan',
  pro: 'Pro Plan',
  scale: 'Scale Plan',
};
