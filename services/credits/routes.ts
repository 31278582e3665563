import type pg from 'pg';
import { readUntil } from '#projections/engine/checkpoint.ts';
import { balanceOf, readAccounts, readBalance } from '#projections/credit-account.ts';
import { creditAnalytics, readAnalytics } from '#projections/credit-analytics.ts';
import { readHistory } from '#projections/credit-history.ts';
import type { PackageName } from '#projections/credit-history.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { makerNameOf } from '#services/models/seating/words.ts';
import { answerFile } from '#services/platform/http/files.ts';
import { notFound } from '#services/platform/http/http.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import { inOneTurn } from '#services/platform/one-turn.ts';
import type { Problem } from '#services/platform/problem.ts';
import { noCredits } from './account/movements.ts';
import type { Consumption, Ledger } from './ledger/ledger.ts';
import { creditEndpoints, creditLimits } from './contract.ts';
import type { ConsumeReply } from './contract.ts';
import { historyCsv } from './history-csv.ts';
import { readModelCosts } from './model-costs.ts';

export type CreditRouteDependencies = {
  pool: pg.Pool;
  clock: () => number;
  catalogue: Catalogue;
  ledger: Pick<Ledger, 'consume'>;
  /** Whether the user exists and the account is open. */
  takesCommands: (userId: string) => Promise<boolean>;
  withinDailyCap: WithinDailyCap;
  packageName: PackageName;
  /** The refusal that a run of this price would get now; null if it would start. */
  startRefusal: (userId: string, credits: number) => Promise<Problem | null>;
};

/** Runs `spend` when the service's daily cap allows it. @throws Problem 403 `daily-cap-reached` */
type WithinDailyCap = (
  spending: { serviceId: string; commandId: string; credits: number },
  spend: () => ReturnType<Ledger['consume']>,
) => ReturnType<Ledger['consume']>;

export function creditRoutes(dependencies: CreditRouteDependencies & ServeDependencies) {
  const { pool, clock, packageName, catalogue } = dependencies;
  const namesOf = (model: string) => {
    const known = catalogue.modelOf(model);
    return known
      ? { name: known.displayName, maker: makerNameOf(known.family) }
      : { name: model, maker: null };
  };
  const accountOf = inOneTurn(async (ids: readonly string[]) => readAccounts(pool, ids));
  return serve(
    creditEndpoints,
    {
      'GET /credits/balance': async ({ userId }) =>
        balanceOf((await accountOf(userId)) ?? noCredits),
      'GET /credits/history': async ({ context, userId, query: { format, before, limit } }) => {
        const most = format === 'csv' ? creditLimits.historyFile : creditLimits.history;
        const part = { before, limit: limit ?? most };
        const read = await readHistory(pool, userId, part, packageName);
        const lines = read.map((line) => line.transaction);
        if (format === 'json') return lines;
        return answerFile(context, 'text/csv', 'sevenfold-transactions.csv', historyCsv(lines));
      },
      'GET /credits/analytics': async ({ userId }) => {
        const until = await readUntil(pool, [creditAnalytics], userId);
        const analytics = await readAnalytics(pool, userId, new Date(clock()), namesOf);
        return { ...analytics, as_of: until.toISOString() };
      },
      'GET /credits/model-costs': async () => readModelCosts(pool, catalogue, new Date(clock())),
      'POST /credits/check-usage': async ({ userId, body: { required_credits: required } }) => {
        const refusal = await dependencies.startRefusal(userId, required);
        const { available_credits: available } = await readBalance(pool, userId);
        return {
          has_sufficient_credits: refusal === null,
          required_credits: required,
          current_balance: available,
          shortfall: Math.max(0, required - available),
          refusal: refusal && {
            status: refusal.status,
            code: refusal.code,
            message: refusal.message,
          },
        };
      },
      'POST /credits/consume': ({ serviceId, body }) => ({
        newResourceId: () => newId('con', clock()),
        work: async ({ resourceId: consumptionId, commandId, fingerprint }) =>
          consume(dependencies, {
            consumptionId,
            userId: body.user_id,
            credits: body.credits,
            reason: body.reason,
            actor: serviceId,
            commandId,
            fingerprint,
          }),
      }),
    },
    dependencies,
  );
}

async function consume(
  { takesCommands, withinDailyCap, ledger }: CreditRouteDependencies,
  consumption: Consumption,
): Promise<ConsumeReply> {
  const { consumptionId, userId, credits, actor: serviceId, commandId } = consumption;
  if (!(await takesCommands(userId))) throw notFound('User not found.');
  const { balance } = await withinDailyCap({ serviceId, commandId, credits }, async () =>
    ledger.consume(consumption),
  );
  return {
    consumption_id: consumptionId,
    consumed_credits: credits,
    balance: balanceOf(balance),
  };
}
