import type { Queryable } from '#db/connect.ts';
import { forgetTurns } from '#services/platform/http/rate-limits.ts';

/**
 * Deletes a user from every plain table, and last the account itself, which cascades to sessions with
 * their tokens, links and the picture. Events, ledger, read models and audit log stay: they hold ids,
 * figures, and text that no key opens.
 *
 * Call it in a transaction, after the user's keys are deleted. True for the one caller that removed the
 * account.
 */
export async function purgePerson(client: Queryable, userId: string): Promise<boolean> {
  await removeJobs(client, userId);
  const { rows } = await client.query<{ email: string }>(
    'select email from users where id = $1 for update',
    [userId],
  );
  await forgetTurns(client, [userId, ...rows.map(({ email }) => email)]);
  for (const table of tables)
    await client.query(`delete from ${table} where user_id = $1`, [userId]);
  const { rowCount } = await client.query('delete from users where id = $1', [userId]);
  return rowCount === 1;
}

/** Those without a foreign key to the account. */
const tables = ['mail', 'idempotency_key', 'live_text', 'refresh_token'] as const;

/** A job's key begins with the id of the run or mail that it is about. */
async function removeJobs(client: Queryable, userId: string): Promise<void> {
  await client.query(
    `select graphile_worker.remove_job(job.key) from graphile_worker.jobs job
     where split_part(job.key, ':', 1) in (
       select run_id from optimization_list where user_id = $1
       union all select id from mail where user_id = $1)`,
    [userId],
  );
}
