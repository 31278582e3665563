import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queuePool } from '#services/platform/jobs/queue-pool.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase({ max: 2 });
  pool = queuePool(database.pool);
});

afterAll(async () => database.drop());

test('a statement whose connection is cut is repeated on another one', async () => {
  const client = await pool.connect();
  const { rows: backends } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const asked = client.query<{ answer: number }>({ text: 'select pg_sleep(2), 42 as answer' });
  const isAsleep = async () => {
    const { rows } = await database.ownerPool.query<{ pid: number }>(
      `select pid from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'`,
      [backends[0]?.pid],
    );
    return rows.length;
  };
  await expect.poll(isAsleep, { interval: 20 }).toBe(1);
  await database.ownerPool.query('select pg_terminate_backend($1)', [backends[0]?.pid]);
  expect((await asked).rows[0]?.answer).toBe(42);
  client.release();
  expect(database.pool.idleCount).toBe(database.pool.totalCount);
});

test('a refused connection is tried again', async () => {
  const name = new URL(database.appUrl).pathname.slice(1);
  await database.ownerPool.query(`alter database ${name} connection limit 0`);
  await database.ownerPool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = $1 and application_name = 'test' and usename <> current_user`,
    [name],
  );
  const asked = pool.connect();
  await sleep(300);
  await database.ownerPool.query(`alter database ${name} connection limit -1`);
  const client = await asked;
  expect((await client.query<{ answer: number }>('select 7 as answer')).rows[0]?.answer).toBe(7);
  client.release();
});

test('a wrong statement fails at once', async () => {
  const client = await pool.connect();
  await expect(client.query('select nothing from nowhere')).rejects.toThrow('nowhere');
  client.release();
});

test('a listening connection comes from the real pool', async () => {
  const { promise, resolve } = Promise.withResolvers<pg.PoolClient | undefined>();
  pool.connect((_error, client, done) => {
    resolve(client);
    done();
  });
  expect((await promise)?.listenerCount('error')).toBeGreaterThan(0);
});

test('after the pool has ended, a late statement neither begins nor fails', async () => {
  const ending = new pg.Pool({ connectionString: database.appUrl });
  const client = await queuePool(ending).connect();
  client.release();
  await ending.end();
  const late = queuePool(ending).connect();
  expect(await Promise.race([late, sleep(100, 'waits')])).toBe('waits');
});
