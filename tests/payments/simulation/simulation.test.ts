import { expect, test } from 'vitest';
import { report, simulate } from './simulate.ts';

/**
 * Money under everything that can happen to it. A seed is a life: `MONEY_SEED=1234` lives that one,
 * `MONEY_STEPS=2000` for so long.
 */
const seed = Number(process.env['MONEY_SEED'] ?? 20_261_120);
const steps = Number(process.env['MONEY_STEPS'] ?? 300);

test(
  'people buy, run, refund and dispute while processes die, and every credit is tied to a payment',
  { timeout: 60_000 + steps * 1_000 },
  async () => {
    const simulated = await simulate({ seed, steps });
    console.info(`Money, seed ${seed}: ${steps} steps\n  ${report([simulated])}`);
    expect(simulated.steps).toBe(steps);
  },
);
