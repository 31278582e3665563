import { queryOptions } from '@tanstack/react-query';
import {
  Optimization,
  optimizationLimits,
  OptimizationSummary,
} from '#services/optimizations/contract.ts';
import { read, readPage } from '#web/api.ts';

/** Every page of the list of runs is cached below this key. */
export const runsKey = ['runs'] as const;

/** One page of a person's runs, newest first. The event stream keeps its rows current. */
export function runsQuery({
  page = 1,
  limit = optimizationLimits.pageSize,
}: { page?: number; limit?: number } = {}) {
  return queryOptions({
    queryKey: [...runsKey, { page, limit }],
    queryFn: ({ signal }) =>
      readPage('/optimizations', OptimizationSummary, { query: { page, limit }, signal }),
  });
}

/** A run in full. */
export function runQuery(id: string) {
  return queryOptions({
    queryKey: ['run', id],
    queryFn: ({ signal }) =>
      read(`/optimizations/${encodeURIComponent(id)}`, Optimization, { signal }),
  });
}
