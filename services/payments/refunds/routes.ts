import { notFound } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { paymentEndpoints } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { askForRefund } from './ask.ts';
import { listPurchases } from '#services/payments/purchases/list.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';

/** A person's purchases, and refunds of what was not used of them. */
export function refundHandlers(dependencies: PaymentDependencies & { rateLimits: RateLimits }) {
  const { pool, clock, rateLimits } = dependencies;
  return {
    'GET /credits/purchases': async ({ userId, query }) =>
      listPurchases(dependencies, userId, query.before ?? null),
    'POST /credits/purchases/{id}/refund': async ({ userId, path: { id: purchaseId }, body }) => {
      const purchase = await findPurchase(pool, { purchaseId });
      // Another person's purchase is answered like one that does not exist.
      if (purchase === null || purchase.user_id !== userId) throw notFound();
      return {
        newResourceId: () => newId('ref', clock()),
        work: async ({ resourceId: refundId }) => {
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
      };
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}
