import { describe, expect, it } from 'vitest';
import { strategies } from '#services/models/strategies.ts';
import { packages, runPrices } from '#web/features/home/catalogue.ts';

describe('the prices on the home page', () => {
  it('name every strategy at the price that a run of it is charged, the cheapest first', () => {
    const charged = strategies
      .map(({ id, credits }) => ({ strategy: id, credits }))
      .toSorted((one, other) => one.credits - other.credits);
    const shown = runPrices.map(({ strategy, credits }) => ({
      strategy: strategy.toLowerCase(),
      credits,
    }));
    expect(shown).toEqual(charged);
  });

  it('are those of the specification', () => {
    expect(
      packages.map(({ name, price_cents, credits, kind }) => [name, price_cents, credits, kind]),
    ).toEqual([
      ['Opportunity Finder', 500, 10, 'one_time'],
      ['Side-Gig Builder', 2_500, 50, 'monthly'],
      ['Empire Builder', 15_000, 400, 'monthly'],
      ['Boost 20', 1_000, 20, 'one_time'],
      ['Boost 50', 2_500, 50, 'one_time'],
      ['Boost 125', 5_000, 125, 'one_time'],
    ]);
  });
});
