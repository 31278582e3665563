import { Logger, run } from 'graphile-worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cronOf, tasksOf, type Sweep } from '#services/platform/jobs/sweeps.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ max: 10 });
});

afterAll(async () => database.drop());

test('a sweep that was missed while no worker ran happens once over several workers', async () => {
  await database.pool.query(
    `insert into graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
     values ('count', now() - interval '1 day', now() - interval '5 hours')`,
  );
  let runs = 0;
  const sweeps: Record<string, Sweep> = {
    count: { every: 'hour', sweep: async () => (runs += 1) },
  };
  const runners = await Promise.all(
    Array.from({ length: 3 }, async () =>
      run({
        pgPool: database.pool,
        taskList: tasksOf(sweeps),
        parsedCronItems: cronOf(sweeps),
        noHandleSignals: true,
        logger: new Logger(() => () => undefined),
      }),
    ),
  );
  await expect.poll(() => runs).toBe(1);
  const waiting = async () =>
    (await database.pool.query('select from graphile_worker._private_jobs')).rowCount;
  await expect.poll(waiting).toBe(0);
  for (const runner of runners) await runner.stop();
  expect(runs).toBe(1);
});
