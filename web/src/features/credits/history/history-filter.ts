import type { Transaction, TransactionType } from '#services/credits/contract.ts';
import { longMonth } from '#web/features/credits/consumption.ts';
import type { HistoryFilter } from './history-search.ts';
import { transactionWords } from './transaction-words.ts';

export function filtered<Line extends Transaction>(
  lines: readonly Line[],
  type: TransactionType | undefined,
): readonly Line[] {
  if (type === undefined) return lines;
  return lines.filter(
    (line) =>
      line.transaction_type === type ||
      // A user who filters for refunds also means refunds of money.
      (type === 'refund' && line.reason_code === 'cash_refund'),
  );
}

/**
 * UTC months of the loaded lines, newest first; used until the server's list of months is known.
 */
export function monthsOf(lines: readonly Transaction[]): string[] {
  return [...new Set(lines.map((line) => line.created_at.slice(0, 7)))].toSorted().toReversed();
}

/** What was found, and in which lines. Null without a filter. */
export function foundSentence(
  { type, month }: HistoryFilter,
  found: { shown: number; searched: number; isAll: boolean },
  locale?: string,
): string | null {
  const { shown, searched, isAll } = found;
  const all = searched === 1 ? '1 transaction' : `${searched} transactions`;
  const inMonth = month === undefined ? '' : ` in ${longMonth(month, locale)}`;
  if (type === undefined) return month === undefined ? null : `${all}${inMonth}.`;
  const word = transactionWords[type];
  if (month !== undefined) return `${word}: ${shown} of ${all}${inMonth}.`;
  return isAll
    ? `${word}: ${shown} of all ${all}.`
    : `${word}: ${shown} of the newest ${all}. Load more to search older ones.`;
}
