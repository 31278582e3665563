-- What users were asked about their results, 30 and 90 days later. The answers are events; these rows say
-- only that no more is to be asked or emailed.
create table outcome_question (
  run_id text not null collate "C",
  asked smallint not null check (asked in (30, 90)),
  user_id text not null references users (id) on delete cascade,
  -- Null for a question that was not emailed.
  emailed_at timestamptz,
  -- Null unless its user answered "Not now".
  dismissed_at timestamptz,
  primary key (run_id, asked)
);
create index outcome_question_user_id on outcome_question (user_id);
