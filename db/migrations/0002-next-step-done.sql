-- Next steps of a result that its owner has ticked off. No event: nothing else follows from it.
create table next_step_done (
  run_id text not null collate "C",
  -- Its place in the result's list, from 0.
  step smallint not null check (step >= 0),
  user_id text not null references users (id) on delete cascade,
  done_at timestamptz not null,
  primary key (run_id, step)
);
create index next_step_done_user_id on next_step_done (user_id);
