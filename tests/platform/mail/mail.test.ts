import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { JobHelpers } from 'graphile-worker';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { layOut } from '#services/platform/mail/layout.ts';
import { createMailTransport, MailNotSent } from '#services/platform/mail/transport.ts';
import {
  createMailQueue,
  mailLimits,
  mailTasks,
  purgeMails,
} from '#services/platform/mail/mail.ts';
import type { OutgoingMail, QueueMail } from '#services/platform/mail/mail.ts';
import { createSealer } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { createTestMailbox, deliverMails, linkIn } from '#tests/support/mail.ts';
import type { TestMailbox } from '#tests/support/mail.ts';
import { freePort } from '#services/platform/process/listen.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** Mails from the queue to a real mail server, over a real database. */
let database: TestDatabase;
let mailbox: TestMailbox;
let sealer: Sealer;
let queueMail: QueueMail;
let now = Date.now();
const clock = () => now;
const sender = { productName: 'Sevenfold', contactEmail: 'help@example.com' };

beforeAll(async () => {
  database = await createTestDatabase({ max: 10 });
  mailbox = await createTestMailbox();
  sealer = createSealer({ dataKeys: [randomBytes(32)], pool: database.pool });
  queueMail = createMailQueue({ pool: database.pool, sealer, clock, sender });
});

afterAll(async () => {
  await mailbox.close();
  await database.drop();
});

beforeEach(async () => {
  now = Date.now();
  for (const name of Object.keys(mailbox.trouble)) Reflect.deleteProperty(mailbox.trouble, name);
  await mailbox.clear();
  await database.pool.query('delete from mail');
  await database.pool.query('delete from graphile_worker._private_jobs');
});

const content: EmailContent = {
  subject: 'Confirm your address',
  paragraphs: ['Hello Ann.', 'One click and you are in.'],
  action: { label: 'Confirm my address', url: 'https://example.com/auth/link/confirm#t0k3n' },
  closing: ['You get this because somebody signed up with your address.'],
};

function mailTo(to: string, more: Partial<OutgoingMail> = {}): OutgoingMail {
  return { userId: newId('usr'), to, kind: 'confirm', content, ...more };
}

type QueueOptions = Parameters<typeof deliverMails>[2];

const deliver = async (options: QueueOptions = {}) =>
  deliverMails({ pool: database.pool, sealer, clock }, mailbox, options);

/** The queue waits before it tries again; a test does not. */
async function deliverAgain(options: QueueOptions = {}): Promise<void> {
  await database.pool.query(
    'update graphile_worker._private_jobs set run_at = now() where attempts < max_attempts',
  );
  await deliver(options);
}

type Row = { status: string; sealed: string | null; attempts: number; ended_at: Date | null };

async function rowOf(id: string): Promise<Row | undefined> {
  const { rows } = await database.pool.query<Row>(
    'select status, sealed, attempts, ended_at from mail where id = $1',
    [id],
  );
  return rows[0];
}

async function jobs(): Promise<{ key: string; payload: unknown; last_error: string | null }[]> {
  const { rows } = await database.pool.query<{
    key: string;
    payload: unknown;
    last_error: string | null;
  }>('select key, payload, last_error from graphile_worker._private_jobs order by id');
  return rows;
}

/** Runs the job as one of several workers that have taken it. */
async function tryOnce(id: string): Promise<void> {
  const log = createLog({ level: 'silent', process: 'test' });
  const transport = createMailTransport({
    smtpUrl: mailbox.smtpUrl,
    from: 'no-reply@localhost',
    publicUrl: 'http://localhost:3000',
    limits: { silenceMs: 500 },
  });
  const { 'send-mail': sendMail } = mailTasks({
    pool: database.pool,
    sealer,
    transport,
    log,
    clock,
  });
  const helpers = { job: { attempts: 1, max_attempts: 25 } } as JobHelpers;
  await sendMail({ mailId: id }, helpers);
  await transport.close();
}

