import type { Queryable } from '#db/connect.ts';
import type { SubscriptionView } from '#services/payments/provider.ts';

/**
 * Rows of `plan`: what was last read of a subscription, and what was paid of it. The provider decides
 * how a plan stands, and `tier.ts` which tier that brings.
 */
export type PlanRow = {
  subscription_id: string;
  user_id: string;
  customer_id: string;
  package_id: string;
  next_package_id: string;
  status:
    | 'incomplete'
    | 'incomplete_expired'
    | 'trialing'
    | 'active'
    | 'past_due'
    | 'canceled'
    | 'unpaid'
    | 'paused';
  current_period_start: Date | null;
  current_period_end: Date | null;
  past_due_since: Date | null;
  cancel_at_period_end: boolean;
  ended_at: Date | null;
  due_minor: number | null;
  invoice_id: string | null;
  paid_since: Date | null;
  paid_until: Date | null;
  revoked_at: Date | null;
  revoked_from: Date | null;
  revoked_as: 'refunded' | 'taken_back' | 'second' | 'erased' | null;
  next_check_at: Date | null;
  checked_at: Date;
  created_at: Date;
};

/** One period of a plan, by the invoice that paid for it. Times are milliseconds since 1970. */
export type PaidPeriod = {
  invoiceId: string;
  packageId: string;
  paidAt: number;
  /** The end of the period. */
  paidUntil: number;
};

export async function findPlan(client: Queryable, subscriptionId: string): Promise<PlanRow | null> {
  const { rows } = await client.query<PlanRow>('select * from plan where subscription_id = $1', [
    subscriptionId,
  ]);
  return rows[0] ?? null;
}

/** Of one person, the oldest first. */
export async function readPlans(client: Queryable, userId: string): Promise<PlanRow[]> {
  const { rows } = await client.query<PlanRow>(
    'select * from plan where user_id = $1 order by created_at, subscription_id',
    [userId],
  );
  return rows;
}

/** Stores a reading, unless a later one is there already. */
export async function storeView(
  client: Queryable,
  view: SubscriptionView & { packageId: string; userId: string },
  reading: string,
  at: Date,
): Promise<void> {
  await client.query(
    `insert into plan as plan (subscription_id, user_id, customer_id, package_id, next_package_id, status,
       current_period_start, current_period_end, past_due_since, cancel_at_period_end, ended_at,
       reading, checked_at, created_at, updated_at, due_minor)
     values ($1, $2, $3, $4, $4, $5, $6, $7,
       case when $5 in ('past_due', 'unpaid') then $11::timestamptz end, $8, $9, $10, $11, $12, $11, $13)
     on conflict (subscription_id) do update set
       package_id = case when plan.invoice_id is null
         then excluded.package_id else plan.package_id end,
       next_package_id = excluded.next_package_id,
       status = excluded.status,
       current_period_start = excluded.current_period_start,
       current_period_end = excluded.current_period_end,
       past_due_since = case when excluded.past_due_since is null
         then null else coalesce(plan.past_due_since, excluded.past_due_since) end,
       cancel_at_period_end = excluded.cancel_at_period_end,
       ended_at = excluded.ended_at,
       due_minor = excluded.due_minor,
       reading = excluded.reading,
       checked_at = excluded.checked_at,
       updated_at = excluded.updated_at
     where plan.reading <= excluded.reading`,
    [
      view.subscriptionId,
      view.userId,
      view.customerId,
      view.packageId,
      view.status,
      timeOrNull(view.periodStart),
      timeOrNull(view.periodEnd),
      view.cancelsAtPeriodEnd,
      timeOrNull(view.endedAt),
      reading,
      at,
      new Date(view.createdAt),
      view.dueMinor,
    ],
  );
}

/**
 * Invoices may be paid and reported in the wrong order, and the subscription may be periods ahead of
 * them. What counts is the one whose period ends last.
 */
export async function storeInvoice(
  client: Queryable,
  subscriptionId: string,
  { invoiceId, packageId, paidAt, paidUntil }: PaidPeriod,
  at: Date,
): Promise<void> {
  await client.query(
    `update plan set
       package_id = case when $5 >= coalesce(paid_until, '-infinity') then $3 else package_id end,
       invoice_id = case when $5 >= coalesce(paid_until, '-infinity') then $2 else invoice_id end,
       paid_since = least(paid_since, $4),
       paid_until = greatest(paid_until, $5),
       updated_at = $6
     where subscription_id = $1`,
    [subscriptionId, invoiceId, packageId, new Date(paidAt), new Date(paidUntil), at],
  );
}

function timeOrNull(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
