import { queryOptions } from '@tanstack/react-query';
import { DashboardStats, Usage } from '#services/optimizations/contract/panel.ts';
import { read } from '#web/api/api.ts';

// Both depend on the ledger and are fetched again with it, and when the stream reports them stale.

/** The outcomes of all the user's runs. */
export const statsQuery = queryOptions({
  queryKey: ['credits', 'stats'],
  queryFn: ({ signal }) => read('/users/me/stats', DashboardStats, { signal }),
});

/** This month's runs against the limit of the plan. */
export const usageQuery = queryOptions({
  queryKey: ['credits', 'usage'],
  queryFn: ({ signal }) => read('/optimizations/usage', Usage, { signal }),
});
