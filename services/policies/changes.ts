import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { derivedId, newId } from '#services/platform/ids.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { policyChangeEmail } from './email.ts';

/**
 * Announced changes of the terms and the privacy policy: every page shows a change from its announcement
 * until it applies, and every user with a confirmed address is emailed once.
 */
export type PolicyChange = {
  id: string;
  /** A UTC day, such as 2026-12-31. */
  effectiveOn: string;
  /** What changes, in the operator's words. */
  summary: string;
  announcedAt: Date;
  /** Null while users are still being emailed. */
  mailedAt: Date | null;
};

export const policyLimits = {
  /** Days between announcement and effect, as the terms promise. */
  noticeDays: 30,
  summary: 2_000,
  /** Users that one sweep emails. */
  mailedAtOnce: 500,
  /** Days for which a late confirmation is looked for: fewer than mails are kept, whose ids are compared. */
  lateDays: 14,
} as const;

const dayMs = 86_400_000;

/** The first day on which a change that is announced now may apply. */
export function earliestDay(now: number): string {
  // The day of the announcement is not over yet and does not count.
  return dayOf(now + (policyLimits.noticeDays + 1) * dayMs);
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export async function announceChange(
  client: Queryable,
  { effectiveOn, summary }: Pick<PolicyChange, 'effectiveOn' | 'summary'>,
  now: Date,
): Promise<string> {
  const id = newId('pol', now.getTime());
  await client.query(
    `insert into policy_change (id, effective_on, summary, announced_at) values ($1, $2, $3, $4)`,
    [id, effectiveOn, summary, now],
  );
  return id;
}

const columns = `id, to_char(effective_on, 'YYYY-MM-DD') as "effectiveOn", summary,
  announced_at as "announcedAt", mailed_at as "mailedAt"`;

/** Newest first. */
export async function listChanges(pool: Queryable): Promise<PolicyChange[]> {
  const { rows } = await pool.query<PolicyChange>(
    `select ${columns} from policy_change order by announced_at desc`,
  );
  return rows;
}

/** The next one that does not apply yet. */
export async function upcomingChange(pool: Queryable, now: number): Promise<PolicyChange | null> {
  const { rows } = await pool.query<PolicyChange>(
    `select ${columns} from policy_change where effective_on > $1::date
     order by effective_on, id limit 1`,
    [dayOf(now)],
  );
  return rows[0] ?? null;
}

/** False when there is none with this id. Users who were emailed are not emailed again. */
export async function withdrawChange(client: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await client.query('delete from policy_change where id = $1', [id]);
  return rowCount === 1;
}

export type AnnounceDependencies = {
  pool: pg.Pool;
  queueMail: QueueMail;
  clock: () => number;
  productName: string;
  publicUrl: string;
};

/** Queues the emails of a page of users for each open announcement. Returns how many. */
export async function sweepAnnouncements(dependencies: AnnounceDependencies): Promise<number> {
  const { pool, clock } = dependencies;
  let queued = await mailLate(dependencies);
  const { rows } = await pool.query<PolicyChange & { mailedTo: string }>(
    `select ${columns}, mailed_to as "mailedTo" from policy_change where mailed_at is null`,
  );
  for (const change of rows) {
    const users = await pool.query<{ id: string; email: string }>(
      `select id, email from users
       where id > $1 and email_confirmed_at is not null and erasing_at is null
         and created_at <= $2
       order by id limit $3`,
      [change.mailedTo, change.announcedAt, policyLimits.mailedAtOnce],
    );
    for (const { id, email } of users.rows) await emailUser(dependencies, change, id, email);
    queued += users.rows.length;
    const last = users.rows.at(-1)?.id;
    await pool.query(
      `update policy_change set mailed_to = coalesce($2, mailed_to),
         mailed_at = case when $2::text is null then $3::timestamptz end
       where id = $1`,
      [change.id, last ?? null, new Date(clock())],
    );
  }
  return queued;
}

/** Users who confirmed their address after the others were emailed, until the change applies. */
async function mailLate(dependencies: AnnounceDependencies): Promise<number> {
  const { pool, clock } = dependencies;
  const { rows: changes } = await pool.query<PolicyChange>(
    `select ${columns} from policy_change where mailed_at is not null and effective_on > $1::date`,
    [dayOf(clock())],
  );
  let queued = 0;
  for (const change of changes) {
    const { rows: users } = await pool.query<{ id: string; email: string }>(
      `select id, email from users
       where email_confirmed_at > greatest($1, $2::timestamptz) and erasing_at is null
         and created_at <= $1
       order by email_confirmed_at, id`,
      [change.announcedAt, new Date(clock() - policyLimits.lateDays * dayMs)],
    );
    const { rows: mails } = await pool.query<{ id: string }>(
      'select id from mail where id = any ($1)',
      [users.map(({ id }) => mailIdOf(change, id))],
    );
    const known = new Set(mails.map(({ id }) => id));
    const late = users.filter(({ id }) => !known.has(mailIdOf(change, id)));
    const page = late.slice(0, policyLimits.mailedAtOnce);
    for (const { id, email } of page) await emailUser(dependencies, change, id, email);
    queued += page.length;
  }
  return queued;
}

const mailIdOf = (change: PolicyChange, userId: string): string =>
  derivedId('mai', change.id, userId);

/** One email per user and change, however often a sweep that was killed is repeated. */
async function emailUser(
  { queueMail, productName, publicUrl }: AnnounceDependencies,
  change: PolicyChange,
  userId: string,
  to: string,
): Promise<void> {
  try {
    await queueMail({
      id: mailIdOf(change, userId),
      userId,
      to,
      kind: 'policy-change',
      content: policyChangeEmail({ productName, publicUrl }, change),
    });
  } catch (error) {
    // The user has been erased since the list was read.
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}
