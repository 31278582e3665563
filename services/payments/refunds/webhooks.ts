import type {
  WebhookHandler,
  WebhookHandlers,
  PaymentDependencies,
} from '#services/payments/dependencies.ts';
import { bookFraudWarning, notGranted } from '#services/payments/disputes/fraud-warnings.ts';
import { findPaymentOf, NotGrantedYet } from '#services/payments/settle/find.ts';
import { settleGranted, settleRefund } from '#services/payments/settle/settle.ts';
import { findNamedRefund } from './send.ts';

/** Money that goes back: refunds, disputes, and warnings of fraud. */
export function createRefundHandlers(dependencies: PaymentDependencies): WebhookHandlers {
  const handle = (
    work: (objectId: string) => Promise<string>,
    givenUp: string = 'ignored',
  ): WebhookHandler => untilGranted(dependencies, work, givenUp);
  const refund = handle(async (objectId) => refundMoved(dependencies, objectId));
  const dispute = handle(async (objectId) => disputeMoved(dependencies, objectId));
  const warning = handle(
    async (objectId) => bookFraudWarning(dependencies, objectId),
    // The operator is to see it also when its payment is not known here.
    notGranted,
  );
  return {
    'refund.created': refund,
    'refund.updated': refund,
    'refund.failed': refund,
    'charge.refunded': handle(async (objectId) => chargeRefunded(dependencies, objectId)),
    'charge.dispute.created': dispute,
    'charge.dispute.updated': dispute,
    'charge.dispute.funds_withdrawn': dispute,
    'charge.dispute.funds_reinstated': dispute,
    'charge.dispute.closed': dispute,
    'radar.early_fraud_warning.created': warning,
    'radar.early_fraud_warning.updated': warning,
  };
}

/**
 * So long after the event a payment may become known to us; after that it counts as not ours. Should it be
 * granted later all the same, its grant has it settled.
 */
const grantedWithinMs = 3 * 86_400_000;

function untilGranted(
  { clock, log }: PaymentDependencies,
  work: (objectId: string) => Promise<string>,
  givenUp: string,
): WebhookHandler {
  return async ({ eventId, objectId, receivedAt }) => {
    if (objectId === null) return 'ignored';
    try {
      return await work(objectId);
    } catch (error) {
      if (!(error instanceof NotGrantedYet) || clock() - receivedAt < grantedWithinMs) throw error;
      log.warn({ event_id: eventId }, 'A payment that went back was never granted here');
      return givenUp;
    }
  };
}

/** Other settlements came between; a job settles the payment. */
const queued = 'queued';

/** A refund of ours, or one that was made without us. */
export async function refundMoved(
  dependencies: PaymentDependencies,
  providerRefundId: string,
): Promise<string> {
  const view = await dependencies.provider.retrieveRefund(providerRefundId);
  if (view === null) return 'ignored';
  const own = view.refundId === null ? null : await findNamedRefund(dependencies, view.refundId);
  if (own === null) return paymentMoved(dependencies, view);
  const refund = await settleRefund(dependencies, own);
  return refund === null ? queued : `refund-${refund.status}`;
}

/** Sent for every refund of a charge, so it also covers one whose own event got lost. */
async function chargeRefunded(
  dependencies: PaymentDependencies,
  chargeId: string,
): Promise<string> {
  return paymentMoved(dependencies, { intentId: null, chargeId });
}

/** The dispute's stage. */
export async function disputeMoved(
  dependencies: PaymentDependencies,
  disputeId: string,
): Promise<string> {
  const view = await dependencies.provider.retrieveDispute(disputeId);
  const payment = view && (await findPaymentOf(dependencies, view));
  if (!view || !payment) return 'ignored';
  const settled = await settleGranted(dependencies, payment);
  if (settled === null) return queued;
  return settled.disputes.find((dispute) => dispute.disputeId === disputeId)?.stage ?? view.stage;
}

export async function paymentMoved(
  dependencies: PaymentDependencies,
  named: { intentId: string | null; chargeId: string | null },
): Promise<string> {
  const payment = await findPaymentOf(dependencies, named);
  if (payment === null) return 'ignored';
  const settled = await settleGranted(dependencies, payment);
  if (settled === null) return queued;
  return settled.isChanged ? 'settled' : 'unchanged';
}
