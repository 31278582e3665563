-- The plain tables of the first version. Events, streams and jobs have tables of their own, made by
-- their libraries before this file runs; read models are created from projections/index.ts.
--
-- Whatever belongs to one person carries user_id, from the first migration on, so that the tables can
-- later be spread over machines by it.

-- What a command needs of its stream, so that it costs the same after 10 events and after 10,000.
-- Written by the append function alone, in the transaction that appends.
create table stream_snapshot (
  stream_id text primary key,
  -- The stream's position that the state stands at.
  version bigint not null,
  decider text not null,
  decider_version integer not null,
  -- Of the last event, whatever the decider's version: the chain and the clock go on from them.
  hash text not null,
  occurred_at text not null,
  state jsonb not null
) with (fillfactor = 70);

-- One key seals the text of one run or one account, wrapped by the master key. Deleting the row
-- makes that text unreadable everywhere at once.
create table data_key (
  -- The id of the run or the account.
  key_id text primary key,
  kind text not null check (kind in ('run', 'account')),
  user_id text not null,
  wrapped bytea not null,
  created_at timestamptz not null default now()
);
create index data_key_user_id on data_key (user_id);

-- What was erased, kept for ever and applied again after a restore, before the app answers.
create table erasure (
  key_id text primary key,
  kind text not null check (kind in ('run', 'account')),
  user_id text not null,
  erased_at timestamptz not null default now()
);

-- The first part of a fact's id. Restore and promotion renew it, because positions from before no
-- longer mean the same events.
create table epoch (
  only_row boolean primary key default true check (only_row),
  value text not null,
  since timestamptz not null default now()
);
insert into epoch (value) values (substr(replace(gen_random_uuid()::text, '-', ''), 1, 12));

-- How far an asynchronous read model, or the rebuild of any, has come in the log.
create table projection_checkpoint (
  name text primary key,
  transaction_id xid8 not null default '0',
  global_position bigint not null default 0,
  status text not null default 'running' check (status in ('running', 'failed')),
  -- Tries since the last page that went well.
  attempts integer not null default 0,
  failed_message_id text,
  error text,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- Text as it streams out of open calls, to be shown and forgotten: lost in a crash by design.
create unlogged table live_text (
  run_id text not null,
  slot text not null,
  attempt integer not null,
  user_id text not null,
  -- Readable characters so far.
  chars integer not null,
  -- How much of a usual reply has arrived, 0-100.
  progress smallint not null,
  -- Sealed; at most 600 bytes of text.
  tail text not null,
  changed timestamptz not null default clock_timestamp(),
  primary key (run_id, slot, attempt)
) with (fillfactor = 50);
create index live_text_changed on live_text (run_id, changed);

create table idempotency_key (
  user_id text not null,
  -- Method and path pattern.
  route text not null,
  key text not null check (length(key) between 1 and 128),
  fingerprint text not null,
  -- The id of the object that the first attempt began to make, so that a repeat after a crash
  -- reaches the same stream.
  resource_id text,
  -- Null while the first attempt runs.
  status integer,
  -- As it was answered: jsonb would order the keys anew.
  body json,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, route, key)
);
create index idempotency_key_expires_at on idempotency_key (expires_at);

create table process_heartbeat (
  process_id text primary key,
  kind text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
) with (fillfactor = 50);

create table users (
  id text primary key check (id like 'usr\_%'),
  email text not null unique check (email = lower(email) and length(email) <= 254),
  name text not null,
  -- Null once an account has lost its password; it then signs in by a link.
  password_hash text,
  subscription_tier text not null default 'free',
  avatar text,
  preferred_dashboard text,
  email_confirmed_at timestamptz,
  onboarding_completed_at timestamptz,
  terms_version text,
  terms_accepted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table sessions (
  id text primary key check (id like 'ses\_%'),
  user_id text not null references users (id) on delete cascade,
  -- SHA-256 of the opaque token in the browser's cookie.
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  -- Moved on by use, up to ends_at.
  expires_at timestamptz not null,
  ends_at timestamptz not null,
  idle_seconds integer not null,
  revoked_at timestamptz
);
create index sessions_user_id on sessions (user_id);
create index sessions_expires_at on sessions (expires_at);

-- Append-only: the application may insert and read, and nobody changes or deletes.
create table audit_log (
  entry_id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  -- What it was done to: an id, never a text.
  subject text not null,
  user_id text,
  detail jsonb not null default '{}'
);
create index audit_log_subject on audit_log (subject, entry_id);
create index audit_log_user_id on audit_log (user_id, entry_id);

-- Which mode wrote this database; the other one refuses it.
create table database_mode (
  only_row boolean primary key default true check (only_row),
  mode text not null check (mode in ('local', 'production')),
  since timestamptz not null default now()
);
