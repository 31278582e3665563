import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Transaction } from '#services/credits/contract.ts';
import { creditExport } from '#services/credits/export.ts';
import { packageName } from '#services/payments/catalogue.ts';
import type { Purchase } from '#services/payments/contract.ts';
import { Statement, StatementMonths } from '#services/payments/contract.ts';
import { statementCsv } from '#services/payments/statement.ts';
import type { Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { consume, give, issueToken } from '#tests/support/processes/service.ts';

/** One person's credits over three months. */
let shop: TestShop;
let ann: Person;
let token: string;
let now = Date.UTC(2026, 8, 30, 23, 59, 59, 999);

beforeAll(async () => {
  shop = await createTestShop({ clock: () => now });
  ann = await shop.signUp();
  const { secret } = await issueToken(shop);
  // The last millisecond of September, and the first of October.
  await give(shop, ann.userId, 5, 'bonus');
  now += 1;
  await shop.buy(ann, 'boost-20');
  await consume(shop, secret, { user_id: ann.userId, credits: 8 });
  const [bought] = await shop.data<Purchase[]>('/credits/purchases', { token: ann.token });
  await shop.data(`/credits/purchases/${bought?.id}/refund`, { token: ann.token, method: 'POST' });
  await shop.deliver();
  now = Date.UTC(2026, 10, 20, 12);
  await give(shop, ann.userId, 7);
  const body = { email: ann.email, password: testPassword };
  token = (await shop.data<{ token: string }>('/auth/login', { body })).token;
});
afterAll(async () => shop.close());

async function statementOf(month: string): Promise<Statement> {
  const path = `/credits/statements/${month}`;
  return v.parse(Statement, await shop.data<Statement>(path, { token }));
}

test('the months with lines are listed, newest first', async () => {
  const months = await shop.data<StatementMonths>('/credits/statements', { token });
  expect(v.parse(StatementMonths, months)).toEqual(['2026-11', '2026-10', '2026-09']);
});

test('a month opens with what the one before closed with, and its lines make the difference', async () => {
  const all = [];
  for (const month of ['2026-08', '2026-09', '2026-10', '2026-11'])
    all.push(await statementOf(month));
  expect(all.map((one) => [one.opening_balance, one.closing_balance, one.lines.length])).toEqual([
    [0, 0, 0],
    [0, 5, 1],
    [5, 0, 3],
    [0, 7, 1],
  ]);
  for (const { opening_balance: opening, closing_balance: closing, lines, totals } of all) {
    expect(lines.reduce((sum, { amount }) => sum + amount, opening)).toBe(closing);
    expect(opening + totals.purchased + totals.bonus - totals.consumed + totals.other).toBe(
      closing,
    );
    expect(lines.at(-1)?.balance_after ?? closing).toBe(closing);
  }
  expect(all.map((one) => one.is_running)).toEqual([false, false, false, true]);
  expect(all[2]).toMatchObject({ name: 'A Person', email: ann.email });
});

test('each line leads to its lots, their purchase and the money that moved', async () => {
  const { lines, totals } = await statementOf('2026-10');
  expect(totals).toEqual({ purchased: 20, bonus: 0, consumed: 8, other: -17 });
  const [purchase, use, refund] = lines;
  const [bought] = await shop.data<Purchase[]>('/credits/purchases', { token });
  const lot = {
    lot_id: bought?.lot_id,
    purchase_id: bought?.id,
    receipt_url: bought?.receipt_url,
  };
  expect(purchase).toMatchObject({
    amount: 20,
    purchase_id: bought?.id,
    payment: { amount_cents: 1_000, currency: 'usd', receipt_url: bought?.receipt_url },
    lots: [{ ...lot, credits: 20 }],
  });
  expect(use).toMatchObject({ amount: -8, payment: null });
  // Bonus credits are drawn first, and have no purchase.
  expect(use?.lots).toMatchObject([
    { credits: 5, purchase_id: null, receipt_url: null },
    { ...lot, credits: 3 },
  ]);
  expect(refund).toMatchObject({
    amount: -17,
    reason_code: 'cash_refund',
    purchase_id: bought?.id,
    payment: { amount_cents: -850, currency: 'usd' },
    lots: [{ ...lot, credits: 17 }],
  });
});

test('a package has the name of the catalogue in history, statement, file and export', async () => {
  const person = await shop.signUp();
  await shop.buy(person, 'side-gig-builder');
  const words = 'Purchase: Side-Gig Builder';
  const [line] = await shop.data<Transaction[]>('/credits/history', { token: person.token });
  expect(line?.description).toBe(words);
  const path = `/credits/statements/${line?.created_at.slice(0, 7)}`;
  const statement = await shop.data<Statement>(path, { token: person.token });
  expect(statement.lines.map(({ description }) => description)).toEqual([words]);
  const file = await shop.call(`${path}?format=csv`, { token: person.token });
  expect(await file.text()).toContain(`,${words},`);
  const exported = creditExport({ ...shop.core, packageName });
  const rows = await Array.fromAsync(exported.rows(person.userId));
  expect(rows.find(([table]) => table === 'credit_history')?.[1]).toMatchObject({
    description: words,
  });
});

test('a statement shows nothing of another user', async () => {
  const other = await shop.signUp();
  const statement = await shop.data<Statement>('/credits/statements/2026-10', {
    token: other.token,
  });
  expect([statement.lines, statement.closing_balance]).toEqual([[], 0]);
});

test('a future month has no statement, and an invalid month is refused', async () => {
  const answer = async (path: string) => {
    const response = await shop.call(`/credits/statements/${path}`, { token });
    const { code, errors } = (await response.json()) as {
      code: string;
      errors: { field: string }[];
    };
    return [response.status, code, errors.map(({ field }) => field)];
  };
  expect(await answer('2026-12')).toEqual([404, 'not-found', []]);
  for (const bad of ['2026-13', '2026-00', '2026-1', '1026-10', '2026-10-01', 'october'])
    expect(await answer(bad)).toEqual([400, 'validation', ['month']]);
  expect(await answer('2026-10?format=pdf')).toEqual([400, 'validation', ['format']]);
  expect(await answer('2026-10?month=2026-09')).toEqual([400, 'validation', ['']]);
});

test('a statement as CSV has the same lines between its balances, and no cell is a formula', async () => {
  const response = await shop.call('/credits/statements/2026-10?format=csv', { token });
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
  expect(response.headers.get('content-disposition')).toBe(
    'attachment; filename="statement-2026-10.csv"',
  );
  expect(response.headers.get('cache-control')).toBe('no-store');
  const rows = (await response.text()).split('\r\n').map((line) => line.split(','));
  expect(rows.at(-1)).toEqual(['']);
  expect(rows.map((row) => row.length).slice(0, -1)).toEqual(Array.from({ length: 6 }, () => 14));
  expect(rows[1]?.slice(3, 6)).toEqual(['Opening balance', '', '5']);
  expect([rows[2]?.[4], rows[2]?.[10], rows[4]?.[4], rows[4]?.[10]]).toEqual([
    '20',
    '10',
    '-17',
    '-8.5',
  ]);
  expect(rows[5]?.slice(3, 6)).toEqual(['Closing balance', '', '0']);
  const statement = await statementOf('2026-10');
  // A run that two lots paid for says how much of each.
  expect(rows[0]?.slice(7, 9)).toEqual(['lot_ids', 'lot_credits']);
  const { lots = [] } = statement.lines[1] ?? {};
  expect(rows[3]?.slice(7, 9)).toEqual([lots.map(({ lot_id: id }) => id).join(' '), '5 3']);
  const [line] = statement.lines;
  if (!line) throw new Error('There is a line');
  const id = randomUUID();
  const hostile = { ...line, id, description: '=HYPERLINK("https://evil.example","a, b")' };
  expect(statementCsv({ ...statement, lines: [hostile] })).toContain(
    `,"'=HYPERLINK(""https://evil.example"",""a, b"")",`,
  );
});
