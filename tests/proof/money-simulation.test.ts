import { randomInt } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { report, simulate } from '#tests/payments/simulation/simulate.ts';
import type { Simulated } from '#tests/payments/simulation/simulate.ts';

/**
 * Money under everything that can happen to it: each seed is a new set of users who buy, run, refund and
 * dispute while processes die. The first seed is random and the others follow it, so that every proof covers
 * new cases. `MONEY_SEED=1234` sets the first seed, `MONEY_SEEDS` their number, `MONEY_STEPS` their length.
 */
const steps = Number(process.env['MONEY_STEPS'] ?? 500);
const count = Number(process.env['MONEY_SEEDS'] ?? 40);
const first = Number(process.env['MONEY_SEED'] ?? randomInt(2 ** 31));
const seeds = Array.from({ length: count }, (_, index) => first + index);

const lived: Simulated[] = [];

afterAll(() => {
  const all = lived.reduce((sum, one) => sum + one.steps, 0);
  const words = `Money, seeds ${first} to ${first + count - 1}: ${lived.length} of ${count} held`;
  console.info(`${words}, ${all} steps\n  ${report(lived)}`);
});

test.each(seeds)(
  `every credit is tied to a payment throughout the ${steps} steps of seed %i`,
  { timeout: 60_000 + steps * 2_000 },
  async (seed) => {
    const simulated = await simulate({ seed, steps });
    lived.push(simulated);
    expect(simulated.steps).toBe(steps);
  },
);
