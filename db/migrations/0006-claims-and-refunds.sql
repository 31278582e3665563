-- Refunds in money and clawbacks on lots (decision 0018).

-- What a row of accounts has become, where there are any; a new database makes the table with these
-- columns. Nothing was pending or refunded before, so what stands in them is what a rebuild gives.
alter table if exists credit_account
  add column if not exists refund_pending bigint not null default 0 check (refund_pending >= 0),
  add column if not exists refunded bigint not null default 0 check (refunded >= 0),
  drop constraint if exists credit_account_check;
alter table if exists credit_account
  add constraint credit_account_check check (
    purchased + bonus + other = available + held + consumed + refund_pending + refunded + revoked);

-- The ledger in double entry, as in 0004, with what clawbacks give back and what is refunded. The end of
-- a refund that a clawback stands for moves nothing and has no lines.
create or replace view credit_ledger with (security_invoker = true) as
  select
    substr(e.stream_id, 9) as user_id,
    e.stream_id,
    e.stream_position,
    e.global_position,
    e.message_id as transaction_id,
    e.message_type as event,
    line.account,
    line.credits,
    e.message_metadata ->> 'occurredAt' as occurred_at
  from emt_messages e
  cross join lateral (
    select (e.message_data ->> 'credits')::bigint as credits, e.message_data ->> 'source' as source,
      e.message_data ->> 'from' as origin
  ) moved
  cross join lateral (values
    (case e.message_type
      when 'CreditsGranted' then case moved.source
        when 'purchase' then 'sys:issued_paid'
        when 'bonus' then 'sys:issued_bonus'
        else 'sys:issued_other' end
      when 'CreditsReserved' then 'user:available'
      when 'CreditsCaptured' then 'user:held'
      when 'CreditsReturned' then 'sys:refunded_job'
      when 'CreditsReleased' then 'user:held'
      when 'LotRevoked' then 'user:available'
      when 'LotReinstated' then 'sys:revoked'
      when 'DebtIncurred' then 'user:debt'
      when 'DebtSettled' then 'user:available'
      when 'DebtCancelled' then 'sys:revoked'
      when 'DebtSettlementReversed' then 'sys:revoked'
      when 'CreditsConsumed' then 'user:available'
      when 'CashRefundRequested' then 'user:available'
      when 'CashRefundConfirmed' then 'sys:cash_pending'
      when 'CashRefundFailed' then case moved.origin
        when 'pending' then 'sys:cash_pending'
        when 'confirmed' then 'sys:cash_refunded' end
    end, -moved.credits),
    (case e.message_type
      when 'CreditsGranted' then 'user:available'
      when 'CreditsReserved' then 'user:held'
      when 'CreditsCaptured' then 'sys:consumed'
      when 'CreditsReturned' then 'user:available'
      when 'CreditsReleased' then 'user:available'
      when 'LotRevoked' then 'sys:revoked'
      when 'LotReinstated' then 'user:available'
      when 'DebtIncurred' then 'sys:revoked'
      when 'DebtSettled' then 'user:debt'
      when 'DebtCancelled' then 'user:debt'
      when 'DebtSettlementReversed' then 'user:available'
      when 'CreditsConsumed' then 'sys:consumed'
      when 'CashRefundRequested' then 'sys:cash_pending'
      when 'CashRefundConfirmed' then 'sys:cash_refunded'
      when 'CashRefundFailed' then 'user:available'
    end, moved.credits)
  ) as line (account, credits)
  where e.message_type in ('CreditsGranted', 'CreditsReserved', 'CreditsCaptured',
    'CreditsReturned', 'CreditsReleased', 'LotRevoked', 'LotReinstated', 'DebtIncurred',
    'DebtSettled', 'DebtCancelled', 'DebtSettlementReversed', 'CreditsConsumed',
    'CashRefundRequested')
    or (e.message_type = 'CashRefundConfirmed' and moved.origin = 'pending')
    or (e.message_type = 'CashRefundFailed' and moved.origin in ('pending', 'confirmed'));
