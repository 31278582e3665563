import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { answer, bodyOf, queryOf } from '#services/platform/http/endpoints.ts';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import { answerOnce } from '#services/platform/http/idempotency.ts';
import { newId } from '#services/platform/ids.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { paymentEndpoints } from '#services/payments/endpoints.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { askForRefund } from './ask.ts';
import { listPurchases } from '#services/payments/purchases/list.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';

export type RefundRouteDependencies = PaymentDependencies & { rateLimits: RateLimits };

/** What somebody has bought, and asking for what they have not used of it. */
export function refundRoutes(dependencies: RefundRouteDependencies, authenticate: Authenticate) {
  const signedIn = requireUser(authenticate);
  return createRouter()
    .get('/credits/purchases', signedIn, async (context) => {
      const endpoint = paymentEndpoints['GET /credits/purchases'];
      const { before } = queryOf(context, endpoint);
      return answer(
        context,
        endpoint,
        await listPurchases(dependencies, context.get('userId'), before ?? null),
      );
    })
    .post('/credits/purchases/:id/refund', signedIn, async (context) =>
      refund(dependencies, context),
    );
}

async function refund(
  dependencies: RefundRouteDependencies,
  context: HttpContext,
): Promise<Response> {
  const { pool, clock, rateLimits } = dependencies;
  const endpoint = paymentEndpoints['POST /credits/purchases/{id}/refund'];
  const body = await bodyOf(context, endpoint);
  const userId = context.get('userId');
  const purchaseId = context.req.param('id') ?? '';
  const purchase = await findPurchase(pool, { purchaseId });
  // Another's purchase is nothing that this person may know of.
  if (purchase === null || purchase.user_id !== userId) throw notFound();
  return answerOnce(
    context,
    endpoint,
    {
      pool,
      route: `POST /credits/purchases/${purchaseId}/refund`,
      body,
      newResourceId: () => newId('ref', clock()),
    },
    async ({ resourceId: refundId }) => {
      await rateLimits.take('refunds', userId, { userId });
      return askForRefund(dependencies, {
        userId,
        purchaseId,
        refundId,
        agreed: body.credits ?? null,
        endsPlan: body.ends_plan,
        reason: 'customer',
        actor: userId,
      });
    },
  );
}
