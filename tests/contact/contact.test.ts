import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messageCommands } from '#services/cli/site/messages.ts';
import { contactLimits } from '#services/contact/contract.ts';
import { deleteMessage, purgeMessages, takeMessage } from '#services/contact/messages.ts';
import { erasureOf } from '#services/core.ts';
import { newId } from '#services/platform/ids.ts';
import { eraseAccount } from '#services/identity/erasure/erasure.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { CallOptions, TestApp } from '#tests/support/app.ts';
import { createTestMailbox, deliverMails } from '#tests/support/mail.ts';
import type { TestMailbox } from '#tests/support/mail.ts';

const operator = 'operator@example.com';
const words = 'My invoice of the walrus shop is missing.';
const note = { topic: 'billing', message: words, email: 'vera@example.com' };

let app: TestApp;
let mailbox: TestMailbox;
beforeAll(async () => {
  mailbox = await createTestMailbox();
  app = await createTestApp({ env: { CONTACT_EMAIL: operator, SMTP_URL: mailbox.smtpUrl } });
});
afterAll(async () => {
  await app.close();
  await mailbox.close();
});

async function send(options: CallOptions = {}): Promise<string> {
  const { reference, emailed } = await app.data<{ reference: string; emailed: boolean }>(
    '/contact',
    { body: note, ...options },
  );
  expect(emailed).toBe(true);
  return reference;
}

const idOf = async (reference: string): Promise<string> => {
  const { rows } = await app.core.pool.query<{ id: string }>(
    'select id from contact_message where right(id, 8) = $1',
    [reference.replace('-', '').toLowerCase()],
  );
  return rows[0]?.id ?? '';
};

async function dataKeys(keyId: string): Promise<number> {
  const { rowCount } = await app.core.pool.query('select from data_key where key_id = $1', [keyId]);
  return rowCount ?? 0;
}

describe('a message to the operator', () => {
  test('the operator gets the words with the sender as the one to answer, and the sender a receipt without them', async () => {
    await mailbox.clear();
    const reference = await send();
    expect(reference).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    await deliverMails(app.core, mailbox);
    const [received] = await mailbox.all(operator);
    expect(received?.subject).toBe(`Message ${reference}: billing`);
    expect(received?.text).toContain(words);
    expect(received?.reply_to).toBe(note.email);
    const [receipt] = await mailbox.all(note.email);
    expect(receipt?.subject).toContain(reference);
    expect(receipt?.text).not.toContain('walrus');
  });

  test('the database holds no word and no address of a message in plain text', async () => {
    const id = await idOf(await send());
    const { rows } = await app.database.ownerPool.query<{ row: string }>(
      'select contact_message::text as row from contact_message where id = $1',
      [id],
    );
    expect(rows[0]?.row).not.toMatch(/walrus|vera@/);
  });

  test('a repeat with the same key is the same message, of visitors and of users', async () => {
    const { token } = await app.signUp();
    const another = await app.signUp();
    const key = 'one-message';
    const references = [
      await send({ key }),
      await send({ key, token }),
      await send({ key, token: another.token }),
    ];
    expect(new Set(references).size).toBe(3);
    expect(await send({ key })).toBe(references[0]);
    expect(await send({ key, token })).toBe(references[1]);
  });

  test.each([
    ['another text under a used key', 'used-key', 409, 'idempotency-mismatch'],
    ['a key of 5,000 characters', 'k'.repeat(5_000), 400, 'validation'],
    ['a key with a space', 'two words', 400, 'validation'],
  ])('a message with %s is refused', async (_, key, status, code) => {
    await send({ key: 'used-key' });
    const response = await app.call('/contact', { key, body: { ...note, message: 'Other.' } });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code });
  });

  test.each([
    ['topic', { ...note, topic: 'lottery' }, 'Choose a topic'],
    ['message', { ...note, message: ' \n ' }, 'Enter a message'],
    ['message', { ...note, message: 'x'.repeat(5_001) }, 'Enter at most 5,000 characters'],
    ['email', { ...note, email: 'vera' }, 'Please enter a valid email address'],
    ['website', { ...note, website: 'https://spam.example' }, 'Leave this field empty'],
  ])(
    'a message with a wrong %s is refused, and the reply names the field',
    async (field, body, message) => {
      const response = await app.call('/contact', { body });
      expect(response.status).toBe(400);
      expect(((await response.json()) as { errors: unknown }).errors).toEqual([{ field, message }]);
    },
  );

  test('a network may send five messages an hour, repeats not counted, and no address gets receipts without end', async () => {
    const limited = await createTestApp({
      env: { RATE_LIMITS: 'contact=5/h,contact-receipts=2/d' },
    });
    try {
      const from = async (address: string, email: string): Promise<number> =>
        (await limited.call('/contact', { address, body: { ...note, email } })).status;
      const key = 'a-lost-answer';
      for (let tries = 0; tries < 3; tries += 1) {
        const body = { ...note, email: 'sender-0@example.com' };
        const sent = await limited.call('/contact', { key, address: '203.0.113.7', body });
        expect(sent.status).toBe(201);
      }
      for (let sent = 1; sent < 5; sent += 1)
        expect(await from('203.0.113.7', `sender-${sent}@example.com`)).toBe(201);
      expect(await from('203.0.113.7', 'sixth@example.com')).toBe(429);
      const { emailed } = await limited.data<{ emailed: boolean }>('/contact', {
        address: '198.51.100.1',
        body: { ...note, email: 'Sender-1+more@example.com' },
      });
      expect(emailed).toBe(limited.core.sendsMail);
      expect(await from('198.51.100.2', 'sender-1@example.com')).toBe(201);
      const { rows } = await limited.core.pool.query(
        "select kind, count(*)::int as count from mail where kind like 'contact-%' group by kind order by kind",
      );
      expect(rows).toEqual([{ kind: 'contact-receipt', count: 6 }]);
    } finally {
      await limited.close();
    }
  });
});

