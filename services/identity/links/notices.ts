import type { Queryable } from '#db/connect.ts';

/**
 * The address for a notice that a run has ended. Null when the user has switched it off, has not
 * confirmed the address, or is being erased.
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
 * The address for emails about money, which cannot be switched off. Null until it is confirmed, and
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
