import { creditLimits, History, type Transaction } from '#services/credits/contract.ts';
import { read } from '#web/api/api.ts';
import { csvFile } from '#services/platform/csv.ts';

export const mostLinesOfFile = 10_000;

/** The whole ledger, newest first; of a very long one the newest `mostLinesOfFile`. */
export async function readWholeHistory(): Promise<Transaction[]> {
  const lines: Transaction[] = [];
  while (lines.length < mostLinesOfFile) {
    const page = await read('/credits/history', History, {
      query: { limit: creditLimits.historyMost, before: lines.at(-1)?.id },
    });
    lines.push(...page);
    if (page.length < creditLimits.historyMost) break;
  }
  return lines;
}

const columns = [
  'id',
  'created_at',
  'transaction_type',
  'reason_code',
  'description',
  'amount',
  'balance_after',
  'run_id',
  'purchase_id',
  'lot_id',
] as const satisfies readonly (keyof Transaction)[];

/** The same column names as in the export of an account. */
export function historyCsv(lines: readonly Transaction[]): string {
  return csvFile([columns, ...lines.map((line) => columns.map((column) => line[column]))]);
}
