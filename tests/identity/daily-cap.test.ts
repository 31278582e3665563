import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDailyCap } from '#services/identity/daily-cap.ts';
import { issueServiceToken, listServiceTokens } from '#services/identity/service-tokens.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
let now = Date.UTC(2026, 10, 20, 12);

beforeAll(async () => {
  database = await createTestDatabase({ max: 10 });
});
afterAll(async () => database.drop());

const within = () => createDailyCap(database.pool, () => now);
const spent = async () => ({ repeated: false });
const spentBefore = async () => ({ repeated: true });
const refuse = async () => Promise.reject(new Problem('insufficient-credits', 'Too few.'));
const fail = async () => Promise.reject(new Error('The database is gone'));
const busy = async () => Promise.reject(new Problem('busy', 'Come back.'));

async function token(dailyCap: number): Promise<string> {
  const wanted = {
    name: 'A service',
    scope: 'credits:consume',
    dailyCap,
    createdBy: 'operator:test',
  } as const;
  return (await issueServiceToken(database.pool, wanted, new Date(now))).id;
}

async function usedToday(id: string): Promise<number | undefined> {
  const tokens = await listServiceTokens(database.pool, new Date(now));
  return tokens.find((one) => one.id === id)?.usedToday;
}

test('concurrent calls share one count and never pass the cap together', async () => {
  const serviceId = await token(100);
  let running = 0;
  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, async () =>
      within()({ serviceId, commandId: randomUUID(), credits: 3 }, async () => {
        running += 1;
        return spent();
      }),
    ),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(33);
  expect([running, await usedToday(serviceId)]).toEqual([33, 99]);
});

test('a refused consumption is subtracted again and leaves no row', async () => {
  const serviceId = await token(10);
  const spending = { serviceId, commandId: randomUUID(), credits: 10 };
  await expect(within()(spending, refuse)).rejects.toMatchObject({ status: 402 });
  expect(await usedToday(serviceId)).toBe(0);
  await within()({ ...spending, commandId: randomUUID() }, spent);
  expect(await usedToday(serviceId)).toBe(10);
});

test.each([
  ['a fault', fail, 'gone'],
  ['no answer in time', busy, 'Come back'],
])('after %s it stays counted, and a repeat is not counted again', async (_, end, said) => {
  const serviceId = await token(10);
  const spending = { serviceId, commandId: randomUUID(), credits: 10 };
  await expect(within()(spending, end)).rejects.toThrow(said);
  expect(await usedToday(serviceId)).toBe(10);
  await within()(spending, spent);
  expect(await usedToday(serviceId)).toBe(10);
});

test('a repeat of a consumption without a response counts once', async () => {
  const serviceId = await token(10);
  const spending = { serviceId, commandId: randomUUID(), credits: 6 };
  await expect(within()(spending, fail)).rejects.toThrow('gone');
  await within()(spending, spentBefore);
  expect(await usedToday(serviceId)).toBe(6);
});

test('a repeat after its row was deleted takes nothing and counts nothing', async () => {
  const serviceId = await token(10);
  await within()({ serviceId, commandId: randomUUID(), credits: 6 }, spentBefore);
  expect(await usedToday(serviceId)).toBe(0);
});

test('a refused attempt does not remove the count of one that overtook it', async () => {
  const serviceId = await token(10);
  const spending = { serviceId, commandId: randomUUID(), credits: 6 };
  await within()(spending, async () => {
    await expect(within()(spending, refuse)).rejects.toMatchObject({ status: 402 });
    expect(await usedToday(serviceId)).toBe(6);
    return spent();
  });
  expect(await usedToday(serviceId)).toBe(6);
});

test('a consumption that midnight overtakes belongs to the day on which it began', async () => {
  const noon = now;
  const serviceId = await token(10);
  const spending = { serviceId, commandId: randomUUID(), credits: 6 };
  await expect(
    within()(spending, async () => {
      now += 86_400_000;
      return refuse();
    }),
  ).rejects.toMatchObject({ status: 402 });
  expect(await usedToday(serviceId)).toBe(0);
  now = noon;
  expect(await usedToday(serviceId)).toBe(0);
});

test('new rows delete old ones, and the counts of the days stay', async () => {
  const noon = now;
  const serviceId = await token(10);
  await within()({ serviceId, commandId: randomUUID(), credits: 4 }, spent);
  now += 3 * 86_400_000;
  await within()({ serviceId, commandId: randomUUID(), credits: 5 }, spent);
  now += 3 * 86_400_000;
  // Rows of the other tests are deleted as well, ten at a time.
  for (let credit = 0; credit < 6; credit += 1)
    await within()({ serviceId, commandId: randomUUID(), credits: 1 }, spent);
  const { rows } = await database.pool.query(
    'select credits from service_token_claim where token_id = $1',
    [serviceId],
  );
  const { rows: days } = await database.pool.query<{ credits: string }>(
    'select credits from service_token_day where token_id = $1 order by day',
    [serviceId],
  );
  expect(rows).toEqual(Array.from({ length: 6 }, () => ({ credits: 1 })));
  expect(days.map(({ credits }) => Number(credits))).toEqual([4, 5, 6]);
  now = noon;
});

test('a key that is reused for more, after an error left it counted, takes nothing', async () => {
  const serviceId = await token(10);
  const spending = { serviceId, commandId: randomUUID(), credits: 1 };
  await expect(within()(spending, busy)).rejects.toMatchObject({ status: 503 });
  await expect(within()({ ...spending, credits: 1_000 }, spent)).rejects.toMatchObject({
    status: 409,
    code: 'idempotency-mismatch',
  });
  await within()(spending, spent);
  expect(await usedToday(serviceId)).toBe(1);
});
