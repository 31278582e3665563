import type { Queryable } from '#db/connect.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import type { Refund } from '#services/payments/contract.ts';
import { creditsFor, isBanks } from '#services/payments/settle/expected.ts';
import type { RefundView } from '#services/payments/provider.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';

/**
 * Refunds made by the bank, or at the provider's own pages, as rows: how much money each was.
 * What they took of a lot together is a clawback in the ledger.
 */

/**
 * Before the ledger is changed, so that its lines are found to be about this money. What has
 * failed stays so, and what was paid does not become pending again by a late word.
 */
export async function keepBankRefunds(
  client: Queryable,
  { userId, purchaseId, lotId }: GrantedPayment,
  refunds: readonly RefundView[],
  at: Date,
): Promise<void> {
  for (const refund of refunds)
    await client.query(
      `insert into bank_refund as known (id, user_id, purchase_id, lot_id, charge_id, amount_minor,
         currency, status, created_at, booked_at, failed_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
         case when $8 = 'failed' then $10::timestamptz end, $10)
       on conflict (id) do update set status = excluded.status, failed_at = excluded.failed_at,
         updated_at = excluded.updated_at
       where (known.status, excluded.status) in (
         ('pending', 'succeeded'), ('pending', 'failed'), ('succeeded', 'failed'))`,
      [
        refund.providerRefundId,
        userId,
        purchaseId,
        lotId,
        refund.chargeId,
        refund.amountMinor,
        refund.currency,
        refund.status,
        new Date(refund.createdAt),
        at,
      ],
    );
}

export type BankRefundRow = {
  id: string;
  lot_id: string;
  amount_minor: number;
  currency: string;
  status: RefundView['status'];
  created_at: Date;
  updated_at: Date;
};

/** Of one person, the oldest first. */
export async function readBankRefunds(client: Queryable, userId: string): Promise<BankRefundRow[]> {
  const { rows } = await client.query<BankRefundRow>(
    `select id, lot_id, amount_minor, currency, status, created_at, updated_at
     from bank_refund where user_id = $1 order by created_at, id`,
    [userId],
  );
  return rows;
}

/**
 * As people read them. The ledger rounds the credits of all of them together, so each one's are what it
 * added to those before it, and together they are what the clawback wants.
 */
export function bankRefundsOf(
  account: AccountState,
  lot: Lot,
  rows: readonly BankRefundRow[],
): Refund[] {
  const own = rows.filter((row) => row.lot_id === lot.lotId);
  const last = own.findLast(({ status }) => status !== 'failed');
  const of = { granted: lot.granted, paidMinor: lot.paidMinor ?? 0 };
  const wanted = lot.clawbacks
    .filter(isBanks(account))
    .reduce((total, clawback) => total + clawback.wanted, 0);
  let [money, counted] = [0, 0];
  return own.map((row) => {
    if (row.status === 'failed') return reply(row, creditsFor(of, row.amount_minor));
    money += row.amount_minor;
    const all = row === last ? wanted : Math.min(wanted, creditsFor(of, money));
    const credits = Math.max(0, all - counted);
    counted += credits;
    return reply(row, credits);
  });
}

function reply(row: BankRefundRow, credits: number): Refund {
  return {
    id: row.id,
    status: row.status === 'succeeded' ? 'done' : row.status,
    credits,
    amount_cents: row.amount_minor,
    currency: row.currency,
    requested_at: row.created_at.toISOString(),
    ended_at: row.status === 'pending' ? null : row.updated_at.toISOString(),
  };
}

export type TakenMoney = { amountMinor: number; currency: string };

/**
 * Which lines of a person's ledger are about money that was taken back without us, or came back. Money
 * goes to the first line that its refund or dispute wrote after it was known; a dispute that froze
 * everything before the money went writes none, and its last one before counts.
 */
export async function readTakenMoney(
  client: Queryable,
  userId: string,
): Promise<Map<number, TakenMoney>> {
  const { rows } = await client.query<TakenMoney & { position: number }>(
    `with move as (
       select lot_id, charge_id as ref, -amount_minor as amount, currency, booked_at as at,
         false as is_back
       from bank_refund where user_id = $1
       union all
       select lot_id, charge_id, amount_minor, currency, failed_at, true
       from bank_refund where user_id = $1 and failed_at is not null
       union all
       select lot_id, id, -amount_minor, currency, withdrawn_at, false
       from dispute where user_id = $1 and withdrawn_at is not null
       union all
       select lot_id, id, amount_minor, currency, returned_at, true
       from dispute where user_id = $1 and returned_at is not null
     ), line as (
       select h.position, h.lot_id, h.created_at, m.message_data ->> 'ref' as ref, h.amount > 0 as is_back
       from credit_history h
       join emt_messages m on m.stream_id = 'credits-' || h.user_id
         and m.stream_position = h.position
       where h.user_id = $1 and m.message_type in ('LotRevoked', 'DebtIncurred', 'LotReinstated',
         'DebtCancelled', 'DebtSettlementReversed')
     )
     select chosen.position::float8, sum(move.amount)::float8 as "amountMinor", move.currency
     from move cross join lateral (
       select line.position from line
       where line.lot_id = move.lot_id and line.ref = move.ref and line.is_back = move.is_back
       order by line.created_at >= move.at desc,
         case when line.created_at >= move.at then line.position else -line.position end
       limit 1) chosen
     group by chosen.position, move.currency`,
    [userId],
  );
  return new Map(rows.map(({ position, ...money }) => [position, money]));
}
