import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { StatementMonth } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { longMonth } from '#web/features/credits/consumption.ts';
import {
  statementMonthsQuery,
  statementQuery,
} from '#web/features/credits/statement/statement-queries.ts';
import { MonthChooser, StatementTools } from '#web/features/credits/statement/statement-tools.tsx';
import { MonthlyStatement } from '#web/features/credits/statement/statement.tsx';
import { QueryBlock } from '#web/api/query-block.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { NotFound } from '#web/ui/feedback/not-found.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Badge } from '#web/ui/feedback/status.tsx';
import { windowTitle } from '#web/app/product.ts';
import { useWindowTitle } from '#web/ui/use-window-title.ts';

export const Route = createFileRoute('/_signed-in/credits_/statements/$month')({
  component: StatementPage,
  staticData: { title: 'Statement' },
});

function StatementPage(): ReactNode {
  const { month } = Route.useParams();
  return v.is(StatementMonth, month) ? <OfMonth month={month} /> : <NoSuchMonth />;
}

function OfMonth({ month }: { month: string }): ReactNode {
  const statement = useQuery(statementQuery(month));
  const months = useQuery(statementMonthsQuery);
  const name = longMonth(month);
  // A browser names the file it prints to after the title.
  useWindowTitle(windowTitle(`Statement ${month}`));
  if (statement.error instanceof ApiProblem && statement.error.status === 404)
    return <NoSuchMonth />;
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6 print:p-0">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 className="text-4xl">Statement of {name}</h1>
        {statement.data?.is_running === true ? <Badge tone="info">Month in progress</Badge> : null}
      </div>
      <p className="print:hidden">
        <Link to="/credits" className="link inline-flex min-h-11 items-center">
          Back to credits
        </Link>
      </p>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
        <MonthChooser key={month} month={month} months={months.data ?? []} />
        <StatementTools month={month} />
      </div>
      <QueryBlock
        answer={statement}
        label={`Loading the statement of ${name}`}
        failure={`Failed to load the statement of ${name}`}
        safe="Your credits are safe. We just couldn't load them."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => (
          <MonthlyStatement
            statement={data}
            readAt={new Date(statement.dataUpdatedAt).toISOString()}
          />
        )}
      </QueryBlock>
    </div>
  );
}

function NoSuchMonth(): ReactNode {
  return (
    <NotFound
      sentence="There's no statement for that month. The address should end with a year and month, like 2026-11."
      actions={
        <>
          <LinkButton tone="primary" to="/credits/statements">
            Newest statement
          </LinkButton>
          <LinkButton to="/credits">Credits</LinkButton>
        </>
      }
    />
  );
}
