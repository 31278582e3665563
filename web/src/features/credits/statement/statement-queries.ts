import { queryOptions } from '@tanstack/react-query';
import { Statement, StatementMonths } from '#services/payments/contract.ts';
import { readFile } from '#web/api/files.ts';
import { read } from '#web/api/api.ts';

/** The months with a statement, newest first. */
export const statementMonthsQuery = queryOptions({
  queryKey: ['credits', 'statement-months'],
  queryFn: ({ signal }) => read('/credits/statements', StatementMonths, { signal }),
});

/** One month of the ledger, such as `2026-11`, oldest line first. */
export const statementQuery = (month: string) =>
  queryOptions({
    queryKey: ['credits', 'statement', month],
    queryFn: ({ signal }) => read(statementPath(month), Statement, { signal }),
  });

/** The same as CSV. */
export function readStatementCsv(month: string): Promise<Blob> {
  return readFile(statementPath(month), 'text/csv', { query: { format: 'csv' } });
}

function statementPath(month: string) {
  return `/credits/statements/${encodeURIComponent(month)}` as const;
}
