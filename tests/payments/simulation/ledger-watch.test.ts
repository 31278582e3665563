import { afterAll, beforeAll, test } from 'vitest';
import { eventColumns, recordedEvent } from '#db/recorded-event.ts';
import type { EventRow } from '#db/recorded-event.ts';
import { settle } from '#services/payments/settle/settle.ts';
import { askBack, bought } from '#tests/payments/purchases/bought.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { createWatch } from './ledger-watch.ts';
import { createTruth } from './truth.ts';

let shop: TestShop;
const now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
afterAll(async () => shop.close());

test('a refund of ours that is made after a clawback is not expected in that clawback', async () => {
  const one = await bought(shop, 'boost-50');
  shop.stripe.refundAtBank(one.intentId, 2_189);
  await settle(shop.payments, one);
  await askBack(shop, one);
  await shop.runJobs();
  const { rows } = await shop.database.pool.query<EventRow>(
    `select ${eventColumns} from emt_messages m order by m.global_position`,
  );
  const watch = createWatch({ truth: createTruth(shop.stripe), now: () => now, limitOf: () => 0 });
  watch.take(rows.map(recordedEvent));
});
