import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link, Navigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { statementMonthsQuery } from '#web/features/credits/statement/statement-queries.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/credits_/statements/')({
  component: StatementsPage,
  staticData: { title: 'Statements' },
});

/** Redirects to the newest statement; without one, says when there will be one. */
function StatementsPage(): ReactNode {
  const months = useQuery(statementMonthsQuery);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Statements</h1>
      <p>
        <Link to="/credits" className="link inline-flex min-h-11 items-center">
          Back to credits
        </Link>
      </p>
      <QueryBlock
        answer={months}
        label="Loading your statements"
        failure="Failed to load statements"
        safe="Your credits are safe. We just couldn't load them."
        skeleton={<Skeleton className="h-96" />}
      >
        {([newest]) =>
          newest === undefined ? (
            <EmptyState
              action={<LinkButton to="/credits/purchase">Purchase Your First Credits</LinkButton>}
            >
              You'll get a statement for every month in which you receive, use, or get back credits.
            </EmptyState>
          ) : (
            <Navigate to="/credits/statements/$month" params={{ month: newest }} replace />
          )
        }
      </QueryBlock>
    </div>
  );
}
