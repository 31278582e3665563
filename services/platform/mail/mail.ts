import type { Task } from 'graphile-worker';
import type pg from 'pg';
import * as v from 'valibot';
import { newId } from '#services/platform/ids.ts';
import { mailLimits } from '#services/platform/limits.ts';
import { layOut, singleLine } from './layout.ts';
import type { EmailContent, MailSender } from './layout.ts';
import type { Log } from '#services/platform/process/log.ts';
import { MailNotSent } from './transport.ts';
import type { MailTransport } from './transport.ts';
import type { SealContext, Sealer } from '#services/platform/seal.ts';

export type OutgoingMail = {
  userId: string;
  to: string;
  /** Such as `confirm` or `run-finished`. */
  kind: string;
  content: EmailContent;
  /** After this moment it is not sent any more, such as a link that has expired. */
  notAfter?: Date;
  /** For a mail that there may be only one of: the same id again changes nothing. Fresh when left out. */
  id?: string;
};

/**
 * Stores a mail, sealed, and its job in one transaction: the caller's when a client is given.
 * Resolves with the mail's id once it is stored, not once it is sent.
 */
export type QueueMail = (mail: OutgoingMail, client?: pg.ClientBase) => Promise<string>;

export type MailQueueDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  /** Milliseconds since 1970. */
  clock: () => number;
  sender: MailSender;
};

/** What is sealed in a row of `mail`, and how it is told from the text of another mail. */
export type MailContent = { to: string; subject: string; text: string; html: string; kind: string };

export function contentContext(mailId: string): SealContext {
  return { stream: `mail-${mailId}`, field: 'content' };
}

/**
 * Row and job come from one statement, so there is never one without the other, and nothing has to
 * look for mails that nobody sends. The job knows the mail's id and nothing else.
 */
export function createMailQueue(dependencies: MailQueueDependencies): QueueMail {
  const { pool, sealer, clock, sender } = dependencies;
  return async (mail, client) => {
    const id = mail.id ?? newId('mai', clock());
    const content: MailContent = {
      to: checkedAddress(mail.to),
      kind: mail.kind,
      ...layOut(mail.content, sender),
    };
    const keyId = await sealer.createDataKey('account', mail.userId, mail.userId);
    const sealed = await sealer.seal(keyId, contentContext(id), JSON.stringify(content));
    await (client ?? pool).query(
      `with stored as (
         insert into mail (id, user_id, kind, sealed, not_after, created_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (id) do nothing returning id)
       select graphile_worker.add_job('send-mail', json_build_object('mailId', id), job_key := id,
           max_attempts := $7)
       from stored`,
      [
        id,
        mail.userId,
        mail.kind,
        sealed,
        mail.notAfter ?? null,
        new Date(clock()),
        mailLimits.attempts,
      ],
    );
    return id;
  };
}

/** Addresses are checked where they come in; here it only matters that one is one, on one line. */
function checkedAddress(address: string): string {
  if (singleLine(address) !== address || !/^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(address))
    throw new Error('A mail goes to one plain address');
  return address;
}

// --- sending ---

export type MailTaskDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  transport: MailTransport;
  log: Log;
  /** Milliseconds since 1970. */
  clock: () => number;
};

/**
 * A mail is sent once or not at all. It is `queued` until the server waits for its first byte, which
 * is when `sending` is committed, and `sent` when the server has said so. Whatever the server refuses
 * before that is certain: back to `queued` for the queue to try again, or `failed` for good. But a
 * mail that is found `sending` by a later try belongs to a process that was killed, and one whose
 * connection died without an answer may have arrived: both end as `unknown` and are never sent again.
 * A person can ask for another link; a second receipt could not be taken back.
 */
export function mailTasks(dependencies: MailTaskDependencies): Readonly<Record<'send-mail', Task>> {
  const sendMail: Task = async (payload, { job }) => {
    const { mailId } = v.parse(MailPayload, payload);
    await sendOnce(dependencies, mailId, job.attempts >= job.max_attempts);
  };
  return { 'send-mail': sendMail };
}

const MailPayload = v.object({ mailId: v.string() });
const Content = v.object({
  to: v.string(),
  subject: v.string(),
  text: v.string(),
  html: v.string(),
  kind: v.string(),
});

type Ended = 'sent' | 'unknown' | 'failed' | 'expired';