const ended = (status: string) => ({ status, sealed: null, ended_at: expect.any(Date) });

describe('a mail', () => {
  test('a mail arrives as text and as HTML, from us, with an id of its own', async () => {
    const id = await queueMail(mailTo('ann@example.com'));
    await deliver({ from: 'Sevenfold <no-reply@example.com>' });
    const mail = await mailbox.waitFor('ann@example.com');
    expect(mail).toMatchObject({
      to: 'ann@example.com',
      from: 'Sevenfold <no-reply@example.com>',
      subject: 'Confirm your address',
      message_id: `<${id}@localhost>`,
    });
    expect(mail.text.trimEnd()).toBe(
      [
        'Hello Ann.',
        'One click and you are in.',
        'Confirm my address:\nhttps://example.com/auth/link/confirm#t0k3n',
        'You get this because somebody signed up with your address.',
        '-- \nSevenfold\nhelp@example.com',
      ].join('\n\n'),
    );
    expect(linkIn(mail)).toBe('https://example.com/auth/link/confirm#t0k3n');
    expect(mail.html).toContain('<h1 ');
    expect(mail.html).toContain('href="https://example.com/auth/link/confirm#t0k3n"');
    expect(await rowOf(id)).toMatchObject({ ...ended('sent'), attempts: 1 });
    expect(await jobs()).toEqual([]);
  });

  test('a mail is a row and a job or neither, also inside a transaction of the caller', async () => {
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await queueMail(mailTo('never@example.com'), client);
      await client.query('rollback');
      expect(await jobs()).toEqual([]);
      await client.query('begin');
      const id = await queueMail(mailTo('kept@example.com'), client);
      expect(await rowOf(id)).toBeUndefined();
      await client.query('commit');
      expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 0 });
      expect(await jobs()).toMatchObject([{ key: id, payload: { mailId: id } }]);
    } finally {
      client.release();
    }
    await deliver();
    expect(await mailbox.all()).toMatchObject([{ to: 'kept@example.com' }]);
  });

  test('a mail with a given id is stored and sent once', async () => {
    const mail = mailTo('once@example.com', { id: newId('mai') });
    await queueMail(mail);
    await queueMail(mail);
    await deliver();
    await queueMail(mail);
    await deliver();
    expect(await mailbox.all()).toHaveLength(1);
  });

  test('a mail to an erased account cannot be stored, and a queued one is not sent', async () => {
    const waiting = mailTo('gone@example.com');
    const id = await queueMail(waiting);
    await sealer.eraseKey(waiting.userId);
    await expect(queueMail(waiting)).rejects.toThrow('was erased');
    await deliver();
    expect(await mailbox.all()).toEqual([]);
    expect(await rowOf(id)).toMatchObject(ended('failed'));
  });

  test('a mail whose row was removed while it waited is not sent', async () => {
    await queueMail(mailTo('gone@example.com'));
    await database.pool.query('delete from mail');
    await deliver();
    expect(await mailbox.all()).toEqual([]);
    expect(await jobs()).toEqual([]);
  });

  test('a mail is not sent after its time', async () => {
    const id = await queueMail(mailTo('late@example.com', { notAfter: new Date(now + 60_000) }));
    now += 60_000;
    await deliver();
    expect(await mailbox.all()).toEqual([]);
    expect(await rowOf(id)).toMatchObject(ended('expired'));
  });

  test('a mail leaves its row for a month, without its content', async () => {
    const id = await queueMail(mailTo('old@example.com'));
    await deliver();
    now += mailLimits.keptDays * 86_400_000 - 60_000;
    expect(await purgeMails({ pool: database.pool, clock })).toBe(0);
    now += 120_000;
    expect(await purgeMails({ pool: database.pool, clock })).toBe(1);
    expect(await rowOf(id)).toBeUndefined();
  });
});

