import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { BalanceTiles } from '#web/features/credits/balance-tiles.tsx';
import { CreditRules } from '#web/features/credits/credit-rules.tsx';
import { MoreCredits } from '#web/features/credits/more-credits.tsx';
import { analyticsQuery, balanceQuery, historyQuery } from '#web/features/credits/queries.ts';
import { TransactionHistory } from '#web/features/credits/transaction-history.tsx';
import { TopModels, UsageStatistics } from '#web/features/credits/usage-statistics.tsx';
import { useSession } from '#web/features/identity/session.ts';
import { isLocalMode } from '#web/local-mode.ts';
import { problemSentence } from '#web/problem-words.ts';
import { QueryBlock } from '#web/query-block.tsx';
import { LinkButton } from '#web/ui/button.tsx';
import { ErrorState } from '#web/ui/error-state.tsx';
import { Skeleton } from '#web/ui/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/credits')({
  component: CreditsPage,
  staticData: { title: 'Credits' },
});

const failure = 'Failed to load credit information';

function CreditsPage(): ReactNode {
  const session = useSession();
  const balance = useQuery(balanceQuery);
  const analytics = useQuery(analyticsQuery);
  const history = useInfiniteQuery(historyQuery);
  const blocks = [balance, analytics, history];
  const nothingLoaded = blocks.every(({ data, error }) => data === undefined && error !== null);
  const email = 'user' in session ? session.user.email : '';
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Credits</h1>
      {nothingLoaded ? (
        <ErrorState
          title={failure}
          detail={problemSentence(balance.error)}
          safe="Your credits are safe; they only could not be read."
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
              <QueryBlock
                answer={history}
                label="Loading transactions"
                failure="Failed to load transactions"
                skeleton={<Skeleton className="h-96" />}
              >
                {({ pages }) => (
                  <TransactionHistory
                    transactions={pages.flat()}
                    onMore={history.hasNextPage ? () => void history.fetchNextPage() : null}
                    loadingMore={history.isFetchingNextPage}
                    moreFailed={
                      history.isFetchNextPageError
                        ? `Older transactions could not be loaded. ${problemSentence(history.error)}`
                        : null
                    }
                    firstAction={
                      <LinkButton to="/credits" hash="more">
                        Get your first credits
                      </LinkButton>
                    }
                  />
                )}
              </QueryBlock>
            </div>
            <div className="min-w-0 space-y-6">
              <MoreCredits isLocal={isLocalMode()} email={email} />
              {analytics.data === undefined ? null : <TopModels analytics={analytics.data} />}
              <CreditRules />
            </div>
          </div>
        </>
      )}
    </div>
  );
}
