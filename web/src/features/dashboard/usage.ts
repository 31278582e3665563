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

/** The trend of a success rate, 0–1: above 0.8 it goes well. Begins with a space, or is empty. */
export function successTrend(rate: number): '' | ' Going well.' {
  return rate > 0.8 ? ' Going well.' : '';
}
