import { queryOptions } from '@tanstack/react-query';
import {
  DeletedReply,
  optimizationLimits,
  type RenameRequest,
  type RunSort,
} from '#services/optimizations/contract/requests.ts';
import { ListedRun, Optimization } from '#services/optimizations/contract/run.ts';
import {
  type OptimizationSummary,
  type RunStatus,
} from '#services/optimizations/contract/summary.ts';
import { type RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { read, readPage, write } from '#web/api/api.ts';

/** Every page of the list of runs is cached below this key. */
export const runsKey = ['runs'] as const;

/** Filter and order; by default all runs, the newest first. */
export type RunChoice = {
  readonly q?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly strategy?: OptimizationSummary['strategy'] | undefined;
  readonly sort?: RunSort | undefined;
};

/** One page of a user's runs. The event stream keeps its rows current. */
export function runsQuery({
  page = 1,
  limit = optimizationLimits.pageSize,
  ...choice
}: { page?: number; limit?: number } & RunChoice = {}) {
  const query = { page, limit, ...choice };
  return queryOptions({
    queryKey: [...runsKey, query],
    queryFn: ({ signal }) => readPage('/optimizations', ListedRun, { query, signal }),
  });
}

export function runQuery(id: string) {
  return queryOptions({
    queryKey: ['run', id],
    queryFn: ({ signal }) => read(pathOf(id), Optimization, { signal }),
  });
}

export function renameRun(id: string, request: RenameRequest): Promise<Optimization> {
  return write('PATCH', pathOf(id), request, Optimization);
}

/** Begins a refinement of a run's result. The same `key` reaches the same refinement. */
export function refineRun(id: string, request: RefineRequest, key: string): Promise<Optimization> {
  return write('POST', `${pathOf(id)}/refine`, request, Optimization, { key });
}

/** Removes a run from every list. A running one is refused with 409. */
export function deleteRun(id: string): Promise<DeletedReply> {
  return write('DELETE', pathOf(id), {}, DeletedReply);
}

/** Restores a deleted run, for 30 days; one that had not been started comes back cancelled. */
export function restoreRun(id: string): Promise<Optimization> {
  return write('POST', `${pathOf(id)}/restore`, {}, Optimization);
}

function pathOf(id: string) {
  return `/optimizations/${encodeURIComponent(id)}` as const;
}
