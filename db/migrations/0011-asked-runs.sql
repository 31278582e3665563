-- The run that a program's request started, so that a repeat of the request joins it. `place` and
-- `fingerprint` are HMACs under the API key, which is not stored: they reveal no text.
create table asked_run (
  api_key_id text not null references api_key (id) on delete cascade,
  place text not null,
  fingerprint text not null,
  run_id text not null,
  -- Null with an Idempotency-Key: it holds for good.
  expires_at timestamptz,
  -- While a request begins the run; an equal one waits. Null afterwards.
  claimed_at timestamptz,
  primary key (api_key_id, place)
);
create index asked_run_expires_at on asked_run (expires_at) where expires_at is not null;
