-- Calls of models that no run pays for, such as the check of a question. No text, and no person is named.
create table platform_call (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('question_check')),
  model text not null,
  -- Tokens, as the events of runs hold them.
  usage jsonb not null,
  -- Null while unknown; 0 for a simulated or local model.
  cost_micros bigint check (cost_micros >= 0),
  at timestamptz not null
);
create index platform_call_at on platform_call (at);
