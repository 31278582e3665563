import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '#db/connect.ts';
import { newId } from '#services/platform/ids.ts';
import { lockLimits } from '#services/platform/jobs/job-locks.ts';
import { localKeys } from '#services/platform/process/local-keys.ts';
import { createMailQueue } from '#services/platform/mail/mail.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { createSealer } from '#services/platform/seal.ts';
import type { CaughtMail } from '#services/sandbox/mail/mailbox.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import { createTestMailbox } from '#tests/support/mail.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  eventually,
  ownerUrlOf,
  signal,
  startApplication,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Application, OwnProcess } from '#tests/support/processes/processes.ts';

/** Mail through real processes: one that is killed in the middle, and the whole application. */
let started: AsyncDisposableStack;

beforeEach(() => {
  started = new AsyncDisposableStack();
});
afterEach(async () => started.disposeAsync());

function queueOver(url: string, dataKey: Buffer): QueueMail {
  const pool = createPool(url, { max: 2, applicationName: 'test', onError: () => undefined });
  started.defer(async () => pool.end());
  return createMailQueue({
    pool,
    sealer: createSealer({ dataKeys: [dataKey], pool }),
    clock: Date.now,
    sender: { productName: 'Sevenfold', contactEmail: null },
  });
}

/** The one that seals now. */
function currentKey(dataDir: string): Buffer {
  const [key] = localKeys(dataDir).data;
  if (key === undefined) throw new Error('The data folder has no key');
  return key;
}

function mailTo(to: string) {
  const content = { subject: 'Hello', paragraphs: ['Hello.'] };
  return { userId: newId('usr'), to, kind: 'test', content };
}

test(
  'a mail whose worker is killed while the server has it is sent again by the next worker a minute later',
  { timeout: 300_000 },
  async () => {
    const database = await createTestDatabase();
    started.defer(async () => database.drop());
    const mailbox = await createTestMailbox();
    started.defer(async () => mailbox.close());
    const folder = temporaryFolder();
    started.defer(() => folder.remove());
    const dataKey = randomBytes(32);
    const queueMail = queueOver(database.appUrl, dataKey);
    const startWorker = async (): Promise<OwnProcess> =>
      started.use(
        await startProcess('worker.ts', {
          DATABASE_URL: database.appUrl,
          DATA_DIR: folder.path,
          DATA_KEY: dataKey.toString('base64'),
          SANDBOX_URL: 'http://127.0.0.1:1',
          SMTP_URL: mailbox.smtpUrl,
        }),
      );
    const statusOf = async (id: string) => {
      const { rows } = await database.pool.query<{ status: string }>(
        'select status from mail where id = $1',
        [id],
      );
      return rows[0]?.status;
    };

    mailbox.trouble.afterData = 'hang';
    const first = await startWorker();
    const id = await queueMail(mailTo('once@example.com'));
    await mailbox.waitFor('once@example.com');
    expect(await statusOf(id)).toBe('queued');
    first.signal('SIGKILL');
    await first.ended;

    mailbox.trouble.afterData = undefined;
    await startWorker();
    const other = await queueMail(mailTo('other@example.com'));
    await mailbox.waitFor('other@example.com');
    const { pool } = database;
    await eventually(
      'the next try of the mail whose worker is gone',
      async () => {
        const { rowCount } = await pool.query(
          `select from graphile_worker.jobs j, mail m
           where m.id = $1 and j.key = m.id and j.locked_at is null
             and j.run_at = m.handed_over_at + interval '1 minute'`,
          [id],
        );
        return rowCount === 1;
      },
      3 * (lockLimits.sweepEveryMs + lockLimits.settleMs),
    );
    expect(await mailbox.all('once@example.com')).toHaveLength(1);
    await pool.query(
      `update mail set handed_over_at = handed_over_at - interval '1 minute' where id = $1`,
      [id],
    );
    await pool.query(
      'select graphile_worker.reschedule_jobs(array_agg(id), now()) from graphile_worker.jobs where key = $1',
      [id],
    );
    await eventually('the second copy', async () => (await statusOf(id)) === 'sent');
    const copies = await mailbox.all('once@example.com');
    expect(copies).toHaveLength(2);
    expect(copies[0]?.message_id).toBe(copies[1]?.message_id);
    await eventually('the other mail', async () => (await statusOf(other)) === 'sent');
  },
);

describe('the whole application', () => {
  async function mailsOf(app: Application, to: string, cookie = ''): Promise<CaughtMail[]> {
    const response = await fetch(`${app.url}/dev/mail?to=${to}`, {
      headers: { accept: 'application/json', cookie },
    });
    if (!response.ok) throw new Error(`The mailbox answered ${response.status}`);
    return (await response.json()) as CaughtMail[];
  }

  const arrived = async (app: Application, to: string) =>
    eventually(`a mail to ${to}`, async () => (await mailsOf(app, to))[0] ?? null);

  test(
    'the application shows its mails on its own port, also after restarts, and to the public only by the link of the start',
    { timeout: 300_000 },
    async () => {
      const folder = temporaryFolder();
      started.defer(() => folder.remove());
      const dataDir = join(folder.path, 'data');
      const port = await freePort();
      const first = started.use(await startApplication({ dataDir, port }));
      const queueMail = queueOver(ownerUrlOf(dataDir), currentKey(dataDir));
      await queueMail(mailTo('first@example.com'));
      await arrived(first, 'first@example.com');

      const [sandbox] = await first.pids('sandbox');
      signal(sandbox ?? 0, 'SIGKILL');
      await queueMail(mailTo('second@example.com'));
      await arrived(first, 'second@example.com');

      signal(first.supervisor, 'SIGTERM');
      expect(await first.ended).toBe(0);
      const settings = { ALLOW_PUBLIC_SANDBOX: 'true', API_PROCESSES: '2' };
      const second = started.use(await startApplication({ dataDir, port, settings }));
      const [link = ''] = /http\S+\/dev\/mail\?token=\S+/.exec(second.output()) ?? [];
      const led = await fetch(link, { redirect: 'manual' });
      const [cookie = ''] = led.headers.get('set-cookie')?.split(';') ?? [];
      // Each with a connection of its own, which either API process may take.
      for (let call = 0; call < 10; call += 1)
        expect(await mailsOf(second, 'second@example.com', cookie)).toHaveLength(1);
      expect((await fetch(`${second.url}/dev/mail`)).status).toBe(404);
      // Two API processes share this port.
      const polled = await fetch(`${second.url}/socket.io/?EIO=4&transport=polling`);
      expect(await polled.json()).toMatchObject({ message: 'Transport unknown' });
      const headers = { accept: 'text/html', cookie };
      const response = await fetch(`${second.url}/dev/mail`, { headers });
      expect(await response.text()).toContain('to first@example.com');
    },
  );
});
