import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import * as v from 'valibot';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { counted, figure } from '#services/platform/numbers.ts';
import type { Page } from '#web/api/api.ts';
import { FilterForm } from '#web/features/runs/filter-form.tsx';
import { deleteRun, runsKey, runsQuery } from '#web/features/runs/queries.ts';
import { RunActions } from '#web/features/runs/run-actions.tsx';
import {
  addressOf,
  choiceOf,
  filterOf,
  isNarrowed,
  type RunFilter,
} from '#web/features/runs/run-filter.ts';
import { RunList, RunPages } from '#web/features/runs/run-list.tsx';
import { FileButton } from '#web/api/file-button.tsx';
import { readFile } from '#web/api/files.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { focusRun, offerUndo } from '#web/run/undo.ts';
import { PageNumber, Words } from '#web/app/search-params.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { saveFile } from '#web/ui/save-file.ts';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

const Search = v.object({
  page: PageNumber,
  q: Words,
  status: Words,
  strategy: Words,
  sort: Words,
});

export const Route = createFileRoute('/_signed-in/dashboard_/optimizations')({
  validateSearch: Search,
  component: OptimizationsPage,
  staticData: { title: 'Your optimizations' },
});

function OptimizationsPage(): ReactNode {
  const filter = filterOf(Route.useSearch());
  const navigate = Route.useNavigate();
  const client = useQueryClient();
  const { page } = filter;
  const runs = useQuery({
    ...runsQuery({ page, ...choiceOf(filter) }),
    placeholderData: keepPreviousData,
  });
  const shown = runs.isPlaceholderData ? undefined : runs.data;
  usePageFocus(page);
  useFoundAnnounced(filter, shown);
  const lastPage = shown?.pagination.total_pages ?? page;
  const isBeyond = shown !== undefined && shown.pagination.total > 0 && page > lastPage;
  useEffect(() => {
    // A list that has become shorter continues on its last page.
    if (isBeyond)
      void navigate({
        search: (known) => ({ ...known, page: lastPage > 1 ? lastPage : undefined }),
        replace: true,
      });
  }, [isBeyond, lastPage, navigate]);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <h1 className="min-w-0 text-4xl">Your optimizations</h1>
        <LinkButton to="/optimization" tone="primary">
          New Optimization
        </LinkButton>
      </div>
      <p>
        <Link to="/dashboard" className="link inline-flex min-h-11 items-center">
          Back to dashboard
        </Link>
      </p>
      <Together
        answers={[runs]}
        label="Loading your optimizations"
        skeleton={<Skeleton className="h-96" />}
      >
        {() => (
          <div className="space-y-6">
            {shown?.pagination.total === 0 && !isNarrowed(filter) ? null : (
              <FilterForm
                filter={filter}
                onChange={(change) =>
                  void navigate({
                    search: addressOf({ ...filter, ...change, page: 1 }),
                    resetScroll: false,
                  })
                }
              />
            )}
            <QueryBlock
              answer={runs}
              label="Loading your optimizations"
              failure="Failed to list optimizations"
              safe="Anything running keeps going."
            >
              {({ data, pagination }) =>
                data.length === 0 ? (
                  <Nothing filter={filter} total={pagination.total} />
                ) : (
                  <div className="space-y-6" aria-busy={runs.isPlaceholderData || undefined}>
                    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
                      <p className="text-ink-2">{foundWords(pagination.total, filter)}</p>
                      <FileButton save={async () => saveRuns(filter, pagination.total)}>
                        Download CSV
                      </FileButton>
                    </div>
                    <RunList
                      runs={data}
                      renderActions={(run) => (
                        <RunActions
                          isListed
                          run={run}
                          onDelete={async (byKeyboard) => {
                            await deleteRun(run.id);
                            offerUndo(run, { takesFocus: byKeyboard });
                            await client.invalidateQueries({ queryKey: runsKey });
                            if (!byKeyboard) await focusRun(neighbourOf(data, run.id));
                          }}
                        />
                      )}
                    />
                    <RunPages filter={filter} pages={pagination.total_pages} />
                  </div>
                )
              }
            </QueryBlock>
          </div>
        )}
      </Together>
    </div>
  );
}

/** All pages of what is listed, `total` runs. */
async function saveRuns(filter: RunFilter, total: number): Promise<string | null> {
  const query = { ...choiceOf(filter), format: 'csv' } as const;
  saveFile('sevenfold-optimizations.csv', await readFile('/optimizations', 'text/csv', { query }));
  const { fileRuns } = optimizationLimits;
  return total > fileRuns
    ? `The file holds the first ${figure(fileRuns)} of ${figure(total)}.`
    : null;
}

function foundWords(total: number, filter: RunFilter): string {
  const amount = counted(total, 'optimization');
  return isNarrowed(filter) ? `${amount} found` : amount;
}

/** The next run in the list, else the previous one; null when there is no other. */
function neighbourOf(runs: readonly ListedRun[], id: string): string | null {
  const place = runs.findIndex((run) => run.id === id);
  return (runs[place + 1] ?? runs[place - 1])?.id ?? null;
}

/**
 * A new page starts at its heading, because the link to it may be gone; a filter keeps the focus.
 */
function usePageFocus(page: number): void {
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    if (!document.activeElement?.closest('search')) void focusRun(null);
  }, [page]);
}

/** Announces the number of results, because a screen reader does not notice a changed list. */
function useFoundAnnounced(filter: RunFilter, found: Page<ListedRun> | undefined): void {
  const { page: _page, ...choice } = filter;
  const asked = JSON.stringify(choice);
  const announced = useRef(asked);
  const words = found && foundWords(found.pagination.total, filter);
  useEffect(() => {
    if (words === undefined || announced.current === asked) return;
    announced.current = asked;
    announce(words);
    // The pressed control may have gone with the old list.
    if (document.activeElement === document.body) void focusRun(null);
  }, [asked, words]);
}

function Nothing({ filter, total }: { filter: RunFilter; total: number }): ReactNode {
  if (total > 0) return null;
  if (isNarrowed(filter))
    return (
      <EmptyState
        action={<LinkButton to="/dashboard/optimizations">Show all optimizations</LinkButton>}
      >
        No matching optimizations.
      </EmptyState>
    );
  return (
    <EmptyState action={<LinkButton to="/optimization">Ask your first question</LinkButton>}>
      Every question you ask will appear here.
    </EmptyState>
  );
}
