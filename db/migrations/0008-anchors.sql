-- Anchors of the hash chains: once a UTC day the head of every stream of credits and of runs that has
-- changed since the anchor before, joined to one root. A chain can be rewritten from some event on so
-- that it is whole in itself; it then no longer reaches a head that was anchored. Roots leave the
-- database through the log, so that rewriting the anchors as well would show against those.
--
-- Append-only: the application may insert and read, and nobody changes or deletes.
create table chain_anchor (
  -- From 1, without a gap.
  number bigint primary key check (number > 0),
  -- The UTC day that it is the anchor of; null for one that somebody asked for in between.
  day date unique,
  made_at timestamptz not null,
  -- Everything in the log up to here counts, and nothing after it.
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
  -- Of the last event that counts.
  version bigint not null check (version > 0),
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  primary key (number, stream_id)
);
create index chain_anchor_head_stream_id on chain_anchor_head (stream_id, version);
