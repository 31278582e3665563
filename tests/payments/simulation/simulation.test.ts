import { expect, onTestFinished, test } from 'vitest';
import { eventColumns, recordedEvent } from '#db/recorded-event.ts';
import type { EventRow } from '#db/recorded-event.ts';
import { settle } from '#services/payments/settle/settle.ts';
import { askBack, bought } from '#tests/payments/purchases/bought.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { createWatch } from './ledger-watch.ts';
import { report, simulate } from './simulate.ts';
import { createTruth } from './truth.ts';

/**
 * Money under everything that can happen to it. A seed is a life: `MONEY_SEED=1234` lives that one,
 * `MONEY_STEPS=2000` for so long.
 */
/** A life so full that few kinds of events are missing from it, short as it is. */
const seed = Number(process.env['MONEY_SEED'] ?? 10);
const steps = Number(process.env['MONEY_STEPS'] ?? 150);

test(
  'people buy, run, refund and dispute while processes die, and every credit is tied to a payment',
  { timeout: 60_000 + steps * 1_000 },
  async () => {
    const simulated = await simulate({ seed, steps });
    console.info(`Money, seed ${seed}: ${steps} steps\n  ${report([simulated])}`);
    expect(simulated.steps).toBe(steps);
  },
);

test('the simulation does not count a refund of ours in a clawback that was set before it', async () => {
  const now = Date.parse('2026-11-20T12:00:00.000Z');
  const shop = await createTestShop({ clock: () => now });
  onTestFinished(async () => shop.close());
  const one = await bought(shop, 'boost-50');
  // 44 credits are the bank's; with our refund of the other 6, the amounts alone would make it 50.
  shop.stripe.refundAtBank(one.intentId, 2_189);
  await settle(shop.payments, one);
  await askBack(shop, one);
  await shop.runJobs();
  const { rows } = await shop.database.pool.query<EventRow>(
    `select ${eventColumns} from emt_messages m order by m.global_position`,
  );
  const truth = createTruth(shop.stripe);
  const watch = createWatch({ truth, now: () => now, limitOf: () => 0 });
  watch.take(rows.map(recordedEvent));
  const [lot] = watch.accountOf(one.person.userId).lots.values();
  expect(lot).toMatchObject({ available: 0, revoked: 44, cashPending: 0, cashRefunded: 6 });
  expect(truth.refundsOf(one.intentId).map(({ amount }) => amount)).toEqual([2_189, 300]);
});