describe('a mail server that refuses', () => {
  test('a mail is tried again after a temporary refusal, until the server takes it', async () => {
    mailbox.trouble.greylist = 2;
    const id = await queueMail(mailTo('grey@example.com'));
    await deliver();
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 1 });
    await deliverAgain();
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 2 });
    await deliverAgain();
    expect(await mailbox.all('grey@example.com')).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject({ ...ended('sent'), attempts: 3 });
  });

  test('a mail is tried again after a temporary refusal of its content', async () => {
    mailbox.trouble.refuseContent = 1;
    const id = await queueMail(mailTo('busy@example.com'));
    await deliver();
    expect(await rowOf(id)).toMatchObject({ status: 'queued' });
    await deliverAgain();
    expect(await mailbox.all()).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject(ended('sent'));
  });

  test('a mail is not tried again after a permanent refusal', async () => {
    mailbox.trouble.refuse = ['nobody@example.com'];
    const id = await queueMail(mailTo('nobody@example.com'));
    await deliver();
    expect(await rowOf(id)).toMatchObject({ ...ended('failed'), attempts: 1 });
    expect(await jobs()).toEqual([]);
  });

  test('a server that refuses one recipient takes the mails of others over the same connection', async () => {
    mailbox.trouble.refuse = ['nobody@example.com'];
    await queueMail(mailTo('nobody@example.com'));
    await queueMail(mailTo('somebody@example.com'));
    await deliver({ limits: { connections: 1 } });
    expect(await mailbox.all()).toMatchObject([{ to: 'somebody@example.com' }]);
  });

  test('a mail that is refused at every try ends as failed', async () => {
    mailbox.trouble.greylist = 1;
    const id = await queueMail(mailTo('grey@example.com'));
    await database.pool.query('update graphile_worker._private_jobs set max_attempts = 1');
    await deliver();
    expect(await rowOf(id)).toMatchObject(ended('failed'));
    expect(await jobs()).toEqual([]);
  });

  test('a mail waits for a server that is unreachable or not set', async () => {
    const id = await queueMail(mailTo('later@example.com'));
    const core = { pool: database.pool, sealer, clock };
    await deliverMails(core, { smtpUrl: `smtp://127.0.0.1:${await freePort()}` });
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 1 });
    await database.pool.query('update graphile_worker._private_jobs set run_at = now()');
    await deliverMails(core, { smtpUrl: null });
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 2 });
    await deliverAgain();
    expect(await mailbox.all()).toHaveLength(1);
  });

  test('a mail waits for a server that closes the connection or never answers', async () => {
    const id = await queueMail(mailTo('later@example.com'));
    for (const greeting of ['554 No service\r\n', null]) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        if (greeting !== null) socket.end(greeting);
      });
      const port = await freePort();
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      await database.pool.query('update graphile_worker._private_jobs set run_at = now()');
      await deliverMails(
        { pool: database.pool, sealer, clock },
        { smtpUrl: `smtp://127.0.0.1:${port}` },
        { limits: { greetingMs: 100, connectMs: 100 } },
      );
      expect(await rowOf(id)).toMatchObject({ status: 'queued' });
      await new Promise((resolve) => server.close(resolve));
    }
    await deliverAgain();
    expect(await rowOf(id)).toMatchObject(ended('sent'));
  });
});

