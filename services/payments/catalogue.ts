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
    description: 'Two fast runs and one ultra-economy run.',
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
    description: 'Three balanced runs a month, and two fast ones.',
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
    description: 'Twenty-eight balanced runs a month.',
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
    description: 'One balanced run, one fast and one ultra-economy run.',
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
    description: 'Three balanced runs and two fast ones.',
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
    description: 'Eight balanced runs, and some to spare.',
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

/** USD for a credit in the package that sells it for least. */
export const cheapestCredit: number = Math.min(
  ...packages.map(({ price_usd: price, credits }) => price / credits),
);
