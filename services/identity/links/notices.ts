import type { Queryable } from '#db/connect.ts';

/**
 * Where a notice that a run has ended goes; null for whoever has not asked for one, has not shown
 * that the mailbox is theirs, or is being erased.
 */
export async function finishedRunAddress(pool: Queryable, userId: string): Promise<string | null> {
  const { rows } = await pool.query<{ email: string }>(
    `select email from users
     where id = $1 and notify_run_finished and email_confirmed_at is not null
       and erasing_at is null`,
    [userId],
  );
  return rows[0]?.email ?? null;
}

/**
 * Where mails about money go, which nobody can switch off; null while nobody has shown that the mailbox
 * is theirs, and for whoever is being erased.
 */
export async function provedAddress(pool: Queryable, userId: string): Promise<string | null> {
  const { rows } = await pool.query<{ email: string }>(
    `select email from users
     where id = $1 and email_confirmed_at is not null and erasing_at is null`,
    [userId],
  );
  return rows[0]?.email ?? null;
}
