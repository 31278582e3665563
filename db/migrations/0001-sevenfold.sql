-- The tables and views of the application. Events, streams and jobs have tables of their own, made by
-- their libraries before this file runs; read models are created from projections/index.ts.
--
-- Every table with rows of one person has user_id, so that tables can later be sharded by it.

-- == Events, their state and their keys ==

-- The state of a stream after its last event, so that a command costs the same after 10 events and after
-- 10,000. Only the append function writes it, in the transaction that appends.
create table stream_snapshot (
  stream_id text primary key,
  -- The stream's position of the state.
  version bigint not null,
  decider text not null,
  decider_version integer not null,
  -- Of the last event, for any version of the decider: the chain and the clock continue from them.
  hash text not null,
  occurred_at text not null,
  state jsonb not null
) with (fillfactor = 70);

-- One key seals the text of one run or one account. The master key wraps it. Deleting the row makes that
-- text unreadable everywhere at once.
create table data_key (
  -- The id of the run or the account.
  key_id text primary key,
  kind text not null check (kind in ('run', 'account')),
  user_id text not null,
  wrapped bytea not null,
  created_at timestamptz not null default now()
);
create index data_key_user_id on data_key (user_id);

-- What was erased. Kept for ever, and applied again after a restore, before the API answers.
create table erasure (
  key_id text primary key,
  kind text not null check (kind in ('run', 'account')),
  user_id text not null,
  erased_at timestamptz not null default now()
);

-- Append-only: the application may insert and read. No role changes or deletes a row.
create table audit_log (
  entry_id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  -- The id of the object, never a text.
  subject text not null,
  user_id text,
  detail jsonb not null default '{}'
);
create index audit_log_subject on audit_log (subject, entry_id);
create index audit_log_user_id on audit_log (user_id, entry_id);

-- Anchors of the hash chains. Once a UTC day, the heads of all changed streams are joined to one root.
-- An attacker could rewrite a chain from one event on and keep it consistent; it would then miss an anchored
-- head. Roots also leave the database through the log, so that rewritten anchors differ from the log.
--
-- Append-only: the application may insert and read. No role changes or deletes a row.
create table chain_anchor (
  -- From 1, without a gap.
  number bigint primary key check (number > 0),
  -- The UTC day of the anchor; null for an anchor that an operator made in between.
  day date unique,
  made_at timestamptz not null,
  -- The anchor covers the log up to here.
  transaction_id xid8 not null,
  global_position bigint not null,
  heads integer not null check (heads >= 0),
  -- 64 hex digits each; the first anchor follows zeros.
  previous_root text not null check (previous_root ~ '^[0-9a-f]{64}$'),
  root text not null unique check (root ~ '^[0-9a-f]{64}$')
);

create table chain_anchor_head (
  number bigint not null references chain_anchor (number),
  stream_id text not null collate "C",
  -- Of the last event that the anchor covers.
  version bigint not null check (version > 0),
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  primary key (number, stream_id)
);
create index chain_anchor_head_stream_id on chain_anchor_head (stream_id, version);

-- == Read models and live updates ==

