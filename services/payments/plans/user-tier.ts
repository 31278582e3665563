import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import type { Tier } from '#services/identity/contract/session.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { readPlans } from './rows.ts';
import type { PlanRow } from './rows.ts';
import { higherTier, tierOf, tierUntil } from './tier.ts';

export const actor = 'system:plans';

/** A live plan is read again after so long, in case a webhook event of it was lost. */
const readEveryMs = 86_400_000;

/** After a reading that failed. */
export const readAgainMs = 600_000;

/**
 * Changes the plans of one user and then their tier. The lock on the user's row lets one process at a
 * time do so, with the plans as they are then.
 */
export async function changePlansOf(
  dependencies: PaymentDependencies,
  userId: string,
  work: (client: pg.ClientBase) => Promise<unknown>,
): Promise<void> {
  await inTransaction(dependencies.pool, async (client) => {
    const tiers = await lockTiers(client, userId);
    await work(client);
    await writeTier(dependencies, client, userId, tiers);
  });
}

export type UserTiers = { current: Tier; granted: Tier | null };

/** Locks the user's row. Null for an erased account. */
export async function lockTiers(client: pg.ClientBase, userId: string): Promise<UserTiers | null> {
  const { rows } = await client.query<UserTiers>(
    `select subscription_tier as current, granted_tier as granted from users
     where id = $1 for update`,
    [userId],
  );
  return rows[0] ?? null;
}

async function writeTier(
  { clock, audit }: PaymentDependencies,
  client: pg.ClientBase,
  userId: string,
  tiers: UserTiers | null,
): Promise<void> {
  const at = new Date(clock());
  const plans = await readPlans(client, userId);
  for (const plan of plans) {
    const next = nextCheckOf(plan, at.getTime());
    if (next?.getTime() !== plan.next_check_at?.getTime())
      await client.query('update plan set next_check_at = $2 where subscription_id = $1', [
        plan.subscription_id,
        next,
      ]);
  }
  const brought = tierOf(plans, at.getTime());
  if (brought === null || tiers === null) return;
  const { current, granted } = tiers;
  const tier = higherTier(brought, granted);
  if (tier === current) return;
  await client.query('update users set subscription_tier = $2, updated_at = $3 where id = $1', [
    userId,
    tier,
    at,
  ]);
  await audit(
    { actor, action: 'tier.changed', subject: userId, userId, detail: { from: current, to: tier } },
    client,
  );
}

/**
 * When its tier ends, and a day after the last reading while the plan may still change. A plan that we
 * have ended stays due until the provider has ended it, too.
 */
function nextCheckOf(plan: PlanRow, atMs: number): Date | null {
  const until = tierUntil(plan);
  const readAt = plan.checked_at.getTime() + readEveryMs;
  const times = [
    ...(until !== null && until > atMs ? [until] : []),
    ...(plan.ended_at === null
      ? [plan.revoked_at === null ? Math.max(atMs + readAgainMs, readAt) : atMs]
      : []),
  ];
  return times.length === 0 ? null : new Date(Math.min(...times));
}
