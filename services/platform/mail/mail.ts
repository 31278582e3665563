import type { Task } from 'graphile-worker';
import type pg from 'pg';
import * as v from 'valibot';
import { newId } from '#services/platform/ids.ts';
import { layOut, singleLine } from './layout.ts';
import type { EmailContent, MailSender } from './layout.ts';
import type { Log } from '#services/platform/process/log.ts';
import { MailNotSent } from './transport.ts';
import type { MailTransport } from './transport.ts';
import type { SealContext, Sealer } from '#services/platform/seal.ts';

export type OutgoingMail = {
  userId: string;
  to: string;
  /** Who gets an answer to it; without it the sender does. */
  replyTo?: string;
  /** Such as `confirm` or `run-finished`. */
  kind: string;
  content: EmailContent;
  /** It is not sent after this moment, such as the end of its link. */
  notAfter?: Date;
  /** A second mail with the same id is ignored. Fresh when left out. */
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

export const mailLimits = {
  /** Tries of one mail; the queue waits longer after each, about four days in all. */
  attempts: 25,
  /** After a hand-over that the server did not answer. After the last one the outcome is `unknown`. */
  retryUnansweredMs: [60_000, 300_000, 1_800_000],
  /** The row of a mail that has ended is kept; its content is not. */
  keptDays: 30,
  /** Rows deleted at a time. */
  purgePage: 1_000,
} as const;

/** What is sealed in a row of `mail`. */
export type MailContent = {
  to: string;
  replyTo?: string;
  subject: string;
  text: string;
  html: string;
  kind: string;
};

export function contentContext(mailId: string): SealContext {
  return { stream: `mail-${mailId}`, field: 'content' };
}

/** Row and job come from one statement, so there is never one without the other. */
export function createMailQueue(dependencies: MailQueueDependencies): QueueMail {
  const { pool, sealer, clock, sender } = dependencies;
  return async (mail, client) => {
    const id = mail.id ?? newId('mai', clock());
    const content: MailContent = {
      to: checkedAddress(mail.to),
      ...(mail.replyTo === undefined ? {} : { replyTo: checkedAddress(mail.replyTo) }),
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

/** Addresses are validated where they come in; this keeps a second recipient out of the envelope. */
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
 * A mail is `queued` until the server takes it (`sent`) or refuses it for good (`failed`). A connection
 * that dies between the last byte and the answer leaves both possible, and so does a worker that is
 * killed there. So each hand-over is counted before its first byte and taken back when the server has
 * refused it. What stays unanswered is sent again, with the same Message-ID, by which servers drop a
 * copy; after three more hand-overs without an answer it ends as `unknown`.
 */
export function mailTasks(dependencies: MailTaskDependencies): Readonly<Record<'send-mail', Task>> {
  const sendMail: Task = async (payload, { job }) => {
    const { mailId } = v.parse(MailPayload, payload);
    await trySending(dependencies, mailId, job.attempts >= job.max_attempts);
  };
  return { 'send-mail': sendMail };
}

const MailPayload = v.object({ mailId: v.string() });
const Content = v.object({
  to: v.string(),
  replyTo: v.exactOptional(v.string()),
  subject: v.string(),
  text: v.string(),
  html: v.string(),
  kind: v.string(),
});

type Ended = 'sent' | 'unknown' | 'failed' | 'expired';

async function trySending(
  dependencies: MailTaskDependencies,
  mailId: string,
  isLastTry: boolean,
): Promise<void> {
  const mail = await beginTry(dependencies, mailId);
  if (mail === null) return;
  const { transport, clock, pool } = dependencies;
  const content = await openContent(dependencies, mailId, mail.sealed);
  if (content === null) return end(dependencies, mailId, 'failed', 'erased');
  if (mail.unanswered > 0 && nextTryAt(mail) > clock())
    return continueLater(dependencies, mailId, mail);
  // An earlier hand-over may have arrived.
  const notSent = (status: Ended, code: string) =>
    end(dependencies, mailId, mail.unanswered > 0 ? 'unknown' : status, code);
  try {
    await transport.send({ id: mailId, ...content }, async () => {
      if (isLate(mail.notAfter, clock())) throw new MailTooLate();
      await countHandOver(dependencies, mailId, mail.unanswered);
    });
  } catch (error) {
    if (error instanceof MailTooLate) return notSent('expired', 'too-late');
    if (error instanceof MailTaken) return continueLater(dependencies, mailId);
    if (!(error instanceof MailNotSent)) throw error;
    if (error.outcome === 'unknown') return continueLater(dependencies, mailId);
    if (error.outcome === 'refused' || isLastTry) return notSent('failed', error.code);
    await pool.query(`update mail set unanswered = $2 where id = $1 and status = 'queued'`, [
      mailId,
      mail.unanswered,
    ]);
    throw error;
  }
  await end(dependencies, mailId, 'sent', null);
}

type HandOvers = { unanswered: number; handedOverAt: Date | null; notAfter: Date | null };

const handOverColumns = 'unanswered, handed_over_at as "handedOverAt", not_after as "notAfter"';

/** Null when the mail has ended. */
async function beginTry(
  { pool }: MailTaskDependencies,
  mailId: string,
): Promise<({ sealed: string } & HandOvers) | null> {
  const { rows } = await pool.query<{ sealed: string } & HandOvers>(
    `update mail set attempts = attempts + 1 where id = $1 and status = 'queued'
     returning sealed, ${handOverColumns}`,
    [mailId],
  );
  return rows[0] ?? null;
}

async function openContent(
  { sealer }: MailTaskDependencies,
  mailId: string,
  sealed: string,
): Promise<MailContent | null> {
  const opened = await sealer.open(sealed, contentContext(mailId));
  return 'erased' in opened ? null : v.parse(Content, JSON.parse(opened.text));
}

/** Another worker has handed it over, or it has ended, since it was read. */
class MailTaken extends Error {
  override readonly name = 'MailTaken';
}

class MailTooLate extends Error {
  override readonly name = 'MailTooLate';
}

function isLate(notAfter: Date | null, atMs: number): boolean {
  return notAfter !== null && notAfter.getTime() <= atMs;
}

async function countHandOver(
  { pool, clock }: MailTaskDependencies,
  mailId: string,
  unanswered: number,
): Promise<void> {
  const { rowCount } = await pool.query(
    `update mail set unanswered = unanswered + 1, handed_over_at = $3
     where id = $1 and status = 'queued' and unanswered = $2`,
    [mailId, unanswered, new Date(clock())],
  );
  if (rowCount !== 1) throw new MailTaken();
}

/** Infinity when an unanswered mail is not tried again. */
function nextTryAt({ unanswered, handedOverAt, notAfter }: HandOvers): number {
  const delayMs = mailLimits.retryUnansweredMs[unanswered - 1] ?? Number.POSITIVE_INFINITY;
  const at = (handedOverAt?.getTime() ?? 0) + delayMs;
  return isLate(notAfter, at) ? Number.POSITIVE_INFINITY : at;
}

async function continueLater(
  dependencies: MailTaskDependencies,
  mailId: string,
  read?: HandOvers,
): Promise<void> {
  const { pool } = dependencies;
  const mail = read ?? (await handOversOf(pool, mailId));
  if (mail === null) return;
  const at = nextTryAt(mail);
  if (at === Number.POSITIVE_INFINITY) return end(dependencies, mailId, 'unknown', 'no-answer');
  await pool.query(
    `select graphile_worker.add_job('send-mail', json_build_object('mailId', $1::text),
       job_key := $1, run_at := $2, max_attempts := $3)`,
    [mailId, new Date(at), mailLimits.attempts],
  );
}

async function handOversOf(pool: pg.Pool, mailId: string): Promise<HandOvers | null> {
  const { rows } = await pool.query<HandOvers>(
    `select ${handOverColumns} from mail where id = $1 and status = 'queued'`,
    [mailId],
  );
  return rows[0] ?? null;
}

/** Deletes the content. Only `unknown` can still become `sent`, by a worker that was believed dead. */
async function end(
  { pool, log, clock }: MailTaskDependencies,
  mailId: string,
  status: Ended,
  code: string | null,
): Promise<void> {
  const from = status === 'sent' ? ['queued', 'unknown'] : ['queued'];
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

/** Deletes the rows of old mails. Returns how many. */
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
