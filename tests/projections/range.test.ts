import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventRange } from '#projections/engine/range.ts';
import { creditHistory } from '#projections/credit-history.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let db: TestDatabase;
const events = 20_000;

/** An event for each transaction, as they would be stored. */
beforeAll(async () => {
  db = await createTestDatabase();
  await db.ownerPool.query(
    `insert into emt_messages (stream_id, stream_position, partition, message_kind, message_data,
       message_metadata, message_schema_version, message_type, message_id, transaction_id)
     select 'credits-usr_' || number % 100, number / 100 + 1, 'emt:default', 'E', '{}', '{}', '1',
       'CreditsGranted', gen_random_uuid()::text, number::text::xid8
     from generate_series(1, $1) as number`,
    [events],
  );
  await db.ownerPool.query('analyze emt_messages');
});
afterAll(async () => db.drop());

test('the planner knows how much of the log a page in its middle is', async () => {
  const { rows: places } = await db.pool.query<{ transactionId: string; globalPosition: string }>(
    `select transaction_id::text as "transactionId", global_position::text as "globalPosition"
     from emt_messages where transaction_id in ('10000', '10200') order by transaction_id`,
  );
  const range = eventRange(
    { projection: creditHistory, table: creditHistory.name },
    places[0]!,
    places[1],
  );
  const { rows } = await db.pool.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select * from ${range} page`,
  );
  expect(rows[0]!['QUERY PLAN'][0].Plan['Plan Rows']).toBeLessThan(1_000);
});
