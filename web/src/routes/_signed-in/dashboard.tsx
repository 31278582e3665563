import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import { type ReactNode, useCallback, useState } from 'react';
import * as v from 'valibot';
import type { User } from '#services/identity/contract/session.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import type { Plan } from '#services/payments/contract.ts';
import { analyticsQuery, balanceQuery } from '#web/features/credits/queries.ts';
import { stockWords } from '#web/features/credits/tier.ts';
import { CommunityInsights } from '#web/features/dashboard/elite/community.tsx';
import { DueOutcomes } from '#web/features/dashboard/due-outcomes.tsx';
import { Competitive } from '#web/features/dashboard/elite/competitive.tsx';
import { MetricCards } from '#web/features/dashboard/elite/metric-cards.tsx';
import { ConfirmedBanner } from '#web/features/dashboard/confirmed-banner.tsx';
import { FirstSteps } from '#web/features/dashboard/first-steps.tsx';
import { useGreeting } from '#web/features/dashboard/greeting.ts';
import {
  communityQuery,
  competitiveQuery,
  statsQuery,
  usageQuery,
} from '#web/features/dashboard/queries.ts';
import { StatCard } from '#web/features/dashboard/stat-card.tsx';
import { MonthlyUsage, UnknownUsage } from '#web/features/dashboard/usage-card.tsx';
import { successTrend } from '#web/features/dashboard/usage.ts';
import { type DashboardView, viewOf } from '#web/features/dashboard/view.ts';
import { ViewSwitch } from '#web/features/dashboard/view-switch.tsx';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { ActiveRuns } from '#web/features/runs/active-run.tsx';
import { PastDue } from '#web/features/plan/past-due.tsx';
import { planQuery } from '#web/features/plan/queries.ts';
import { heldPlan } from '#web/features/plan/words.ts';
import { runsQuery } from '#web/features/runs/queries.ts';
import { dueOutcomesQuery } from '#web/run/outcomes/calls.ts';
import { RunList } from '#web/features/runs/run-list.tsx';
import { runningId } from '#web/features/runs/words.ts';
import { accountQuery, changeAccount } from '#web/api/account.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { type Answer, QueryBlock } from '#web/api/query-block.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { counted, credits, creditsInWords, figure } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Together } from '#web/api/together.tsx';
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

const recentRuns = { standard: 5, elite: 4 } as const satisfies Record<DashboardView, number>;
/** Runs other than the watched one are polled at this interval in milliseconds. */
const askEveryMs = 5_000;

/** What the view shows besides the runs, all fetched at once. */
function useParts(view: DashboardView): Pick<Answer<unknown>, 'data' | 'error'>[] {
  const isElite = view === 'elite';
  const both = [
    useQuery(statsQuery),
    useQuery(balanceQuery),
    useQuery(planQuery),
    useQuery(dueOutcomesQuery),
  ];
  const elite = [
    useQuery({ ...competitiveQuery, enabled: isElite }),
    useQuery({ ...communityQuery, enabled: isElite }),
  ];
  const standard = [
    useQuery({ ...analyticsQuery, enabled: !isElite }),
    useQuery({ ...usageQuery, enabled: !isElite }),
    useQuery({ ...accountQuery, enabled: !isElite }),
  ];
  return [...both, ...(isElite ? elite : standard)];
}

function DashboardPage(): ReactNode {
  const session = useSession();
  return 'user' in session ? <Dashboard user={session.user} /> : null;
}

