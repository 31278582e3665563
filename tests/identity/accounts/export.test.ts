import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ExportReply } from '#services/identity/contract.ts';
import { otherTables, plainTables } from '#services/identity/accounts/export.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestApp } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { testPassword } from '#tests/support/password.ts';
import { encodeAvatar } from '#services/identity/accounts/avatar.ts';
import { png } from './pictures.ts';
import { creditStream } from '#services/credits/account/events.ts';

const question = {
  challenge: '=Should the observatory charge an entrance fee?',
  context: 'The keeper owns a third of it.',
  objectives: ['Eleven hundred visitors'],
  constraints: ['No brass bands'],
  files: [{ name: 'visitors.csv', text: 'May,1100' }],
  challenge_type: 'other',
  strategy: 'fast',
};

let council: TestCouncil;
let person: Person;
let other: Person;
let run: Optimization;
let exported: ExportReply;

beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  other = await council.signUp();
  for (const one of [other, person]) {
    await give(one, `A note for ${one.userId}`);
    run = await council.ask(one, question);
    await council.data('/optimizations', { token: one.token, body: question });
  }
  await council.data('/users/me', {
    method: 'PATCH',
    token: person.token,
    body: { preferred_dashboard: 'elite' },
  });
  await council.call('/users/me/avatar', {
    method: 'PUT',
    token: person.token,
    headers: { 'content-type': 'image/png' },
    raw: Uint8Array.from(png),
  });
  await council.core.queueMail({
    userId: person.userId,
    to: person.email,
    kind: 'test',
    content: { subject: 'A secret subject', paragraphs: ['A secret text'] },
  });
  await council.core.audit({
    actor: 'operator:quillfeather',
    action: 'credits.grant',
    subject: person.userId,
    userId: person.userId,
  });
  exported = await council.data<ExportReply>('/users/me/export', { token: person.token });
});
afterAll(async () => council.close());

async function give({ userId }: Person, note: string): Promise<void> {
  const { sealer } = council.core;
  await sealer.createDataKey('account', userId, userId);
  const stream = creditStream(userId);
  await council.core.ledger.give({
    userId,
    credits: 50,
    source: 'other',
    reason: 'operator',
    actor: 'operator:quillfeather',
    commandId: uuidV5(userId, 'given'),
    note: await sealer.seal(userId, { stream, field: 'note' }, note),
  });
}

function rowsOf(table: string) {
  return exported.tables[table] ?? [];
}

describe('an export', () => {
  test('an export follows the contract, with a CSV beside each table', () => {
    expect(v.is(ExportReply, exported)).toBe(true);
    expect(Object.keys(exported.csv)).toEqual(
      Object.keys(exported.tables).map((name) => `${name}.csv`),
    );
  });

  test('an export holds the account and its settings, and no hash of a secret', () => {
    expect(rowsOf('account')).toMatchObject([
      { id: person.userId, email: person.email, name: 'A Person', preferred_dashboard: 'elite' },
    ]);
    const text = JSON.stringify(exported);
    expect(text).not.toContain('argon2');
    expect(text).not.toMatch(/password_hash|token_hash|signup_browser|wrapped/);
  });

  test('an export holds the picture, the sessions and the kinds of sent emails, without their text', async () => {
    expect(rowsOf('avatar')).toMatchObject([
      { bytes: (await encodeAvatar('image/png', png)).toString('base64') },
    ]);
    expect(rowsOf('sessions')).toMatchObject([{ method: 'signup', revoked_at: null }]);
    expect(rowsOf('mails').map((mail) => mail['kind'])).toContain('test');
    expect(JSON.stringify(exported)).not.toContain('A secret');
  });

  test('an export holds the audit entries about the user, without the names of operators', () => {
    const entries = rowsOf('audit').map(({ actor, action }) => [actor, action]);
    expect(entries).toContainEqual([person.userId, 'session.started']);
    expect(entries).toContainEqual(['operator', 'credits.grant']);
    expect(JSON.stringify(exported)).not.toContain('quillfeather');
  });

  test('an export holds every movement of credits with its notes', () => {
    expect(rowsOf('credit_balance')).toMatchObject([{ available: 46, consumed: 4, other: 50 }]);
    expect(rowsOf('credit_lots')).toMatchObject([{ granted: 50, available: 46, consumed: 4 }]);
    expect(rowsOf('credit_history').map(({ amount, note }) => [amount, note])).toEqual([
      [-4, null],
      [50, `A note for ${person.userId}`],
    ]);
    expect(rowsOf('credit_events').map(({ type, note }) => [type, note])).toEqual([
      ['CreditsGranted', `A note for ${person.userId}`],
      ['CreditsReserved', null],
      ['CreditsCaptured', null],
    ]);
    const postings = rowsOf('credit_postings').map(({ credits }) => Number(credits));
    expect(postings).toHaveLength(6);
    expect(postings.reduce((sum, credits) => sum + credits, 0)).toBe(0);
  });

  test('an export holds every question, answer, review and result in plain text', async () => {
    expect(rowsOf('runs')).toMatchObject([
      { ...textsOf(question), id: run.id, status: 'completed', result: run.result },
      { ...textsOf(question), status: 'pending', result: null },
    ]);
    const { rows } = await council.database.pool.query<{ sealed: number }>(
      `select count(*)::int as sealed from emt_messages m,
         jsonb_object_keys(m.message_data -> 'sealed') field
       where m.stream_id like 'optimization-%' and m.stream_id in (
         select 'optimization-' || run_id from optimization_list where user_id = $1)`,
      [person.userId],
    );
    const texts = rowsOf('run_texts').filter(({ text }) => typeof text === 'string');
    expect(texts).toHaveLength(rows[0]?.sealed ?? 0);
    const slots = new Set(texts.map(({ slot }) => String(slot).split('.')[0]));
    expect([...slots]).toEqual(expect.arrayContaining(['opinion', 'review', 'draft']));
    expect(JSON.stringify(exported)).not.toMatch(/v[12]\.(?:usr|opt)_/);
  });

  test('an export holds no data of other users', () => {
    const text = JSON.stringify(exported);
    expect(text).not.toContain(other.userId);
    expect(text).not.toContain(other.email);
  });

  test('an export holds no cell that a spreadsheet would compute', () => {
    expect(exported.csv['runs.csv']).toContain(`,'${question.challenge},`);
    expect(exported.tables['runs']?.[0]?.['challenge']).toBe(question.challenge);
  });

  test('an export is written to the audit log', async () => {
    const { rows } = await council.database.pool.query(
      `select actor, action, subject from audit_log where action = 'account.exported'`,
    );
    expect(rows).toEqual([
      { actor: person.userId, action: 'account.exported', subject: person.userId },
    ]);
  });

  test('an export still works after a text was erased, and says which one', async () => {
    const { id } = await council.data<Optimization>('/optimizations', {
      token: other.token,
      body: question,
    });
    await council.core.sealer.eraseKey(id);
    const { tables } = await council.data<ExportReply>('/users/me/export', { token: other.token });
    const erased = tables['runs']?.find((row) => row['id'] === id);
    expect(erased).toMatchObject({ id, challenge: null, status: 'pending' });
    expect(tables['erased_runs']).toMatchObject([{ key_id: id, kind: 'run' }]);
  });
});