-- The position in the log of an asynchronous read model, or of the rebuild of any read model.
create table projection_checkpoint (
  name text primary key,
  transaction_id xid8 not null default '0',
  global_position bigint not null default 0,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- Streams that an asynchronous read model could not process. Their events wait in order, while all other
-- streams continue (`projections/engine/set-aside.ts`).
create table projection_set_aside (
  -- The read model, as in projection_checkpoint.
  name text not null,
  stream_id text not null,
  -- The first event that waits.
  stream_position bigint not null,
  message_id text not null,
  message_type text not null,
  -- Why the last attempt failed.
  sqlstate text not null,
  error text not null check (length(error) <= 1000),
  failed_at timestamptz not null default now(),
  primary key (name, stream_id)
);

-- The first part of an update's id. A restore or a promotion changes it, because older positions no longer
-- mean the same events.
create table epoch (
  only_row boolean primary key default true check (only_row),
  value text not null,
  since timestamptz not null default now()
);
insert into epoch (value) values (substr(replace(gen_random_uuid()::text, '-', ''), 1, 12));

-- Text of open model calls while it streams. A crash loses it, by design.
create unlogged table live_text (
  run_id text not null,
  slot text not null,
  attempt integer not null,
  user_id text not null,
  -- Readable characters so far.
  chars integer not null,
  -- The share of a usual reply that has arrived, 0-100.
  progress smallint not null,
  -- Sealed; at most 600 bytes of text.
  tail text not null,
  changed timestamptz not null default clock_timestamp(),
  primary key (run_id, slot, attempt)
) with (fillfactor = 50);
create index live_text_changed on live_text (run_id, changed);

-- == Processes and requests ==

-- The mode that wrote this database; the other mode refuses it.
create table database_mode (
  only_row boolean primary key default true check (only_row),
  mode text not null check (mode in ('local', 'production')),
  since timestamptz not null default now()
);

create table process_heartbeat (
  process_id text primary key,
  kind text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
) with (fillfactor = 50);

create table idempotency_key (
  user_id text not null,
  -- Method and path pattern.
  route text not null,
  key text not null check (length(key) between 1 and 128),
  fingerprint text not null,
  -- The id of the object that the first attempt began to create. A repeat after a crash continues with the
  -- same stream.
  resource_id text,
  -- Null while the first attempt runs.
  status integer,
  -- As it was sent: jsonb would reorder the keys.
  body json,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, route, key)
);
create index idempotency_key_expires_at on idempotency_key (expires_at);

-- As rate-limiter-flexible expects it; the name of the limit is part of the key.
create table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
create index rate_limit_expire on rate_limit (expire);

-- == Identity ==

