import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import type { Tier } from '#services/identity/contract/session.ts';
import type { Audit } from '#services/platform/audit.ts';
import { readPlans } from './rows.ts';
import { higherTier, tierOf, tierUntil } from './tier.ts';
import { lockTiers } from './user-tier.ts';

export type TierGrant = { userId: string; tier: Tier; reason: string; actor: string };

export type TierGranted =
  | { outcome: 'set'; from: Tier; to: Tier; paid: Tier | null }
  /** A paid plan brings a higher tier; `until`: milliseconds since 1970. */
  | { outcome: 'refused'; paid: Tier; until: number }
  | { outcome: 'unknown' };

/**
 * Gives a user a tier for good, beside their plans; `free` takes it back. It never lowers what a user
 * has paid for.
 */
export async function grantTier(
  { pool, clock, audit }: { pool: pg.Pool; clock: () => number; audit: Audit },
  { userId, tier, reason, actor }: TierGrant,
): Promise<TierGranted> {
  return inTransaction(pool, async (client) => {
    const tiers = await lockTiers(client, userId);
    if (tiers === null) return { outcome: 'unknown' };
    const now = clock();
    const plans = await readPlans(client, userId);
    const brought = tierOf(plans, now);
    const paid = brought === 'free' ? null : brought;
    if (paid !== null && higherTier(paid, tier) !== tier)
      return {
        outcome: 'refused',
        paid,
        until: Math.max(...plans.map((plan) => tierUntil(plan) ?? 0)),
      };
    const { current: from, granted } = tiers;
    const given = tier === 'free' ? null : tier;
    await client.query(
      `update users set granted_tier = $2, subscription_tier = $3, updated_at = $4 where id = $1`,
      [userId, given, tier, new Date(now)],
    );
    const detail = { from, to: tier, granted_before: granted, reason };
    await audit({ actor, action: 'tier.granted', subject: userId, userId, detail }, client);
    return { outcome: 'set', from, to: tier, paid };
  });
}
