import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fuzz } from '#tests/fuzz/calls.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** Many random calls: `FUZZ_SEED` sets the first seed, `FUZZ_CALLS` their number. */
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const calls = Number(process.env['FUZZ_CALLS'] ?? 100_000);
/** Concurrent callers; more would only wait for each other. */
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
