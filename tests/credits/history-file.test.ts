import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApiKey } from '#services/identity/api-keys/api-keys.ts';
import type { Transaction } from '#services/credits/contract.ts';
import { creditLimits } from '#services/credits/contract.ts';
import { historyCsv } from '#services/credits/history-csv.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { readCsv } from '#tests/platform/read-csv.ts';
import { give } from '#tests/support/processes/service.ts';

/** The credit history as a file. */
let app: TestApp;
let person: Person;

beforeAll(async () => {
  app = await createTestApp();
  person = await app.signUp();
  for (const credits of [5, 7, 9]) await give(app, person.userId, credits);
});
afterAll(async () => app.close());

const path = '/credits/history?format=csv';
const read = async (query = '', token = person.token) => app.call(`${path}${query}`, { token });
const amountsOf = async (query = '') => {
  const [names = [], ...rows] = readCsv(await (await read(query)).text());
  return rows.map((row) => Number(row[names.indexOf('amount')]));
};

test('the history as CSV has the lines of the JSON, and is kept in no cache', async () => {
  const lines = await app.data<Transaction[]>('/credits/history', { token: person.token });
  const answer = await read();
  expect(
    ['content-type', 'content-disposition', 'cache-control'].map((name) =>
      answer.headers.get(name),
    ),
  ).toEqual([
    'text/csv; charset=utf-8; header=present',
    'attachment; filename="sevenfold-transactions.csv"',
    'no-store',
  ]);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  expect(decoder.decode(new Uint8Array(await answer.arrayBuffer()))).toBe(historyCsv(lines));
  expect(await amountsOf()).toEqual([9, 7, 5]);
  const head = await app.call(path, { token: person.token, method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('the history as CSV continues before a line, and takes a limit', async () => {
  const [newest] = await app.data<Transaction[]>('/credits/history', { token: person.token });
  expect(await amountsOf(`&before=${newest!.id}`)).toEqual([7, 5]);
  expect(await amountsOf(`&before=${newest!.id}&limit=1`)).toEqual([7]);
});

test('the history as CSV is read with a key for credits, and holds no line of another user', async () => {
  const keyFor = async (scope: 'read' | 'credits:read') => {
    const made = { name: 'A program', scopes: [scope], monthlyCap: 1 };
    return (await createApiKey(app.core.pool, person.userId, made, new Date())).key;
  };
  expect((await read('', await keyFor('credits:read'))).status).toBe(200);
  expect((await read('', await keyFor('read'))).status).toBe(403);
  const other = await app.signUp();
  expect(readCsv(await (await read('', other.token)).text())).toHaveLength(1);
  const refused = await app.call('/credits/history?format=pdf', { token: person.token });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { errors: [{ field: 'format', message: 'The format is json or csv' }] },
  ]);
});

test('one file holds 10,000 lines, and the next one those before them', async () => {
  const long = await app.signUp();
  const most = creditLimits.historyFile;
  await app.database.ownerPool.query(
    `insert into credit_history (user_id, position, id, transaction_type, reason_code, amount,
       balance_after, created_at)
     select $1, number, gen_random_uuid(), 'other', 'grant', 1, number, now()
     from generate_series(1, $2::integer + 1) number`,
    [long.userId, most],
  );
  const [names = [], ...first] = readCsv(await (await read('', long.token)).text());
  const balances = (rows: string[][]) => rows.map((row) => row[names.indexOf('balance_after')]);
  expect([first.length, balances(first).at(-1)]).toEqual([most, '2']);
  const rest = readCsv(await (await read(`&before=${first.at(-1)![0]}`, long.token)).text());
  expect(balances(rest.slice(1))).toEqual(['1']);
});

test('a description of any text is one cell, and no formula', () => {
  const description = '=SUM(A1), "sure"\r\n+B2;\t@C3';
  const line: Transaction = {
    id: 'a',
    transaction_type: 'other',
    description,
    created_at: '2026-11-24T12:00:00.000Z',
    amount: -3,
    balance_after: 0,
    reason_code: 'grant',
  };
  const [, cells] = readCsv(historyCsv([line]));
  expect(cells?.slice(4, 7)).toEqual([`'=SUM(A1), "sure"\r\n'+B2;\t'@C3`, '-3', '0']);
});
