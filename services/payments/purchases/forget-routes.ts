import { notFound } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { paymentEndpoints, PurchaseStatus } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { ProviderRefused } from '#services/payments/provider.ts';
import { findPurchase } from './rows.ts';
import type { PurchaseRow } from './rows.ts';

/** Giving up a purchase that was begun and never paid. Doing it again changes nothing. */
export function forgetHandlers(dependencies: PaymentDependencies & { rateLimits: RateLimits }) {
  return {
    'POST /credits/purchases/{id}/forget': async ({ userId, path }) => {
      const row = await findPurchase(dependencies.pool, { purchaseId: path.id });
      // Another person's purchase is answered like one that does not exist.
      if (row === null || row.user_id !== userId) throw notFound();
      await dependencies.rateLimits.take('forget', userId, { userId });
      return { status: await forget(dependencies, row) };
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}

/**
 * Ends its checkout at the provider, so that a page of it that is still open somewhere cannot be paid
 * any more. What was paid meanwhile is fulfilled, and the answer says so.
 */
async function forget(
  dependencies: PaymentDependencies,
  row: PurchaseRow,
): Promise<PurchaseStatus> {
  // Without a session the provider may still make one; the sweeper ends it then.
  if (row.status !== 'open' || row.session_id === null) return row.status;
  try {
    await dependencies.provider.expireCheckout(row.session_id);
  } catch (error) {
    // It is being paid, or has ended: the provider knows, and is asked next.
    if (!(error instanceof ProviderRefused)) throw error;
  }
  const { purchase } = await fulfil(dependencies, { purchaseId: row.id });
  return purchase?.status ?? row.status;
}
