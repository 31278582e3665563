-- The ledger in double entry, as in 0002, with what other services use.
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
    select (e.message_data ->> 'credits')::bigint as credits, e.message_data ->> 'source' as source
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
      when 'DebtIncurred' then 'user:debt'
      when 'DebtSettled' then 'user:available'
      when 'CreditsConsumed' then 'user:available'
    end, -moved.credits),
    (case e.message_type
      when 'CreditsGranted' then 'user:available'
      when 'CreditsReserved' then 'user:held'
      when 'CreditsCaptured' then 'sys:consumed'
      when 'CreditsReturned' then 'user:available'
      when 'CreditsReleased' then 'user:available'
      when 'LotRevoked' then 'sys:revoked'
      when 'DebtIncurred' then 'sys:revoked'
      when 'DebtSettled' then 'user:debt'
      when 'CreditsConsumed' then 'sys:consumed'
    end, moved.credits)
  ) as line (account, credits)
  where e.message_type in ('CreditsGranted', 'CreditsReserved', 'CreditsCaptured',
    'CreditsReturned', 'CreditsReleased', 'LotRevoked', 'DebtIncurred', 'DebtSettled',
    'CreditsConsumed');
