import type { Tier } from '#services/identity/contract/session.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import { paymentLimits, tiers } from '#services/payments/contract.ts';
import type { PlanRow } from './rows.ts';

type TierFields = Pick<
  PlanRow,
  | 'package_id'
  | 'status'
  | 'current_period_end'
  | 'past_due_since'
  | 'cancel_at_period_end'
  | 'ended_at'
  | 'paid_until'
  | 'revoked_at'
>;

const graceMs = paymentLimits.pastDueDays * 86_400_000;

/**
 * When a plan's tier ends, as far as is known. Null when it brings none: nothing of it was paid yet, or
 * we have ended it.
 *
 * A paid period is kept to its end, also when the plan is cancelled. Where the provider says that the plan
 * ended with its period or later, that end has come, whatever our clock says.
 *
 * After the paid period a live plan has some days of grace: since its payment failed, or, while a renewal
 * is unreported, since the period ended. A cancelled one has none.
 */
export function tierUntil(plan: TierFields): number | null {
  const { status, revoked_at: revokedAt, paid_until: paidUntil } = plan;
  if (revokedAt !== null || paidUntil === null) return null;
  const paid = paidUntil.getTime();
  if (plan.ended_at !== null) return plan.ended_at.getTime() < paid ? paid : null;
  switch (status) {
    case 'active':
    case 'trialing': {
      if (!plan.cancel_at_period_end) return paid + graceMs;
      const periodEnd = plan.current_period_end?.getTime() ?? paid;
      return Math.max(paid, Math.min(periodEnd, paid + graceMs));
    }
    case 'past_due':
    case 'unpaid':
      return Math.max(paid, (plan.past_due_since?.getTime() ?? paid) + graceMs);
    case 'incomplete':
    case 'incomplete_expired':
    case 'canceled':
    case 'paused':
      return paid;
  }
}

/**
 * The highest tier that a user's plans bring now. Null for a user who never paid for a plan, whose tier
 * was set in another way.
 */
export function tierOf(plans: readonly TierFields[], nowMs: number): Tier | null {
  const paid = plans.filter((plan) => plan.paid_until !== null);
  if (paid.length === 0) return null;
  const brought = paid
    .filter((plan) => nowMs < (tierUntil(plan) ?? 0))
    .map((plan) => packageOf(plan.package_id)?.tier ?? 'free');
  return tiers.findLast((tier) => brought.includes(tier)) ?? 'free';
}

/** Of what the plans bring and what an operator granted. */
export function higherTier(brought: Tier | null, granted: Tier | null): Tier {
  return tiers.findLast((tier) => tier === brought || tier === granted) ?? 'free';
}

/** Its last payment has failed, and the provider tries again. */
export function isPastDue({ status }: Pick<PlanRow, 'status'>): boolean {
  return status === 'past_due' || status === 'unpaid';
}

/** It charges every month, or tries to. */
export function isLive({ status, ended_at: endedAt, revoked_at: revokedAt }: PlanRow): boolean {
  if (endedAt !== null || revokedAt !== null) return false;
  return status !== 'incomplete' && status !== 'incomplete_expired' && status !== 'canceled';
}
