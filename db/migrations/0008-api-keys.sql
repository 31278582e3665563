-- Keys with which a user's programs call the API. Stored as hashes; `prefix` is what lists show.
create table api_key (
  id text primary key collate "C" check (id ~ '^key_[0-9a-z]{26}$'),
  user_id text not null references users (id) on delete cascade,
  name text not null,
  prefix text not null,
  key_hash bytea not null unique,
  scopes text[] not null check (cardinality(scopes) > 0),
  -- Credits that runs of this key may use per UTC month.
  monthly_cap integer not null check (monthly_cap > 0),
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_key_user_id on api_key (user_id, id desc);
