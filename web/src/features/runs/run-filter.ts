import {
  optimizationLimits,
  type RunSort,
  runSorts,
} from '#services/optimizations/contract/requests.ts';
import { RunStatus, StrategyId } from '#services/optimizations/contract/summary.ts';
import type { InferOutput } from 'valibot';
import type { RunChoice } from './queries.ts';

/** Filter and order of the list, all kept in the address. */
export type RunFilter = {
  readonly page: number;
  /** Words of the title or the question; empty for all. */
  readonly q: string;
  readonly status: RunStatus | undefined;
  readonly strategy: InferOutput<typeof StrategyId> | undefined;
  readonly sort: RunSort;
};

type Word = string | number | undefined;
type Asked = { page?: number | undefined } & { [Name in keyof RunChoice]?: Word };

/** Parses an address. Invalid values are dropped. */
export function filterOf({ page = 1, q = '', status, strategy, sort }: Asked): RunFilter {
  return {
    page,
    q: String(q).trim().slice(0, optimizationLimits.search),
    status: RunStatus.options.find((known) => known === status),
    strategy: StrategyId.options.find((known) => known === strategy),
    sort: runSorts.find((known) => known === sort) ?? 'newest',
  };
}

/** The address holds only what differs from the default. */
export function addressOf({ page, ...filter }: RunFilter): { page?: number } & RunChoice {
  return { ...(page > 1 ? { page } : {}), ...choiceOf(filter) };
}

/** Normalised, so that the dashboard and the list share one cache entry. */
export function choiceOf({ q, status, strategy, sort }: Omit<RunFilter, 'page'>): RunChoice {
  return {
    ...(q === '' ? {} : { q }),
    ...(status === undefined ? {} : { status }),
    ...(strategy === undefined ? {} : { strategy }),
    ...(sort === 'newest' ? {} : { sort }),
  };
}

/** Whether some runs may be left out. */
export function isNarrowed({ q, status, strategy }: RunFilter): boolean {
  return q !== '' || status !== undefined || strategy !== undefined;
}