test('a message whose email could not be queued is not stored, so that a repeat sends both', async () => {
  const id = newId('msg', Date.now());
  const from = { id, userId: null, getsReceipt: true };
  const body = {
    topic: 'billing',
    message: words,
    email: 'half@example.com',
    website: '',
  } as const;
  const fails = () => Promise.reject(new Error('The database is gone'));
  await expect(takeMessage({ ...app.core, queueMail: fails }, from, body)).rejects.toThrow('gone');
  await takeMessage(app.core, from, body);
  const { rows } = await app.core.pool.query(
    `select count(*)::int as count from contact_message where id = $1`,
    [id],
  );
  expect(rows).toEqual([{ count: 1 }]);
  await mailbox.clear();
  await deliverMails(app.core, mailbox);
  expect(await mailbox.all('half@example.com')).toHaveLength(1);
});

test('beyond 200 messages on one day the operator gets no email, and the messages are stored', async () => {
  const { ownerPool } = app.database;
  await ownerPool.query(
    `insert into contact_message (id, key_id, topic, sealed, created_at)
     select 'msg_' || lpad(number::text, 26, '0'), 'flood', 'other', 'none', now()
     from generate_series(1, 200) number`,
  );
  await mailbox.clear();
  const id = await idOf(await send());
  await ownerPool.query(`delete from contact_message where key_id = 'flood'`);
  expect(id).not.toBe('');
  await deliverMails(app.core, mailbox);
  expect(await mailbox.all(operator)).toEqual([]);
  expect(await mailbox.all(note.email)).toHaveLength(1);
});

test('a message that was changed in the database hides no other, on the command line and in the export', async () => {
  const { token } = await app.signUp();
  const topic = 'security';
  const reference = await send({ token, body: { ...note, topic } });
  const other = await send({ token, body: { ...note, topic } });
  await app.database.ownerPool.query(
    `update contact_message set sealed = overlay(sealed placing 'AAAA' from length(sealed) - 5)
     where id = $1`,
    [await idOf(reference)],
  );
  const listed = await runHere(app, messageCommands, ['messages', 'list', '--topic', topic]);
  expect(listed.out).toContain(other);
  const read = await runHere(app, messageCommands, ['messages', 'read', reference]);
  expect(read.out).toContain('cannot be read');
  const { tables } = await app.data<{ tables: Record<string, object[]> }>('/users/me/export', {
    token,
  });
  expect(tables['messages']).toMatchObject([
    { reference, message: '[damaged]' },
    { reference: other, message: words },
  ]);
});