function textsOf({ challenge, context, objectives, constraints, files }: typeof question) {
  return { challenge, context, objectives, constraints, files };
}

describe('the inventory', () => {
  async function columnsOf(): Promise<Map<string, string[]>> {
    const { rows } = await council.database.ownerPool.query<{ table: string; columns: string[] }>(
      `select table_name::text as table, array_agg(column_name::text order by column_name) as columns
       from information_schema.columns
       where table_schema = 'public' and table_name not in (
         select c.relname from pg_class c where c.relispartition)
       group by table_name order by table_name`,
    );
    return new Map(rows.map(({ table, columns }) => [table, columns]));
  }

  test('the inventory names every table and no other', async () => {
    const known = [...Object.keys(plainTables), ...Object.keys(otherTables)];
    expect(known.toSorted()).toEqual([...(await columnsOf()).keys()].toSorted());
  });

  test('the inventory names every column of the plain tables, as exported or with a reason', async () => {
    const columns = await columnsOf();
    for (const [table, { columns: exportedOnes, without }] of Object.entries(plainTables))
      expect([table, ...exportedOnes, ...Object.keys(without)].toSorted()).toEqual(
        [table, ...(columns.get(table) ?? [])].toSorted(),
      );
  });

  test('the inventory gives a reason for each left-out table that names a user', async () => {
    for (const [table, columns] of await columnsOf()) {
      const entry = otherTables[table];
      const reason = entry && 'leftOut' in entry ? entry.leftOut : null;
      const isExplained = !columns.includes('user_id') || reason === null || reason.length > 20;
      expect([table, isExplained]).toEqual([table, true]);
    }
  });

  test('the inventory exports tables under the names that it lists', () => {
    const said = [
      ...Object.values(plainTables).map(({ as }) => as),
      ...Object.values(otherTables).flatMap((entry) =>
        'exportedAs' in entry ? entry.exportedAs : [],
      ),
    ];
    expect(new Set(said)).toEqual(new Set(Object.keys(exported.tables)));
  });
});

describe('the request for an export', () => {
  test('an export needs a session that was proved in the last five minutes', async () => {
    const token = other.token;
    await council.database.pool.query(
      `update sessions set authenticated_at = now() - interval '5 minutes 1 second'
       where user_id = $1`,
      [other.userId],
    );
    const late = await council.call('/users/me/export', { token });
    expect([late.status, await late.json()]).toMatchObject([
      403,
      { code: 'reauthentication-required' },
    ]);
    await council.data('/auth/reauthenticate', { token, body: { password: testPassword } });
    const again = await council.call('/users/me/export', { token });
    expect(again.status).toBe(200);
    expect(again.headers.get('cache-control')).toBe('no-store');
    expect(again.headers.get('content-type')).toMatch(/^application\/json/);
    expect((await council.call('/users/me/export')).status).toBe(401);
  });

  test('exports are rate-limited', async () => {
    const app = await createTestApp({ env: { RATE_LIMITS: 'export=2/h' } });
    try {
      const { token } = await app.signUp();
      const statuses = [];
      for (let time = 0; time < 3; time += 1)
        statuses.push((await app.call('/users/me/export', { token })).status);
      expect(statuses).toEqual([200, 200, 429]);
    } finally {
      await app.close();
    }
  });
});
