import type { Queryable } from '#db/connect.ts';
import { defineProjection, eventUses } from './engine/define.ts';
import { creditEventTypes } from '#services/credits/account/movements.ts';
import type { CreditEventType } from '#services/credits/account/events.ts';

/**
 * Each paid lot and its payment. The unique payment key allows one lot per payment over all accounts,
 * because a decision sees only the lots of its own account.
 */
export const paidLot = defineProjection<CreditEventType>({
  name: 'paid_lot',
  kind: 'inline',
  events: eventUses(creditEventTypes, ['CreditsGranted']),
  key: ['lot_id'],
  create: (table) => `create table ${table} (
    lot_id text primary key,
    user_id text not null,
    purchase_id text not null,
    payment_key text not null unique,
    package_id text not null,
    credits bigint not null check (credits > 0),
    paid_minor bigint not null check (paid_minor >= 0),
    currency text not null,
    granted_at timestamptz not null
  );
  create index ${table}_user_id on ${table} (user_id, granted_at);
  create index ${table}_purchase_id on ${table} (purchase_id)`,
  apply: (table, events) => `insert into ${table} (lot_id, user_id, purchase_id, payment_key,
      package_id, credits, paid_minor, currency, granted_at)
    select e.message_data ->> 'lotId', substr(e.stream_id, 9), e.message_data ->> 'purchaseId',
      e.message_data ->> 'paymentKey', e.message_data ->> 'reason',
      (e.message_data ->> 'credits')::bigint, (e.message_data ->> 'paidMinor')::bigint,
      e.message_data ->> 'currency', (e.message_data ->> 'grantedAt')::timestamptz
    from ${events} e
    where e.message_data ->> 'source' = 'purchase'`,
});

export type PaidLot = {
  lotId: string;
  userId: string;
  purchaseId: string;
  paymentKey: string;
  packageId: string;
  credits: number;
  paidMinor: number;
  currency: string;
  /** ISO 8601 */
  grantedAt: string;
};

const columns = `lot_id as "lotId", user_id as "userId", purchase_id as "purchaseId",
  payment_key as "paymentKey", package_id as "packageId", credits::float8 as credits,
  paid_minor::float8 as "paidMinor", currency,
  to_char(granted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "grantedAt"`;

/** The lot of a payment, in any account; null when nothing was granted for it. */
export async function findPaidLot(
  client: Queryable,
  by: { paymentKey: string } | { lotId: string } | { purchaseId: string },
): Promise<PaidLot | null> {
  const [column, value] =
    'paymentKey' in by
      ? ['payment_key', by.paymentKey]
      : 'lotId' in by
        ? ['lot_id', by.lotId]
        : ['purchase_id', by.purchaseId];
  const { rows } = await client.query<PaidLot>(
    `select ${columns} from paid_lot where ${column} = $1 order by granted_at, lot_id limit 1`,
    [value],
  );
  return rows[0] ?? null;
}

/** Lots that were granted since then (milliseconds since 1970), and those of the named payments. */
export async function readPaidLots(
  client: Queryable,
  since: number,
  paymentKeys: readonly string[],
): Promise<PaidLot[]> {
  const { rows } = await client.query<PaidLot>(
    `select ${columns} from paid_lot where granted_at >= $1 or payment_key = any ($2)
     order by granted_at, lot_id`,
    [new Date(since), paymentKeys],
  );
  return rows;
}