describe('a mail server that cannot be trusted', () => {
  test('a server with an untrusted certificate gets no mail', async () => {
    const id = await queueMail(mailTo('ann@example.com'));
    for (const scheme of ['smtp', 'smtps']) {
      // Its built-in certificate is one that it signed itself, long ago.
      const server = new SMTPServer({ logger: false, secure: scheme === 'smtps' });
      server.on('error', () => undefined);
      const port = await freePort();
      server.listen(port, '127.0.0.1');
      await database.pool.query('update graphile_worker._private_jobs set run_at = now()');
      await deliverMails(
        { pool: database.pool, sealer, clock },
        { smtpUrl: `${scheme}://127.0.0.1:${port}` },
      );
      expect(await rowOf(id)).toMatchObject({ status: 'queued' });
      const [job] = await jobs();
      expect(job?.last_error).toMatch(/\(passing, (?:CERT_HAS_EXPIRED|\w*SELF_SIGNED\w*)\)$/);
      await new Promise<void>((resolve) => server.close(resolve));
    }
  });

  test('a server without TLS gets no password, unless it is on this machine', async () => {
    const id = await queueMail(mailTo('ann@example.com'));
    const port = new URL(mailbox.smtpUrl).port;
    const core = { pool: database.pool, sealer, clock };
    // Reaches this machine, and does not say so.
    await deliverMails(core, { smtpUrl: `smtp://user:secret@0.0.0.0:${port}` });
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 1 });
    expect(await mailbox.all()).toEqual([]);
    await database.pool.query('update graphile_worker._private_jobs set run_at = now()');
    await deliverMails(core, { smtpUrl: `smtp://user:secret@127.0.0.1:${port}` });
    expect(await rowOf(id)).toMatchObject(ended('sent'));
  });
});

describe('a mail that the server may have taken', () => {
  const minute = 60_000;
  /** The time at which the queue tries it again, after so many minutes have passed. */
  async function nextTryAfter(minutes: number, options: QueueOptions = {}): Promise<void> {
    const before = now;
    const { rows } = await database.pool.query<{ run_at: Date }>(
      'select run_at from graphile_worker._private_jobs where key is not null',
    );
    expect(rows.map(({ run_at }) => run_at.getTime())).toEqual([before + minutes * minute]);
    now = before + minutes * minute;
    await deliverAgain(options);
  }

  test.each([
    ['drop', {}],
    // Long enough for a busy machine to get as far as the last byte.
    ['hang', { limits: { silenceMs: 2_000 } }],
  ] as const)(
    'a mail without an answer (%s) is sent again after 1, 5 and 30 minutes, and then ends as unknown',
    async (trouble, options) => {
      mailbox.trouble.afterData = trouble;
      const id = await queueMail(mailTo('ann@example.com'));
      await deliver(options);
      for (const [index, minutes] of [1, 5, 30].entries()) {
        expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: index + 1 });
        await nextTryAfter(minutes, options);
      }
      expect(await rowOf(id)).toMatchObject({ ...ended('unknown'), attempts: 4 });
      expect(await jobs()).toEqual([]);
      const copies = await mailbox.all();
      expect(copies).toHaveLength(4);
      const same = copies.map(({ message_id, subject, text, html }) =>
        JSON.stringify([message_id, subject, text, html]),
      );
      expect(new Set(same).size).toBe(1);
    },
  );

  test('a mail without an answer ends as sent when the server takes a later try', async () => {
    mailbox.trouble.afterData = 'drop';
    const id = await queueMail(mailTo('ann@example.com'));
    await deliver();
    mailbox.trouble.afterData = undefined;
    await nextTryAfter(1);
    expect(await rowOf(id)).toMatchObject(ended('sent'));
    expect(await jobs()).toEqual([]);
  });

  test('a mail without an answer is not sent again after its time, and ends as unknown', async () => {
    mailbox.trouble.afterData = 'drop';
    const notAfter = new Date(now + 6 * minute);
    const id = await queueMail(mailTo('ann@example.com', { notAfter }));
    await deliver();
    await nextTryAfter(1);
    expect(await rowOf(id)).toMatchObject(ended('unknown'));
    expect(await mailbox.all()).toHaveLength(2);
    expect(await jobs()).toEqual([]);
  });

  test('a mail without an answer does not end as failed when a later try is refused', async () => {
    mailbox.trouble.afterData = 'drop';
    const id = await queueMail(mailTo('ann@example.com'));
    await deliver();
    mailbox.trouble.refuse = ['ann@example.com'];
    await nextTryAfter(1);
    expect(await rowOf(id)).toMatchObject(ended('unknown'));
  });

  test('a mail whose worker was killed is sent again a minute after that hand-over', async () => {
    const id = await queueMail(mailTo('ann@example.com'));
    await database.pool.query('update mail set unanswered = 1, handed_over_at = $2 where id = $1', [
      id,
      new Date(now),
    ]);
    await deliver();
    expect(await mailbox.all()).toEqual([]);
    await nextTryAfter(1);
    expect(await rowOf(id)).toMatchObject(ended('sent'));
    expect(await mailbox.all()).toHaveLength(1);
  });
});

