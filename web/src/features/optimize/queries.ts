import { queryOptions } from '@tanstack/react-query';
import { CheckUsageReply } from '#services/credits/contract.ts';
import {
  type CreateOptimizationRequest,
  EstimateReply,
  Optimization,
  StrategiesReply,
} from '#services/optimizations/contract.ts';
import { read, write } from '#web/api/api.ts';
import type { StrategyId } from './question/fields.ts';

/** The strategies with their seats, prices and availability. */
export const strategiesQuery = queryOptions({
  queryKey: ['strategies'],
  queryFn: async ({ signal }) =>
    (await read('/optimizations/strategies', StrategiesReply, { signal })).strategies,
  staleTime: 300_000,
});

/** The estimated model cost of a run. A newer call aborts an older one. */
export function estimateQuery(strategy: StrategyId, challengeText: string) {
  return queryOptions({
    queryKey: ['estimate', strategy, challengeText],
    queryFn: async ({ signal }) => {
      const request = { strategy, workflowType: 'business-optimization', challengeText };
      const options = { signal };
      return (await write('POST', '/optimizations/estimate', request, EstimateReply, options))
        .estimate;
    },
    gcTime: 60_000,
  });
}

export function checkUsage(credits: number): Promise<CheckUsageReply> {
  return write('POST', '/credits/check-usage', { required_credits: credits }, CheckUsageReply);
}

export function createRun(request: CreateOptimizationRequest, key: string): Promise<Optimization> {
  return write('POST', '/optimizations', request, Optimization, { key });
}

export function processRun(id: string, key: string): Promise<Optimization> {
  return write('POST', `/optimizations/${encodeURIComponent(id)}/process`, {}, Optimization, {
    key,
  });
}
