import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import {
  Balance,
  CreditAnalytics,
  creditLimits,
  History,
  ModelCosts,
} from '#services/credits/contract.ts';
import { read } from '#web/api/api.ts';

/** The event stream keeps this current while the page is open. */
export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => read('/credits/balance', Balance, { signal }),
});

/** Everything derived from the ledger is cached below this key; the stream invalidates it. */
const creditsKey = ['credits'] as const;

/** Consumption by month and day, average per run, and the models that cost most. */
export const analyticsQuery = queryOptions({
  queryKey: [...creditsKey, 'analytics'],
  queryFn: ({ signal }) => read('/credits/analytics', CreditAnalytics, { signal }),
});

/** List prices of models, and the measured cost of an answer over all users. */
export const modelCostsQuery = queryOptions({
  queryKey: ['model-costs'],
  queryFn: ({ signal }) => read('/credits/model-costs', ModelCosts, { signal }),
});

/** The ledger's lines, newest first, in pages of 50 by the last line's id. */
export const historyQuery = infiniteQueryOptions({
  queryKey: [...creditsKey, 'history'],
  queryFn: ({ signal, pageParam }) =>
    read('/credits/history', History, {
      query: { limit: creditLimits.history, before: pageParam },
      signal,
    }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => (page.length < creditLimits.history ? undefined : page.at(-1)?.id),
});
