import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import { type ReactNode, useCallback, useState } from 'react';
import * as v from 'valibot';
import { analyticsQuery, balanceQuery } from '#web/features/credits/queries.ts';
import { stockWords } from '#web/features/credits/tier.ts';
import { ConfirmedBanner } from '#web/features/dashboard/confirmed-banner.tsx';
import { FirstSteps } from '#web/features/dashboard/first-steps.tsx';
import { useGreeting } from '#web/features/dashboard/greeting.ts';
import { profileQuery } from '#web/features/dashboard/queries.ts';
import { StatCard } from '#web/features/dashboard/stat-card.tsx';
import { MonthlyUsage } from '#web/features/dashboard/usage-card.tsx';
import { useSession } from '#web/features/identity/session.ts';
import { ActiveRun } from '#web/features/runs/active-run.tsx';
import { runsQuery } from '#web/features/runs/queries.ts';
import { RunList } from '#web/features/runs/run-list.tsx';
import { successRate } from '#web/features/runs/words.ts';
import { problemSentence } from '#web/problem-words.ts';
import { QueryBlock } from '#web/query-block.tsx';
import { LinkButton } from '#web/ui/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { credits, creditsInWords, percent } from '#web/ui/figures.ts';
import { ErrorState } from '#web/ui/error-state.tsx';
import { Skeleton } from '#web/ui/skeleton.tsx';

const Search = v.object({
  /** The landing after an e-mail address was confirmed. */
  confirmed: v.fallback(v.optional(v.pipe(v.unknown(), v.transform(String))), undefined),
});

export const Route = createFileRoute('/_signed-in/dashboard')({
  validateSearch: Search,
  component: DashboardPage,
  staticData: { title: 'Dashboard' },
});

/** Runs on the dashboard, and how many of the latest the success rate looks at. */
const recentRuns = 5;
const ratedRuns = 100;
/** Runs beside the one that is followed live move on by asking, at this distance in milliseconds. */
const askEveryMs = 5_000;

function DashboardPage(): ReactNode {
  const session = useSession();
  const hello = useGreeting('user' in session ? session.user.name : '');
  const { confirmed } = Route.useSearch();
  const navigate = Route.useNavigate();
  const forgetConfirmed = useCallback(
    () => void navigate({ search: {}, replace: true, resetScroll: false }),
    [navigate],
  );
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <ConfirmedBanner confirmed={confirmed === 'true'} onSeen={forgetConfirmed} />
      <div className="flex flex-wrap items-center justify-between gap-4">
        <h1 className="min-w-0 text-4xl">{hello}</h1>
        <LinkButton to="/optimization" tone="primary">
          New Optimization
        </LinkButton>
      </div>
      <Overview />
    </div>
  );
}

function Overview(): ReactNode {
  const [now] = useState(() => new Date());
  const balance = useQuery(balanceQuery);
  const analytics = useQuery(analyticsQuery);
  const profile = useQuery(profileQuery);
  const runs = useQuery({
    ...runsQuery(),
    refetchInterval: ({ state }) =>
      (state.data?.data.filter(isActive).length ?? 0) > 1 ? askEveryMs : false,
  });
  const hasMore = (runs.data?.pagination.total ?? 0) > (runs.data?.data.length ?? 0);
  const rated = useQuery({ ...runsQuery({ limit: ratedRuns }), enabled: hasMore });
  const answers = [balance, analytics, profile, runs];
  if (answers.every(({ data, error }) => data === undefined && error !== null)) {
    return (
      <ErrorState
        title="Error Loading Dashboard"
        detail={`Failed to load dashboard data. Please try again. ${problemSentence(runs.error)}`}
        safe="Your credits and optimizations are safe."
        onRetry={() => {
          for (const answer of answers) void answer.refetch();
        }}
        busy={answers.some((answer) => answer.isFetching)}
      />
    );
  }
  const total = runs.data?.pagination.total;
  const active = runs.data?.data.filter(isActive) ?? [];
  return (
    <>
      {active.map((run) => (
        <ActiveRun key={run.id} run={run} />
      ))}
      <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,10rem),1fr))] gap-4">
        <StatCard label="Credit Balance" answer={balance}>
          {({ available_credits: available, reserved_credits: reserved }) => ({
            value: credits(available),
            detail:
              reserved > 0
                ? `${stockWords(available)}, ${credits(reserved)} reserved`
                : stockWords(available),
          })}
        </StatCard>
        <StatCard label="This Month" answer={analytics}>
          {({ monthly_consumption: amount, consumption_by_month: months }) => ({
            value: credits(amount),
            detail: `credits consumed, last month ${credits(months.at(-2)?.credits ?? null)}`,
          })}
        </StatCard>
        <StatCard label="Success Rate" answer={hasMore ? rated : runs}>
          {({ data, pagination }) => {
            const { completed, ended, rate } = successRate(data);
            const among = pagination.total > data.length ? ` of the last ${data.length}` : '';
            return rate === null
              ? { value: '—', detail: 'nothing has ended yet' }
              : {
                  value: percent(rate * 100),
                  detail: `${completed} of ${ended} completed${among}${rate > 0.8 ? ', going well' : ''}`,
                };
          }}
        </StatCard>
        <StatCard label="Avg Cost" answer={analytics}>
          {({ average_cost_per_optimization: average, completed_optimizations: completed }) => ({
            value: average === null ? '—' : average.toLocaleString(),
            detail:
              average === null
                ? 'before your first optimization'
                : `credits per optimization, of ${credits(completed)} completed`,
          })}
        </StatCard>
      </div>
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-3">
        <Card aria-labelledby="recent" className="min-w-0 space-y-4 lg:col-span-2">
          <div className="flex flex-wrap items-baseline justify-between gap-x-4">
            <h2 id="recent" className="min-w-0 text-2xl">
              {total === 0 ? 'What to do first' : 'Recent optimizations'}
            </h2>
            {(total ?? 0) > recentRuns ? (
              <Link
                to="/dashboard/optimizations"
                className="link inline-flex min-h-11 items-center"
              >
                View all ({total})
              </Link>
            ) : null}
          </div>
          <QueryBlock
            answer={runs}
            label="Loading your optimizations"
            failure="Your optimizations could not be loaded"
            safe="Running optimizations go on."
            skeleton={<Skeleton className="h-80" />}
          >
            {({ data }) =>
              data.length === 0 ? (
                <FirstSteps hasCredits={(balance.data?.available_credits ?? 0) > 0} />
              ) : (
                <RunList runs={data.slice(0, recentRuns)} />
              )
            }
          </QueryBlock>
        </Card>
        <div className="min-w-0 space-y-6">
          <Card aria-labelledby="monthly" className="space-y-4">
            <h2 id="monthly" className="text-2xl">
              Monthly Usage
            </h2>
            <QueryBlock
              answer={profile}
              label="Loading your usage"
              failure="Your usage could not be loaded"
              skeleton={<Skeleton className="h-28" />}
            >
              {(user) => <MonthlyUsage user={user} now={now} />}
            </QueryBlock>
          </Card>
          <Card aria-labelledby="actions" className="space-y-4">
            <h2 id="actions" className="text-2xl">
              Quick Actions
            </h2>
            <div className="flex flex-col gap-3">
              <LinkButton to="/optimization">New Optimization</LinkButton>
              <LinkButton to="/credits">
                {balance.data
                  ? `Credits: ${creditsInWords(balance.data.available_credits)}`
                  : 'Credits'}
              </LinkButton>
            </div>
          </Card>
        </div>
      </div>
    </>
  );
}

function isActive({ status }: { status: string }): boolean {
  return status === 'processing';
}
