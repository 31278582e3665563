import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { ChallengeType } from '#services/optimizations/contract/summary.ts';
import { recipeLimits } from '#services/recipes/contract.ts';
import { strategiesQuery } from '#web/features/optimize/queries.ts';
import { Filters } from '#web/features/recipes/filters.tsx';
import { type RecipeFilter, recipesQuery } from '#web/features/recipes/queries.ts';
import { RecipeList } from '#web/features/recipes/recipe-list.tsx';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { PageNumber, Words } from '#web/app/search-params.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

const Search = v.object({ tab: Words, page: PageNumber, category: Words, search: Words });

export const Route = createFileRoute('/_signed-in/recipes/')({
  validateSearch: Search,
  component: RecipesPage,
  staticData: { title: 'Recipes' },
});

function RecipesPage(): ReactNode {
  const asked = Route.useSearch();
  const { page = 1 } = asked;
  const tab = asked.tab === 'mine' ? 'mine' : 'all';
  const category = ChallengeType.options.find((type) => type === asked.category);
  const search = String(asked.search ?? '')
    .trim()
    .slice(0, recipeLimits.search);
  const navigate = Route.useNavigate();
  const filter: RecipeFilter = { tab, page, category, search };
  const recipes = useQuery({ ...recipesQuery(filter), placeholderData: keepPreviousData });
  const strategies = useQuery(strategiesQuery());
  const change = (part: Partial<RecipeFilter>): void => {
    void navigate({ search: addressOf({ ...filter, page: 1, ...part }) });
  };
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <div className="min-w-0 space-y-1">
          <h1 className="text-4xl">Recipes</h1>
          <p className="text-ink-2">Opportunity Patterns</p>
        </div>
        <LinkButton to="/recipes/new" tone="primary">
          New recipe
        </LinkButton>
      </div>
      <Filters filter={filter} onChange={change} />
      <Together
        answers={[recipes, strategies]}
        label="Loading recipes"
        skeleton={<Skeleton className="h-96" />}
      >
        {() => (
          <QueryBlock
            answer={recipes}
            label="Loading recipes"
            failure="Failed to list recipes"
            safe="Your recipes are safe."
          >
            {({ data, pagination }) =>
              data.length === 0 ? (
                <Nothing filter={filter} total={pagination.total} />
              ) : (
                <div className="space-y-6" aria-busy={recipes.isPlaceholderData || undefined}>
                  <RecipeList recipes={data} prices={strategies.data} />
                  <Pages filter={filter} pages={pagination.total_pages} />
                </div>
              )
            }
          </QueryBlock>
        )}
      </Together>
    </div>
  );
}

function Nothing({ filter, total }: { filter: RecipeFilter; total: number }): ReactNode {
  const isFiltered = filter.category !== undefined || filter.search !== '';
  if (total > 0)
    return (
      <EmptyState
        action={
          <LinkButton to="/recipes" search={addressOf({ ...filter, page: 1 })}>
            First page
          </LinkButton>
        }
      >
        That page doesn't exist.
      </EmptyState>
    );
  if (isFiltered)
    return (
      <EmptyState
        action={
          <LinkButton
            to="/recipes"
            search={addressOf({ ...filter, page: 1, category: undefined, search: '' })}
          >
            Show all
          </LinkButton>
        }
      >
        No matching recipes.
      </EmptyState>
    );
  return (
    <EmptyState action={<LinkButton to="/recipes/new">Write your first recipe</LinkButton>}>
      Save the questions you ask often, with blanks for what changes.
    </EmptyState>
  );
}

function Pages({ filter, pages }: { filter: RecipeFilter; pages: number }): ReactNode {
  if (pages <= 1) return null;
  const { page } = filter;
  const place = 'inline-flex min-h-11 items-center rounded-control px-3 link';
  const to = (number: number) => addressOf({ ...filter, page: number });
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center gap-4">
      {page > 1 ? (
        <Link to="/recipes" search={to(page - 1)} className={place}>
          Previous
        </Link>
      ) : null}
      <span className="text-ink-2">
        Page {page} of {pages}
      </span>
      {page < pages ? (
        <Link to="/recipes" search={to(page + 1)} className={place}>
          Next
        </Link>
      ) : null}
    </nav>
  );
}

/** The address holds only what differs from the default. */
function addressOf({ tab, page, category, search }: RecipeFilter): v.InferOutput<typeof Search> {
  return {
    ...(tab === 'mine' ? { tab } : {}),
    ...(page > 1 ? { page } : {}),
    ...(category === undefined ? {} : { category }),
    ...(search === '' ? {} : { search }),
  };
}