async function sendOnce(
  dependencies: MailTaskDependencies,
  mailId: string,
  isLastTry: boolean,
): Promise<void> {
  const begun = await beginTry(dependencies, mailId);
  if (begun === null) return;
  const content = await openContent(dependencies, mailId, begun.sealed);
  if (content === null) return end(dependencies, mailId, 'failed', 'erased');
  const { transport, clock } = dependencies;
  try {
    refuseLate(begun.notAfter, clock);
    await transport.send({ id: mailId, ...content }, async () => {
      refuseLate(begun.notAfter, clock);
      await claim(dependencies, mailId);
    });
  } catch (error) {
    if (error instanceof MailTaken) return;
    if (error instanceof MailTooLate) return end(dependencies, mailId, 'expired', 'too-late');
    if (!(error instanceof MailNotSent)) throw error;
    if (error.outcome === 'unknown') return end(dependencies, mailId, 'unknown', error.code);
    if (error.outcome === 'refused' || isLastTry)
      return end(dependencies, mailId, 'failed', error.code);
    await dependencies.pool.query(
      `update mail set status = 'queued' where id = $1 and status = 'sending'`,
      [mailId],
    );
    throw error;
  }
  await end(dependencies, mailId, 'sent', null);
}

/** Null when there is nothing to do; a mail whose sender was killed over it ends here. */
async function beginTry(
  dependencies: MailTaskDependencies,
  mailId: string,
): Promise<{ sealed: string; notAfter: Date | null } | null> {
  const { rows } = await dependencies.pool.query<{ sealed: string; notAfter: Date | null }>(
    `update mail set attempts = attempts + 1 where id = $1 and status = 'queued'
     returning sealed, not_after as "notAfter"`,
    [mailId],
  );
  const row = rows[0];
  if (!row) await end(dependencies, mailId, 'unknown', 'found-sending', ['sending']);
  return row ?? null;
}

async function openContent(
  { sealer }: MailTaskDependencies,
  mailId: string,
  sealed: string,
): Promise<MailContent | null> {
  const opened = await sealer.open(sealed, contentContext(mailId));
  return 'erased' in opened ? null : v.parse(Content, JSON.parse(opened.text));
}

/** Somebody else sends it, or it was erased, since it was read. */
class MailTaken extends Error {
  override readonly name = 'MailTaken';
}

class MailTooLate extends Error {
  override readonly name = 'MailTooLate';
}

function refuseLate(notAfter: Date | null, clock: () => number): void {
  if (notAfter !== null && notAfter.getTime() <= clock()) throw new MailTooLate();
}

async function claim({ pool }: MailTaskDependencies, mailId: string): Promise<void> {
  const { rowCount } = await pool.query(
    `update mail set status = 'sending' where id = $1 and status = 'queued'`,
    [mailId],
  );
  if (rowCount !== 1) throw new MailTaken();
}

/**
 * What a mail said goes when it has ended. A sender that was thought dead and has sent after all
 * corrects `unknown`; nothing else is ever corrected.
 */
async function end(
  { pool, log, clock }: MailTaskDependencies,
  mailId: string,
  status: Ended,
  code: string | null,
  from: readonly string[] = ['queued', 'sending', ...(status === 'sent' ? ['unknown'] : [])],
): Promise<void> {
  const { rows } = await pool.query<{ attempts: number }>(
    `update mail set status = $2, sealed = null, ended_at = $3
     where id = $1 and status = any ($4) returning attempts`,
    [mailId, status, new Date(clock()), from],
  );
  const row = rows[0];
  if (!row) return;
  const fields = { resource_id: mailId, outcome: status, attempt: row.attempts, code };
  if (status === 'sent') log.info(fields, 'A mail was sent');
  else log.warn(fields, 'A mail was not sent');
}

/** Removes what is left of mails after their time. Returns how many. */
export async function purgeMails({
  pool,
  clock,
}: Pick<MailTaskDependencies, 'pool' | 'clock'>): Promise<number> {
  const before = new Date(clock() - mailLimits.keptDays * 86_400_000);
  const { rowCount } = await pool.query(
    `delete from mail where id in (
       select id from mail where coalesce(ended_at, created_at) < $1 limit $2)`,
    [before, mailLimits.purgePage],
  );
  return rowCount ?? 0;
}
