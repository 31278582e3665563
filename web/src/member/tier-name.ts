import type { Tier } from '#services/identity/contract/session.ts';
import type { Package } from '#services/payments/contract.ts';

/** What the bar calls a tier: the package that brings it, or how everyone else pays. */
export function tierName(
  tier: Tier,
  packages: readonly Pick<Package, 'tier' | 'name'>[] = import.meta.env.PACKAGES ?? [],
): string {
  return packages.find((one) => one.tier === tier)?.name ?? 'Pay-as-you-grow';
}

/** The name of a subscription tier. */
export const planWords: Readonly<Record<Tier, string>> = {
  free: 'Free Plan',
  pro: 'Pro Plan',
  scale: 'Scale Plan',
};