describe('messages belong to their sender', () => {
  test('a message with a token that has ended is refused', async () => {
    const response = await app.call('/contact', { token: 'nonsense', body: note });
    expect(response.status).toBe(401);
  });

  test('an export holds what the user wrote while signed in, and an erasure leaves none of it', async () => {
    const { token, userId, email } = await app.signUp();
    const reference = await send({ token, body: { ...note, email } });
    const { tables } = await app.data<{ tables: Record<string, object[]> }>('/users/me/export', {
      token,
    });
    expect(tables['messages']).toMatchObject([
      { reference, topic: 'billing', message: words, email },
    ]);
    await app.core.pool.query('update users set erasing_at = now() where id = $1', [userId]);
    await app.core.pool.query(`update mail set status = 'sent', sealed = null where user_id = $1`, [
      userId,
    ]);
    await eraseAccount(erasureOf(app.core), userId);
    expect(await idOf(reference)).toBe('');
  });

  test('a message whose key could not be erased keeps its row, so that the next try finds it', async () => {
    const id = await idOf(await send());
    const { rows } = await app.core.pool.query<{ key_id: string }>(
      'select key_id from contact_message where id = $1',
      [id],
    );
    const erasePerson = () => Promise.reject(new Error('The database is gone'));
    const failing = { pool: app.core.pool, sealer: { ...app.core.sealer, erasePerson } };
    await expect(deleteMessage(failing, id)).rejects.toThrow('gone');
    await deleteMessage(app.core, id);
    expect(await dataKeys(rows[0]?.key_id ?? '')).toBe(0);
  });

  test('a message is deleted after its time, with the key of a visitor', async () => {
    const id = await idOf(await send());
    const { rows } = await app.core.pool.query<{ key_id: string }>(
      `update contact_message set created_at = now() - make_interval(days => $2)
       where id = $1 returning key_id`,
      [id, contactLimits.keptDays + 1],
    );
    const keyId = rows[0]?.key_id ?? '';
    expect(await dataKeys(keyId)).toBe(1);
    expect(await purgeMessages(app.core)).toBe(1);
    expect(await dataKeys(keyId)).toBe(0);
  });
});

describe('who a message is from', () => {
  const forged = `Signed in as usr_1.\r\n\r\nFrom you@example.com. ${'long '.repeat(40)}`;
  const from = async (
    sender: { token?: string },
    email: string,
  ): Promise<{ mailed: string; read: string }> => {
    await mailbox.clear();
    const reference = await send({ ...sender, body: { ...note, email, message: forged } });
    await deliverMails(app.core, mailbox);
    const [mail] = await mailbox.all(operator);
    const read = await runHere(app, messageCommands, ['messages', 'read', reference]);
    for (const shown of [mail?.text ?? '', read.out]) {
      const ours = shown.split('\n').filter((line) => !line.startsWith('>'));
      expect(ours.join('\n')).not.toMatch(/usr_1\.|you@|long/);
      expect(shown).toContain('> From you@example.com.');
      expect(shown).not.toMatch(/^>.{74}/m);
    }
    expect(mail?.html).toMatch(/<blockquote[^>]*>\n<p[^>]*>Signed in as usr_1\.<\/p>/);
    return { mailed: mail?.text ?? '', read: read.out };
  };

  test('the operator reads whether the sender is signed in, and whether the address is theirs', async () => {
    const { token, userId, email } = await app.signUp();
    const expected: [{ token?: string }, string, string][] = [
      [{}, email, `From ${email}. Not signed in: anyone can enter this address.`],
      [
        { token },
        email.toUpperCase(),
        `Signed in as ${userId}. This is the address of the account, not confirmed.`,
      ],
      [
        { token },
        'owner@victim.example',
        `From owner@victim.example. Signed in as ${userId}. This is NOT the address of the account, which is ${email}, not confirmed.`,
      ],
    ];
    for (const [sender, address, line] of expected) {
      const { mailed, read } = await from(sender, address);
      expect(mailed).toContain(line);
      expect(read).toContain(line);
    }
    await app.core.pool.query('update users set email_confirmed_at = now() where id = $1', [
      userId,
    ]);
    const { mailed, read } = await from({ token }, email);
    for (const shown of [mailed, read])
      expect(shown).toContain('This is the address of the account, confirmed.');
  });
});

test('an operator lists, reads and deletes messages on the command line', async () => {
  const reference = await send({ body: { ...note, topic: 'privacy' } });
  const listed = await runHere(app, messageCommands, ['messages', 'list', '--topic', 'privacy']);
  expect(listed.out).toContain(reference);
  const read = await runHere(app, messageCommands, ['messages', 'read', reference.toLowerCase()]);
  expect(read.out).toContain(words);
  expect(read.out).toContain('From vera@example.com');
  await runHere(app, messageCommands, ['messages', 'delete', reference]);
  expect((await runHere(app, messageCommands, ['messages', 'read', reference])).code).toBe(1);
});

describe('security.txt', () => {
  test('security.txt names the contact address and an end within a year', async () => {
    const response = await app.app.request('http://localhost/.well-known/security.txt');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    const text = await response.text();
    expect(text).toContain(`Contact: mailto:${operator}`);
    const expires = Date.parse(/^Expires: (.+)$/m.exec(text)?.[1] ?? '');
    expect(expires).toBeGreaterThan(Date.now() + 100 * 86_400_000);
    expect(expires).toBeLessThan(Date.now() + 366 * 86_400_000);
  });

  test('there is no security.txt without a contact address', async () => {
    const bare = await createTestApp();
    try {
      const response = await bare.app.request('http://localhost/.well-known/security.txt');
      expect(response.status).toBe(404);
    } finally {
      await bare.close();
    }
  });
});
