import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { runsQuery } from '#web/features/runs/queries.ts';
import { RunList, RunPages } from '#web/features/runs/run-list.tsx';
import { QueryBlock } from '#web/query-block.tsx';
import { LinkButton } from '#web/ui/button.tsx';
import { EmptyState } from '#web/ui/empty-state.tsx';
import { Skeleton } from '#web/ui/skeleton.tsx';

const Search = v.object({
  page: v.fallback(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000))),
    undefined,
  ),
});

export const Route = createFileRoute('/_signed-in/dashboard_/optimizations')({
  validateSearch: Search,
  component: OptimizationsPage,
  staticData: { title: 'Your optimizations' },
});

function OptimizationsPage(): ReactNode {
  const { page = 1 } = Route.useSearch();
  const runs = useQuery({ ...runsQuery({ page }), placeholderData: keepPreviousData });
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
          Back to the dashboard
        </Link>
      </p>
      <QueryBlock
        answer={runs}
        label="Loading your optimizations"
        failure="Failed to list optimizations"
        safe="Running optimizations go on."
        skeleton={<Skeleton className="h-96" />}
      >
        {({ data, pagination }) =>
          data.length === 0 ? (
            <EmptyState
              action={
                pagination.total === 0 ? (
                  <LinkButton to="/optimization">Ask your first question</LinkButton>
                ) : (
                  <LinkButton to="/dashboard/optimizations">To the newest</LinkButton>
                )
              }
            >
              {pagination.total === 0
                ? 'Every question that you ask will be here.'
                : `There are only ${pagination.total_pages} pages.`}
            </EmptyState>
          ) : (
            <div className="space-y-6" aria-busy={runs.isPlaceholderData || undefined}>
              <RunList runs={data} />
              <RunPages page={page} pages={pagination.total_pages} />
            </div>
          )
        }
      </QueryBlock>
    </div>
  );
}
