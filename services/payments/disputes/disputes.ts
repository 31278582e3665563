import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { tellOfDispute } from './mail.ts';
import { creditsFor, findPaymentOf } from '#services/payments/settle/granted-payment.ts';
import { freezeIfPaidTwice } from '#services/payments/purchases/paid-twice.ts';
import { endPlanTakenBack } from '#services/payments/plans/plans.ts';
import type { DisputeView } from '#services/payments/provider.ts';
import type { GrantedPayment } from '#services/payments/purchases/purchases.ts';

/**
 * Payments that a bank took back, or asks about. The provider knows where a dispute stands; the
 * row is what was last read of it, and the ledger what it took of the lot.
 */
type DisputeDependencies = PaymentDependencies;

/** Somebody else may have read the dispute before it moved, and written after us. */
const rereadsAtMost = 10;

/**
 * Brings row and ledger to where the dispute stands now. Two of these at once may read it at different
 * times, so each goes on until what it has written is what it reads: whoever writes last has read last.
 *
 * @returns its stage; `ignored` for what is no dispute of a payment of ours
 */
export async function bookDispute(
  dependencies: DisputeDependencies,
  disputeId: string,
): Promise<string> {
  let written: DisputeView | null = null;
  for (let count = 0; count < rereadsAtMost; count += 1) {
    const view = await dependencies.provider.retrieveDispute(disputeId);
    if (view === null) return 'ignored';
    if (written !== null && isSame(written, view)) return view.stage;
    const payment = await findPaymentOf(dependencies, view);
    if (payment === null) return 'ignored';
    await storeDispute(dependencies, view, payment);
    await clawback(dependencies, view, payment);
    await tellOfDispute(dependencies, view, payment);
    if (hasMoneyWithdrawn(view)) await endPlanTakenBack(dependencies, payment);
    if (view.stage === 'lost') await freezeIfPaidTwice(dependencies, payment);
    // Last, so that whoever is killed before it leaves one that is still asked about.
    if (isOver(view)) await closeDispute(dependencies, disputeId);
    written = view;
  }
  throw new Error('A dispute moves faster than it can be written down');
}

/** The money has left us, for now or for good. */
function hasMoneyWithdrawn({ stage }: DisputeView): boolean {
  return stage === 'withdrawn' || stage === 'lost';
}

/** Nothing is clawed back any more; the money has come back, if it ever was away. */
function isFree({ stage }: DisputeView): boolean {
  return stage === 'won' || stage === 'closed';
}

function isOver({ stage }: DisputeView): boolean {
  return stage === 'won' || stage === 'lost' || stage === 'closed';
}

function isSame(left: DisputeView, right: DisputeView): boolean {
  return (
    left.status === right.status &&
    left.stage === right.stage &&
    left.amountMinor === right.amountMinor
  );
}

async function storeDispute(
  { pool, clock }: DisputeDependencies,
  view: DisputeView,
  { userId, purchaseId, lotId }: GrantedPayment,
): Promise<void> {
  await pool.query(
    `insert into dispute (id, user_id, purchase_id, lot_id, charge_id, amount_minor, currency,
       status, stage, created_at, updated_at, withdrawn_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, case when $13 then $11::timestamptz end)
     on conflict (id) do update set amount_minor = excluded.amount_minor,
       status = excluded.status, stage = excluded.stage, updated_at = excluded.updated_at,
       withdrawn_at = coalesce(dispute.withdrawn_at, excluded.withdrawn_at),
       returned_at = case when $14 and dispute.withdrawn_at is not null
         then coalesce(dispute.returned_at, excluded.updated_at) end,
       closed_at = case when $12 then dispute.closed_at end`,
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
      hasMoneyWithdrawn(view),
      isFree(view),
    ],
  );
}

async function closeDispute(
  { pool, clock }: DisputeDependencies,
  disputeId: string,
): Promise<void> {
  await pool.query('update dispute set closed_at = $2 where id = $1 and closed_at is null', [
    disputeId,
    new Date(clock()),
  ]);
}

/**
 * An inquiry only freezes what is there; once the money has left us, what was used of it is owed. Won
 * and closed ones give everything back.
 */
async function clawback(
  { ledger }: DisputeDependencies,
  view: DisputeView,
  payment: GrantedPayment,
): Promise<void> {
  const { disputeId, amountMinor } = view;
  await ledger.setClawback({
    userId: payment.userId,
    lotId: payment.lotId,
    ref: disputeId,
    cause: 'dispute',
    wanted: isFree(view) ? 0 : creditsFor(payment, amountMinor),
    owes: hasMoneyWithdrawn(view),
    actor: 'system:payments',
  });
}
