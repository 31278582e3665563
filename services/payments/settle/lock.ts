import pLimit from 'p-limit';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';

/**
 * What was read of the provider is applied only while the payment is as it was before the reading, by
 * one process at a time. So whatever is written last was read last.
 *
 * The lock is an advisory one, in a transaction that writes nothing: a row lock would give it an id, and
 * every reader of events waits for open ids.
 */

/** Readings of a payment that moves meanwhile; after that a job settles it. */
export const triesAtMost = 3;

/** Each holds a connection and needs another one, so all of them together must leave some free. */
const locks = pLimit(2);

export async function unlessMoved<Result>(
  { pool }: Pick<PaymentDependencies, 'pool'>,
  { id, version }: Pick<PurchaseRow, 'id' | 'version'>,
  work: () => Promise<Result>,
): Promise<Result | 'moved'> {
  return locks(async () =>
    inTransaction(pool, async (client) => {
      await client.query(`select pg_advisory_xact_lock(hashtextextended('payment:' || $1, 0))`, [
        id,
      ]);
      const { rows } = await client.query<{ version: number }>(
        'select version from purchase where id = $1',
        [id],
      );
      return rows[0]?.version === version ? work() : 'moved';
    }),
  );
}

/** Of a webhook event's job, and of those like it: the queue waits longer after each, four days in all. */
export const jobAttempts = 25;

export async function queueSettle(client: Queryable, purchaseId: string): Promise<void> {
  await client.query(
    `select graphile_worker.add_job('settle-payment', json_build_object('purchaseId', $1::text),
       job_key := 'settle:' || $1, max_attempts := $2)`,
    [purchaseId, jobAttempts],
  );
}
