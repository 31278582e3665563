import type { Task, TaskList } from 'graphile-worker';
import type pg from 'pg';
import * as v from 'valibot';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { Audit } from '#services/platform/audit.ts';
import type { Log } from '#services/platform/process/log.ts';
import { derivedId } from '#services/platform/ids.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { notLogged } from '#services/platform/process/erasure-log.ts';
import type { ErasureList, ErasureLog } from '#services/platform/process/erasure-log.ts';
import { ErasedKeyError, erasePersonKeys, recordOfPerson } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { accountErasingEmail } from '#services/identity/links/emails.ts';
import type { EmailHead } from '#services/identity/links/emails.ts';
import { linkSeconds, voidLinks } from '#services/identity/links/links.ts';
import type { TokenKind } from '#services/identity/links/links.ts';
import { purgePerson } from './purge.ts';
import { revokeApiKeysOf } from '#services/identity/api-keys/api-keys.ts';
import { endSessionsOf } from '#services/identity/sessions/sessions.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/**
 * Erasing a user.
 *
 * It begins with a mark: once `erasing_at` is set, the account refuses every command, its sessions have
 * ended and its links are void. A job does the rest, in the order of `erasureSteps`. Each step can be
 * repeated, also after it was done in part, so a job that was killed starts again at the first. A step
 * that has to wait, such as for a run whose recommendation is being written, postpones the job.
 *
 * Money and evidence require this order. Whatever still moves credits ends and settles first. Unused
 * purchases are refunded, then the account is closed for good. Only then are the keys deleted, without
 * which no text of this user can be read in events, read models or backups. The ledger remains, under
 * an id that identifies no one.
 */
export type ErasureDependencies = EmailHead & {
  pool: pg.Pool;
  queueMail: QueueMail;
  sealer: Sealer;
  audit: Audit;
  clock: () => number;
  erasureLog: ErasureLog;
  /** True when every run of the user has ended and settled. */
  endRuns: (userId: string) => Promise<boolean>;
  hideRuns: (userId: string) => Promise<void>;
  ledger: Pick<Ledger, 'close'>;
  leavePayments: LeavePayments;
  /** Names the refund of each purchase; null when nothing is refunded. */
  refundsEmail: (userId: string) => Promise<EmailContent | null>;
};

/**
 * What a payment provider holds of a person. False while the provider is unavailable or still at it; it is not
 * asked where there is nothing to end.
 */
export type LeavePayments = Readonly<
  Record<
    'endCheckouts' | 'endPlans' | 'refundUnused' | 'forgetCustomer',
    (userId: string) => Promise<boolean>
  >
>;

/** Complete, or the step that has to wait. */
export type Progress = 'erased' | { waitsFor: ErasureStep['name'] };

export type ErasureStep = {
  name: string;
  /** 'wait': it cannot finish now and runs again later. */
  run: (dependencies: ErasureDependencies, userId: string) => Promise<'done' | 'wait'>;
};

export const erasureSteps: readonly ErasureStep[] = [
  { name: 'end-sessions', run: endSessions },
  { name: 'end-runs', run: endRuns },
  // First what could charge the user again, then what is owed to them, then the payment provider's
  // customer.
  { name: 'end-checkouts', run: payments('endCheckouts') },
  { name: 'end-plans', run: payments('endPlans') },
  { name: 'refund-unused', run: payments('refundUnused') },
  { name: 'forget-customer', run: payments('forgetCustomer') },
  { name: 'close-account', run: closeAccount },
  { name: 'hide-runs', run: hideRuns },
  // After everything that moves money has ended, and before the keys are deleted: emails are sealed under them.
  { name: 'notify', run: notify },
  { name: 'erase-keys', run: eraseKeys },
  { name: 'remove-person', run: removePerson },
];

const actor = 'system:erasure';

/** Runs the steps as far as possible. Does nothing for a user who has not asked for erasure. */
export async function eraseAccount(
  dependencies: ErasureDependencies,
  userId: string,
): Promise<Progress> {
  if (!(await isToBeErased(dependencies.pool, userId)))
    throw new Error('The erasure of this account was not requested');
  for (const { name, run } of erasureSteps)
    if ((await run(dependencies, userId)) === 'wait') return { waitsFor: name };
  return 'erased';
}

