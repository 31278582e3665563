import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('the application reads events and cannot write them', async () => {
  const { rows } = await database.pool.query('select from emt_messages');
  expect(rows).toEqual([]);
});
