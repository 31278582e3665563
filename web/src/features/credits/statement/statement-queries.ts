import { queryOptions } from '@tanstack/react-query';
import { Statement, StatementMonths } from '#services/payments/contract.ts';
import { readFile } from '#web/api/files.ts';
import { read } from '#web/api/api.ts';

/** The months that have a statement, newest first. */
export const statementMonthsQuery = queryOptions({
  queryKey: ['credits', 'statement-months'],
  queryFn: ({ signal }) => read('/credits/statements', StatementMonths, { signal }),
});

/** One month like `2026-11` of a person's ledger, oldest line first. */
export const statementQuery = (month: string) =>
  queryOptions({
    queryKey: ['credits', 'statement', month],
    queryFn: ({ signal }) => read(statementPath(month), Statement, { signal }),
  });

/** The same as a table for spreadsheets. */
export function readStatementCsv(month: string): Promise<Blob> {
  return readFile(statementPath(month), 'text/csv', { query: { format: 'csv' } });
}

function statementPath(month: string) {
  return `/credits/statements/${encodeURIComponent(month)}` as const;
}
