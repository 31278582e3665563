import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import * as v from 'valibot';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { analyticsQuery, balanceQuery } from '#web/features/credits/queries.ts';
import { stockWords } from '#web/features/credits/tier.ts';
import { ConfirmedBanner } from '#web/features/dashboard/confirmed-banner.tsx';
import { FirstSteps } from '#web/features/dashboard/first-steps.tsx';
import { useGreeting } from '#web/features/dashboard/greeting.ts';
import { statsQuery, usageQuery } from '#web/features/dashboard/queries.ts';
import { StatCard } from '#web/features/dashboard/stat-card.tsx';
import { MonthlyUsage, UnknownUsage } from '#web/features/dashboard/usage-card.tsx';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { ActiveRun } from '#web/features/runs/active-run.tsx';
import { PastDue } from '#web/features/plan/past-due.tsx';
import { accountQuery } from '#web/features/profile/queries.ts';
import { runsQuery } from '#web/features/runs/queries.ts';
import { RunList } from '#web/features/runs/run-list.tsx';
import { runningId } from '#web/features/runs/words.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

const Search = v.object({
  /** The landing page after an email address was confirmed. */
  confirmed: v.fallback(v.optional(v.pipe(v.unknown(), v.transform(String))), undefined),
});

export const Route = createFileRoute('/_signed-in/dashboard')({
  validateSearch: Search,
  component: DashboardPage,
  staticData: { title: 'Dashboard' },
});

const recentRuns = 5;
/** Runs other than the watched one are polled at this interval in milliseconds. */
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
      <PastDue />
      <Overview />
    </div>
  );
}

function Overview(): ReactNode {
  const session = useSession();
  const balance = useQuery(balanceQuery);
  const analytics = useQuery(analyticsQuery);
  const stats = useQuery(statsQuery);
  const usage = useQuery(usageQuery);
  const profile = useQuery(accountQuery);
  const runs = useQuery({
    ...runsQuery(),
    refetchInterval: ({ state }) => (runningOf(state.data?.data).length > 1 ? askEveryMs : false),
  });
  const answers = [balance, analytics, stats, usage, runs];
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
  // The session also knows the plan, as of when it was read.
  const user = profile.data ?? ('user' in session ? session.user : null);
  const total = runs.data?.pagination.total;
  const active = runningOf(runs.data?.data);
  return (
    <>
      {active.map((run) => (
        <ActiveRun key={run.id} run={run} />
      ))}
      <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,10rem),1fr))] gap-4">
        <StatCard label="Credit Balance" answer={balance}>
          {({
            available_credits: available,
            reserved_credits: reserved,
            debt_credits: debt,
            spending_frozen: isFrozen,
          }) => ({
            value: credits(available),
            detail: isFrozen
              ? 'frozen: no optimization can start'
              : debt > 0
                ? `owes ${credits(debt)}: no optimization can start`
                : reserved > 0
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
        <StatCard label="Success Rate" answer={stats}>
          {({
            success_rate: rate,
            completed_optimizations: completed,
            failed_optimizations: failed,
          }) =>
            rate === null
              ? { value: '—', detail: 'nothing has ended yet' }
              : {
                  value: percent(rate * 100),
                  detail: `${credits(completed)} of ${credits(completed + failed)} completed${rate > 0.8 ? ', going well' : ''}`,
                }
          }
        </StatCard>
        <StatCard label="Avg Cost" answer={stats}>
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
            safe="Running optimizations continue."
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
            {usage.data === undefined && usage.error !== null && user ? (
              <UnknownUsage user={user} answer={usage} />
            ) : (
              <QueryBlock
                answer={usage}
                label="Loading your usage"
                failure="Your usage could not be loaded"
                skeleton={<Skeleton className="h-28" />}
              >
                {(data) => (user ? <MonthlyUsage user={user} usage={data} /> : null)}
              </QueryBlock>
            )}
          </Card>
          <Card aria-labelledby="actions" className="space-y-4">
            <h2 id="actions" className="text-2xl">
              Quick Actions
            </h2>
            <div className="flex flex-col gap-3">
              <LinkButton to="/optimization">New Optimization</LinkButton>
              <LinkButton to="/recipes">Browse Recipes</LinkButton>
              <LinkButton to="/credits">
                {balance.data
                  ? `Credits: ${creditsInWords(balance.data.available_credits)}`
                  : 'Credits'}
              </LinkButton>
              <LinkButton to="/profile">Account Settings</LinkButton>
            </div>
          </Card>
        </div>
      </div>
    </>
  );
}

/** What a strip shows of each run in progress; how far a refinement is, the list does not say. */
function runningOf(runs: readonly ListedRun[] = []) {
  return runs.flatMap((run) => {
    const id = runningId(run);
    return id === null
      ? []
      : [{ id, title: run.title, progress: id === run.id ? run.progress : 0 }];
  });
}
