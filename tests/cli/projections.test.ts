import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAdvance } from '#projections/engine/advance.ts';
import { modelCosts } from '#projections/model-costs.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { operate } from '#tests/support/processes/operator.ts';
import type { Outcome } from '#tests/support/processes/operator.ts';
import { appendBadCall, repairBadCall } from '#tests/support/append.ts';

let database: TestDatabase;
let run: (...args: string[]) => Promise<Outcome>;

beforeAll(async () => {
  database = await createTestDatabase();
  const settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
  };
  run = async (...args) => operate(settings, 'projections', ...args);
});
afterAll(async () => database.drop());

test('every command names a stream that is set aside and ends with 1, until a retry succeeds', async () => {
  const { streamId, messageId } = await appendBadCall(database);
  const advance = createAdvance({ projection: modelCosts, pool: database.pool, limit: 50 });
  // A transaction that is open in another database of the cluster hides the event for a while.
  const streamsSetAside = async () => {
    await advance();
    const { rows } = await database.pool.query<{ stream_id: string }>(
      'select stream_id from projection_set_aside',
    );
    return rows;
  };
  await expect.poll(streamsSetAside).toEqual([{ stream_id: streamId }]);

  const line = `model_costs: ${streamId} is set aside since CallSucceeded ${messageId} (position 1): 22P02 invalid input syntax`;
  for (const args of [['status'], ['verify', 'model_costs'], ['retry', 'model_costs']]) {
    const { code, stdout } = await run(...args);
    expect([args, code, stdout]).toEqual([args, 1, expect.stringContaining(line)]);
  }
  const rebuilt = await run('rebuild', 'model_costs');
  expect([rebuilt.code, rebuilt.stdout]).toEqual([1, expect.stringContaining(line)]);

  const setAside = { streamId, event: { id: messageId, type: 'CallSucceeded', position: 1 } };
  const { stdout } = await run('status', '--json');
  expect(JSON.parse(stdout)).toContainEqual(
    expect.objectContaining({
      name: 'model_costs',
      setAside: { total: 1, streams: [expect.objectContaining(setAside)] },
    }),
  );

  await repairBadCall(database);
  const retried = await run('retry', '--all', '--json');
  expect(retried.code).toBe(0);
  expect(JSON.parse(retried.stdout)).toEqual([
    { projection: 'model_costs', streamId, sqlstate: null, error: null },
  ]);
  expect(await run('status')).toMatchObject({ code: 0 });
  expect(await run('verify', 'model_costs')).toMatchObject({ code: 0 });
  expect((await run('retry', '--all')).stdout).toBe('Nothing is set aside.\n');
});
