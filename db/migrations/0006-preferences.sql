-- How a user wants the pages to look, speak and notify. What is missing has its default.
alter table users add column preferences jsonb not null default '{}'
  check (jsonb_typeof(preferences) = 'object');
