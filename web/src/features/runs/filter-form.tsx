import { type ReactNode, useState } from 'react';
import { strategyName } from '#services/optimizations/reading/words/names.ts';
import {
  optimizationLimits,
  type RunSort,
  runSorts,
} from '#services/optimizations/contract/requests.ts';
import { RunStatus, StrategyId } from '#services/optimizations/contract/summary.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { Button } from '#web/ui/form/button.tsx';
import { SelectField, TextField } from '#web/ui/form/field.tsx';
import type { RunFilter } from './run-filter.ts';

const sortWords: Readonly<Record<RunSort, string>> = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  credits: 'Most credits first',
};

/**
 * The list's filters. A choice applies at once, together with the words, which otherwise wait for
 * Enter.
 */
export function FilterForm({
  filter,
  onChange,
}: {
  filter: RunFilter;
  onChange: (change: Partial<Omit<RunFilter, 'page'>>) => void;
}): ReactNode {
  const [words, setWords] = useState(filter.q);
  const [shown, setShown] = useState(filter.q);
  // The field shows a changed address, also after the back button.
  if (shown !== filter.q) {
    setShown(filter.q);
    setWords(filter.q);
  }
  const change = (part: Partial<RunFilter>): void => onChange({ q: words.trim(), ...part });
  return (
    <search>
      <form
        method="post"
        className="grid grid-cols-2 items-end gap-4 sm:grid-cols-3 lg:grid-cols-[minmax(0,2fr)_repeat(3,minmax(0,1fr))]"
        onSubmit={(event) => {
          event.preventDefault();
          change({});
        }}
      >
        <div className="col-span-full flex items-end gap-4 lg:col-span-1">
          <div className="min-w-0 grow">
            <TextField
              label="Search titles and questions"
              name="q"
              type="search"
              maxLength={optimizationLimits.search}
              value={words}
              onChange={(event) => setWords(event.currentTarget.value)}
            />
          </div>
          <Button type="submit">Search</Button>
        </div>
        <SelectField
          label="Status"
          name="status"
          value={filter.status ?? ''}
          onChange={({ currentTarget: { value } }) =>
            change({ status: RunStatus.options.find((status) => status === value) })
          }
        >
          <option value="">All</option>
          {RunStatus.options.map((status) => (
            <option key={status} value={status}>
              {runStatusWords[status]}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Strategy"
          name="strategy"
          value={filter.strategy ?? ''}
          onChange={({ currentTarget: { value } }) =>
            change({ strategy: StrategyId.options.find((strategy) => strategy === value) })
          }
        >
          <option value="">All</option>
          {StrategyId.options.map((strategy) => (
            <option key={strategy} value={strategy}>
              {strategyName(strategy)}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Order"
          name="sort"
          value={filter.sort}
          onChange={({ currentTarget: { value } }) =>
            change({ sort: runSorts.find((sort) => sort === value) ?? 'newest' })
          }
        >
          {runSorts.map((sort) => (
            <option key={sort} value={sort}>
              {sortWords[sort]}
            </option>
          ))}
        </SelectField>
      </form>
    </search>
  );
}
