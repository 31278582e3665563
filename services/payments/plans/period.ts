import type { Queryable } from '#db/connect.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { readPlan } from './read.ts';
import type { PlanRow } from './rows.ts';
import { tierUntil } from './tier.ts';

/**
 * Whether a purchase is what pays for the present period of a plan, so that giving its credits back
 * ends that plan. `at` is ISO 8601. A period that is over by our clock stays the present one until the
 * provider is known to have begun another.
 */
export async function isCurrentPeriod(
  client: Queryable,
  purchaseId: string,
  at: string,
): Promise<boolean> {
  const { rows } = await client.query<PlanRow>(
    `select plan.* from purchase paid join plan on plan.subscription_id = paid.subscription_id
     where paid.id = $1 and paid.kind = 'invoice'
       and ($2 < paid.period_end or plan.current_period_end <= paid.period_end)
       and not exists (
       select from purchase later
       where later.subscription_id = paid.subscription_id and later.kind = 'invoice'
         and later.status = 'paid' and later.period_end > paid.period_end
         and least(later.paid_at, later.created_at) <= $2)`,
    [purchaseId, at],
  );
  const plan = rows[0];
  return plan !== undefined && Date.parse(at) < (tierUntil(plan) ?? 0);
}

/**
 * The same before the credits are given back. A period that is over by our clock may have been followed
 * by one that no webhook event has reported, so the provider is asked then.
 *
 * @throws Problem 503 while the provider is unavailable and has to be asked
 */
export async function endsPlan(
  dependencies: PaymentDependencies,
  purchaseId: string,
  at: string,
): Promise<boolean> {
  const plan = await findPlanPaidBy(dependencies.pool, purchaseId);
  if (plan === null) return false;
  await readWhenOver(dependencies, plan, at);
  return isCurrentPeriod(dependencies.pool, purchaseId, at);
}

type PaidPlan = PlanRow & { period_end: Date };

export async function findPlanPaidBy(
  client: Queryable,
  purchaseId: string,
): Promise<PaidPlan | null> {
  const { rows } = await client.query<PaidPlan>(
    `select plan.*, paid.period_end
     from purchase paid join plan on plan.subscription_id = paid.subscription_id
     where paid.id = $1 and paid.kind = 'invoice'`,
    [purchaseId],
  );
  return rows[0] ?? null;
}

/** Returns whether the period that was paid for is over by our clock. */
export async function readWhenOver(
  dependencies: PaymentDependencies,
  plan: PaidPlan,
  at: string,
): Promise<boolean> {
  const isOver = plan.period_end.getTime() <= Date.parse(at);
  if (isOver && plan.revoked_at === null) await readPlan(dependencies, plan.subscription_id);
  return isOver;
}