create table users (
  id text primary key check (id like 'usr\_%'),
  email text not null unique check (email = lower(email) and length(email) <= 254),
  name text not null,
  -- Null once an account has lost its password; the user then signs in by a link.
  password_hash text,
  password_changed_at timestamptz,
  subscription_tier text not null default 'free',
  avatar text,
  preferred_dashboard text,
  email_confirmed_at timestamptz,
  -- SHA-256 of the nonce cookie of the browser that signed up. The first proof of the address counts as a
  -- sign-in from this browser only.
  signup_browser bytea,
  onboarding_completed_at timestamptz,
  terms_version text,
  terms_accepted_at timestamptz,
  -- Whether the user gets an email when a run ends, and when few credits are left.
  notify_run_finished boolean not null default false,
  notify_low_balance boolean not null default true,
  -- Set when the user has asked for erasure: the account then accepts nothing more.
  erasing_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table avatar (
  -- Cannot be guessed; it is part of the picture's address.
  id text primary key,
  user_id text not null unique references users (id) on delete cascade,
  -- A WebP.
  bytes bytea not null check (length(bytes) <= 262144),
  created_at timestamptz not null default now()
);

-- A session is a family of refresh tokens. Its end revokes all of them at once.
create table sessions (
  id text primary key check (id like 'ses\_%'),
  user_id text not null references users (id) on delete cascade,
  remembered boolean not null default false,
  method text not null default 'password'
    check (method in ('password', 'confirm', 'magic', 'reset', 'signup')),
  created_at timestamptz not null default now(),
  -- When the user last proved their identity: at the start, or later by a password.
  authenticated_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  -- Use extends it, up to ends_at.
  expires_at timestamptz not null,
  ends_at timestamptz not null,
  idle_seconds integer not null,
  -- As the list of sessions shows it, such as 'Firefox on Linux'.
  device text not null default '',
  address text not null default '',
  revoked_at timestamptz,
  ended_reason text
);
create index sessions_user_id on sessions (user_id);
create index sessions_expires_at on sessions (expires_at);

create table refresh_token (
  -- SHA-256 of the opaque token in the browser's cookie.
  token_hash bytea primary key,
  session_id text not null references sessions (id) on delete cascade,
  user_id text not null,
  -- The salt and the token together give the successor, and neither alone does.
  successor_salt bytea not null,
  issued_at timestamptz not null default now(),
  -- When it was exchanged for its successor.
  used_at timestamptz
);
create index refresh_token_session_id on refresh_token (session_id);
create index refresh_token_user_id on refresh_token (user_id);

-- Links in emails, and the tickets for which they are exchanged. Each works once.
create table auth_link (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  kind text not null
    check (kind in ('confirm', 'magic', 'reset', 'email', 'undo', 'set_password', 'exchange')),
  -- SHA-256 of the token in the link.
  token_hash bytea not null unique,
  -- The address that the link proves, or the address that an undo restores.
  email text not null,
  -- SHA-256 of the nonce cookie of the browser that asked; null when a PKCE verifier replaces it.
  browser_hash bytea,
  -- SHA-256 of the nonce cookie of another browser that last opened the link. Its user reads the mailbox,
  -- and may ask for an email although another one still works.
  opened_by bytea,
  -- S256 of the verifier that the client keeps.
  code_challenge text,
  -- A path of this application.
  redirect text,
  remembered boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  voided_at timestamptz,
  -- Of an exchange: how its session was authenticated.
  method text check (method in ('confirm', 'magic')),
  -- The session that its use began, so that a second use can end it.
  session_id text
);
create index auth_link_user_id on auth_link (user_id, kind);
create index auth_link_expires_at on auth_link (expires_at);

-- Emails that wait to be sent. The content is sealed under the account's key and deleted after sending.
create table mail (
  id text primary key check (id like 'mai\_%'),
  user_id text not null,
  kind text not null,
  sealed text,
  -- After this moment it is useless and is not sent.
  not_after timestamptz,
  status text not null default 'queued'
    check (status in ('queued', 'sent', 'unknown', 'failed', 'expired')),
  attempts integer not null default 0,
  -- How often the mail server was given the email and did not say whether it took it, and when last.
  unanswered smallint not null default 0,
  handed_over_at timestamptz,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index mail_user_id on mail (user_id);
create index mail_open on mail (created_at) where status = 'queued';

-- Tokens of other services: opaque, shown once.
create table service_token (
  id text primary key check (id like 'svc\_%'),
  name text not null,
  token_hash bytea not null unique,
  scope text not null,
  -- Credits that the service may consume per UTC day.
  daily_cap integer not null check (daily_cap > 0),
  created_by text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- Credits that a service has consumed of its cap. They are counted before credits are taken, so that
-- concurrent calls share one count.
create table service_token_day (
  token_id text not null references service_token (id),
  day date not null,
  credits bigint not null check (credits >= 0),
  primary key (token_id, day)
);

-- The consumptions behind the counts: each is counted once, for any number of attempts.
create table service_token_claim (
  token_id text not null references service_token (id),
  command_id text not null,
  day date not null,
  credits integer not null check (credits > 0),
  -- Attempts that were not refused; when the last one is refused, the row is deleted.
  attempts integer not null check (attempts >= 0),
  primary key (token_id, command_id)
);
create index service_token_claim_day on service_token_claim (day);

-- == Recipes ==

-- Recipes that users write. The text is sealed under the account's key (`services/recipes/recipes.ts`).
-- The recipes of the product are code and have no row.
create table recipe (
  id text primary key collate "C" check (id ~ '^rec_[0-9a-z]{26}$'),
  user_id text not null references users (id) on delete cascade,
  sealed text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index recipe_user_id on recipe (user_id, created_at desc, id desc);

-- One row for each run that was started from a recipe.
create table recipe_use (
  run_id text primary key collate "C",
  recipe_id text not null collate "C",
  user_id text not null references users (id) on delete cascade,
  used_at timestamptz not null
);
create index recipe_use_recipe_id on recipe_use (recipe_id);
create index recipe_use_user_id on recipe_use (user_id);

-- == Payments ==
-- Credits do not stand here: they are events, and the payment key ties a payment to its lot.

-- A user as the payment provider knows them.
create table stripe_customer (
  user_id text primary key,
  customer_id text not null unique check (customer_id like 'cus\_%'),
  created_at timestamptz not null default now()
);

-- A request to create a customer at the provider is open; the row is deleted once the customer is stored.
-- A process that is killed in between leaves the row: there may be a customer whose id is unknown.
create table customer_introduction (
  id bigint generated always as identity primary key,
  user_id text not null,
  begun_at timestamptz not null
);
create index customer_introduction_user_id on customer_introduction (user_id);

-- One attempt to buy, or one paid invoice of a plan. Written before the provider is called.
create table purchase (
  id text primary key check (id like 'pur\_%'),
  user_id text not null,
  package_id text not null,
  -- `plan_checkout` begins a plan and never grants; each invoice of the plan is a purchase.
  kind text not null check (kind in ('checkout', 'intent', 'plan_checkout', 'invoice')),
  credits integer not null check (credits > 0),
  -- The price, without tax.
  amount_minor integer not null check (amount_minor >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  status text not null default 'open'
    check (status in ('open', 'processing', 'paid', 'failed', 'expired')),
  -- The return addresses of the first request: a repeat under the same key must send the same ones.
  success_url text,
  cancel_url text,
  session_id text unique,
  -- The page on which that session can be paid, while it is open.
  checkout_url text,
  payment_intent_id text unique,
  invoice_id text unique,
  subscription_id text,
  -- The period that an invoice of a plan paid for.
  period_start timestamptz,
  period_end timestamptz,
  -- `pi:<id>` or `invoice:<id>`, once it is paid, and its lot.
  payment_key text unique,
  lot_id text unique,
  -- The amount paid, with tax, and the tax in it.
  paid_minor integer check (paid_minor >= 0),
  tax_minor integer check (tax_minor >= 0),
  receipt_url text,
  -- Why it failed, as a code of ours.
  failure text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  paid_at timestamptz,
  -- Counts its settlements: a reading from before another one is not applied.
  version integer not null default 0,
  -- The last time that the provider was asked about it, and the next; null when nothing is open.
  checked_at timestamptz,
  next_check_at timestamptz
);
create index purchase_user_id on purchase (user_id, created_at desc, id desc);
create index purchase_open on purchase (created_at) where status in ('open', 'processing');
create index purchase_next_check on purchase (next_check_at) where next_check_at is not null;
-- A user begins one plan at a time: two plans at once would be paid twice.
create unique index purchase_open_plan on purchase (user_id)
  where kind = 'plan_checkout' and status = 'open';
create index purchase_subscription_id on purchase (subscription_id) where subscription_id is not null;

-- A plan is a subscription at the provider. The row holds its last known state and what was paid.
create table plan (
  subscription_id text primary key,
  user_id text not null,
  customer_id text not null,
  -- The package of the last paid invoice, which decides the tier; before the first one, the package ordered.
  package_id text not null,
  -- The package of the next invoice.
  next_package_id text not null,
  status text not null check (status in ('incomplete', 'incomplete_expired', 'trialing', 'active',
    'past_due', 'canceled', 'unpaid', 'paused')),
  current_period_start timestamptz,
  current_period_end timestamptz,
  -- When we learned that a payment had failed.
  past_due_since timestamptz,
  cancel_at_period_end boolean not null default false,
  ended_at timestamptz,
  -- The unpaid amount of its latest invoice, with tax; null when nothing is overdue.
  due_minor integer check (due_minor >= 0),
  -- The paid invoice with the latest period; null before the first one. Until then the plan brings no tier.
  invoice_id text,
  -- When the first invoice was paid, and the end of that latest period.
  paid_since timestamptz,
  paid_until timestamptz,
  -- Ended by us together with its tier, although paid: its credits were refunded, its payment was taken
  -- back, it was the user's second plan, or the user was erased.
  revoked_at timestamptz,
  -- The end of the refunded period: payments for later periods are refunded, too.
  revoked_from timestamptz,
  revoked_as text check (revoked_as in ('refunded', 'taken_back', 'second', 'erased')),
  -- When its tier ends, or its subscription is read again, whichever comes first.
  next_check_at timestamptz,
  -- When the request behind this row's state began, by the clock of this database. The later request wins,
  -- whichever is stored last.
  reading timestamptz not null,
  -- The same moment by the application's clock.
  checked_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index plan_user_id on plan (user_id, created_at desc);
create index plan_next_check on plan (next_check_at) where next_check_at is not null;

-- Webhook events, each once. Only their names are kept: the object is read from the provider again.
create table stripe_event (
  id text primary key check (id like 'evt\_%'),
  type text not null,
  object_id text,
  created_at timestamptz not null,
  received_at timestamptz not null default now(),
  processed_at timestamptz,
  -- The result in one word: `fulfilled`, `closed`, `unchanged`, `ignored` …
  outcome text
);
create index stripe_event_open on stripe_event (received_at) where processed_at is null;

-- The progress of polling the provider for webhook events that never arrived. A worker takes a turn by
-- moving `tried_at`; `seen_until` moves when it has read everything up to then.
create table webhook_poll (
  only_row boolean primary key default true check (only_row),
  tried_at timestamptz not null,
  seen_until timestamptz not null
);

-- A bank took a payment back, or asks about it. Its clawback of the lot stands in the ledger, under the
-- same id.
create table dispute (
  id text primary key,
  user_id text not null,
  purchase_id text not null references purchase (id),
  lot_id text not null,
  charge_id text not null,
  amount_minor integer not null check (amount_minor >= 0),
  currency text not null,
  status text not null,
  -- `inquiry` freezes, `withdrawn` revokes credits, `won` and `closed` reinstate them, `lost` is final.
  stage text not null check (stage in ('inquiry', 'withdrawn', 'won', 'lost', 'closed')),
  created_at timestamptz not null,
  -- When we learned that the money had left us, and that it had come back.
  withdrawn_at timestamptz,
  returned_at timestamptz,
  updated_at timestamptz not null default now(),
  closed_at timestamptz,
  -- The kinds of email sent about it. Rows of `mail` are purged, and a dispute may last longer.
  emails text[] not null default '{}'
);
create index dispute_user_id on dispute (user_id);
create index dispute_open on dispute (created_at) where closed_at is null;

-- The card network warns that a payment is probably fraud, before it is disputed.
create table fraud_warning (
  id text primary key,
  user_id text not null,
  purchase_id text not null references purchase (id),
  charge_id text not null,
  fraud_type text not null,
  created_at timestamptz not null,
  -- The decision of an operator.
  settled_as text check (settled_as in ('refunded', 'kept')),
  settled_at timestamptz
);
create index fraud_warning_user_id on fraud_warning (user_id);

-- The last check whether a closed account needs a refund: the account's version then, and when to check
-- again without a change, because a bank refused.
create table closed_account_check (
  user_id text primary key,
  seen_version bigint not null,
  again_at timestamptz
);

-- Refunds that others made: a bank, or an operator on the provider's own pages. The clawback of the lot
-- stands in the ledger; the amount of money stands here.
create table bank_refund (
  id text primary key,
  user_id text not null,
  purchase_id text not null references purchase (id),
  lot_id text not null,
  charge_id text,
  amount_minor integer not null check (amount_minor >= 0),
  currency text not null,
  status text not null check (status in ('pending', 'succeeded', 'failed')),
  created_at timestamptz not null,
  -- When we learned of it, and that it had failed.
  booked_at timestamptz not null,
  failed_at timestamptz,
  updated_at timestamptz not null default now()
);
create index bank_refund_user_id on bank_refund (user_id);
create index bank_refund_lot_id on bank_refund (lot_id);

-- Movements of money at the payment provider, in its own words. No text of users.
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

-- Comparisons of the ledger with the provider's books, by a worker once a day.
create table reconciliation (
  id bigint generated always as identity primary key,
  -- The UTC day that was compared.
  day date not null,
  since timestamptz not null,
  ran_at timestamptz not null,
  -- Null while it runs, and after it failed: then it is tried again.
  ended_at timestamptz,
  differences integer check (differences >= 0),
  -- Kinds and ids; no names, no addresses, no text.
  summary jsonb
);
create index reconciliation_day on reconciliation (day);

-- == The ledger of money, as a view over the events ==

-- Money in double entry, for each currency: payments and refunds in the ledger, and movements at the
-- provider. Both sides book against stripe:clearing, where a payment without credits, or credits without a
-- payment, leaves a balance. Positive is what we have or have spent; negative is its source. The lines of
-- a transaction sum to 0, and so do all lines.
create view cash_ledger with (security_invoker = true) as
  with booked as (
    -- From the ledger. A refund's amount stands in the event that requested it.
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
      -- A refund that failed before it was confirmed moved nothing.
      or (e.message_type = 'CashRefundFailed' and e.message_data ->> 'from' <> 'pending')
  ), moved as (
    select b.id as transaction_id, b.type as kind,
      to_char(b.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as occurred_at,
      b.currency, b.amount_minor, b.fee_minor, b.net_minor,
      case
        when b.type in ('charge', 'payment') then 'stripe:clearing'
        -- The ledger knows our refunds only; a refund by a bank is a refund, too.
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
  select transaction_id, 'ledger' as book, kind, occurred_at, currency, line.account,
    line.amount_minor
  from booked
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
