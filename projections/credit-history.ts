import type { Queryable } from '#db/connect.ts';
import type { CreditEventType } from '#services/credits/account.ts';
import type { ReasonCode, Transaction, TransactionType } from '#services/credits/contract.ts';
import { defineProjection } from './define.ts';

/**
 * The lines of a person's ledger, as people read them. A line changes what the person has: available
 * and held credits less debt. Reservations, releases and the settling of debt only change the place
 * of credits and are no lines. `balance_after` is the sum of the lines so far, taken from the amounts
 * alone, like everything else here.
 */
export const creditHistory = defineProjection<CreditEventType>({
  name: 'credit_history',
  kind: 'inline',
  events: {
    CreditsGranted: 'used',
    CreditsReserved: 'ignored',
    CreditsCaptured: 'used',
    CreditsReturned: 'used',
    CreditsReleased: 'ignored',
    LotRevoked: 'used',
    RevocationDeferred: 'ignored',
    DebtIncurred: 'used',
    DebtSettled: 'ignored',
  },
  key: ['user_id', 'position'],
  create: (table) => `create table ${table} (
    user_id text not null,
    position bigint not null,
    id text not null,
    transaction_type text not null
      check (transaction_type in ('purchase', 'consumption', 'refund', 'bonus', 'other')),
    reason_code text not null,
    -- A grant's reason or a debt's cause, in one of our own words.
    detail text,
    amount bigint not null check (amount <> 0),
    balance_after bigint not null,
    run_id text,
    purchase_id text,
    lot_id text,
    sealed_note text,
    created_at timestamptz not null,
    primary key (user_id, position)
  )`,
  apply: (table, events) => `insert into ${table} (user_id, position, id, transaction_type,
      reason_code, detail, amount, balance_after, run_id, purchase_id, lot_id, sealed_note, created_at)
    with line as (
      select substr(e.stream_id, 9) as user_id, e.stream_position as position, e.message_id as id,
        e.message_type as type, e.message_data as data,
        (e.message_metadata ->> 'occurredAt')::timestamptz as created_at,
        case when e.message_type in ('CreditsGranted', 'CreditsReturned') then 1 else -1 end
          * (e.message_data ->> 'credits')::bigint as amount
      from ${events} e
    ), start as (
      select person.user_id, coalesce((
        select earlier.balance_after from ${table} earlier
        where earlier.user_id = person.user_id order by earlier.position desc limit 1), 0) as balance
      from (select distinct line.user_id from line) person
    )
    select line.user_id, line.position, line.id,
      case line.type
        when 'CreditsCaptured' then 'consumption'
        when 'CreditsReturned' then 'refund'
        when 'CreditsGranted' then line.data ->> 'source'
        else 'other' end,
      case line.type
        when 'CreditsCaptured' then 'run'
        when 'CreditsReturned' then 'run_return'
        when 'LotRevoked' then line.data ->> 'cause'
        when 'DebtIncurred' then 'debt'
        else case line.data ->> 'source' when 'other' then 'grant' else line.data ->> 'source' end end,
      case line.type
        when 'CreditsGranted' then line.data ->> 'reason'
        when 'DebtIncurred' then line.data ->> 'cause' end,
      line.amount,
      start.balance + sum(line.amount)
        over (partition by line.user_id order by line.position rows unbounded preceding),
      line.data ->> 'runId', line.data ->> 'purchaseId', line.data ->> 'lotId',
      line.data #>> '{sealed,note}', line.created_at
    from line join start on start.user_id = line.user_id`,
});

type Row = {
  id: string;
  transaction_type: TransactionType;
  reason_code: ReasonCode;
  detail: string | null;
  amount: number;
  balance_after: number;
  run_id: string | null;
  purchase_id: string | null;
  lot_id: string | null;
  sealed_note: string | null;
  created_at: string;
  strategy: string | null;
};

/** A line and what an operator wrote on it, still sealed under the account's key. */
export type HistoryLine = { transaction: Transaction; sealedNote: string | null };

/**
 * Newest first. `before` is the id of a line that the caller already has; one that is not in this
 * person's ledger has nothing before it.
 */
export async function readHistory(
  client: Queryable,
  userId: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<HistoryLine[]> {
  const { rows } = await client.query<Row>(
    `select h.id, h.transaction_type, h.reason_code, h.detail, h.amount::float8,
       h.balance_after::float8, h.run_id, h.purchase_id, h.lot_id, h.sealed_note,
       to_char(h.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
       run.strategy
     from credit_history h
     left join optimization_list run on run.run_id = h.run_id and run.user_id = h.user_id
     where h.user_id = $1
       and ($2::text is null or h.position < (
         select line.position from credit_history line where line.user_id = $1 and line.id = $2))
     order by h.position desc
     limit $3`,
    [userId, before ?? null, limit],
  );
  return rows.map((row) => ({ transaction: transactionOf(row), sealedNote: row.sealed_note }));
}

function transactionOf(row: Row): Transaction {
  return {
    id: row.id,
    transaction_type: row.transaction_type,
    description: describe(row),
    created_at: row.created_at,
    amount: row.amount,
    balance_after: row.balance_after,
    reason_code: row.reason_code,
    ...(row.run_id === null ? {} : { run_id: row.run_id }),
    ...(row.purchase_id === null ? {} : { purchase_id: row.purchase_id }),
    ...(row.lot_id === null ? {} : { lot_id: row.lot_id }),
  };
}

/** The line in words, composed when it is read: the ledger stores codes, no sentences. */
export function describe(line: {
  reason_code: ReasonCode;
  detail: string | null;
  strategy: string | null;
}): string {
  switch (line.reason_code) {
    case 'purchase':
      return line.detail === null ? 'Credits purchased' : `Purchase: ${inWords(line.detail)}`;
    case 'bonus':
      return line.detail === 'onboarding' ? 'Onboarding bonus' : 'Bonus credits';
    case 'grant':
      return grantWords[line.detail ?? ''] ?? 'Credits granted';
    case 'run':
      return runWords(line.strategy);
    case 'run_return':
      return `${runWords(line.strategy)}: credits returned`;
    case 'cash_refund':
      return 'Credits of a refunded payment';
    case 'dispute':
      return 'Credits of a disputed payment';
    case 'correction':
      return 'Correction';
    case 'debt':
      return debtWords[line.detail ?? ''] ?? 'Credits owed';
  }
}

const grantWords: Readonly<Record<string, string>> = {
  demo: 'Demo credits',
  trial: 'Trial credits',
  operator: 'Credits granted by the operator',
};

const debtWords: Readonly<Record<string, string>> = {
  dispute: 'Owed: used credits of a disputed payment',
  cash_refund: 'Owed: used credits of a refunded payment',
  correction: 'Owed: correction of used credits',
};

function runWords(strategy: string | null): string {
  return strategy === null ? 'Optimization run' : `${inWords(strategy)} run`;
}

/** `reasoning-focused` → `Reasoning Focused`, `boost-20` → `Boost 20`, as on every other page. */
function inWords(id: string): string {
  return id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
}
