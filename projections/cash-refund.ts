import type { Queryable } from '#db/connect.ts';
import { defineProjection, eventUses } from './engine/define.ts';
import { creditEventTypes } from '#services/credits/account/movements.ts';
import type { CreditEventType } from '#services/credits/account/events.ts';

/**
 * Cash refunds and how they ended, as far as the ledger knows. Unfinished refunds are checked with the
 * provider.
 */
export const cashRefund = defineProjection<CreditEventType>({
  name: 'cash_refund',
  kind: 'inline',
  events: eventUses(creditEventTypes, [
    'CashRefundRequested',
    'CashRefundConfirmed',
    'CashRefundFailed',
  ]),
  key: ['refund_id'],
  create: (table) => `create table ${table} (
    refund_id text primary key,
    user_id text not null,
    lot_id text not null,
    credits bigint not null check (credits > 0),
    amount_minor bigint not null check (amount_minor > 0),
    currency text not null,
    reason text not null,
    status text not null check (status in ('pending', 'confirmed', 'failed')),
    provider_refund_id text,
    requested_at timestamptz not null,
    ended_at timestamptz,
    check ((status = 'pending') = (ended_at is null))
  );
  create index ${table}_user_id on ${table} (user_id, requested_at);
  create index ${table}_pending on ${table} (requested_at) where status = 'pending'`,
  apply: (table, events) => `merge into ${table} as refund
    using (
      select noted.refund_id, max(noted.user_id) as user_id, max(noted.lot_id) as lot_id,
        max(noted.credits) as credits, max(noted.amount_minor) as amount_minor,
        max(noted.currency) as currency, max(noted.reason) as reason,
        max(noted.requested_at) as requested_at,
        (array_agg(noted.status order by noted.position desc))[1] as status,
        (array_agg(noted.ended_at order by noted.position desc))[1] as ended_at,
        (array_agg(noted.provider_refund_id order by noted.position desc)
          filter (where noted.provider_refund_id is not null))[1] as provider_refund_id
      from (
        select e.message_data ->> 'refundId' as refund_id, substr(e.stream_id, 9) as user_id,
          e.stream_position as position, e.message_data ->> 'lotId' as lot_id,
          (e.message_data ->> 'credits')::bigint as credits,
          (e.message_data ->> 'amountMinor')::bigint as amount_minor,
          e.message_data ->> 'currency' as currency, e.message_data ->> 'reason' as reason,
          (e.message_data ->> 'requestedAt')::timestamptz as requested_at,
          case e.message_type
            when 'CashRefundRequested' then 'pending'
            when 'CashRefundConfirmed' then 'confirmed'
            else 'failed' end as status,
          (e.message_data ->> 'at')::timestamptz as ended_at,
          e.message_data ->> 'providerRefundId' as provider_refund_id
        from ${events} e
      ) noted
      group by noted.refund_id
    ) as change on refund.refund_id = change.refund_id
    when matched then update set
      status = change.status,
      ended_at = change.ended_at,
      provider_refund_id = coalesce(change.provider_refund_id, refund.provider_refund_id)
    when not matched then insert (refund_id, user_id, lot_id, credits, amount_minor, currency, reason,
        status, provider_refund_id, requested_at, ended_at)
      values (change.refund_id, change.user_id, change.lot_id, change.credits, change.amount_minor,
        change.currency, change.reason, change.status, change.provider_refund_id,
        change.requested_at, change.ended_at)`,
});

export type CashRefundRow = {
  refundId: string;
  userId: string;
  lotId: string;
  credits: number;
  amountMinor: number;
  currency: string;
  reason: string;
  status: 'pending' | 'confirmed' | 'failed';
  providerRefundId: string | null;
  /** ISO 8601 */
  requestedAt: string;
  endedAt: string | null;
};

const columns = `refund_id as "refundId", user_id as "userId", lot_id as "lotId",
  credits::float8 as credits, amount_minor::float8 as "amountMinor", currency, reason, status,
  provider_refund_id as "providerRefundId",
  to_char(requested_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "requestedAt",
  to_char(ended_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "endedAt"`;

/**
 * Refunds that were requested or ended since then (milliseconds since 1970) or have no end, and those
 * that are named.
 */
export async function readCashRefunds(
  client: Queryable,
  since: number,
  refundIds: readonly string[],
): Promise<CashRefundRow[]> {
  const { rows } = await client.query<CashRefundRow>(
    `select ${columns} from cash_refund
     where status = 'pending' or requested_at >= $1 or ended_at >= $1 or refund_id = any ($2)
     order by requested_at, refund_id`,
    [new Date(since), refundIds],
  );
  return rows;
}
