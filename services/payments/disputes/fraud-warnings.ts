import type pg from 'pg';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { findPaymentOf, NotGrantedYet } from '#services/payments/settle/find.ts';

/** The outcome of a warning whose payment was not granted here for days. */
export const notGranted = 'not-granted';

/**
 * The card network's word that a payment is probably fraud. Most that are not answered become disputes,
 * so an operator checks them and refunds what is still unused.
 */
export async function bookFraudWarning(
  dependencies: PaymentDependencies,
  warningId: string,
): Promise<string> {
  const view = await dependencies.provider.retrieveFraudWarning(warningId);
  const payment = view && (await findPaymentOf(dependencies, view));
  if (view === null || payment === null) return 'ignored';
  const { rowCount } = await dependencies.pool.query(
    `insert into fraud_warning (id, user_id, purchase_id, charge_id, fraud_type, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict (id) do nothing`,
    [
      warningId,
      payment.userId,
      payment.purchaseId,
      view.chargeId,
      view.fraudType,
      new Date(view.createdAt),
    ],
  );
  if (rowCount === 0) return 'unchanged';
  dependencies.log.warn(
    { user_id: payment.userId, resource_id: payment.purchaseId, reason: view.fraudType },
    'A payment is probably fraud: see cli credits warnings',
  );
  return 'warned';
}

export type OpenWarning = {
  id: string;
  /** These are null for a payment that was never granted here: the provider shows what it was. */
  user_id: string | null;
  purchase_id: string | null;
  fraud_type: string | null;
  created_at: string;
  /** Of its credits, those that are neither used, held nor taken back. */
  unused_credits: number;
  granted_credits: number;
};

/** Those that are not settled, oldest first. */
export async function openWarnings({
  pool,
  ledger,
}: {
  pool: pg.Pool;
  ledger: Ledger;
}): Promise<OpenWarning[]> {
  const { rows } = await pool.query<Omit<OpenWarning, 'created_at'> & { created_at: Date }>(
    `select id, user_id, purchase_id, fraud_type, created_at from fraud_warning
     where settled_at is null
     union all
     select object_id, null, null, null, min(created_at) from stripe_event
     where ${leftOver} group by object_id
     order by created_at, id`,
    [notGranted],
  );
  return Promise.all(
    rows.map(async (row) => {
      const lots = row.user_id === null ? [] : (await ledger.readAccount(row.user_id)).lots;
      const lot =
        row.purchase_id === null
          ? undefined
          : lots.find(({ purchaseId }) => purchaseId === row.purchase_id);
      return {
        ...row,
        created_at: row.created_at.toISOString(),
        unused_credits: lot?.available ?? 0,
        granted_credits: lot?.granted ?? 0,
      };
    }),
  );
}

/** Warnings that are not settled, and that no later event or grant has booked. `$1` is `notGranted`. */
export const leftOver = `outcome = $1
  and not exists (select from fraud_warning booked where booked.id = stripe_event.object_id)`;

/** Books what was waited for in vain, now that another payment is known here. */
export async function bookLeftOverWarnings(dependencies: PaymentDependencies): Promise<void> {
  const { rows } = await dependencies.pool.query<{ id: string }>(
    `select distinct object_id as id from stripe_event where ${leftOver}`,
    [notGranted],
  );
  for (const { id } of rows)
    try {
      await bookFraudWarning(dependencies, id);
    } catch (error) {
      // It is another payment's.
      if (!(error instanceof NotGrantedYet)) throw error;
    }
}

/** An operator has checked it. False when it is no warning of that kind. */
export async function settleLeftOver(
  client: Pick<pg.ClientBase, 'query'>,
  warningId: string,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update stripe_event set outcome = 'kept' where object_id = $2 and ${leftOver}`,
    [notGranted, warningId],
  );
  return rowCount !== 0;
}

/** Returns how many there were. */
export async function settleWarnings(
  client: Pick<pg.ClientBase, 'query'>,
  purchaseId: string,
  settledAs: 'refunded' | 'kept',
  now: Date,
): Promise<number> {
  const { rowCount } = await client.query(
    `update fraud_warning set settled_as = $2, settled_at = $3
     where purchase_id = $1 and settled_at is null`,
    [purchaseId, settledAs, now],
  );
  return rowCount ?? 0;
}
