import type { Queryable } from '#db/connect.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type { SubscriptionView } from '#services/payments/provider.ts';
import { findPlan, storeInvoice, storeView } from './rows.ts';
import type { PaidPeriod, PlanRow } from './rows.ts';
import { changePlansOf } from './user-tier.ts';

/**
 * Reading plans from the provider. Webhook events in any order, at once and repeated lead to the same
 * row and the same tier.
 *
 * Two readings of a subscription may be stored in the wrong order. So each takes the database's time
 * before it asks, and only a later one replaces what is stored. What the earlier one may have seen beyond
 * it has a webhook event of its own, which asks later still.
 */

/**
 * Reads a subscription and stores it, together with an invoice of it that was paid. Null when it belongs
 * to no user, or is for nothing that we sell.
 */
export async function readPlan(
  dependencies: PaymentDependencies,
  subscriptionId: string,
  paidInvoice?: PaidPeriod,
): Promise<PlanRow | null> {
  const { pool, provider, clock } = dependencies;
  const reading = await beginReading(pool);
  const view = await provider.retrieveSubscription(subscriptionId);
  if (view !== null) return keepView(dependencies, view, reading, paidInvoice);
  const known = await findPlan(pool, subscriptionId);
  if (known === null) return null;
  // The provider does not know it any more, so it takes no more money.
  await changePlansOf(dependencies, known.user_id, async (client) => {
    await client.query(
      `update plan set status = 'canceled', ended_at = coalesce(ended_at, $2), due_minor = null,
         checked_at = $2, reading = $3, updated_at = $2
       where subscription_id = $1 and reading <= $3`,
      [subscriptionId, new Date(clock()), reading],
    );
  });
  return findPlan(pool, subscriptionId);
}

/** Stores what the provider answered. `reading` is from before it was asked. */
export async function keepView(
  dependencies: PaymentDependencies,
  view: SubscriptionView,
  reading: string,
  paidInvoice?: PaidPeriod,
): Promise<PlanRow | null> {
  const { pool, clock, log } = dependencies;
  const userId = await ownerOf(pool, view);
  if (userId === null) {
    log.warn({ resource_id: view.subscriptionId }, 'A subscription belongs to no user');
    return null;
  }
  const known = await findPlan(pool, view.subscriptionId);
  const packageId = view.packageId ?? known?.next_package_id ?? null;
  if (packageId === null) return null;
  await changePlansOf(dependencies, userId, async (client) => {
    const now = new Date(clock());
    await storeView(client, { ...view, packageId, userId }, reading, now);
    if (paidInvoice) await storeInvoice(client, view.subscriptionId, paidInvoice, now);
  });
  return findPlan(pool, view.subscriptionId);
}

/** By the clock of the database, which all processes share. */
export async function beginReading(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ now: string }>('select clock_timestamp()::text as now');
  return rows[0]!.now;
}

/** Our own records come first; what stands at the provider can be edited there. */
async function ownerOf(client: Queryable, view: SubscriptionView): Promise<string | null> {
  const { rows } = await client.query<{ user_id: string }>(
    `select user_id from stripe_customer where customer_id = $1
     union all select user_id from plan where subscription_id = $2 limit 1`,
    [view.customerId, view.subscriptionId],
  );
  return rows[0]?.user_id ?? view.userId;
}
