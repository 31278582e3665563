-- What moved at the payment provider, as it tells it, and the money in double entry. No text of people.
create table balance_transaction (
  id text primary key,
  type text not null,
  amount_minor bigint not null,
  fee_minor bigint not null,
  net_minor bigint not null,
  currency text not null check (currency ~ '^[a-z]{3}$'),
  -- The charge, refund, dispute or payout behind it.
  source_id text,
  created_at timestamptz not null,
  check (net_minor = amount_minor - fee_minor)
);
create index balance_transaction_created_at on balance_transaction (created_at);

-- Each comparison of the ledger with the provider's books, by a worker once a day.
create table reconciliation (
  id bigint generated always as identity primary key,
  -- The UTC day that it is the comparison of.
  day date not null,
  since timestamptz not null,
  ran_at timestamptz not null,
  -- Null while it runs and when it did not come to an end: then it is tried again.
  ended_at timestamptz,
  differences integer check (differences >= 0),
  -- Kinds and ids; no names, no addresses, no text.
  summary jsonb
);
create index reconciliation_day on reconciliation (day);

-- The money in double entry, for each currency: what the ledger says of payments and refunds, and what
-- the provider moved. What both tell goes through stripe:clearing, from both sides: a payment without
-- credits, or credits without a payment, is left there. Positive is what we have or have spent, and
-- negative where it came from; the lines of a transaction sum to 0, and so do all of them.
create view cash_ledger with (security_invoker = true) as
  with told as (
    -- What the ledger says. A refund's figures stand where it was asked for.
    select e.message_id as transaction_id, e.message_type as kind,
      e.message_metadata ->> 'occurredAt' as occurred_at,
      coalesce(e.message_data ->> 'currency', asked.currency) as currency,
      case e.message_type when 'CreditsGranted' then 'deferred_revenue' else 'refunds' end as account,
      case e.message_type
        when 'CreditsGranted' then -(e.message_data ->> 'paidMinor')::bigint
        when 'CashRefundConfirmed' then asked.amount_minor
        else -asked.amount_minor end as amount_minor
    from emt_messages e
    left join lateral (
      select r.message_data ->> 'currency' as currency,
        (r.message_data ->> 'amountMinor')::bigint as amount_minor
      from emt_messages r
      where r.stream_id = e.stream_id and r.message_type = 'CashRefundRequested'
        and r.message_data ->> 'refundId' = e.message_data ->> 'refundId'
      limit 1
    ) asked on e.message_type in ('CashRefundConfirmed', 'CashRefundFailed')
    where (e.message_type = 'CreditsGranted' and e.message_data ->> 'source' = 'purchase'
        and (e.message_data ->> 'paidMinor')::bigint > 0)
      or e.message_type = 'CashRefundConfirmed'
      -- What failed before it was confirmed has moved nothing.
      or (e.message_type = 'CashRefundFailed' and e.message_data ->> 'from' <> 'pending')
  ), moved as (
    select b.id as transaction_id, b.type as kind,
      to_char(b.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as occurred_at,
      b.currency, b.amount_minor, b.fee_minor, b.net_minor,
      case
        when b.type in ('charge', 'payment') then 'stripe:clearing'
        -- The ledger knows of ours only; what a bank sends back is a refund all the same.
        when b.type in ('refund', 'payment_refund', 'refund_failure') then
          case when exists (
            select from emt_messages r
            where r.message_type = 'CashRefundConfirmed'
              and r.message_data ->> 'providerRefundId' = b.source_id)
          then 'stripe:clearing' else 'refunds' end
        when b.type = 'adjustment' and b.source_id ~ '^(dp|du|pdp)_' then 'disputes'
        when b.type like 'payout%' then 'bank'
        when b.type in ('stripe_fee', 'stripe_fx_fee', 'tax_fee') then 'stripe:fees'
        else 'stripe:other' end as account
    from balance_transaction b
  )
  select transaction_id, 'ledger' as told_by, kind, occurred_at, currency, line.account,
    line.amount_minor
  from told
  cross join lateral (values
    (account, amount_minor), ('stripe:clearing', -amount_minor)) as line (account, amount_minor)
  union all
  select transaction_id, 'provider', kind, occurred_at, currency, line.account, line.amount_minor
  from moved
  cross join lateral (values
    ('stripe:balance', net_minor), ('stripe:fees', fee_minor), (account, -amount_minor)
  ) as line (account, amount_minor)
  where line.amount_minor <> 0;

grant select on cash_ledger to public;
