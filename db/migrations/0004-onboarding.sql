-- Answers of the onboarding, sealed with the account's key. No events: only the bonus follows from it, and
-- that is an event of the account's credits.
create table onboarding (
  user_id text primary key references users (id) on delete cascade,
  -- Grows with each change, so that two tabs cannot overwrite each other.
  version integer not null check (version > 0),
  sealed text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Who has claimed the onboarding bonus. Kept when a person is erased: an HMAC of the address is all that
-- says that it was given.
create table onboarding_bonus (
  user_id text primary key,
  address_hash bytea not null unique,
  credits integer not null check (credits > 0),
  claimed_at timestamptz not null,
  -- Null until the credits are in the account.
  granted_at timestamptz
);
