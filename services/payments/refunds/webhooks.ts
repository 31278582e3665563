import { bookDispute } from '#services/payments/disputes/disputes.ts';
import type {
  WebhookHandler,
  WebhookHandlers,
  PaymentDependencies,
} from '#services/payments/dependencies.ts';
import { bookFraudWarning, notGranted } from '#services/payments/disputes/fraud-warnings.ts';
import { findPaymentOf, NotGrantedYet } from '#services/payments/settle/granted-payment.ts';
import { bookBankRefunds, bookRefund, findNamedRefund } from './refunds.ts';

/** News of money that goes back: refunds, disputes, and warnings of fraud. */
export function createRefundHandlers(dependencies: PaymentDependencies): WebhookHandlers {
  const handle = (
    work: (objectId: string) => Promise<string>,
    givenUp: string = 'ignored',
  ): WebhookHandler => withPatience(dependencies, work, givenUp);
  const refund = handle(async (objectId) => recordRefundNotices(dependencies, objectId));
  const dispute = handle(async (objectId) => bookDispute(dependencies, objectId));
  const warning = handle(
    async (objectId) => bookFraudWarning(dependencies, objectId),
    // It is a word to the operator, who is to have it also when nobody knows of what payment.
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
 * So long after the news a payment may become known to us; after that it is taken for somebody else's.
 * Should it be granted later all the same, whoever grants it looks at what has gone back.
 */
const patienceMs = 3 * 86_400_000;

function withPatience(
  { clock, log }: PaymentDependencies,
  work: (objectId: string) => Promise<string>,
  givenUp: string,
): WebhookHandler {
  return async ({ eventId, objectId, receivedAt }) => {
    if (objectId === null) return 'ignored';
    try {
      return await work(objectId);
    } catch (error) {
      if (!(error instanceof NotGrantedYet) || clock() - receivedAt < patienceMs) throw error;
      log.warn({ event_id: eventId }, 'A payment that went back was never granted here');
      return givenUp;
    }
  };
}

/** Books what the provider shows of a refund, whoever asked for it. */
export async function recordRefundNotices(
  dependencies: PaymentDependencies,
  providerRefundId: string,
): Promise<string> {
  const view = await dependencies.provider.retrieveRefund(providerRefundId);
  if (view === null) return 'ignored';
  const own = view.refundId === null ? null : await findNamedRefund(dependencies, view.refundId);
  const outcome = own === null ? null : await bookRefund(dependencies, own, view);
  const clawedBack = await bankRefundsOf(dependencies, view);
  return outcome === null ? clawedBack : `refund-${outcome}`;
}

/** Told for every refund of a charge, so it also covers one whose own news got lost. */
async function chargeRefunded(
  dependencies: PaymentDependencies,
  chargeId: string,
): Promise<string> {
  return bankRefundsOf(dependencies, { intentId: null, chargeId });
}

async function bankRefundsOf(
  dependencies: PaymentDependencies,
  named: { intentId: string | null; chargeId: string | null },
): Promise<string> {
  const payment = await findPaymentOf(dependencies, named);
  return payment === null ? 'ignored' : bookBankRefunds(dependencies, payment);
}
