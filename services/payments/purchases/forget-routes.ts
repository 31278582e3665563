import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { answer } from '#services/platform/http/endpoints.ts';
import { createRouter, notFound, requireNoFields } from '#services/platform/http/http.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { PurchaseStatus } from '#services/payments/contract.ts';
import { paymentEndpoints } from '#services/payments/endpoints.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import { findPurchase } from './rows.ts';
import type { PurchaseRow } from './rows.ts';

/** Giving up a purchase that was begun and never paid. Doing it again changes nothing. */
export function forgetRoutes(
  dependencies: PaymentDependencies & { rateLimits: RateLimits },
  authenticate: Authenticate,
) {
  return createRouter().post(
    '/credits/purchases/:id/forget',
    requireUser(authenticate),
    async (context) => {
      await requireNoFields(context);
      const row = await findPurchase(dependencies.pool, { purchaseId: context.req.param('id') });
      // Another's purchase is nothing that this person may know of.
      const userId = context.get('userId');
      if (row === null || row.user_id !== userId) throw notFound();
      await dependencies.rateLimits.take('forget', userId, { userId });
      return answer(context, paymentEndpoints['POST /credits/purchases/{id}/forget'], {
        status: await forget(dependencies, row),
      });
    },
  );
}

/**
 * Ends its checkout at the provider, so that a page of it that is still open somewhere cannot be paid
 * any more. What was paid meanwhile is fulfilled, and the answer says so.
 */
async function forget(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<PurchaseStatus> {
  // Without a session the provider may still make one; whoever looks after open purchases ends it.
  if (row.status !== 'open' || row.session_id === null) return row.status;
  try {
    await dependencies.provider.expireCheckout(row.session_id);
  } catch (error) {
    // It is being paid, or was ended by somebody else: the provider knows, and is asked next.
    if (!(error instanceof ProviderRefused)) throw error;
  }
  const { purchase } = await fulfil(dependencies, { purchaseId: row.id });
  return purchase?.status ?? row.status;
}
