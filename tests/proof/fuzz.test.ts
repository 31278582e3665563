import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fuzz } from '#tests/fuzz/calls.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** Calls by chance, for long: `FUZZ_SEED` begins with that one, `FUZZ_CALLS` says how many there are. */
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const calls = Number(process.env['FUZZ_CALLS'] ?? 100_000);
/** At once: more of them would only wait for one another. */
const callers = 8;

let shop: TestShop;
beforeAll(async () => {
  shop = await createTestShop();
});
afterAll(async () => shop.close());

test(
  `F1: ${calls} calls of seed ${seed} find no fault`,
  { timeout: 120_000 + calls * 500 },
  async () => {
    const { answered, repeats, failures } = await fuzz(shop, { seed, calls, callers });
    console.info(`Fuzzing, seed ${seed}: ${calls} calls, ${repeats} repeats`, answered);
    expect(failures).toEqual([]);
  },
);
