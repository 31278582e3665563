import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ChallengeType } from '#services/optimizations/contract/summary.ts';
import { recipeLimits } from '#services/recipes/contract.ts';
import { challengeTypeWords } from '#web/run/words.ts';
import { Button } from '#web/ui/form/button.tsx';
import { SelectField, TextField } from '#web/ui/form/field.tsx';
import type { RecipeFilter } from './queries.ts';

const tab =
  'inline-flex min-h-11 items-center border-b-2 border-transparent px-3 text-ink-2 hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-semibold aria-[current=page]:text-ink';

/** Owner, category and words of the list, all kept in the address. */
export function Filters({
  filter,
  onChange,
}: {
  filter: RecipeFilter;
  onChange: (change: Partial<Pick<RecipeFilter, 'category' | 'search'>>) => void;
}): ReactNode {
  return (
    <div className="space-y-4">
      <nav aria-label="Recipe owner" className="flex gap-2 border-b border-line">
        {(['all', 'mine'] as const).map((each) => (
          <Link
            key={each}
            to="/recipes"
            search={each === 'all' ? {} : { tab: each }}
            activeProps={{}}
            aria-current={filter.tab === each ? 'page' : undefined}
            className={tab}
          >
            {each === 'all' ? 'All' : 'Mine'}
          </Link>
        ))}
      </nav>
      <search>
        <form
          // The field shows a changed address, also after the back button.
          key={`${filter.tab} ${filter.search}`}
          method="post"
          className="grid grid-cols-1 items-end gap-4 sm:grid-cols-[minmax(0,1fr)_auto_minmax(0,16rem)]"
          onSubmit={(event) => {
            event.preventDefault();
            const search = new FormData(event.currentTarget).get('search');
            onChange({ search: typeof search === 'string' ? search.trim() : '' });
          }}
        >
          <TextField
            label="Search"
            name="search"
            type="search"
            maxLength={recipeLimits.search}
            defaultValue={filter.search}
          />
          <Button type="submit">Search</Button>
          <SelectField
            label="Category"
            name="category"
            value={filter.category ?? ''}
            onChange={({ currentTarget: { value } }) =>
              onChange({ category: ChallengeType.options.find((type) => type === value) })
            }
          >
            <option value="">All categories</option>
            {ChallengeType.options.map((type) => (
              <option key={type} value={type}>
                {challengeTypeWords[type]}
              </option>
            ))}
          </SelectField>
        </form>
      </search>
    </div>
  );
}
