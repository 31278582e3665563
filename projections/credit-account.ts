import type { Queryable } from '#db/connect.ts';
import type { Balance } from '#services/credits/contract.ts';
import { defineProjection } from './engine/define.ts';
import type { AccountBalance, CreditEventType } from '#services/credits/account/events.ts';

/**
 * What a person has, one row each, written with the events themselves: whoever was told that credits
 * were reserved reads the balance without them. The figures are summed from the events' amounts, not
 * taken from the `balance` that events carry, so that verify compares two computations. The CHECKs
 * are the last wall: a fault in a decision fails the append instead of making credits.
 */
export const creditAccountTable = defineProjection<CreditEventType>({
  name: 'credit_account',
  kind: 'inline',
  events: {
    CreditsGranted: 'used',
    CreditsReserved: 'used',
    CreditsCaptured: 'used',
    CreditsReturned: 'used',
    CreditsReleased: 'used',
    LotRevoked: 'used',
    DebtIncurred: 'used',
    DebtSettled: 'used',
    // Moves nothing, but the row tells the stream's version.
    ClawbackSet: 'used',
    DebtCancelled: 'used',
    DebtSettlementReversed: 'used',
    LotReinstated: 'used',
    CashRefundRequested: 'used',
    CashRefundConfirmed: 'used',
    CashRefundFailed: 'used',
    CreditsConsumed: 'used',
    SpendingFrozen: 'used',
    SpendingUnfrozen: 'used',
    AccountClosed: 'used',
  },
  key: ['user_id'],
  create: (table) => `create table ${table} (
    user_id text primary key,
    available bigint not null check (available >= 0),
    held bigint not null check (held >= 0),
    debt bigint not null check (debt >= 0),
    purchased bigint not null check (purchased >= 0),
    bonus bigint not null check (bonus >= 0),
    other bigint not null check (other >= 0),
    consumed bigint not null check (consumed >= 0),
    refund_pending bigint not null check (refund_pending >= 0),
    refunded bigint not null check (refunded >= 0),
    revoked bigint not null check (revoked >= 0),
    freezes bigint not null check (freezes >= 0),
    version bigint not null,
    check (purchased + bonus + other = available + held + consumed
      + refund_pending + refunded + revoked)
  ) with (fillfactor = 70)`,
  apply: (table, events) => `merge into ${table} as account
    using (
      select moved.user_id, max(moved.position) as version,
        sum(case moved.type
          when 'CreditsGranted' then moved.credits
          when 'CreditsReserved' then -moved.credits
          when 'CreditsReturned' then moved.credits
          when 'CreditsReleased' then moved.credits
          when 'LotRevoked' then -moved.credits
          when 'DebtSettled' then -moved.credits
          when 'CreditsConsumed' then -moved.credits
          when 'DebtSettlementReversed' then moved.credits
          when 'LotReinstated' then moved.credits
          when 'CashRefundRequested' then -moved.credits
          when 'CashRefundFailed' then case when moved.origin <> 'clawed_back' then moved.credits else 0 end
          else 0 end)::bigint as available,
        sum(case moved.type
          when 'CreditsReserved' then moved.credits
          when 'CreditsCaptured' then -moved.credits
          when 'CreditsReleased' then -moved.credits
          else 0 end)::bigint as held,
        sum(case moved.type
          when 'DebtIncurred' then moved.credits
          when 'DebtSettled' then -moved.credits
          when 'DebtCancelled' then -moved.credits
          else 0 end)::bigint as debt,
        sum(case when moved.source = 'purchase' then moved.credits else 0 end)::bigint as purchased,
        sum(case when moved.source = 'bonus' then moved.credits else 0 end)::bigint as bonus,
        sum(case when moved.source = 'other' then moved.credits else 0 end)::bigint as other,
        sum(case moved.type
          when 'CreditsCaptured' then moved.credits
          when 'CreditsReturned' then -moved.credits
          when 'CreditsConsumed' then moved.credits
          else 0 end)::bigint as consumed,
        sum(case
          when moved.type = 'CashRefundRequested' then moved.credits
          when moved.type in ('CashRefundConfirmed', 'CashRefundFailed')
            and moved.origin = 'pending' then -moved.credits
          else 0 end)::bigint as refund_pending,
        sum(case
          when moved.type = 'CashRefundConfirmed' and moved.origin = 'pending' then moved.credits
          when moved.type = 'CashRefundFailed' and moved.origin = 'confirmed' then -moved.credits
          else 0 end)::bigint as refunded,
        sum(case moved.type
          when 'LotRevoked' then moved.credits
          when 'DebtSettled' then moved.credits
          when 'DebtSettlementReversed' then -moved.credits
          when 'LotReinstated' then -moved.credits
          else 0 end)::bigint as revoked,
        sum(case moved.type
          when 'SpendingFrozen' then 1
          when 'SpendingUnfrozen' then -moved.freezes
          else 0 end)::bigint as freezes
      from (
        select substr(e.stream_id, 9) as user_id, e.stream_position as position,
          e.message_type as type, (e.message_data ->> 'credits')::bigint as credits,
          case e.message_type when 'CreditsGranted' then e.message_data ->> 'source' end as source,
          -- Of the end of a refund: where its credits were.
          e.message_data ->> 'from' as origin,
          (e.message_data ->> 'freezes')::bigint as freezes
        from ${events} e
      ) moved
      group by moved.user_id
    ) as change on account.user_id = change.user_id
    when matched then update set
      available = account.available + change.available,
      held = account.held + change.held,
      debt = account.debt + change.debt,
      purchased = account.purchased + change.purchased,
      bonus = account.bonus + change.bonus,
      other = account.other + change.other,
      consumed = account.consumed + change.consumed,
      refund_pending = account.refund_pending + change.refund_pending,
      refunded = account.refunded + change.refunded,
      revoked = account.revoked + change.revoked,
      freezes = account.freezes + change.freezes,
      version = change.version
    when not matched then insert
      (user_id, available, held, debt, purchased, bonus, other, consumed, refund_pending, refunded,
        revoked, freezes, version)
      values (change.user_id, change.available, change.held, change.debt, change.purchased,
        change.bonus, change.other, change.consumed, change.refund_pending, change.refunded,
        change.revoked, change.freezes, change.version)`,
});

