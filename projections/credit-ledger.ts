import type { Queryable } from '#db/connect.ts';
import type { LedgerAccount, Posting } from '#services/credits/account/movements.ts';

/**
 * Reading the view `credit_ledger`: every event in double entry, two lines each.
 * `services/credits/account/movements.ts` says the same in code, and a test compares the two.
 */
export type LedgerTransaction = { transactionId: string; event: string; postings: Posting[] };

/** One person's transactions in order. */
export async function readLedger(client: Queryable, userId: string): Promise<LedgerTransaction[]> {
  const { rows } = await client.query<{ id: string; event: string; postings: Posting[] }>(
    `select transaction_id as id, event,
       json_agg(json_build_object('account', account, 'credits', credits) order by credits)
         as postings
     from credit_ledger where stream_id = 'credits-' || $1
     group by stream_position, transaction_id, event order by stream_position`,
    [userId],
  );
  return rows.map(({ id, event, postings }) => ({ transactionId: id, event, postings }));
}

/** The sum of each account's lines, of one person or, when no one is named, of all together. */
export async function readLedgerSums(
  client: Queryable,
  userId?: string,
): Promise<ReadonlyMap<LedgerAccount, number>> {
  const { rows } = await client.query<{ account: LedgerAccount; credits: number }>(
    `select account, sum(credits)::float8 as credits from credit_ledger
     where $1::text is null or stream_id = 'credits-' || $1
     group by account`,
    [userId ?? null],
  );
  return new Map(rows.map(({ account, credits }) => [account, credits]));
}

/** The transactions whose lines do not sum to 0; there is none in a sound ledger. */
export async function readUnbalanced(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select transaction_id as id from credit_ledger
     group by stream_id, transaction_id
     having sum(credits) <> 0 or count(*) <> 2 or bool_or(account is null)`,
  );
  return rows.map(({ id }) => id);
}
