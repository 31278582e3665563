import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger, runOnce } from 'graphile-worker';
import { createLog } from '#services/platform/process/log.ts';
import type { Log } from '#services/platform/process/log.ts';
import { createMailTransport } from '#services/platform/mail/transport.ts';
import type { MailTransportSettings } from '#services/platform/mail/transport.ts';
import { mailTasks } from '#services/platform/mail/mail.ts';
import type { MailTaskDependencies } from '#services/platform/mail/mail.ts';
import { startMailCatcher } from '#services/sandbox/mail/mail-catcher.ts';
import type { MailTrouble } from '#services/sandbox/mail/mail-catcher.ts';
import { createMailbox } from '#services/sandbox/mail/mailbox.ts';
import type { CaughtMail } from '#services/sandbox/mail/mailbox.ts';
import { eventually } from './processes/processes.ts';

/** A test's own mail server and the mails that it caught. */
export type TestMailbox = {
  smtpUrl: string;
  /** Change it to make the server misbehave from the next mail on. */
  trouble: MailTrouble;
  /** Waits for the newest mail to an address, if given with these words in its subject. */
  waitFor(to: string, subject?: string | RegExp): Promise<CaughtMail>;
  /** Newest first. */
  all(to?: string): Promise<CaughtMail[]>;
  clear(): Promise<void>;
  close(): Promise<void>;
};

export async function createTestMailbox(): Promise<TestMailbox> {
  const directory = mkdtempSync(join(tmpdir(), 'sevenfold-mail-'));
  const mailbox = createMailbox(directory);
  const trouble: MailTrouble = {};
  const catcher = await startMailCatcher({ mailbox, trouble });
  return {
    smtpUrl: catcher.url,
    trouble,
    waitFor: async (to, subject = '') =>
      eventually(
        `a mail to ${to}`,
        async () => {
          const mails = await mailbox.list(to);
          return mails.find((mail) => holds(mail.subject, subject)) ?? null;
        },
        10_000,
      ),
    all: async (to) => mailbox.list(to),
    clear: async () => mailbox.clear(),
    async close() {
      await catcher.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function holds(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text);
}

/** The first address in a mail's text. */
export function linkIn(mail: CaughtMail): string {
  const link = /https?:\/\/\S+/.exec(mail.text)?.[0];
  if (link === undefined) throw new Error(`No link in:\n${mail.text}`);
  return link;
}

type Deliverer = Pick<MailTaskDependencies, 'pool' | 'sealer' | 'clock'>;

type SendOptions = {
  log?: Log;
  limits?: MailTransportSettings['limits'];
  from?: string;
  /** Gets the queue's messages about failed jobs. */
  onQueueMessage?: (message: string, meta: unknown) => void;
};

/** Runs every due mail job, as a worker would, and waits for the last of them. */
export async function deliverMails(
  core: Deliverer,
  { smtpUrl }: { smtpUrl: string | null },
  options: SendOptions = {},
): Promise<void> {
  const { log = createLog({ level: 'silent', process: 'test' }), limits, onQueueMessage } = options;
  const transport = createMailTransport({
    smtpUrl,
    from: options.from ?? 'Sevenfold <no-reply@localhost>',
    publicUrl: 'http://localhost:3000',
    ...(limits === undefined ? {} : { limits }),
  });
  try {
    await runOnce({
      pgPool: core.pool,
      taskList: mailTasks({ ...core, transport, log }),
      noHandleSignals: true,
      logger: new Logger(() => (_level, message, meta) => onQueueMessage?.(message, meta)),
    });
  } finally {
    await transport.close();
  }
  // The queue does not wait for its statement that completes or returns a job.
  await eventually('the end of the jobs', async () => {
    const { rowCount } = await core.pool.query(
      `select from graphile_worker.jobs
       where task_identifier = 'send-mail' and locked_at is not null`,
    );
    return rowCount === 0;
  });
}
