-- Where API processes reach one another. A socket that polls has its state in one process, while its
-- requests come to any: whichever gets one hands it to the process that the connection's id names.
create table api_process (
  process_id text primary key check (process_id ~ '^[0-9a-f]{16}$'),
  host text not null,
  port integer not null check (port between 1 and 65535),
  beat_at timestamptz not null default now()
);
