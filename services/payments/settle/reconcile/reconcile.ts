import type pg from 'pg';
import { storeBalanceTransactions } from './cash-ledger.ts';
import type { CashBalance } from './cash-ledger.ts';
import type { Difference } from './difference.ts';
import { readBooks } from './books.ts';
import { compareClosed } from './closed.ts';
import type { Books, BooksDependencies } from './books.ts';
import { compareClawbacks } from './clawbacks.ts';
import { compareDisputes } from './disputes.ts';
import { comparePayments } from './payments.ts';
import { compareRefunds } from './refunds.ts';
import { compareCash, comparePlans, compareRows } from './rows.ts';

/**
 * The ledger against the provider's books, in both directions. A dry run of
 * settlement with a report: it compares with `expected` and repairs nothing.
 */
export type Reconciliation = {
  /** ISO 8601. */
  since: string;
  ranAt: string;
  compared: {
    charges: number;
    invoices: number;
    refunds: number;
    disputes: number;
    lots: number;
    balanceTransactions: number;
  };
  differences: readonly Difference[];
  /** The same, but too young to be sure: the sweeper has not had a turn yet. */
  settling: readonly Difference[];
  cash: readonly CashBalance[];
  isBalanced: boolean;
};

export type ReconcileDependencies = BooksDependencies & { pool: pg.Pool };

export const reconcileDays = 3;

export async function reconcile(
  dependencies: ReconcileDependencies,
  since: number = dependencies.clock() - reconcileDays * 24 * 60 * 60 * 1000,
): Promise<Reconciliation> {
  const { pool, clock } = dependencies;
  const ranAt = new Date(clock());
  const stored = await storeBalanceTransactions(dependencies, since);
  const books = await readBooks(dependencies, since);
  const cash = await compareCash(pool, books);
  const found = [
    ...(await comparePayments(dependencies, books)),
    ...(await compareRefunds(dependencies, books)),
    ...(await compareDisputes(dependencies, books)),
    ...(await compareClawbacks(dependencies, books)),
    ...(await compareClosed(dependencies)),
    ...(await comparePlans(dependencies, books)),
    ...(await compareRows(pool, books)),
    ...cash.differences,
  ];
  return {
    since: new Date(since).toISOString(),
    ranAt: ranAt.toISOString(),
    compared: { ...countsOf(books), balanceTransactions: stored },
    differences: found.filter(({ isSettling }) => !isSettling),
    settling: found.filter(({ isSettling }) => isSettling),
    cash: cash.balances,
    isBalanced: cash.balances.every(({ sum }) => sum === 0),
  };
}

function countsOf({ charges, invoices, refunds, disputes, lots }: Books) {
  return {
    charges: charges.length,
    invoices: invoices.length,
    refunds: refunds.length,
    disputes: disputes.length,
    lots: lots.size,
  };
}