async function isToBeErased(pool: pg.Pool, userId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from users where id = $1 and erasing_at is not null
     union all
     select from erasure where key_id = $1 and kind = 'account'`,
    [userId],
  );
  return rowCount !== 0;
}

// --- the steps ---

async function endSessions({ pool, clock }: ErasureDependencies, userId: string): Promise<'done'> {
  const now = new Date(clock());
  await endSessionsOf(pool, userId, 'account-erased', now);
  await revokeApiKeysOf(pool, userId, now);
  await voidLinks(pool, userId, now, everyKind);
  return 'done';
}

const everyKind = Object.keys(linkSeconds) as TokenKind[];

async function endRuns(
  { endRuns: end }: ErasureDependencies,
  userId: string,
): Promise<'done' | 'wait'> {
  return (await end(userId)) ? 'done' : 'wait';
}

function payments(end: keyof LeavePayments): ErasureStep['run'] {
  return async ({ leavePayments }, userId) =>
    (await leavePayments[end](userId)) ? 'done' : 'wait';
}

/**
 * A reservation that was under way when its run was cancelled may still be held; its own job releases
 * it. Runs and purchases are checked once more here, because some may have been created at the last
 * moment. From here on, a payment that still succeeds is refunded as soon as it is granted.
 */
async function closeAccount(
  dependencies: ErasureDependencies,
  userId: string,
): Promise<'done' | 'wait'> {
  const { held } = await dependencies.ledger.close({ userId, reason: 'erasure', actor });
  if (held > 0 || (await endRuns(dependencies, userId)) === 'wait') return 'wait';
  return payments('refundUnused')(dependencies, userId);
}

/**
 * An event hides every run, instead of deleting its row: a rebuilt list would otherwise differ from the
 * one in use. The text in the row is sealed under a key that is about to be deleted.
 */
async function hideRuns({ hideRuns: hide }: ErasureDependencies, userId: string): Promise<'done'> {
  await hide(userId);
  return 'done';
}

/** How long after it was queued an erasure waits for an email; the mail server may be unavailable. */
const mailMs = 600_000;

/**
 * Emails the refunds, which are final by now, and waits until all queued emails to this user are sent.
 */
async function notify(dependencies: ErasureDependencies, userId: string): Promise<'done' | 'wait'> {
  const { pool, clock } = dependencies;
  await notifyOfRefunds(dependencies, userId);
  const { rowCount } = await pool.query(
    `select from users
     where id = $1 and exists (
       select from mail
       where user_id = $1 and status = 'queued' and created_at > $2)`,
    [userId, new Date(clock() - mailMs)],
  );
  return rowCount === 0 ? 'done' : 'wait';
}

/** One email, however often this runs; none to an unconfirmed address. */
async function notifyOfRefunds(
  { pool, clock, queueMail, refundsEmail }: ErasureDependencies,
  userId: string,
): Promise<void> {
  const { rows } = await pool.query<{ email: string }>(
    'select email from users where id = $1 and email_confirmed_at is not null',
    [userId],
  );
  const to = rows[0]?.email;
  const content = to === undefined ? null : await refundsEmail(userId);
  if (to === undefined || content === null) return;
  try {
    await queueMail({
      id: derivedId('mai', userId, 'account-refunds'),
      userId,
      to,
      kind: 'account-refunds',
      content,
      notAfter: new Date(clock() + mailMs),
    });
  } catch (error) {
    // An earlier job was killed after it deleted the keys: it had queued the email before.
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

async function eraseKeys({ sealer }: ErasureDependencies, userId: string): Promise<'done'> {
  await sealer.erasePerson(userId);
  return 'done';
}

/** One transaction: a user is never half removed. */
async function removePerson({ pool, audit }: ErasureDependencies, userId: string): Promise<'done'> {
  await inTransaction(pool, async (client) => {
    if (await purgePerson(client, userId))
      await audit({ actor, action: 'account.erased', subject: userId, userId }, client);
  });
  return 'done';
}

// --- asking for it, and the job ---

/**
 * From this commit on the account refuses every command. A repeat changes nothing. False when there is
 * no such account. `reason` is kept for good, so an operator must name no one in it.
 *
 * The erasure log has the request when this resolves: what was confirmed to the user outlives a restore.
 */
export async function askForErasure(
  dependencies: AskDependencies & { pool: pg.Pool; erasureLog: ErasureLog },
  asked: AskedErasure,
): Promise<boolean> {
  const { pool, erasureLog, clock } = dependencies;
  const begun = await inTransaction(pool, async (client) =>
    beginErasure(dependencies, client, asked),
  );
  if (begun) await erasureLog.append([recordOfPerson(asked.userId, new Date(clock()))]);
  return begun;
}

export type AskDependencies = EmailHead &
  Pick<ErasureDependencies, 'audit' | 'clock' | 'queueMail'>;
type AskedErasure = { userId: string; actor: string; reason?: string };

/** As `askForErasure`, in the caller's transaction. */
export async function beginErasure(
  dependencies: AskDependencies,
  client: pg.ClientBase,
  { userId, actor: asker, reason }: AskedErasure,
): Promise<boolean> {
  const { audit, clock, queueMail } = dependencies;
  const now = new Date(clock());
  const { rows } = await client.query<Pick<Account, 'email' | 'email_confirmed_at' | 'erasing_at'>>(
    'select email, email_confirmed_at, erasing_at from users where id = $1 for update',
    [userId],
  );
  const account = rows[0];
  if (!account) return false;
  await addErasureJob(client, userId);
  if (account.erasing_at !== null) return true;
  await client.query('update users set erasing_at = $2, updated_at = $2 where id = $1', [
    userId,
    now,
  ]);
  await endSessionsOf(client, userId, 'account-erased', now);
  await voidLinks(client, userId, now, everyKind);
  // An unconfirmed address may be a stranger's.
  if (account.email_confirmed_at !== null)
    await queueMail(
      {
        userId,
        to: account.email,
        kind: 'account-erasing',
        content: accountErasingEmail(dependencies),
        notAfter: new Date(now.getTime() + mailMs),
      },
      client,
    );
  await audit(
    {
      actor: asker,
      action: 'account.erasure-asked',
      subject: userId,
      userId,
      ...(reason === undefined ? {} : { detail: { reason } }),
    },
    client,
  );
  return true;
}

async function addErasureJob(
  client: Queryable,
  userId: string,
  inSeconds: number = 0,
): Promise<void> {
  await client.query(
    `select graphile_worker.add_job('erase-account', json_build_object('userId', $1::text),
       job_key := $2, job_key_mode := 'replace', run_at := now() + make_interval(secs => $3))`,
    [userId, `erase:${userId}`, inSeconds],
  );
}

const ErasurePayload = v.object({ userId: v.string() });

/** How long an erasure that waits is postponed. */
const waitSeconds = 5;
/** An email is usually sent in a moment, and nothing else is left to wait for. */
const waitSecondsForMail = 1;

export function erasureTasks(dependencies: ErasureDependencies & { log: Log }): TaskList {
  const { pool, log } = dependencies;
  const erase: Task = async (payload) => {
    const { userId } = v.parse(ErasurePayload, payload);
    const progress = await eraseAccount(dependencies, userId);
    if (progress !== 'erased') {
      log.info({ user_id: userId, reason: progress.waitsFor }, 'An erasure waits');
      const seconds = progress.waitsFor === 'notify' ? waitSecondsForMail : waitSeconds;
      await addErasureJob(pool, userId, seconds);
    } else log.info({ user_id: userId }, 'A person was erased');
  };
  return { 'erase-account': erase };
}

/**
 * Adds the job again for users who asked and are not yet erased, and for erased users who have data
 * again: a command that was under way may commit after the last step. Returns how many.
 */
export async function sweepErasures(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ user_id: string }>(
    `select user_id from (
       select id as user_id from users where erasing_at is not null
       union
       select e.user_id from erasure e
       where e.kind = 'account' and e.erased_at > now() - interval '1 day' and ${leftBehind('e')}
     ) unfinished
     where not exists (
       select from graphile_worker.jobs job
       where job.key = 'erase:' || unfinished.user_id
         and (job.attempts < job.max_attempts or job.locked_at is not null))`,
  );
  for (const row of rows) await addErasureJob(pool, row.user_id);
  return rows.length;
}

/** SQL: whether the user of a row of `erasure` has data again. */
function leftBehind(erasure: string): string {
  return `(exists (select from users u where u.id = ${erasure}.user_id)
    or exists (select from data_key k where k.user_id = ${erasure}.user_id)
    or exists (select from mail m where m.user_id = ${erasure}.user_id)
    or exists (select from idempotency_key i where i.user_id = ${erasure}.user_id)
    or exists (select from stripe_customer s where s.user_id = ${erasure}.user_id)
    or exists (select from customer_introduction c where c.user_id = ${erasure}.user_id)
    or exists (select from optimization_list r where r.user_id = ${erasure}.user_id
      and not r.hidden))`;
}

// --- after a restore ---

/** What was erased, in the form that one database hands to another. */
export async function readErasures(client: Queryable): Promise<ErasureList> {
  const { rows } = await client.query<ErasureList[number]>(
    `select key_id, kind, user_id,
       to_char(erased_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as erased_at
     from erasure order by erased_at, key_id`,
  );
  return rows;
}

/**
 * Adds what the log of this machine lacks: erasures by other machines and by versions without a log. Returns
 * how many.
 */
export async function completeErasureLog(
  { pool, erasureLog }: { pool: pg.Pool; erasureLog: ErasureLog },
  logged: ErasureList,
): Promise<number> {
  const missing = notLogged(await readErasures(pool), logged);
  await erasureLog.append(missing);
  return missing.length;
}

/** Returns how many were new to this database. */
export async function addErasures(client: Queryable, list: ErasureList): Promise<number> {
  const { rowCount } = await client.query(
    `insert into erasure (key_id, kind, user_id, erased_at)
     select key_id, kind, user_id, erased_at
     from jsonb_to_recordset($1::jsonb)
       as e (key_id text, kind text, user_id text, erased_at timestamptz)
     on conflict (key_id) do nothing`,
    [JSON.stringify(list)],
  );
  return rowCount ?? 0;
}

/**
 * Erases again the users on the list of erasures that a restored backup brought back. Keys and accounts
 * are deleted before any request is answered. What needs commands, such as closing the account, is left
 * to the job. Returns their ids.
 */
export async function applyErasures(pool: pg.Pool): Promise<string[]> {
  await pool.query('delete from data_key k using erasure e where e.key_id = k.key_id');
  const { rows } = await pool.query<{ user_id: string }>(
    `select e.user_id from erasure e where e.kind = 'account' and ${leftBehind('e')}`,
  );
  for (const { user_id: userId } of rows)
    await inTransaction(pool, async (client) => {
      await erasePersonKeys(client, userId);
      await purgePerson(client, userId);
      await addErasureJob(client, userId);
    });
  return rows.map((row) => row.user_id);
}
