import type { Queryable } from '#db/connect.ts';

/**
 * Where a notice that a run has ended goes; null when the person has switched it off, has not confirmed
 * the address, or is being erased.
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
 * Where mails about money go, which cannot be switched off; null until the address is confirmed, and
 * while the account is being erased.
 */
export async function provedAddress(pool: Queryable, userId: string): Promise<string | null> {
  const { rows } = await pool.query<{ email: string }>(
    `select email from users
     where id = $1 and email_confirmed_at is not null and erasing_at is null`,
    [userId],
  );
  return rows[0]?.email ?? null;
}
