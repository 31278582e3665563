import type pg from 'pg';
import { readUntil } from '#projections/engine/checkpoint.ts';
import { creditAnalytics, readOutcomes } from '#projections/credit-analytics.ts';
import { runUsage } from '#projections/run-usage.ts';
import type { DashboardStats } from '#services/optimizations/contract.ts';

export type StatsDependencies = {
  pool: pg.Pool;
  /** Runs of a person that count in this month. */
  runsThisMonth: (userId: string) => Promise<number>;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  monthlyLimitOf: (userId: string) => Promise<number>;
};

/** How a person's runs went. */
export async function readStats(
  { pool, runsThisMonth, monthlyLimitOf }: StatsDependencies,
  userId: string,
): Promise<DashboardStats> {
  const until = await readUntil(pool, [creditAnalytics, runUsage], userId);
  const [used, limit, { completed, failed, average }] = await Promise.all([
    runsThisMonth(userId),
    monthlyLimitOf(userId),
    readOutcomes(pool, userId),
  ]);
  const ended = completed + failed;
  return {
    optimizations_used: used,
    optimizations_limit: limit,
    success_rate: ended === 0 ? null : completed / ended,
    completed_optimizations: completed,
    failed_optimizations: failed,
    average_cost_per_optimization: average,
    as_of: until.toISOString(),
  };
}