test('a transport that closes while it waits for an answer reports the outcome as unknown', async () => {
  mailbox.trouble.afterData = 'hang';
  const transport = createMailTransport({
    smtpUrl: mailbox.smtpUrl,
    from: 'no-reply@localhost',
    publicUrl: 'http://localhost:3000',
    limits: { drainMs: 50 },
  });
  const send = async () =>
    transport.send(
      { id: newId('mai'), to: 'ann@example.com', ...layOut(content, sender) },
      async () => undefined,
    );
  const outcome = send().catch((error: unknown) => error);
  await mailbox.waitFor('ann@example.com');
  await transport.close();
  expect(await outcome).toMatchObject({ outcome: 'unknown' });
  await expect(send()).rejects.toThrow(new MailNotSent('passing', 'closing'));
});

describe('several workers', () => {
  test('several workers that take the same mail at once send it once', async () => {
    const id = await queueMail(mailTo('once@example.com'));
    await Promise.all([tryOnce(id), tryOnce(id), tryOnce(id)]);
    expect(await mailbox.all()).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject(ended('sent'));
  });

  test('several workers share the queued mails', async () => {
    const people = Array.from({ length: 30 }, (_, index) => `person-${index}@example.com`);
    for (const person of people) await queueMail(mailTo(person));
    await Promise.all([deliver(), deliver(), deliver()]);
    const arrived = (await mailbox.all()).map((mail) => mail.to);
    expect(arrived.toSorted()).toEqual(people.toSorted());
    const { rows } = await database.pool.query('select distinct status from mail');
    expect(rows).toEqual([{ status: 'sent' }]);
  });
});

