import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { Problem } from '#services/platform/problem.ts';
import { endSurplusPlans, finishEnding } from './end.ts';
import { readPlan } from './read.ts';
import type { PlanRow } from './rows.ts';
import { changePlansOf, readAgainMs } from './user-tier.ts';

/** Plans in one pass. */
const sweepAtOnce = 20;

/**
 * Checks plans whose tier may have ended, that were ended and not finished, or that were not read for a
 * day. Returns how many were due.
 */
export async function sweepPlans(dependencies: PaymentDependencies): Promise<number> {
  const { log } = dependencies;
  const due = await takeDue(dependencies);
  let isUnavailable = false;
  for (const { subscription_id: subscriptionId, user_id: userId } of due)
    try {
      // A tier ends on time also while the provider is unavailable, which may be for good.
      if (isUnavailable) await changePlansOf(dependencies, userId, async () => undefined);
      else await check(dependencies, subscriptionId, userId);
    } catch (error) {
      isUnavailable = error instanceof Problem && error.status === 503;
      log.warn({ err: error, user_id: userId }, 'A plan could not be checked');
      await changePlansOf(dependencies, userId, async () => undefined);
    }
  return due.length;
}

/** A plan is taken by moving its next check, which comes soon should this one fail. */
async function takeDue({ pool, clock }: PaymentDependencies): Promise<PlanRow[]> {
  const { rows } = await pool.query<PlanRow>(
    `update plan set next_check_at = $2 where subscription_id in (
       select subscription_id from plan where next_check_at <= $1
       order by next_check_at limit $3 for update skip locked)
     returning *`,
    [new Date(clock()), new Date(clock() + readAgainMs), sweepAtOnce],
  );
  return rows;
}

async function check(
  dependencies: PaymentDependencies,
  subscriptionId: string,
  userId: string,
): Promise<void> {
  await readPlan(dependencies, subscriptionId);
  await finishEnding(dependencies, subscriptionId);
  await endSurplusPlans(dependencies, userId);
}
