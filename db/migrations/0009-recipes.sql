-- Recipes that people write themselves, and how often a recipe was used.
--
-- What a person wrote is one sealed text under the key of the account (`services/recipes/recipes.ts`).
-- The recipes that we ship are part of the program and have no row.
create table recipe (
  id text primary key collate "C" check (id ~ '^rec_[0-9a-z]{26}$'),
  user_id text not null references users (id) on delete cascade,
  sealed text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index recipe_user_id on recipe (user_id, created_at desc, id desc);

-- One row for each run that was begun from a recipe, ours or one's own.
create table recipe_use (
  run_id text primary key collate "C",
  recipe_id text not null collate "C",
  user_id text not null references users (id) on delete cascade,
  used_at timestamptz not null
);
create index recipe_use_recipe_id on recipe_use (recipe_id);
create index recipe_use_user_id on recipe_use (user_id);
