import type { Queryable } from '#db/connect.ts';
import type { ReasonCode, Transaction, TransactionType } from '#services/credits/contract.ts';
import { kindOfEvent, signedBy } from './credit-ledger.ts';
import { defineProjection, eventUses } from './engine/define.ts';
import { creditEventTypes } from '#services/credits/account/movements.ts';
import type { LineType } from '#services/credits/account/movements.ts';
import type { CreditEventType } from '#services/credits/account/events.ts';

const source = `e.message_data ->> 'source'`;
const cause = `e.message_data ->> 'cause'`;
const text = (value: string) => `'${value}'`;

/** The line of each event, as SQL. `tsc` reports a missing event that changes a balance. */
const lines = {
  CreditsGranted: {
    type: source,
    reason: `case ${source} when 'other' then 'grant' else ${source} end`,
    detail: `e.message_data ->> 'reason'`,
  },
  CreditsCaptured: { type: text('consumption'), reason: text('run') },
  CreditsReturned: { type: text('refund'), reason: text('run_return') },
  CreditsConsumed: { type: text('consumption'), reason: text('service') },
  LotRevoked: { reason: cause },
  LotReinstated: { reason: cause, detail: text('reinstated') },
  DebtIncurred: { reason: text('debt'), detail: cause },
  DebtCancelled: { reason: text('debt'), detail: text('cancelled') },
  DebtSettlementReversed: { reason: text('debt'), detail: text('reversed') },
  CashRefundRequested: { reason: text('cash_refund'), detail: text('requested') },
  CashRefundFailed: { reason: text('cash_refund'), detail: text('failed') },
} as const satisfies Readonly<Record<LineType, { type?: string; reason: string; detail?: string }>>;
type Line = { type?: string; reason: string; detail?: string };

function byLine(part: keyof Line, otherwise: string): string {
  const cases = Object.entries<Line>(lines).flatMap(([type, line]) =>
    line[part] === undefined ? [] : [`when '${type}' then ${line[part]}`],
  );
  return `case e.message_type ${cases.join('\n        ')} else ${otherwise} end`;
}

/**
 * The lines of a ledger, as users read them. A line changes the user's total: available and held credits
 * less debt. Reservations, releases and settled debts only move credits between accounts, so they have no
 * line. `balance_after` is the sum of the lines so far, from the amounts alone.
 */
export const creditHistory = defineProjection<CreditEventType>({
  name: 'credit_history',
  kind: 'inline',
  events: eventUses(creditEventTypes, Object.keys(lines) as LineType[]),
  key: ['user_id', 'position'],
  create: (table) => `create table ${table} (
    user_id text not null,
    position bigint not null,
    id text not null,
    transaction_type text not null
      check (transaction_type in ('purchase', 'consumption', 'refund', 'bonus', 'other')),
    reason_code text not null,
    -- A grant's reason, a debt's cause or how it ended, as a code.
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
      reason_code, detail, amount, run_id, purchase_id, lot_id, sealed_note, created_at,
      balance_after)
    select user_id, position, id, transaction_type, reason_code, detail, amount, run_id,
      purchase_id, lot_id, sealed_note, created_at,
      sum(amount + case when number > 1 then 0 else coalesce((
          select earlier.balance_after from ${table} earlier
          where earlier.user_id = numbered.user_id order by earlier.position desc limit 1), 0) end)
        over (partition by user_id order by position rows unbounded preceding)
    from (
      select line.*,
        row_number() over (partition by line.user_id order by line.position) as number
      from (
        select substr(e.stream_id, 9) as user_id, e.stream_position as position,
          e.message_id as id,
          ${byLine('type', "'other'")} as transaction_type,
          ${byLine('reason', 'null')} as reason_code,
          ${byLine('detail', 'null')} as detail,
          ${signedBy(({ available, held, debt }) => available + held - debt, {
            kind: `(${kindOfEvent})`,
            credits: `(e.message_data ->> 'credits')::bigint`,
          })} as amount,
          e.message_data ->> 'runId' as run_id,
          e.message_data ->> 'purchaseId' as purchase_id,
          e.message_data ->> 'lotId' as lot_id,
          e.message_data #>> '{sealed,note}' as sealed_note,
          (e.message_metadata ->> 'occurredAt')::timestamptz as created_at
        from ${events} e
        offset 0
      ) line
      -- A refund that a clawback stands for moves nothing: its credits are in the clawback's lines.
      where line.amount is not null
    ) numbered`,
});

export type HistoryRow = {
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
  run_status: string | null;
  package_id: string | null;
};

/**
 * `question.is_inquiry` of a line `h`: whether the bank had only inquired about the payment until then,
 * according to its clawback. The line itself has one code for both.
 */
const inquiryOfLine = `left join lateral (
    select not bool_or((clawback.message_data ->> 'owes')::boolean) as is_inquiry
    from emt_messages line
    join emt_messages clawback on clawback.stream_id = line.stream_id
      and clawback.stream_position < line.stream_position and clawback.message_type = 'ClawbackSet'
      and clawback.message_data ->> 'ref' = line.message_data ->> 'ref'
    where h.reason_code = 'dispute' and line.stream_id = 'credits-' || h.user_id
      and line.stream_position = h.position) question on true`;

/** The code of a line `h` beside `inquiryOfLine`. */
const reasonOfLine = `case when question.is_inquiry then 'inquiry' else h.reason_code end`;