describe('the content of a mail', () => {
  test('content cannot add a header, a recipient or a second line', async () => {
    const evil = 'Hi\r\nBcc: victim@example.com\r\n\r\nowned\u2028\u0000\u0085 end';
    await queueMail(
      mailTo('ann@example.com', { content: { ...content, subject: evil, paragraphs: [evil] } }),
    );
    await deliver();
    const [mail] = await mailbox.all();
    expect(mail?.subject).toBe('Hi Bcc: victim@example.com owned end');
    expect(mail?.to).toBe('ann@example.com');
    expect(await mailbox.all('victim@example.com')).toEqual([]);
  });

  test.each([
    'ann@example.com\r\nRCPT TO:<victim@example.com>',
    'ann@example.com, victim@example.com',
    'Ann <ann@example.com>',
    '"a b"@example.com',
    'ann@example.com\u2028',
    '@example.com',
    '',
  ])('a mail is not addressed to %j', async (to) => {
    await expect(queueMail(mailTo(to))).rejects.toThrow('A mail goes to one plain address');
    expect(await jobs()).toEqual([]);
  });

  test('a mail keeps its text, in any script and at any length', async () => {
    const subject = `Grüße, 山田 👋 ${'long '.repeat(60)}end`;
    const from = 'Größe & “Söhne” <no-reply@example.com>';
    await queueMail(mailTo('ann@example.com', { content: { ...content, subject } }));
    await deliver({ from });
    expect(await mailbox.all()).toMatchObject([{ subject, from }]);
  });

  test('a mail reaches an address whose domain is in another script', async () => {
    const id = await queueMail(mailTo('ann@bücher.example'));
    await deliver();
    expect((await rowOf(id))?.status).toBe('sent');
    expect((await mailbox.all()).map(({ to }) => to)).toEqual(['ann@bücher.example']);
  });

  test('content is escaped in HTML', () => {
    const { html } = layOut(
      {
        subject: '</title><script>alert(1)</script>',
        paragraphs: ['<img src=x onerror=alert(1)> & "quotes"'],
        action: { label: '<b>', url: 'https://example.com/?a=1&b=%22#"'.replace('"', '%22') },
      },
      { productName: '<i>', contactEmail: null },
    );
    expect(html).not.toMatch(/<(?:script|img|b|i)\b/);
    expect(html).toContain('&#60;img src=x onerror=alert(1)&#62; &#38; &#34;quotes&#34;');
    expect(html).toContain('href="https://example.com/?a=1&#38;b=%22#%22"');
  });

  test('a mail links to web pages only', () => {
    for (const url of ['javascript:alert(1)', 'https://a b', 'https://example.com/\r\nx'])
      expect(() => layOut({ ...content, action: { label: 'x', url } }, sender)).toThrow(
        'web pages',
      );
  });

  test('a mail loads nothing, and declares its language and colour schemes', () => {
    const { html } = layOut(content, sender);
    expect(html).not.toMatch(
      /<(?:img|link|script|table|iframe|object)\b|url\(|@import|@font-face/i,
    );
    expect(html).toContain('<html lang="en">');
    expect(html).toContain('<meta name="color-scheme" content="light dark">');
    expect(html.match(/<h1\b/g)).toHaveLength(1);
    expect(html).toContain('font-size:16px');
  });
});

test('no content of a mail is left once it has ended, nor ever in jobs or logs', async () => {
  const canary = `canary${randomBytes(6).toString('hex')}`;
  const lines: string[] = [];
  const log = createLog({
    level: 'trace',
    process: 'test',
    destination: { write: (line) => void lines.push(line) },
  });
  const note = (message: string, meta: unknown) => {
    const error = (meta as { error?: unknown } | undefined)?.error;
    lines.push(message);
    if (error !== undefined) log.error({ err: error }, 'A job failed');
  };
  const recorded = { log, onQueueMessage: note };
  const mail = (to: string) =>
    mailTo(`${canary}-${to}@example.com`, {
      content: {
        subject: canary,
        paragraphs: [canary],
        action: { label: canary, url: `https://example.com/#${canary}` },
      },
    });
  const left: string[] = [];
  const look = async (table: string) => {
    const { rows } = await database.pool.query<{ text: string }>(
      `select row_to_json(t)::text as text from ${table} t`,
    );
    left.push(...rows.map(({ text }) => text));
  };
  const lookAtAll = async () => {
    await look('mail');
    await look('graphile_worker._private_jobs');
  };

  await queueMail(mail('sent'));
  await lookAtAll();
  await deliver(recorded);
  mailbox.trouble.greylist = 1;
  await queueMail(mail('grey'));
  await deliver(recorded);
  await lookAtAll();
  mailbox.trouble.refuse = [`${canary}-refused@example.com`];
  await queueMail(mail('refused'));
  await deliver(recorded);
  mailbox.trouble.afterData = 'drop';
  await queueMail(mail('dropped'));
  await deliver(recorded);
  await lookAtAll();

  expect(left.join('\n')).toContain('has not taken a mail (passing, 450)');
  expect(lines.join('\n')).toContain('A mail was sent');
  expect(lines.join('\n')).toContain('MailNotSent');
  expect([...left, ...lines].filter((line) => line.includes(canary))).toEqual([]);
  mailbox.trouble.afterData = undefined;
  now += 3_600_000;
  await deliverAgain(recorded);
  await lookAtAll();
  const { rows } = await database.pool.query('select status, sealed is null as gone from mail');
  expect(rows).toHaveLength(4);
  expect(rows.every((row: { gone: boolean }) => row.gone)).toBe(true);
});
