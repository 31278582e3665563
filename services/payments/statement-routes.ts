import type pg from 'pg';
import { notFound } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import type { paymentEndpoints } from './contract.ts';
import { readStatement, readStatementMonths, statementCsv } from './statement.ts';

export type StatementRouteDependencies = {
  pool: pg.Pool;
  /** Milliseconds since 1970. */
  clock: () => number;
};

/** The ledger month by month; `?format=csv` is the same as a file. */
export function statementHandlers({ pool, clock }: StatementRouteDependencies) {
  return {
    'GET /credits/statements': async ({ userId }) => readStatementMonths(pool, userId),
    'GET /credits/statements/{month}': async ({ context, userId, path, query }) => {
      const statement = await readStatement(pool, userId, path.month, clock());
      if (statement === null) throw notFound('This month has not begun.');
      if (query.format === 'json') return statement;
      return context.body(statementCsv(statement), 200, {
        'Content-Type': 'text/csv; charset=utf-8; header=present',
        'Content-Disposition': `attachment; filename="statement-${path.month}.csv"`,
        'Cache-Control': 'no-store',
      });
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}
