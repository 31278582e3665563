import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Transaction } from '#services/credits/contract.ts';
import { Button } from '#web/ui/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { credits, signedCredits } from '#web/ui/figures.ts';
import { RelativeTime } from '#web/ui/relative-time.tsx';
import { transactionWords } from './transaction-words.ts';

type Props = {
  transactions: readonly Transaction[];
  /** Asks for older lines; null when there are none. */
  onMore: (() => void) | null;
  loadingMore: boolean;
  /** What to read when older lines could not be loaded. */
  moreFailed: string | null;
  /** What a person without any line can do. */
  firstAction: ReactNode;
};

/** The ledger, newest first. A line of a run leads to that run. */
export function TransactionHistory({
  transactions,
  onMore,
  loadingMore,
  moreFailed,
  firstAction,
}: Props): ReactNode {
  return (
    <Card aria-labelledby="history" className="space-y-4">
      <h2 id="history" className="text-2xl">
        Transaction History
      </h2>
      {transactions.length === 0 ? (
        <div className="space-y-4">
          <p className="font-semibold">No transactions yet</p>
          <p className="text-ink-2">
            Every credit that you receive, use or get back will be a line here.
          </p>
          {firstAction}
        </div>
      ) : (
        <ol className="divide-y divide-line border-y border-line">
          {transactions.map((transaction) => (
            <Line key={transaction.id} transaction={transaction} />
          ))}
        </ol>
      )}
      {moreFailed === null ? null : <p className="text-bad">{moreFailed}</p>}
      {onMore ? (
        <Button onClick={onMore} busy={loadingMore}>
          {loadingMore ? 'Loading…' : 'Load more'}
        </Button>
      ) : null}
    </Card>
  );
}

function Line({ transaction }: { transaction: Transaction }): ReactNode {
  const { description, amount, run_id: runId } = transaction;
  return (
    <li className="flex items-start justify-between gap-4 py-3">
      <div className="min-w-0">
        <p>
          {runId === undefined ? (
            <span className="font-medium">{description}</span>
          ) : (
            <Link
              to="/optimizations/$id"
              params={{ id: runId }}
              className="link inline-block py-1 font-medium"
            >
              {description}
            </Link>
          )}
        </p>
        <p className="text-sm text-ink-2">
          {transactionWords[transaction.transaction_type]} ·{' '}
          <RelativeTime at={transaction.created_at} />
        </p>
      </div>
      <p className="shrink-0 text-end">
        <span className={amount > 0 ? 'font-semibold text-ok' : 'font-semibold'}>
          {signedCredits(amount)}
        </span>
        <span className="block text-sm text-ink-3">
          balance {credits(transaction.balance_after)}
        </span>
      </p>
    </li>
  );
}
