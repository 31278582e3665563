import type pg from 'pg';
import { answerFile } from '#services/platform/http/files.ts';
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
      const name = `statement-${path.month}.csv`;
      return answerFile(context, 'text/csv', name, statementCsv(statement));
    },
  } satisfies Partial<Handlers<typeof paymentEndpoints>>;
}
