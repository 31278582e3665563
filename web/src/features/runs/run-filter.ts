import {
  optimizationLimits,
  type RunSort,
  runSorts,
  RunStatus,
  StrategyId,
} from '#services/optimizations/contract.ts';
import type { InferOutput } from 'valibot';
import type { RunChoice } from './queries.ts';

/** Which runs the list shows, and how. All of it stands in the address. */
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

/** What an address asks for. What is no choice there is none. */
export function filterOf({ page = 1, q = '', status, strategy, sort }: Asked): RunFilter {
  return {
    page,
    q: String(q).trim().slice(0, optimizationLimits.search),
    status: RunStatus.options.find((known) => known === status),
    strategy: StrategyId.options.find((known) => known === strategy),
    sort: runSorts.find((known) => known === sort) ?? 'newest',
  };
}

/** The address names only what differs from the plain list. */
export function addressOf({ page, ...filter }: RunFilter): { page?: number } & RunChoice {
  return { ...(page > 1 ? { page } : {}), ...choiceOf(filter) };
}

/** The same list is asked for in the same words, here and on the dashboard. */
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
