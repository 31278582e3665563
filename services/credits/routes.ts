import type pg from 'pg';
import { readBalance } from '#projections/credit-account.ts';
import { readAnalytics } from '#projections/credit-analytics.ts';
import { readHistory } from '#projections/credit-history.ts';
import { requireUser } from '#services/platform/auth.ts';
import type { Authenticate } from '#services/platform/auth.ts';
import {
  answerData,
  createRouter,
  notFound,
  parseBody,
  parseQuery,
  requireNoFields,
} from '#services/platform/http.ts';
import { answerOnce } from '#services/platform/idempotency.ts';
import { newId } from '#services/platform/ids.ts';
import { checkUsage, CheckUsageRequest, HistoryQuery, trialCredits } from './contract.ts';
import type { GiveCredits } from './grants.ts';

export type CreditRouteDependencies = {
  pool: pg.Pool;
  giveCredits: GiveCredits;
  /** Only local mode gives credits away. */
  isLocal: boolean;
  clock: () => number;
};

export function creditRoutes(
  { pool, giveCredits, isLocal, clock }: CreditRouteDependencies,
  authenticate: Authenticate,
) {
  const signedIn = requireUser(authenticate);
  return createRouter()
    .get('/credits/balance', signedIn, async (context) =>
      answerData(context, await readBalance(pool, context.get('userId'))),
    )
    .get('/credits/history', signedIn, async (context) => {
      const query = parseQuery(context, HistoryQuery);
      const lines = await readHistory(pool, context.get('userId'), query);
      return answerData(
        context,
        lines.map((line) => line.transaction),
      );
    })
    .get('/credits/analytics', signedIn, async (context) =>
      answerData(context, await readAnalytics(pool, context.get('userId'), new Date(clock()))),
    )
    .post('/credits/check-usage', signedIn, async (context) => {
      const { required_credits: required } = await parseBody(context, CheckUsageRequest);
      const balance = await readBalance(pool, context.get('userId'));
      return answerData(context, checkUsage(required, balance));
    })
    .post('/credits/trial', signedIn, async (context) => {
      if (!isLocal) throw notFound();
      await requireNoFields(context);
      const userId = context.get('userId');
      return answerOnce(
        context,
        {
          pool,
          route: 'POST /credits/trial',
          body: {},
          newResourceId: () => newId('lot', clock()),
          status: 201,
        },
        async ({ resourceId: lotId, commandId }) => {
          await giveCredits({
            userId,
            credits: trialCredits,
            source: 'other',
            reason: 'trial',
            actor: userId,
            commandId,
            lotId,
          });
          return readBalance(pool, userId);
        },
      );
    });
}
