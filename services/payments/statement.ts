import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { beginReading, inTransaction } from '#db/transaction.ts';
import { historyColumns, historyJoins, transactionOf } from '#projections/credit-history.ts';
import type { HistoryRow } from '#projections/credit-history.ts';
import { csvLine } from '#services/platform/csv.ts';
import { majorUnits } from '#services/platform/numbers.ts';
import { readTakenMoney } from './refunds/rows.ts';
import type { TakenMoney } from './refunds/rows.ts';
import { packageName } from './catalogue.ts';
import type { Statement, StatementMonths } from './contract.ts';

/**
 * One month of a person's ledger, each line with the lots that it is about and the money that moved
 * with it: so every credit leads to a payment, and every payment to its credits. Months are UTC months
 * by the time of the event, which never runs backwards in a stream.
 */
type Line = Statement['lines'][number];

/** Null for a month that has not begun. */
export async function readStatement(
  pool: pg.Pool,
  userId: string,
  month: string,
  nowMs: number,
): Promise<Statement | null> {
  const begin = new Date(beginOf(month));
  const end = new Date(begin);
  end.setUTCMonth(end.getUTCMonth() + 1);
  if (begin.getTime() > nowMs) return null;
  // All of one moment: else a line that comes meanwhile stands in one part and not in another.
  return inTransaction(
    pool,
    async (client) => {
      const opening = await readBalanceAt(client, userId, begin);
      const rows = await readRows(client, userId, begin, end);
      const lots = await readLots(client, userId, begin, end);
      const taken = await readTakenMoney(client, userId);
      const lines = rows.map((row) =>
        lineOf(row, lots.get(row.position) ?? [], taken.get(row.position)),
      );
      return {
        month,
        ...(await readPerson(client, userId)),
        opening_balance: opening,
        closing_balance: lines.reduce((sum, { amount }) => sum + amount, opening),
        is_running: nowMs < end.getTime(),
        totals: totalsOf(lines),
        lines,
      };
    },
    beginReading,
  );
}

/** The months that have lines, newest first. */
export async function readStatementMonths(
  client: Queryable,
  userId: string,
): Promise<StatementMonths> {
  const { rows } = await client.query<{ month: string }>(
    `select distinct to_char(created_at at time zone 'utc', 'YYYY-MM') as month
     from credit_history where user_id = $1 order by month desc`,
    [userId],
  );
  return rows.map(({ month }) => month);
}

async function readPerson(
  client: Queryable,
  userId: string,
): Promise<Pick<Statement, 'name' | 'email'>> {
  const { rows } = await client.query<{ name: string; email: string }>(
    'select name, email from users where id = $1',
    [userId],
  );
  return rows[0] ?? { name: '', email: '' };
}

async function readBalanceAt(client: Queryable, userId: string, at: Date): Promise<number> {
  const { rows } = await client.query<{ balance: number }>(
    `select coalesce(sum(amount), 0)::float8 as balance from credit_history
     where user_id = $1 and created_at < $2`,
    [userId, at],
  );
  return rows[0]?.balance ?? 0;
}

type Row = HistoryRow & {
  position: number;
  paid_minor: number | null;
  paid_currency: string | null;
  receipt_url: string | null;
};

/**
 * Money moves with a grant that was paid for, with credits that are asked back, and with those that
 * come back because it could not be sent. An amount with tax stands in the purchase only.
 */
async function readRows(client: Queryable, userId: string, begin: Date, end: Date): Promise<Row[]> {
  const { rows } = await client.query<Row>(
    `select h.position::float8, ${historyColumns},
       case when h.reason_code = 'purchase' then coalesce(bought.paid_minor, paid.paid_minor)
         else sign(h.amount) * refund.amount_minor end::float8 as paid_minor,
       coalesce(refund.currency, paid.currency) as paid_currency,
       bought.receipt_url
     from credit_history h ${historyJoins}
     left join purchase bought on bought.id = paid.purchase_id
     left join emt_messages m on m.stream_id = 'credits-' || h.user_id
       and m.stream_position = h.position
       and m.message_type in ('CashRefundRequested', 'CashRefundFailed')
     left join cash_refund refund on refund.refund_id = m.message_data ->> 'refundId'
     where h.user_id = $1 and h.created_at >= $2 and h.created_at < $3
     order by h.position`,
    [userId, begin, end],
  );
  return rows;
}

