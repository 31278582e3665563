import { useQuery } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import { type ReactNode, useMemo, useSyncExternalStore } from 'react';
import * as v from 'valibot';
import { spendingFrozenSentence } from '#services/credits/contract.ts';
import type { Balance } from '#services/credits/contract.ts';
import { balanceQuery } from '#web/features/credits/queries.ts';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { readDraft } from '#web/features/optimize/question/draft.ts';
import { hasText } from '#web/features/optimize/question/fields.ts';
import { strategiesQuery } from '#web/features/optimize/queries.ts';
import { planQuery } from '#web/features/plan/queries.ts';
import { heldPlan } from '#web/features/plan/words.ts';
import { Packages } from '#web/features/purchase/packages.tsx';
import { packagesQuery } from '#web/features/purchase/queries.ts';
import { PaymentNote, Questions } from '#web/features/purchase/questions.tsx';
import { isLocalMode } from '#web/app/local-mode.ts';
import { type Answer, QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

const packageId = v.fallback(
  v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/))),
  undefined,
);

const Search = v.object({
  /** The package chosen on an earlier page. */
  package: packageId,
  /** The package whose payment page was left without paying. */
  cancelled: packageId,
});

export const Route = createFileRoute('/_signed-in/credits_/purchase')({
  validateSearch: Search,
  component: PurchasePage,
  staticData: { title: 'Purchase Credits' },
});

function PurchasePage(): ReactNode {
  const session = useSession();
  const { package: chosen, cancelled } = Route.useSearch();
  const navigate = Route.useNavigate();
  const balance = useQuery(balanceQuery);
  const packages = useQuery(packagesQuery);
  const strategies = useQuery(strategiesQuery());
  const plan = useQuery(planQuery);
  const runPrices = useMemo(
    () => strategies.data?.filter(({ available }) => available),
    [strategies.data],
  );
  const userId = 'user' in session ? session.user.id : '';
  return (
    <div className="mx-auto max-w-page space-y-8 px-4 pt-8 sm:px-6">
      <div className="flex flex-wrap items-end justify-between gap-x-8 gap-y-4">
        <div className="space-y-2">
          <h1 className="text-4xl">Purchase Credits</h1>
          <CurrentBalance answer={balance} />
        </div>
        <WayBack userId={userId} />
      </div>
      <Together
        answers={[balance, packages, strategies, plan]}
        label="Loading the packages"
        skeleton={<PackagesSkeleton />}
      >
        {() => (
          <div className="space-y-8">
            {balance.data?.spending_frozen ? (
              <Notice tone="bad" title="Your credits are frozen">
                {spendingFrozenSentence} Until then, you can't spend credits you buy either.
              </Notice>
            ) : null}
            <QueryBlock
              answer={packages}
              label="Loading the packages"
              failure="Failed to load credit packages"
              safe="You weren't charged."
              skeleton={<PackagesSkeleton />}
            >
              {(data) => (
                <Packages
                  packages={data}
                  strategies={runPrices}
                  planPackageId={(plan.data && heldPlan(plan.data)?.package_id) ?? null}
                  chosen={chosen}
                  cancelled={cancelled}
                  onSeen={() =>
                    void navigate({
                      search: cancelled === undefined ? {} : { package: cancelled },
                      replace: true,
                      resetScroll: false,
                    })
                  }
                  onOutdated={() => void packages.refetch()}
                />
              )}
            </QueryBlock>
            <div className="grid grid-cols-1 gap-8 lg:grid-cols-2">
              <PaymentNote isLocal={isLocalMode()} />
              <Questions />
            </div>
          </div>
        )}
      </Together>
    </div>
  );
}

function CurrentBalance({
  answer: { data: balance, error },
}: {
  answer: Pick<Answer<Balance>, 'data' | 'error'>;
}): ReactNode {
  if (balance === undefined && error === null) return <p className="min-h-7" />;
  return (
    <p className="text-lg text-ink-2">
      You have{' '}
      <span className="font-semibold text-ink">
        {balance === undefined ? '-- credits' : creditsInWords(balance.available_credits)}
      </span>
      {balance !== undefined && balance.reserved_credits > 0
        ? `, and ${credits(balance.reserved_credits)} reserved`
        : ''}
      {balance !== undefined && balance.debt_credits > 0
        ? `. You owe ${creditsInWords(balance.debt_credits)}. Your next purchase settles ${balance.debt_credits === 1 ? 'it' : 'them'} first`
        : ''}
      .
    </p>
  );
}

function onStorage(listener: () => void): () => void {
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}

/** Users who came from the form with a question find the way back to it. */
function WayBack({ userId }: { userId: string }): ReactNode {
  // Read again after drawing: the form being left saves its last words then.
  const hasDraft = useSyncExternalStore(onStorage, () => {
    const draft = readDraft(userId);
    return draft !== null && hasText(draft.fields);
  });
  if (!hasDraft) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <span className="text-ink-2">Your question is saved.</span>
      <LinkButton to="/optimization">Back to your question</LinkButton>
    </p>
  );
}

function PackagesSkeleton(): ReactNode {
  return (
    <div className="space-y-8">
      <Skeleton className="h-16" />
      <Skeleton className="h-96" />
      <Skeleton className="h-96" />
    </div>
  );
}
