import { useQuery } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { updateUser, useSession } from '#web/features/identity/sessions/session.ts';
import { PlanDetails } from '#web/features/plan/plan-page.tsx';
import { planQuery } from '#web/features/plan/queries.ts';
import { accountQuery } from '#web/api/account.ts';
import { packagesQuery } from '#web/features/purchase/queries.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/credits_/plan')({
  component: PlanPage,
  staticData: { title: 'Plan' },
});

function PlanPage(): ReactNode {
  const plan = useQuery(planQuery);
  const packages = useQuery(packagesQuery);
  useTierOf(plan.data?.tier);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Plan</h1>
      <Together answers={[plan, packages]} label="Loading your plan" skeleton={<PlanSkeleton />}>
        {() => (
          <div className="space-y-6">
            <QueryBlock
              answer={plan}
              label="Loading your plan"
              failure="Failed to load your plan"
              safe="Your plan hasn't changed."
            >
              {(data) => <PlanDetails plan={data} packages={packages.data} />}
            </QueryBlock>
            <p className="flex flex-wrap gap-3">
              <LinkButton to="/credits">Credits</LinkButton>
              <LinkButton to="/credits/purchase">Buy More Credits</LinkButton>
            </p>
          </div>
        )}
      </Together>
    </div>
  );
}

function PlanSkeleton(): ReactNode {
  return (
    <div className="space-y-6">
      <Skeleton className="h-80" />
      <Skeleton className="h-36" />
    </div>
  );
}

/** A tier that changed during the session must show everywhere. */
function useTierOf(tier: string | undefined): void {
  const session = useSession();
  const isOld = tier !== undefined && 'user' in session && session.user.subscription_tier !== tier;
  const account = useQuery({ ...accountQuery, enabled: isOld, staleTime: isOld ? 0 : Infinity });
  useEffect(() => {
    if (account.data) updateUser(account.data);
  }, [account.data]);
}
