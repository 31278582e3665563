-- Messages to the operator. Sealed, with the account's key when its user was signed in, else with a key
-- of the message's own, which is erased with it.
create table contact_message (
  id text primary key collate "C" check (id ~ '^msg_[0-9a-z]{26}$'),
  user_id text references users (id) on delete cascade,
  key_id text not null,
  topic text not null check (topic in ('support', 'billing', 'privacy', 'security', 'other')),
  sealed text not null,
  created_at timestamptz not null
);
create index contact_message_user_id on contact_message (user_id);
create index contact_message_created_at on contact_message (created_at);

-- Changes of the terms or the privacy policy that the operator has announced.
create table policy_change (
  id text primary key collate "C" check (id ~ '^pol_[0-9a-z]{26}$'),
  effective_on date not null,
  summary text not null,
  announced_at timestamptz not null,
  -- Users are emailed in the order of their ids: the last one so far, and when all of them were.
  mailed_to text not null default '',
  mailed_at timestamptz
);
