/**
 * The packages and prices that the public pages show, as they were when the pages were built.
 */
export type Package = {
  id: string;
  name: string;
  price_cents: number;
  credits: number;
  description: string;
  kind: 'one_time' | 'monthly';
};

export const packages: readonly Package[] = [
  {
    id: 'opportunity-finder',
    name: 'Opportunity Finder',
    price_cents: 500,
    credits: 10,
    description: 'Two fast runs and one ultra-economy run.',
    kind: 'one_time',
  },
  {
    id: 'side-gig-builder',
    name: 'Side-Gig Builder',
    price_cents: 2_500,
    credits: 50,
    description: 'Three balanced runs a month, and two fast ones.',
    kind: 'monthly',
  },
  {
    id: 'empire-builder',
    name: 'Empire Builder',
    price_cents: 15_000,
    credits: 400,
    description: 'Twenty-eight balanced runs a month.',
    kind: 'monthly',
  },
  {
    id: 'boost-20',
    name: 'Boost 20',
    price_cents: 1_000,
    credits: 20,
    description: 'One balanced run, one fast and one ultra-economy run.',
    kind: 'one_time',
  },
  {
    id: 'boost-50',
    name: 'Boost 50',
    price_cents: 2_500,
    credits: 50,
    description: 'Three balanced runs and two fast ones.',
    kind: 'one_time',
  },
  {
    id: 'boost-125',
    name: 'Boost 125',
    price_cents: 5_000,
    credits: 125,
    description: 'Eight balanced runs, and some to spare.',
    kind: 'one_time',
  },
];

/** Credits of one run, by strategy; the cheapest first. */
export const runPrices = [
  { strategy: 'Ultra-economy', credits: 2 },
  { strategy: 'Fast', credits: 4 },
  { strategy: 'Economy', credits: 5 },
  { strategy: 'Balanced', credits: 14 },
  { strategy: 'Premium', credits: 33 },
  { strategy: 'Comprehensive', credits: 49 },
  { strategy: 'Reasoning-focused', credits: 50 },
  { strategy: 'Ultra', credits: 104 },
] as const;
