-- Links under which anyone can read a run's result. No events: nothing else follows from them, and the
-- audit log keeps who made and revoked each.
create table share_link (
  id text primary key collate "C" check (id ~ '^shr_[0-9a-z]{26}$'),
  user_id text not null references users (id) on delete cascade,
  run_id text not null collate "C",
  -- SHA-256 of the token: a copy of this table opens no page.
  token_hash bytea not null unique check (length(token_hash) = 32),
  -- The token for its owner, sealed with the key of the run's texts; null once revoked.
  sealed_token text check ((sealed_token is null) = (revoked_at is not null)),
  -- Whether readers see what was asked beside the question: context, objectives, constraints, instructions.
  shows_context boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  revoked_at timestamptz
);
create index share_link_user_id on share_link (user_id);
create index share_link_run_id on share_link (run_id);
