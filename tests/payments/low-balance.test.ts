import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lowBalanceEmail, mailLowBalance } from '#services/payments/emails/low-balance.ts';
import { issueToken, consume, give } from '#tests/support/processes/service.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

let shop: TestShop;
let now = Date.UTC(2026, 10, 20, 12);
const day = 86_400_000;

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
});
afterAll(async () => shop.close());

async function newPerson(credits: number): Promise<string> {
  const { userId } = await shop.signUp();
  await shop.core.pool.query('update users set email_confirmed_at = now() where id = $1', [userId]);
  await give(shop, userId, credits);
  return userId;
}

async function mailsOf(userId: string): Promise<number> {
  const { rowCount } = await shop.core.pool.query(
    `select from mail where user_id = $1 and kind = 'low-balance'`,
    [userId],
  );
  return rowCount ?? 0;
}

async function use(userId: string, credits: number): Promise<void> {
  const { secret } = await issueToken(shop);
  const response = await consume(shop, secret, { user_id: userId, credits });
  expect(response.status).toBe(201);
}

test('a balance that falls below 20 is emailed, at most once in seven days', async () => {
  const userId = await newPerson(60);
  await use(userId, 40);
  await shop.runJobs();
  expect(await mailsOf(userId)).toBe(0);
  await use(userId, 1);
  await shop.runJobs();
  await use(userId, 1);
  await shop.runJobs();
  expect(await mailsOf(userId)).toBe(1);
  await give(shop, userId, 2);
  await use(userId, 1);
  await shop.runJobs();
  expect(await mailsOf(userId)).toBe(1);
  now += 7 * day - 1;
  await mailLowBalance(shop.payments, { userId });
  expect(await mailsOf(userId)).toBe(1);
  now += 1;
  await Promise.all([1, 2, 3].map(async () => mailLowBalance(shop.payments, { userId })));
  expect(await mailsOf(userId)).toBe(2);
});

test('no email is sent when credits were added since or the address is not confirmed', async () => {
  const userId = await newPerson(20);
  await use(userId, 5);
  await give(shop, userId, 5);
  await shop.runJobs();
  expect(await mailsOf(userId)).toBe(0);
  const { userId: unproved } = await shop.signUp();
  await mailLowBalance(shop.payments, { userId: unproved });
  await mailLowBalance(shop.payments, { userId: `usr_${randomBytes(13).toString('hex')}` });
  expect(await mailsOf(unproved)).toBe(0);
});

test('a user who has switched it off gets no email', async () => {
  const userId = await newPerson(5);
  await shop.core.pool.query('update users set notify_low_balance = false where id = $1', [userId]);
  await mailLowBalance(shop.payments, { userId });
  expect(await mailsOf(userId)).toBe(0);
});

test('the email says how many credits are left and where there are more', () => {
  const email = (available: number) =>
    lowBalanceEmail({ available, productName: 'Sevenfold', publicUrl: 'https://sevenfold.test' });
  expect([0, 1, 19].map((available) => email(available).subject)).toEqual([
    'You have no credits left',
    'You have 1 credit left',
    'You have 19 credits left',
  ]);
  expect(email(3).closing).toEqual([
    'We send this when you have fewer than 20 credits, at most once a week. Turn it off under Emails and notifications in your Account Settings: https://sevenfold.test/profile',
  ]);
  expect(email(3).action).toEqual({
    label: 'Buy More Credits',
    url: 'https://sevenfold.test/credits/purchase',
  });
});
