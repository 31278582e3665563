import { csvFile } from '#services/platform/csv.ts';
import type { Transaction } from './contract.ts';

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
