-- Streams that an asynchronous read model could not take in. Their events wait, in order, while every
-- other stream continues (`projections/set-aside.ts`).
create table projection_set_aside (
  -- The table that lacks them, as in projection_checkpoint.
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

-- A read model is never stopped by an event any more.
alter table projection_checkpoint
  drop column status, drop column attempts, drop column failed_message_id, drop column error;
