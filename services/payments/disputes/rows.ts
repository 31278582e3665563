import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type { DisputeView } from '#services/payments/provider.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';
import { isFree, isWithdrawn } from '#services/payments/settle/expected.ts';

/** Rows of `dispute`: what was last read of each. What it takes of the lot stands in the ledger. */

/** False for one that was closed as it is. */
export async function storeDispute(
  { pool, clock }: PaymentDependencies,
  view: DisputeView,
  { userId, purchaseId, lotId }: GrantedPayment,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into dispute as known (id, user_id, purchase_id, lot_id, charge_id, amount_minor,
       currency, status, stage, created_at, updated_at, withdrawn_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, case when $13 then $11::timestamptz end)
     on conflict (id) do update set amount_minor = excluded.amount_minor,
       status = excluded.status, stage = excluded.stage, updated_at = excluded.updated_at,
       withdrawn_at = coalesce(known.withdrawn_at, excluded.withdrawn_at),
       returned_at = case when $14 and known.withdrawn_at is not null
         then coalesce(known.returned_at, excluded.updated_at) end,
       closed_at = case when $12 then known.closed_at end
     where known.closed_at is null or (known.amount_minor, known.status, known.stage)
       is distinct from (excluded.amount_minor, excluded.status, excluded.stage)`,
    [
      view.disputeId,
      userId,
      purchaseId,
      lotId,
      view.chargeId,
      view.amountMinor,
      view.currency,
      view.status,
      view.stage,
      new Date(view.createdAt),
      new Date(clock()),
      isOver(view),
      isWithdrawn(view),
      isFree(view),
    ],
  );
  return rowCount === 1;
}

/** Last of all that is done about it, so that one whose settlement was cut off is still checked. */
export async function closeDispute(
  { pool, clock }: PaymentDependencies,
  view: DisputeView,
): Promise<void> {
  if (!isOver(view)) return;
  await pool.query(
    'update dispute set closed_at = $2 where id = $1 and closed_at is null and stage = $3',
    [view.disputeId, new Date(clock()), view.stage],
  );
}

function isOver(view: DisputeView): boolean {
  return isFree(view) || view.stage === 'lost';
}