function Dashboard({ user }: { user: User }): ReactNode {
  const hello = useGreeting(user.name);
  const { confirmed } = Route.useSearch();
  const navigate = Route.useNavigate();
  const forgetConfirmed = useCallback(
    () => void navigate({ search: {}, replace: true, resetScroll: false }),
    [navigate],
  );
  // Chosen on this page. A choice that could not be stored holds until one leaves.
  const [chosen, setChosen] = useState<DashboardView | null>(null);
  const view = chosen ?? viewOf(user);
  const runs = useRuns();
  const parts = useParts(view);
  const active = runningOf(runs.data?.data);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <ConfirmedBanner confirmed={confirmed === 'true'} onSeen={forgetConfirmed} />
      <div className="flex flex-wrap items-start justify-between gap-4">
        <h1 className="min-h-11 min-w-0 content-center text-4xl">{hello}</h1>
        <div className="flex flex-wrap items-center gap-3">
          <ViewSwitch
            view={view}
            onView={setChosen}
            save={async (next) => changeAccount({ preferred_dashboard: next })}
          />
          {view === 'elite' ? (
            <>
              <LinkButton to="/dashboard/brief">Intelligence Brief</LinkButton>
              <Launch active={active[0]} tone="primary">
                Evolution Chamber
              </Launch>
            </>
          ) : (
            <LinkButton to="/optimization" tone="primary">
              New Optimization
            </LinkButton>
          )}
        </div>
      </div>
      <Together
        answers={[runs, ...parts]}
        label="Loading your dashboard"
        skeleton={<DashboardSkeleton />}
      >
        {() => (
          <div className="space-y-6">
            <PastDue />
            <ActiveRuns runs={runs.data?.data ?? []} />
            {view === 'elite' ? <Elite active={active[0]} /> : <Standard user={user} />}
          </div>
        )}
      </Together>
    </div>
  );
}

function DashboardSkeleton(): ReactNode {
  return (
    <div className="space-y-6">
      <Skeleton className="h-36" />
      <Skeleton className="h-96" />
    </div>
  );
}

/** To the run in progress; without one to a new question. */
function Launch({
  active,
  tone,
  children,
}: {
  active: string | undefined;
  tone?: 'primary';
  children: string;
}): ReactNode {
  return active === undefined ? (
    <LinkButton to="/optimization" tone={tone}>
      {children}
    </LinkButton>
  ) : (
    <LinkButton to="/evolution-chamber" search={{ id: active }} tone={tone}>
      {children}
    </LinkButton>
  );
}

function useRuns() {
  return useQuery({
    ...runsQuery(),
    refetchInterval: ({ state }) => (runningOf(state.data?.data).length > 1 ? askEveryMs : false),
  });
}

function Elite({ active }: { active: string | undefined }): ReactNode {
  const answers = [
    useQuery(statsQuery),
    useQuery(competitiveQuery),
    useQuery(communityQuery),
    useRuns(),
  ];
  return (
    <UnlessAllFailed answers={answers}>
      <MetricCards />
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
        <Competitive />
        <CommunityInsights
          onShare={async (shares) => changeAccount({ shares_statistics: shares })}
        />
      </div>
      <Recent view="elite" title="Recent orchestrations">
        <Launch active={active}>Launch Evolution Chamber</Launch>
      </Recent>
    </UnlessAllFailed>
  );
}

/**
 * What both views begin with, and the view. One error for the whole dashboard when nothing of it was ever
 * read; else each part has its own.
 */
function UnlessAllFailed({
  answers: ofView,
  children,
}: {
  answers: readonly Answer<unknown>[];
  children: ReactNode;
}): ReactNode {
  const answers = [...ofView, useQuery(dueOutcomesQuery)];
  if (!answers.every(({ data, error }) => data === undefined && error !== null))
    return (
      <>
        <DueOutcomes />
        {children}
      </>
    );
  return (
    <ErrorState
      title="Error Loading Dashboard"
      detail={`Failed to load dashboard data. Please try again. ${problemSentence(answers[0]?.error)}`}
      safe="Your credits and optimizations are safe."
      onRetry={() => {
        for (const answer of answers) void answer.refetch();
      }}
      busy={answers.some((answer) => answer.isFetching)}
    />
  );
}

/** The newest runs, with a link to all; or what to do first. */
function Recent({
  view,
  title,
  className,
  children,
}: {
  view: DashboardView;
  title: string;
  className?: string;
  children?: ReactNode;
}): ReactNode {
  const runs = useRuns();
  const balance = useQuery(balanceQuery);
  const most = recentRuns[view];
  const total = runs.data?.pagination.total;
  return (
    <Card aria-labelledby="recent" className={classNames('min-w-0 space-y-4', className)}>
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 id="recent" className="min-w-0 text-2xl">
          {total === 0 ? 'Get started' : title}
        </h2>
        <div className="flex flex-wrap items-center gap-x-4">
          {(total ?? 0) > most ? (
            <Link to="/dashboard/optimizations" className="link inline-flex min-h-11 items-center">
              View all ({total})
            </Link>
          ) : null}
          {children}
        </div>
      </div>
      <QueryBlock
        answer={runs}
        label="Loading your optimizations"
        failure="We couldn't load your optimizations"
        safe="Anything running keeps going."
        skeleton={<Skeleton className="h-80" />}
      >
        {({ data }) =>
          data.length === 0 ? (
            <FirstSteps hasCredits={(balance.data?.available_credits ?? 0) > 0} />
          ) : (
            <RunList runs={data.slice(0, most)} />
          )
        }
      </QueryBlock>
    </Card>
  );
}

