import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import type { BalanceTransactionView, PaymentProvider } from '#services/payments/provider.ts';

/**
 * The money in double entry: the view `cash_ledger` over the ledger's events and the
 * provider's balance transactions, which are stored as listed and never change.
 */
export type CashAccount =
  /** Between what the ledger says and what the provider moved: 0 once both are complete. */
  | 'stripe:clearing'
  | 'stripe:balance'
  | 'stripe:fees'
  | 'stripe:other'
  | 'deferred_revenue'
  | 'refunds'
  | 'disputes'
  | 'bank';

export type CashBalance = {
  currency: string;
  accounts: { account: CashAccount; amountMinor: number }[];
  /** 0 in a sound book. */
  sum: number;
};

/** Transactions in one statement. */
const storedAtOnce = 500;
/** A transaction may be listed a little later than it says that it happened. */
const overlapMs = 24 * 60 * 60 * 1000;

/**
 * Stores what the provider has moved since the last that is stored, or since `since` if that is
 * earlier. The first time it reaches back to the first payment that we know of.
 *
 * @returns how many were new
 */
export async function storeBalanceTransactions(
  { pool, provider }: { pool: pg.Pool; provider: PaymentProvider },
  since: number,
): Promise<number> {
  const from = Math.min(since, (await storedUntil(pool)) - overlapMs);
  let stored = 0;
  let page: BalanceTransactionView[] = [];
  for await (const transaction of provider.listBalanceTransactions(from)) {
    page.push(transaction);
    if (page.length < storedAtOnce) continue;
    stored += await store(pool, page);
    page = [];
  }
  return stored + (await store(pool, page));
}

async function storedUntil(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ until: Date | null }>(
    `select coalesce((select max(created_at) from balance_transaction),
       (select min(created_at) from purchase)) as until`,
  );
  return rows[0]?.until?.getTime() ?? Number.MAX_SAFE_INTEGER;
}

async function store(client: Queryable, page: readonly BalanceTransactionView[]): Promise<number> {
  if (page.length === 0) return 0;
  const { rowCount } = await client.query(
    `insert into balance_transaction (id, type, amount_minor, fee_minor, net_minor, currency,
       source_id, created_at)
     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],
       $6::text[], $7::text[], $8::timestamptz[])
     on conflict (id) do nothing`,
    [
      page.map(({ transactionId }) => transactionId),
      page.map(({ type }) => type),
      page.map(({ amountMinor }) => amountMinor),
      page.map(({ feeMinor }) => feeMinor),
      page.map(({ netMinor }) => netMinor),
      page.map(({ currency }) => currency),
      page.map(({ sourceId }) => sourceId),
      page.map(({ createdAt }) => new Date(createdAt)),
    ],
  );
  return rowCount ?? 0;
}

/** The trial balance, a currency each. */
export async function readCashBalances(client: Queryable): Promise<CashBalance[]> {
  const { rows } = await client.query<{
    currency: string;
    account: CashAccount;
    amount: number;
  }>(
    `select currency, account, sum(amount_minor)::float8 as amount from cash_ledger
     group by currency, account order by currency, account`,
  );
  const balances = new Map<string, CashBalance>();
  for (const { currency, account, amount } of rows) {
    const balance = balances.get(currency) ?? { currency, accounts: [], sum: 0 };
    balances.set(currency, balance);
    balance.accounts.push({ account, amountMinor: amount });
    balance.sum += amount;
  }
  return [...balances.values()];
}

/** Transactions whose lines do not sum to 0; there is none in a sound book. */
export async function readUnbalancedCash(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select transaction_id as id from cash_ledger group by transaction_id
     having sum(amount_minor) <> 0 or count(distinct currency) <> 1 or bool_or(currency is null)
     order by transaction_id`,
  );
  return rows.map(({ id }) => id);
}
