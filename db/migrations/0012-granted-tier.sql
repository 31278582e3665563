-- A tier that an operator gave, beside what the user's plans bring. The higher one applies.
alter table users add column granted_tier text check (granted_tier in ('pro', 'scale'));
