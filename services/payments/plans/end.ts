import type { Queryable } from '#db/connect.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { checkSoon } from '#services/payments/purchases/rows.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { findPlanPaidBy, isCurrentPeriod, readWhenOver } from './period.ts';
import { beginReading, keepView, readPlan } from './read.ts';
import { findPlan, readPlans } from './rows.ts';
import type { PlanRow } from './rows.ts';
import { isLive, isPastDue } from './tier.ts';
import { actor, changePlansOf } from './user-tier.ts';

/** Ending a plan together with its tier. */

/**
 * Ends the plan whose present period, at the time `at`, a purchase paid for, and its tier. What was paid
 * for it after that time, or for a later period, goes back. Nothing happens for any other purchase, or
 * the second time.
 *
 * Once the period is over, a next one may have been paid that no webhook event has reported. That one
 * continues, so the provider is asked before anything ends.
 *
 * @throws Problem 503 while the provider is unavailable. The tier has ended by then and the sweep does
 *   the rest, unless the provider had to be asked whether the plan has renewed.
 */
export async function endPlanOf(
  dependencies: PaymentDependencies,
  purchaseId: string,
  at: string,
  as: 'refunded' | 'taken_back' = 'refunded',
): Promise<void> {
  const plan = await findPlanPaidBy(dependencies.pool, purchaseId);
  if (plan === null) return;
  const isOver = await readWhenOver(dependencies, plan, at);
  if (await isCurrentPeriod(dependencies.pool, purchaseId, at))
    await revoke(
      dependencies,
      plan,
      as,
      isOver ? lastMomentOf(plan.period_end) : new Date(at),
      plan.period_end,
    );
  await finishEnding(dependencies, plan.subscription_id);
}

/** Whatever is paid for the next period is paid after it, whosever clock is ahead. */
function lastMomentOf(periodEnd: Date): Date {
  return new Date(periodEnd.getTime() - 1);
}

/**
 * Also for a plan whose first payment has failed, of which nothing was ever paid: a buyer who then takes
 * another plan must not be charged for this one.
 */
export async function endAtProvider(
  dependencies: PaymentDependencies,
  subscriptionId: string,
): Promise<void> {
  const reading = await beginReading(dependencies.pool);
  const view = await dependencies.provider.cancelSubscription(subscriptionId);
  await keepView(dependencies, view, reading);
}

/** Ends every plan of a closed account, also those that have no row here. Nothing is paid back by that. */
export async function cancelPlansOf(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<void> {
  const { pool, provider, clock } = dependencies;
  for (const plan of await readPlans(pool, userId)) {
    if (plan.ended_at !== null) continue;
    await revoke(dependencies, plan, 'erased', new Date(clock()));
    await finishEnding(dependencies, plan.subscription_id);
  }
  const { rows } = await pool.query<{ customer_id: string }>(
    'select customer_id from stripe_customer where user_id = $1',
    [userId],
  );
  for (const { customer_id: customerId } of rows)
    for (const { subscriptionId, endedAt } of await provider.listSubscriptions(customerId))
      if (endedAt === null) await provider.cancelSubscription(subscriptionId);
}

/**
 * One user has one plan. Where two checkouts were paid, the plan that was paid later is ended and its
 * credits go back. A closed account has none.
 */
export async function endSurplusPlans(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<void> {
  const { pool, clock, billedPerson } = dependencies;
  const isGone = (await billedPerson(userId)) === null;
  if (isGone) return cancelPlansOf(dependencies, userId);
  if ((await paidAndLive(pool, userId)).length < 2) return;
  // These rows may be old: an older plan that has ended meanwhile makes no other plan the second.
  for (const { subscription_id: id } of await paidAndLive(pool, userId))
    await readPlan(dependencies, id);
  const [, ...later] = await paidAndLive(pool, userId);
  for (const plan of later) {
    await revoke(dependencies, plan, 'second', new Date(clock()));
    await finishEnding(dependencies, plan.subscription_id);
  }
}

/** In the order in which they were first paid, which does not depend on the order of events. */
async function paidAndLive(client: Queryable, userId: string): Promise<PlanRow[]> {
  const { rows } = await client.query<PlanRow>(
    `select * from plan where user_id = $1 and paid_since is not null
     order by paid_since, created_at, subscription_id`,
    [userId],
  );
  return rows.filter(isLive);
}

async function revoke(
  dependencies: PaymentDependencies,
  { subscription_id: subscriptionId, user_id: userId }: PlanRow,
  as: NonNullable<PlanRow['revoked_as']>,
  at: Date,
  from: Date | null = null,
): Promise<void> {
  await changePlansOf(dependencies, userId, async (client) => {
    const { rowCount } = await client.query(
      `update plan set revoked_at = $2, revoked_as = $3, updated_at = $4, revoked_from = $5
       where subscription_id = $1 and revoked_at is null`,
      [subscriptionId, at, as, new Date(dependencies.clock()), from],
    );
    if (rowCount === 1)
      await dependencies.audit(
        { actor, action: 'plan.ended', subject: subscriptionId, userId, detail: { reason: as } },
        client,
      );
  });
}

/**
 * The rest of ending a plan: what was paid for nothing goes back, and the provider takes no more. In this
 * order, so that nothing is left to do for a plan that has ended at the provider.
 *
 * A plan that was cancelled while its renewal was about to fail ends here, too: its user has paid for all that
 * they wanted, and the provider would try again.
 */
export async function finishEnding(
  dependencies: PaymentDependencies,
  subscriptionId: string,
): Promise<void> {
  const plan = await findPlan(dependencies.pool, subscriptionId);
  if (plan === null) return;
  const isRevoked = plan.revoked_at !== null;
  if (isRevoked) await returnPaidForNothing(dependencies, plan);
  const isGivenUp = plan.cancel_at_period_end && isPastDue(plan);
  if (plan.ended_at === null && (isRevoked || isGivenUp))
    await endAtProvider(dependencies, subscriptionId);
}

/**
 * Of a second plan everything; of others what was paid after they had ended. What was used meanwhile
 * stays paid for. The erasure of an account asks for its own refunds.
 */
async function returnPaidForNothing(
  { pool, ledger, log, clock }: PaymentDependencies,
  plan: PlanRow,
): Promise<void> {
  if (plan.revoked_as === 'erased') return;
  const { rows } = await pool.query<{ id: string; lot_id: string }>(
    `select purchase.id, purchase.lot_id from purchase
     where subscription_id = $1 and kind = 'invoice' and status = 'paid' and lot_id is not null
       and ($2 = 'second' or period_start >= $3)
       and exists (select from paid_lot where paid_lot.lot_id = purchase.lot_id)
     order by paid_at`,
    [plan.subscription_id, plan.revoked_as, plan.revoked_from],
  );
  for (const { id, lot_id: lotId } of rows)
    try {
      await checkSoon(pool, id, new Date(clock()));
      await ledger.requestRefund({
        userId: plan.user_id,
        lotId,
        refundId: derivedId('ref', lotId, 'ended-plan'),
        requestedAt: new Date(clock()).toISOString(),
        reason: 'operator',
        actor,
      });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 409) throw error;
      log.warn(
        { resource_id: id, user_id: plan.user_id, code: error.code },
        'A payment for a plan that had ended could not be returned',
      );
    }
}
