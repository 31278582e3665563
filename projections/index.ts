import { cashRefund } from './cash-refund.ts';
import { creditAccountTable } from './credit-account.ts';
import { creditAnalytics } from './credit-analytics.ts';
import { creditHistory } from './credit-history.ts';
import { creditLedgerView } from './credit-ledger.ts';
import type { Projection, View } from './engine/define.ts';
import { modelCosts } from './model-costs.ts';
import { optimizationList } from './optimization-list.ts';
import { paidLot } from './paid-lot.ts';
import { runOutcome } from './run-outcome.ts';
import { runUsage } from './run-usage.ts';

/**
 * Every read model, in the order in which the append function applies the inline ones.
 */
export const projections: readonly Projection[] = [
  creditAccountTable,
  creditHistory,
  paidLot,
  cashRefund,
  optimizationList,
  runOutcome,
  creditAnalytics,
  runUsage,
  modelCosts,
];

export const views: readonly View[] = [creditLedgerView];
