import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { createFileRoute, useLocation } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Transaction } from '#services/credits/contract.ts';
import { BalanceTiles } from '#web/features/credits/balance-tiles.tsx';
import { CreditRules } from '#web/features/credits/credit-rules.tsx';
import { HistoryFilter } from '#web/features/credits/history/history-search.ts';
import { TransactionHistory } from '#web/features/credits/history/history.tsx';
import { purchasesQuery } from '#web/features/credits/purchases/purchase-queries.ts';
import { Purchases } from '#web/features/credits/purchases/purchases.tsx';
import { analyticsQuery, balanceQuery, historyQuery } from '#web/features/credits/queries.ts';
import { TopModels, UsageStatistics } from '#web/features/credits/usage-statistics.tsx';
import { PastDue } from '#web/features/plan/past-due.tsx';
import { problemSentence } from '#web/api/problem-words.ts';
import { planQuery } from '#web/features/plan/queries.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/credits')({
  validateSearch: HistoryFilter,
  component: CreditsPage,
  staticData: { title: 'Credits' },
});

const failure = 'Failed to load credit information';

function CreditsPage(): ReactNode {
  const balance = useQuery(balanceQuery);
  const analytics = useQuery(analyticsQuery);
  const purchases = useInfiniteQuery(purchasesQuery);
  const history = useInfiniteQuery(historyQuery);
  const plan = useQuery(planQuery);
  const blocks = [balance, analytics, purchases, history];
  const nothingLoaded = blocks.every(({ data, error }) => data === undefined && error !== null);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <h1 className="text-4xl">Credits</h1>
        <p className="flex flex-wrap gap-3">
          <LinkButton to="/credits/plan">Your plan</LinkButton>
          <LinkButton to="/credits/statements">Statements</LinkButton>
          <LinkButton to="/credits/purchase" tone="primary">
            Buy credits
          </LinkButton>
        </p>
      </div>
      <Together
        answers={[...blocks, plan]}
        label="Loading your credits"
        skeleton={<CreditsSkeleton />}
      >
        {() => (
          <div className="space-y-6">
            <PastDue />
            {nothingLoaded ? (
              <ErrorState
                title={failure}
                detail={problemSentence(balance.error)}
                safe="Your credits are safe. We just couldn't load them."
                onRetry={() => {
                  for (const block of blocks) void block.refetch();
                }}
                busy={blocks.some((block) => block.isFetching)}
              />
            ) : (
              <>
                <QueryBlock
                  answer={balance}
                  label="Loading your balance"
                  failure={failure}
                  skeleton={<Skeleton className="h-32" />}
                >
                  {(data) => <BalanceTiles balance={data} />}
                </QueryBlock>
                <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-3">
                  <div className="min-w-0 space-y-6 lg:col-span-2">
                    <QueryBlock
                      answer={analytics}
                      label="Loading usage statistics"
                      failure="Failed to load usage statistics"
                      skeleton={<Skeleton className="h-96" />}
                    >
                      {(data) => <UsageStatistics analytics={data} />}
                    </QueryBlock>
                    <PurchasesBlock />
                    <HistoryBlock />
                  </div>
                  <div className="min-w-0 space-y-6">
                    {analytics.data === undefined ? null : <TopModels analytics={analytics.data} />}
                    <CreditRules />
                  </div>
                </div>
              </>
            )}
          </div>
        )}
      </Together>
    </div>
  );
}

function CreditsSkeleton(): ReactNode {
  return (
    <div className="space-y-6">
      <Skeleton className="h-32" />
      <Skeleton className="h-96" />
    </div>
  );
}

function PurchasesBlock(): ReactNode {
  const purchases = useInfiniteQuery(purchasesQuery);
  const target = useLocation({ select: ({ hash }) => hash });
  return (
    <QueryBlock
      answer={purchases}
      label="Loading your purchases"
      failure="Failed to load purchases"
      skeleton={<Skeleton className="h-48" />}
    >
      {({ pages }) => (
        <Purchases
          purchases={pages.flat()}
          target={target}
          onMore={purchases.hasNextPage ? () => void purchases.fetchNextPage() : null}
          loadingMore={purchases.isFetchingNextPage}
          moreFailed={
            purchases.isFetchNextPageError
              ? `We couldn't load older purchases. ${problemSentence(purchases.error)}`
              : null
          }
        />
      )}
    </QueryBlock>
  );
}

function HistoryBlock(): ReactNode {
  const purchases = useInfiniteQuery(purchasesQuery);
  const filter = Route.useSearch();
  const navigate = Route.useNavigate();
  const receiptOf = ({ purchase_id: purchaseId, lot_id: lotId }: Transaction): string | null =>
    purchases.data?.pages
      .flat()
      .find(
        (purchase) =>
          purchase.id === purchaseId || (lotId !== undefined && purchase.lot_id === lotId),
      )?.receipt_url ?? null;
  return (
    <TransactionHistory
      filter={filter}
      onFilter={(search) => void navigate({ search, replace: true, resetScroll: false })}
      receiptOf={receiptOf}
    />
  );
}
