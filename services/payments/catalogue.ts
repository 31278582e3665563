import * as v from 'valibot';
import { Package } from './contract.ts';

/**
 * What can be bought, checked when the module is loaded. Prices are in minor units without tax, and
 * fixed per currency. An id, once sold, is never given another meaning: purchases and events name it.
 */
export const packages: readonly Package[] = v.parse(v.array(Package), [
  {
    id: 'opportunity-finder',
    name: 'Opportunity Finder',
    price_usd: 5,
    price_cents: 500,
    currency: 'usd',
    credits: 10,
    description: 'Two Fast runs and one Ultra Economy run.',
    kind: 'one_time',
    popular: false,
    tier: null,
  },
  {
    id: 'side-gig-builder',
    name: 'Side-Gig Builder',
    price_usd: 25,
    price_cents: 2_500,
    currency: 'usd',
    credits: 50,
    description: 'Three Balanced runs and two Fast runs a month.',
    kind: 'monthly',
    popular: true,
    tier: 'pro',
  },
  {
    id: 'empire-builder',
    name: 'Empire Builder',
    price_usd: 150,
    price_cents: 15_000,
    currency: 'usd',
    credits: 400,
    description: '28 Balanced runs a month.',
    kind: 'monthly',
    popular: false,
    tier: 'scale',
  },
  {
    id: 'boost-20',
    name: 'Boost 20',
    price_usd: 10,
    price_cents: 1_000,
    currency: 'usd',
    credits: 20,
    description: 'One Balanced run, one Fast run, and one Ultra Economy run.',
    kind: 'one_time',
    popular: false,
    tier: null,
  },
  {
    id: 'boost-50',
    name: 'Boost 50',
    price_usd: 25,
    price_cents: 2_500,
    currency: 'usd',
    credits: 50,
    description: 'Three Balanced runs and two Fast runs.',
    kind: 'one_time',
    popular: false,
    tier: null,
  },
  {
    id: 'boost-125',
    name: 'Boost 125',
    price_usd: 50,
    price_cents: 5_000,
    currency: 'usd',
    credits: 125,
    description: 'Eight Balanced runs, with credits to spare.',
    kind: 'one_time',
    popular: false,
    tier: null,
  },
]);

export function packageOf(id: string): Package | null {
  return packages.find((one) => one.id === id) ?? null;
}

/** As people read it, also in the lines of their ledger; the id of what is no longer in the catalogue. */
export function packageName(id: string): string {
  return packageOf(id)?.name ?? id;
}

/** USD of the one-time package with so many credits; null for none. */
export function oneTimePrice(credits: number): number | null {
  const sold = packages.find((one) => one.kind === 'one_time' && one.credits === credits);
  return sold?.price_usd ?? null;
}

/** USD for a credit in the package that sells it for least. */
export const cheapestCredit: number = Math.min(
  ...packages.map(({ price_usd: price, credits }) => price / credits),
);
