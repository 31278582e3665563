-- When a user chose to share counts and scores of their runs, without any text; null for no.
alter table users add column shares_statistics_since timestamptz;

-- Sums over all who share, once a week: within a week they never change, so no change names a person.
create table community_figures (
  -- The Monday, in UTC, up to which runs count.
  week date primary key,
  figures jsonb not null,
  computed_at timestamptz not null default now()
);