/** What a `HistoryRow` holds, of lines `h` beside `historyJoins`. */
export const historyColumns = `h.id, h.transaction_type, ${reasonOfLine} as reason_code, h.detail,
  h.amount::float8, h.balance_after::float8, h.run_id,
  coalesce(h.purchase_id, paid.purchase_id) as purchase_id, h.lot_id, h.sealed_note,
  to_char(h.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
  run.strategy, run.status as run_status, paid.package_id`;

export const historyJoins = `left join paid_lot paid
    on paid.lot_id = h.lot_id and paid.user_id = h.user_id
  left join optimization_list run on run.run_id = h.run_id and run.user_id = h.user_id
  ${inquiryOfLine}`;

/** The name of a package; the caller has the catalogue. */
export type PackageName = (packageId: string) => string;

/** A line and what an operator wrote on it, still sealed under the account's key. */
export type HistoryLine = { transaction: Transaction; sealedNote: string | null };

/**
 * Newest first. `before` is the id of a line that the caller already has; an id that is not in this
 * user's ledger has nothing before it.
 */
export async function readHistory(
  client: Queryable,
  userId: string,
  { limit, before }: { limit: number; before?: string | undefined },
  packageName: PackageName,
): Promise<HistoryLine[]> {
  const { rows } = await client.query<HistoryRow>(
    `select ${historyColumns}
     from credit_history h ${historyJoins}
     where h.user_id = $1
       and ($2::text is null or h.position < (
         select line.position from credit_history line where line.user_id = $1 and line.id = $2))
     order by h.position desc
     limit $3`,
    [userId, before ?? null, limit],
  );
  return rows.map((row) => ({
    transaction: transactionOf(row, packageName),
    sealedNote: row.sealed_note,
  }));
}

export function transactionOf(row: HistoryRow, packageName: PackageName): Transaction {
  return {
    id: row.id,
    transaction_type: row.transaction_type,
    description: describe(row, packageName),
    created_at: row.created_at,
    amount: row.amount,
    balance_after: row.balance_after,
    reason_code: row.reason_code,
    ...(row.run_id === null ? {} : { run_id: row.run_id }),
    ...(row.purchase_id === null ? {} : { purchase_id: row.purchase_id }),
    ...(row.lot_id === null ? {} : { lot_id: row.lot_id }),
  };
}

/** The line in words; the ledger stores codes. */
export function describe(
  line: {
    reason_code: ReasonCode;
    detail: string | null;
    strategy: string | null;
    /** How the run ended, which explains why part of its price was returned. */
    run_status?: string | null;
    /** The package of the line's lot. */
    package_id?: string | null;
  },
  packageName: PackageName,
): string {
  const ofPackage = line.package_id ? `: ${packageName(line.package_id)}` : '';
  switch (line.reason_code) {
    case 'purchase':
      return line.detail === null ? 'Credits purchased' : `Purchase: ${packageName(line.detail)}`;
    case 'bonus':
      return line.detail === 'onboarding' ? 'Onboarding bonus' : 'Bonus credits';
    case 'grant':
      return grantWords[line.detail ?? ''] ?? 'Credits granted';
    case 'run':
      return runWords(line.strategy);
    case 'run_return':
      return `${runWords(line.strategy)}${returnWords[line.run_status ?? ''] ?? ''}: credits returned`;
    case 'service':
      return 'Credits used by a connected service';
    case 'cash_refund':
      return (cashRefundWords[line.detail ?? ''] ?? 'Credits from a refunded payment') + ofPackage;
    case 'dispute':
      return (
        (line.detail === 'reinstated'
          ? 'Dispute won, credits returned'
          : 'Credits from a disputed payment') + ofPackage
      );
    case 'inquiry':
      return (
        (line.detail === 'reinstated'
          ? 'Inquiry closed, credits returned'
          : 'Credits from a payment your bank is asking about') + ofPackage
      );
    case 'correction':
      return line.detail === 'reinstated' ? 'Correction, credits returned' : 'Correction';
    case 'debt':
      return (debtWords[line.detail ?? ''] ?? 'Credits owed') + ofPackage;
  }
}

const returnWords: Readonly<Record<string, string>> = {
  failed: ' failed',
  cancelled: ' canceled',
  // Models were missing, or no recommendation passed its checks.
  completed: ' incomplete',
};

const grantWords: Readonly<Record<string, string>> = {
  demo: 'Demo credits',
  trial: 'Trial credits',
  operator: 'Credits granted by the operator',
};

const cashRefundWords: Readonly<Record<string, string>> = {
  requested: 'Refund of unused credits',
  failed: 'Refund failed, credits returned',
  reinstated: 'Payment not refunded after all, credits returned',
};

const debtWords: Readonly<Record<string, string>> = {
  dispute: 'Owed: used credits from a disputed payment',
  cash_refund: 'Owed: used credits from a refunded payment',
  correction: 'Owed: correction of used credits',
  cancelled: 'No longer owed',
  reversed: 'Returned: credits that had settled what you owed',
};

function runWords(strategy: string | null): string {
  return strategy === null ? 'Optimization run' : `${inWords(strategy)} run`;
}

/** `reasoning-focused` → `Reasoning Focused`, as on every other page. */
function inWords(strategy: string): string {
  return strategy
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
}
