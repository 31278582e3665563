-- Identity: rotating refresh tokens in families, links that carry tokens, mail that waits to be sent,
-- pictures, service tokens and the counters of the rate limits.

alter table users
  -- SHA-256 of the nonce cookie of the browser that signed up; the first proof of the address counts
  -- as a sign-in from this browser only.
  add column signup_browser bytea,
  -- A mail when a run has ended.
  add column notify_run_finished boolean not null default false,
  add column password_changed_at timestamptz,
  -- Set when the person has asked for erasure: from then on the account takes nothing.
  add column erasing_at timestamptz;

-- A session is a family of refresh tokens; ending it ends every one of them at once.
alter table sessions
  add column remembered boolean not null default false,
  add column method text not null default 'password'
    check (method in ('password', 'confirm', 'magic', 'reset', 'signup')),
  -- When the person last proved who they are: the start, or a password given since.
  add column authenticated_at timestamptz not null default now(),
  add column last_used_at timestamptz not null default now(),
  -- What the person reads in the list of sessions, such as 'Firefox on Linux'.
  add column device text not null default '',
  add column address text not null default '',
  add column ended_reason text;

create table refresh_token (
  -- SHA-256 of the opaque token in the browser's cookie.
  token_hash bytea primary key,
  session_id text not null references sessions (id) on delete cascade,
  user_id text not null,
  -- With it and the token itself the successor can be told again, and with neither alone.
  successor_salt bytea not null,
  issued_at timestamptz not null default now(),
  -- When it was exchanged for its successor.
  used_at timestamptz
);
create index refresh_token_session_id on refresh_token (session_id);
create index refresh_token_user_id on refresh_token (user_id);
insert into refresh_token (token_hash, session_id, user_id, successor_salt, issued_at)
  select token_hash, id, user_id, decode(md5(random()::text || id) || md5(id || random()::text), 'hex'),
    created_at
  from sessions;
alter table sessions drop column token_hash;

-- Links in mails, and the tickets that they are exchanged for. Each works once.
create table auth_link (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  kind text not null
    check (kind in ('confirm', 'magic', 'reset', 'email', 'undo', 'set_password', 'exchange')),
  -- SHA-256 of the token in the link.
  token_hash bytea not null unique,
  -- The address that the link proves, or, for an undo, brings back.
  email text not null,
  -- SHA-256 of the nonce cookie of the browser that asked; null when a PKCE verifier takes its place.
  browser_hash bytea,
  -- S256 of the verifier that the client keeps.
  code_challenge text,
  -- Path of our own to go to afterwards.
  redirect text,
  remembered boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  voided_at timestamptz,
  -- Of an exchange: how the session that it begins came about.
  method text check (method in ('confirm', 'magic')),
  -- The session that its use began, so that a second use can end it.
  session_id text
);
create index auth_link_user_id on auth_link (user_id, kind);
create index auth_link_expires_at on auth_link (expires_at);

-- Mail that waits to be sent. What it says is sealed under the account's key and gone once it is sent.
create table mail (
  id text primary key check (id like 'mai\_%'),
  user_id text not null,
  kind text not null,
  sealed text,
  -- After this moment it is of no use and is not sent any more.
  not_after timestamptz,
  status text not null default 'queued'
    check (status in ('queued', 'sending', 'sent', 'unknown', 'failed', 'expired')),
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index mail_user_id on mail (user_id);
create index mail_open on mail (created_at) where status in ('queued', 'sending');

create table avatar (
  -- Unguessable; the picture's address holds it.
  id text primary key,
  user_id text not null unique references users (id) on delete cascade,
  -- A WebP.
  bytes bytea not null check (length(bytes) <= 262144),
  created_at timestamptz not null default now()
);

-- For other services: opaque, shown once.
create table service_token (
  id text primary key check (id like 'svc\_%'),
  name text not null,
  token_hash bytea not null unique,
  scope text not null,
  -- Credits that it may consume a UTC day.
  daily_cap integer not null check (daily_cap > 0),
  created_by text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- What a service has consumed of its cap. Counted before credits are taken, so that calls at the same
-- time share one count; `services/identity/daily-cap.ts` says how a refused one is given back.
create table service_token_day (
  token_id text not null references service_token (id),
  day date not null,
  credits bigint not null check (credits >= 0),
  primary key (token_id, day)
);

-- What the days' counts are made of: a consumption is counted once, however often it is tried.
create table service_token_claim (
  token_id text not null references service_token (id),
  command_id text not null,
  day date not null,
  credits integer not null check (credits > 0),
  -- Tries that have not been refused; the last one that is takes the claim away.
  attempts integer not null check (attempts >= 0),
  primary key (token_id, command_id)
);
create index service_token_claim_day on service_token_claim (day);

-- As the limiter's library expects it; the name of the limit is part of the key.
create table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
create index rate_limit_expire on rate_limit (expire);
