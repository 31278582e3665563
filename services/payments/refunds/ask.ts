import { Problem } from '#services/platform/problem.ts';
import type { Refund } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { endPlanOf } from '#services/payments/plans/end.ts';
import { endsPlan } from '#services/payments/plans/period.ts';
import { checkSoon } from '#services/payments/purchases/rows.ts';
import { refundReply } from '#services/payments/purchases/list.ts';
import type { RefundReason } from '#services/credits/account/events.ts';

export type AskedRefund = {
  userId: string;
  purchaseId: string;
  /** The same again is the same refund. */
  refundId: string;
  /** The number of credits that was shown; null when none was. */
  agreed: number | null;
  /** Whether the end of a plan was shown; absent when nothing was shown. */
  endsPlan?: boolean | undefined;
  reason: RefundReason;
  actor: string;
};

/**
 * Takes what is unused of a purchase out of reach and has it paid back by a job.
 *
 * @throws Problem 409 `refund-not-possible` with a `reason`, 409 `refund-changed`, 503 when the provider
 *   is unavailable and has to be asked whether a plan has renewed
 */
export async function askForRefund(
  dependencies: PaymentDependencies,
  asked: AskedRefund,
): Promise<Refund> {
  const { ledger, clock, log } = dependencies;
  const { userId, purchaseId, refundId, agreed, endsPlan: agreedEnd, reason, actor } = asked;
  const { lots, refunds: known } = await ledger.readAccount(userId);
  const lot = lots.find((candidate) => candidate.purchaseId === purchaseId);
  if (!lot) throw notPaid();
  const { lotId } = lot;
  const requestedAt = new Date(clock()).toISOString();
  // One that was asked for before may have ended the plan already, and is only answered again.
  if (agreedEnd !== undefined && known[refundId] === undefined) {
    // By the moment that the refund is asked for, which is also what its job goes by.
    const ends = await endsPlan(dependencies, purchaseId, requestedAt);
    if (ends !== agreedEnd) throw planChanged(ends);
  }
  await checkSoon(dependencies.pool, purchaseId, new Date(clock()));
  await ledger.requestRefund({
    userId,
    lotId,
    refundId,
    requestedAt,
    reason,
    actor,
    // The ledger compares it in the moment in which it decides: before, a run may come in between.
    ...(agreed === null ? {} : { credits: agreed }),
  });
  try {
    await endPlanOf(dependencies, purchaseId, requestedAt);
  } catch (error) {
    // The job does it before the money goes; here it is done so that the next page shows it.
    log.warn({ err: error, user_id: userId, resource_id: refundId }, 'A plan is ended later');
  }
  const { refunds } = await ledger.readAccount(userId);
  const refund = refunds[refundId];
  if (!refund) throw new Error('A refund that was asked for is not in the account');
  return refundReply(refundId, refund);
}

/** An unpaid purchase has no lot, so the ledger cannot be asked about it. */
function notPaid(): Problem {
  return new Problem(
    'refund-not-possible',
    "This purchase hasn't been paid, so there's nothing to refund.",
    { members: { reason: 'not_paid' } },
  );
}

/** The plan has renewed, or ended, since the effect of the refund was shown. */
function planChanged(ends: boolean): Problem {
  return new Problem(
    'refund-changed',
    ends
      ? 'This refund would now end your plan. Review it and ask again.'
      : 'This refund would no longer end your plan. Review it and ask again.',
    { members: { ends_plan: ends } },
  );
}
