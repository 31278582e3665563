import { queryOptions } from '@tanstack/react-query';
import { DashboardStats, Usage } from '#services/optimizations/contract.ts';
import { read } from '#web/api/api.ts';

// Both follow from the ledger, and are asked for again with it, and when the stream calls them stale.

/** How the person's runs went, over all time. */
export const statsQuery = queryOptions({
  queryKey: ['credits', 'stats'],
  queryFn: ({ signal }) => read('/users/me/stats', DashboardStats, { signal }),
});

/** The runs of this month against the limit of the plan. */
export const usageQuery = queryOptions({
  queryKey: ['credits', 'usage'],
  queryFn: ({ signal }) => read('/optimizations/usage', Usage, { signal }),
});
