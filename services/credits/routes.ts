import type { MiddlewareHandler } from 'hono';
import type pg from 'pg';
import { readUntil } from '#projections/engine/checkpoint.ts';
import { balanceOf, readBalance } from '#projections/credit-account.ts';
import { creditAnalytics, readAnalytics } from '#projections/credit-analytics.ts';
import { readHistory } from '#projections/credit-history.ts';
import type { PackageName } from '#projections/credit-history.ts';
import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { answer, bodyOf, queryOf } from '#services/platform/http/endpoints.ts';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import type { HttpContext, HttpEnv } from '#services/platform/http/http.ts';
import { answerOnce } from '#services/platform/http/idempotency.ts';
import { newId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Consumption, Ledger } from './ledger/ledger.ts';
import type { ConsumeReply } from './contract.ts';
import { creditEndpoints } from './endpoints.ts';
import { readModelCosts } from './model-costs.ts';

export type CreditRouteDependencies = {
  pool: pg.Pool;
  clock: () => number;
  ledger: Pick<Ledger, 'consume'>;
  /** Whether there is such a person, whose account takes commands. */
  takesCommands: (userId: string) => Promise<boolean>;
  withinDailyCap: WithinDailyCap;
  packageName: PackageName;
  /** What a run of this price, started now, would be refused with; null for nothing. */
  startRefusal: (userId: string, credits: number) => Promise<Problem | null>;
};

/** Runs `spend` when the service's daily cap allows it. @throws Problem 403 `daily-cap-reached` */
type WithinDailyCap = (
  spending: { serviceId: string; commandId: string; credits: number },
  spend: () => ReturnType<Ledger['consume']>,
) => ReturnType<Ledger['consume']>;

export function creditRoutes(
  dependencies: CreditRouteDependencies,
  authenticate: Authenticate,
  /** Lets services pass that may consume credits, and sets `serviceId`. */
  consumingService: MiddlewareHandler<HttpEnv>,
) {
  const { pool, clock, packageName } = dependencies;
  const signedIn = requireUser(authenticate);
  return createRouter()
    .get('/credits/balance', signedIn, async (context) =>
      answer(
        context,
        creditEndpoints['GET /credits/balance'],
        await readBalance(pool, context.get('userId')),
      ),
    )
    .get('/credits/history', signedIn, async (context) => {
      const endpoint = creditEndpoints['GET /credits/history'];
      const query = queryOf(context, endpoint);
      const lines = await readHistory(pool, context.get('userId'), query, packageName);
      return answer(
        context,
        endpoint,
        lines.map((line) => line.transaction),
      );
    })
    .get('/credits/analytics', signedIn, async (context) => {
      const userId = context.get('userId');
      const until = await readUntil(pool, [creditAnalytics], userId);
      const analytics = await readAnalytics(pool, userId, new Date(clock()));
      return answer(context, creditEndpoints['GET /credits/analytics'], {
        ...analytics,
        as_of: until.toISOString(),
      });
    })
    .get('/credits/model-costs', async (context) =>
      answer(
        context,
        creditEndpoints['GET /credits/model-costs'],
        await readModelCosts(pool, new Date(clock())),
      ),
    )
    .post('/credits/check-usage', signedIn, async (context) => {
      const endpoint = creditEndpoints['POST /credits/check-usage'];
      const { required_credits: required } = await bodyOf(context, endpoint);
      const userId = context.get('userId');
      const refusal = await dependencies.startRefusal(userId, required);
      const { available_credits: available } = await readBalance(pool, userId);
      return answer(context, endpoint, {
        has_sufficient_credits: refusal === null,
        required_credits: required,
        current_balance: available,
        shortfall: Math.max(0, required - available),
        refusal: refusal && {
          status: refusal.status,
          code: refusal.code,
          message: refusal.message,
        },
      });
    })
    .post('/credits/consume', consumingService, async (context) => {
      requireKey(context);
      const endpoint = creditEndpoints['POST /credits/consume'];
      const body = await bodyOf(context, endpoint);
      const serviceId = context.get('serviceId');
      return answerOnce(
        context,
        endpoint,
        {
          pool,
          route: 'POST /credits/consume',
          body,
          owner: serviceId,
          newResourceId: () => newId('con', clock()),
        },
        async ({ resourceId: consumptionId, commandId, fingerprint }) =>
          consume(dependencies, {
            consumptionId,
            userId: body.user_id,
            credits: body.credits,
            reason: body.reason,
            actor: serviceId,
            commandId,
            fingerprint,
          }),
      );
    });
}

async function consume(
  { takesCommands, withinDailyCap, ledger }: CreditRouteDependencies,
  consumption: Consumption,
): Promise<ConsumeReply> {
  const { consumptionId, userId, credits, actor: serviceId, commandId } = consumption;
  if (!(await takesCommands(userId))) throw notFound('There is no such user.');
  const { balance } = await withinDailyCap({ serviceId, commandId, credits }, async () =>
    ledger.consume(consumption),
  );
  return {
    consumption_id: consumptionId,
    consumed_credits: credits,
    balance: balanceOf(balance),
  };
}

/** Another service repeats what it does not know to have happened; without a key that would be twice. */
function requireKey(context: HttpContext): void {
  if (context.req.header('idempotency-key') === undefined)
    throw new Problem(400, 'validation', 'Send an Idempotency-Key with this call.', {
      errors: [{ field: 'Idempotency-Key', message: 'This header is required.' }],
    });
}
