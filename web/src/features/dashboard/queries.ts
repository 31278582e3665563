import { queryOptions } from '@tanstack/react-query';
import { Brief, Community, CompetitiveReply } from '#services/optimizations/contract/dashboard.ts';
import { DashboardStats, Usage } from '#services/optimizations/contract/panel.ts';
import { read } from '#web/api/api.ts';

// All depend on the ledger and are fetched again with it, and when the stream reports them stale.

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

/** The decisions of the last 30 days. A step that is ticked off on another page is gone from it. */
export const briefQuery = queryOptions({
  queryKey: ['credits', 'brief'],
  queryFn: ({ signal }) => read('/optimizations/brief', Brief, { signal }),
  staleTime: 0,
});

/** The newest decision about competitors. */
export const competitiveQuery = queryOptions({
  queryKey: ['credits', 'competitive'],
  queryFn: ({ signal }) => read('/optimizations/competitive', CompetitiveReply, { signal }),
});

/** The figures of all who share theirs. */
export const communityQuery = queryOptions({
  queryKey: ['credits', 'community'],
  queryFn: ({ signal }) => read('/community', Community, { signal }),
});
