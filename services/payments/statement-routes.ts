import type pg from 'pg';
import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { answer, pathOf, queryOf } from '#services/platform/http/endpoints.ts';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import { paymentEndpoints } from './endpoints.ts';
import { readStatement, readStatementMonths, statementCsv } from './statement.ts';

export type StatementRouteDependencies = {
  pool: pg.Pool;
  /** Milliseconds since 1970. */
  clock: () => number;
};

/** The ledger month by month; `?format=csv` is the same as a file. */
export function statementRoutes(
  { pool, clock }: StatementRouteDependencies,
  authenticate: Authenticate,
) {
  const signedIn = requireUser(authenticate);
  return createRouter()
    .get('/credits/statements', signedIn, async (context) =>
      answer(
        context,
        paymentEndpoints['GET /credits/statements'],
        await readStatementMonths(pool, context.get('userId')),
      ),
    )
    .get('/credits/statements/:month', signedIn, async (context) => {
      const endpoint = paymentEndpoints['GET /credits/statements/{month}'];
      const { month } = pathOf(context, endpoint);
      const { format } = queryOf(context, endpoint);
      const statement = await readStatement(pool, context.get('userId'), month, clock());
      if (statement === null) throw notFound('This month has not begun.');
      if (format === 'json') return answer(context, endpoint, statement);
      return context.body(statementCsv(statement), 200, {
        'Content-Type': 'text/csv; charset=utf-8; header=present',
        'Content-Disposition': `attachment; filename="statement-${month}.csv"`,
        'Cache-Control': 'no-store',
      });
    });
}
