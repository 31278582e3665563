import { readUntil } from '#projections/engine/checkpoint.ts';
import { creditAnalytics, readOutcomes } from '#projections/credit-analytics.ts';
import { readAverages } from '#projections/optimization-list.ts';
import { readMonthUsage, runUsage } from '#projections/run-usage.ts';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { answerFile } from '#services/platform/http/files.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import type { DashboardStats, Usage } from '#services/optimizations/contract/panel.ts';
import { readBrief, readCompetitive } from './dashboard/brief.ts';
import type { BriefDependencies } from './dashboard/brief.ts';
import { briefFileName, briefMarkdown } from './reading/markdown/brief-markdown.ts';
import { readCommunity } from './dashboard/community.ts';
import { readOutcomeFigures } from './outcomes/figures.ts';
import { readDue } from './outcomes/questions.ts';
import type { optimizationEndpoints } from '#services/optimizations/contract/endpoints.ts';

export type UsageDependencies = BriefDependencies & {
  /** Runs of a person that count in this month. */
  runsThisMonth: (userId: string) => Promise<number>;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  monthlyLimitOf: (userId: string) => Promise<number>;
  ledger: Pick<Ledger, 'available'>;
  catalogue: Pick<Catalogue, 'strategies'>;
};

export function usageHandlers(dependencies: UsageDependencies) {
  return {
    'GET /users/me/stats': async ({ userId }) => readStats(dependencies, userId),
    'GET /optimizations/usage': async ({ userId }) => readUsage(dependencies, userId),
    'GET /optimizations/brief': async ({ context, userId, query }) => {
      const brief = await readBrief(dependencies, userId);
      if (query.format === 'json') return brief;
      return answerFile(context, 'text/markdown', briefFileName(brief), briefMarkdown(brief));
    },
    'GET /optimizations/competitive': async ({ userId }) => ({
      run: await readCompetitive(dependencies, userId),
    }),
    'GET /optimizations/outcomes/due': async ({ userId }) => readDue(dependencies, userId),
    'GET /optimizations/outcomes': async () =>
      readOutcomeFigures(dependencies.pool, dependencies.clock()),
    'GET /community': async ({ userId }) => {
      const own = await readStats(dependencies, userId);
      return readCommunity(dependencies.pool, userId, dependencies.clock(), own);
    },
  } satisfies Partial<Handlers<typeof optimizationEndpoints>>;
}

/** How a person's runs went. */
async function readStats(
  { pool, runsThisMonth, monthlyLimitOf }: UsageDependencies,
  userId: string,
): Promise<DashboardStats> {
  const until = await readUntil(pool, [creditAnalytics, runUsage], userId);
  const [used, limit, { completed, failed, average, models }, averages] = await Promise.all([
    runsThisMonth(userId),
    monthlyLimitOf(userId),
    readOutcomes(pool, userId),
    readAverages(pool, userId),
  ]);
  const ended = completed + failed;
  return {
    optimizations_used: used,
    optimizations_limit: limit,
    success_rate: ended === 0 ? null : completed / ended,
    completed_optimizations: completed,
    failed_optimizations: failed,
    average_cost_per_optimization: average,
    average_minutes: averages.minutes,
    timed_optimizations: averages.timed,
    average_agreement: averages.agreement,
    scored_optimizations: averages.scored,
    models_total: models,
    as_of: until.toISOString(),
  };
}

async function readUsage(
  { pool, monthlyLimitOf, ledger, clock, catalogue }: UsageDependencies,
  userId: string,
): Promise<Usage> {
  const now = new Date(clock());
  const month = now.toISOString().slice(0, 7);
  const until = await readUntil(pool, [runUsage], userId);
  const [used, limit, available] = await Promise.all([
    readMonthUsage(pool, userId, month),
    monthlyLimitOf(userId),
    ledger.available(userId),
  ]);
  return {
    current_month: used.runs,
    limit,
    percentage: percentageOf(used.byBonus, limit),
    month,
    resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
    bonus_used: used.byBonus,
    can_block: limit >= 0 && needsBonus(catalogue, available),
    as_of: until.toISOString(),
  };
}

/** Whether some strategy can be paid for only with the help of bonus credits. */
function needsBonus(
  { strategies }: Pick<Catalogue, 'strategies'>,
  { credits, bonus }: { credits: number; bonus: number },
): boolean {
  return strategies.some(({ credits: price }) => price <= credits && price > credits - bonus);
}

/** Rounded down, so that 100 means nothing is left; null without a limit. */
export function percentageOf(used: number, limit: number): number | null {
  if (limit < 0) return null;
  return used >= limit ? 100 : Math.floor((used / limit) * 100);
}