type LotRow = { position: number } & Line['lots'][number];

/** What each line's event says of lots: one, or a share of each that a run was paid from. */
async function readLots(
  client: Queryable,
  userId: string,
  begin: Date,
  end: Date,
): Promise<Map<number, Line['lots']>> {
  const { rows } = await client.query<LotRow>(
    `select h.position::float8, share.lot ->> 'lotId' as lot_id,
       (share.lot ->> 'credits')::float8 as credits, paid.purchase_id, bought.receipt_url
     from credit_history h
     join emt_messages m on m.stream_id = 'credits-' || h.user_id
       and m.stream_position = h.position
     cross join lateral jsonb_array_elements(
       coalesce(m.message_data -> 'byLot', jsonb_build_array(m.message_data)))
       with ordinality as share (lot, number)
     left join paid_lot paid on paid.lot_id = share.lot ->> 'lotId' and paid.user_id = h.user_id
     left join purchase bought on bought.id = paid.purchase_id
     where h.user_id = $1 and h.created_at >= $2 and h.created_at < $3
       and share.lot ? 'lotId'
     order by h.position, share.number`,
    [userId, begin, end],
  );
  const lots = new Map<number, Line['lots']>();
  for (const { position, ...lot } of rows) lots.set(position, [...(lots.get(position) ?? []), lot]);
  return lots;
}

function lineOf(row: Row, lots: Line['lots'], taken: TakenMoney | undefined): Line {
  const { receipt_url: receiptUrl } = row;
  const amount = row.paid_minor ?? taken?.amountMinor ?? null;
  const currency = row.paid_minor === null ? (taken?.currency ?? null) : row.paid_currency;
  const payment =
    amount === null || currency === null
      ? null
      : { amount_cents: amount, currency, receipt_url: receiptUrl };
  return { ...transactionOf(row, packageName), payment, lots };
}

function totalsOf(lines: readonly Line[]): Statement['totals'] {
  const sumOf = (...types: Line['transaction_type'][]) =>
    lines
      .filter((line) => types.includes(line.transaction_type))
      .reduce((sum, { amount }) => sum + amount, 0);
  return {
    purchased: sumOf('purchase'),
    bonus: sumOf('bonus'),
    consumed: 0 - sumOf('consumption', 'refund'),
    other: sumOf('other'),
  };
}

// --- as a table ---

const columns = [
  'date',
  'type',
  'reason',
  'description',
  'amount',
  'balance_after',
  'run_id',
  'lot_ids',
  // In the order of the lots.
  'lot_credits',
  'purchase_ids',
  'payment_amount',
  'payment_currency',
  'receipt_url',
  'transaction_id',
] as const;

type Cells = Partial<Record<(typeof columns)[number], string | number | null>>;

/** RFC 4180. The first and the last row are the balances at the month's beginning and end. */
export function statementCsv(statement: Statement): string {
  const { month, opening_balance: opening, closing_balance: closing, lines } = statement;
  const rows: Cells[] = [
    { date: beginOf(month), description: 'Opening balance', balance_after: opening },
    ...lines.map(cellsOf),
    {
      date: lines.at(-1)?.created_at ?? beginOf(month),
      description: statement.is_running ? 'Balance so far' : 'Closing balance',
      balance_after: closing,
    },
  ];
  return [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))]
    .map(csvLine)
    .join('');
}

function beginOf(month: string): string {
  return `${month}-01T00:00:00.000Z`;
}

function cellsOf(line: Line): Cells {
  const { payment, lots } = line;
  return {
    date: line.created_at,
    type: line.transaction_type,
    reason: line.reason_code,
    description: line.description,
    amount: line.amount,
    balance_after: line.balance_after,
    run_id: line.run_id ?? null,
    lot_ids: lots.map((lot) => lot.lot_id).join(' '),
    lot_credits: lots.map((lot) => lot.credits).join(' '),
    purchase_ids: [...new Set(lots.flatMap((lot) => lot.purchase_id ?? []))].join(' '),
    payment_amount: payment === null ? null : majorUnits(payment.amount_cents, payment.currency),
    payment_currency: payment?.currency ?? null,
    receipt_url: payment?.receipt_url ?? null,
    transaction_id: line.id,
  };
}