export type AccountRow = AccountBalance & { version: number };

/** The row, with the stream's version; zeros and version 0 for a person without any event. */
export async function readAccount(client: Queryable, userId: string): Promise<AccountRow> {
  const { rows } = await client.query<AccountRow>(
    `select available::float8, held::float8, debt::float8, purchased::float8, bonus::float8,
       other::float8, consumed::float8, refund_pending::float8 as "refundPending",
       refunded::float8, revoked::float8, freezes::float8, version::float8
     from credit_account where user_id = $1`,
    [userId],
  );
  return rows[0] ?? noAccount;
}

const noAccount: AccountRow = {
  available: 0,
  held: 0,
  debt: 0,
  purchased: 0,
  bonus: 0,
  other: 0,
  consumed: 0,
  refundPending: 0,
  refunded: 0,
  revoked: 0,
  freezes: 0,
  version: 0,
};

/** As `GET /credits/balance` and the stream's snapshot show it. */
export async function readBalance(client: Queryable, userId: string): Promise<Balance> {
  return balanceOf(await readAccount(client, userId));
}

/** Everyone who has ever had credits, a page after `after` in order of id. */
export async function readAccountIds(
  client: Queryable,
  page: { after: string; limit: number },
): Promise<string[]> {
  const { rows } = await client.query<{ user_id: string }>(
    'select user_id from credit_account where user_id > $1 order by user_id limit $2',
    [page.after, page.limit],
  );
  return rows.map((row) => row.user_id);
}

/** An account's figures in the words of the contract; of an event's `balance`, too. */
export function balanceOf(account: AccountBalance): Balance {
  const { available, held, debt, purchased, bonus, other, consumed, freezes } = account;
  return {
    available_credits: available,
    reserved_credits: held,
    debt_credits: debt,
    spending_frozen: freezes > 0,
    total_purchased: purchased,
    total_consumed: consumed,
    total_credits: purchased + bonus + other,
    used_credits: consumed,
  };
}