function Standard({ user: signedIn }: { user: User }): ReactNode {
  const balance = useQuery(balanceQuery);
  const analytics = useQuery(analyticsQuery);
  const stats = useQuery(statsQuery);
  const usage = useQuery(usageQuery);
  const profile = useQuery(accountQuery);
  const plan = useQuery(planQuery);
  const runs = useRuns();
  // The session also knows the tier, as of when it was read.
  const user = profile.data ?? signedIn;
  return (
    <UnlessAllFailed answers={[balance, analytics, stats, usage, runs]}>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,10rem),1fr))] gap-4">
        <StatCard label="Credit Balance" answer={balance}>
          {(known) => ({
            value: credits(known.available_credits),
            detail: known.spending_frozen
              ? `${stockWords(known)}. Runs can't start.`
              : known.debt_credits > 0
                ? `${stockWords(known)}. Settle it to start runs.`
                : known.reserved_credits > 0
                  ? `${stockWords(known)}, ${credits(known.reserved_credits)} reserved`
                  : stockWords(known),
          })}
        </StatCard>
        <StatCard label="This Month" answer={analytics}>
          {({ monthly_consumption: amount, consumption_by_month: months }) => ({
            value: credits(amount),
            detail: `credits used (${credits(months.at(-2)?.credits ?? null)} last month)`,
          })}
        </StatCard>
        <StatCard label="Success Rate" answer={stats}>
          {({
            success_rate: rate,
            completed_optimizations: completed,
            failed_optimizations: failed,
          }) =>
            rate === null
              ? { value: '—', detail: 'No finished runs yet' }
              : {
                  value: percent(rate * 100),
                  detail: `${credits(completed)} of ${credits(completed + failed)} completed.${successTrend(rate)}`,
                }
          }
        </StatCard>
        <StatCard label="Avg Cost" answer={stats}>
          {({ average_cost_per_optimization: average, completed_optimizations: completed }) => ({
            value: average === null ? '—' : figure(average),
            detail:
              average === null
                ? 'Shown after your first optimization'
                : `credits, averaged over ${counted(completed, 'completed run')}`,
          })}
        </StatCard>
      </div>
      <p className="text-sm text-ink-3">
        Success rate and average cost count every run that completed or failed, deleted ones
        included. Refinements, canceled runs, and drafts don't count.
      </p>
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-3">
        <Recent view="standard" title="Recent optimizations" className="lg:col-span-2" />
        <div className="min-w-0 space-y-6">
          <Card aria-labelledby="monthly" className="space-y-4">
            <h2 id="monthly" className="text-2xl">
              Monthly Usage
            </h2>
            {usage.data === undefined && usage.error !== null ? (
              <UnknownUsage user={user} answer={usage} />
            ) : (
              <QueryBlock
                answer={usage}
                label="Loading your usage"
                failure="We couldn't load your usage"
                skeleton={<Skeleton className="h-28" />}
              >
                {(data) => (
                  <MonthlyUsage
                    user={user}
                    usage={data}
                    isGranted={isGranted(user.subscription_tier, plan.data)}
                  />
                )}
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
    </UnlessAllFailed>
  );
}

/** A tier that no subscription of the user brings; unknown plans are not guessed at. */
function isGranted(tier: User['subscription_tier'], plan: Plan | undefined): boolean {
  return tier !== 'free' && plan !== undefined && heldPlan(plan) === null;
}

/** What can be watched in the chamber. */
function runningOf(runs: readonly ListedRun[] = []): string[] {
  return runs.map(runningId).filter((id) => id !== null);
}
