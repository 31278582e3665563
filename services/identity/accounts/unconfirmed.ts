import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import { beginErasure } from '#services/identity/erasure/erasure.ts';
import type { AskDependencies } from '#services/identity/erasure/erasure.ts';

/** How long an account may stay unconfirmed, and how many are erased at a time. */
const unconfirmedKeeping = { days: 30, erasedAtOnce: 100 } as const;

/**
 * Asks for the erasure of accounts that were never confirmed or used, because the address may be a
 * stranger's. An account with credits, a run or a session counts as used. Returns how many it found.
 *
 * The rows are locked as they are found, so a confirmation at the same moment comes wholly before or
 * wholly after. Runs only where signing in requires a confirmed address.
 */
export async function sweepUnconfirmed(
  dependencies: AskDependencies & { pool: pg.Pool },
): Promise<number> {
  const { pool, clock } = dependencies;
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `select id from users
       where email_confirmed_at is null and erasing_at is null
         and created_at < $1::timestamptz - make_interval(days => $2)
         and not exists (select from credit_account c where c.user_id = users.id)
         and not exists (select from optimization_list r where r.user_id = users.id)
         and not exists (
           select from sessions s
           where s.user_id = users.id and s.revoked_at is null and s.expires_at > $1)
       order by created_at limit $3 for update skip locked`,
      [new Date(clock()), unconfirmedKeeping.days, unconfirmedKeeping.erasedAtOnce],
    );
    for (const { id: userId } of rows)
      await beginErasure(dependencies, client, { userId, actor: 'system:unconfirmed' });
    return rows.length;
  });
}
