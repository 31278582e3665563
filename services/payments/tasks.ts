import type { Task } from 'graphile-worker';
import * as v from 'valibot';
import type { WebhookHandlers, PaymentDependencies } from './dependencies.ts';
import { mailSpendingFrozen } from './disputes/frozen.ts';
import { bookLeftOverWarnings } from './disputes/fraud-warnings.ts';
import { mailLowBalance } from './emails/low-balance.ts';
import { createPlanHandlers } from './plans/webhooks.ts';
import { mailReceipt } from './purchases/receipts.ts';
import { notifyOfRefund } from './refunds/mail.ts';
import { createRefundHandlers } from './refunds/webhooks.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import { repair } from './settle/repair.ts';
import { settle, settleRefund } from './settle/settle.ts';
import { createPurchaseHandlers, mergeHandlers, processWebhookEvent } from './webhooks.ts';

/** The jobs of payments. Each may run twice or be killed anywhere. */
export function paymentTasks(dependencies: PaymentDependencies): Readonly<Record<string, Task>> {
  const handlers = webhookHandlers(dependencies);
  return {
    'process-webhook-event': async (payload) =>
      processWebhookEvent(dependencies, handlers, v.parse(WebhookEventPayload, payload).eventId),
    'settle-payment': async (payload) => {
      await settle(dependencies, v.parse(PaymentPayload, payload));
    },
    // What went back of a payment may have been reported before it was granted.
    'check-payment': async (payload) => {
      const { lotId } = v.parse(LotPayload, payload);
      const lot = await findPaidLot(dependencies.pool, { lotId });
      if (lot === null) throw new Error('There is no such lot');
      await settle(dependencies, lot);
      await bookLeftOverWarnings(dependencies);
    },
    'send-refund': async (payload) => {
      const named = v.parse(RefundPayload, payload);
      const refund = await settleRefund(dependencies, named);
      // The retry of this job sends the email.
      if (refund === null) throw new Error('The payment changed while its refund was sent');
      if (refund.status === 'pending' && refund.shown !== null)
        await notifyOfRefund(dependencies, named, 'pending');
    },
    'repair-difference': async (payload) =>
      repair(dependencies, v.parse(DifferencePayload, payload).object),
    'mail-receipt': async (payload) => mailReceipt(dependencies, v.parse(LotPayload, payload)),
    'mail-refund': async (payload) => {
      const { outcome, ...named } = v.parse(RefundMailPayload, payload);
      await notifyOfRefund(dependencies, named, outcome);
    },
    'mail-spending-frozen': async (payload) =>
      mailSpendingFrozen(dependencies, v.parse(FreezePayload, payload)),
    'mail-low-balance': async (payload) =>
      mailLowBalance(dependencies, v.parse(PersonPayload, payload)),
  };
}

function webhookHandlers(dependencies: PaymentDependencies): WebhookHandlers {
  return mergeHandlers(
    createPurchaseHandlers(dependencies),
    createPlanHandlers(dependencies),
    createRefundHandlers(dependencies),
  );
}

const WebhookEventPayload = v.object({ eventId: v.string() });
const PaymentPayload = v.object({ purchaseId: v.string() });
const DifferencePayload = v.object({ object: v.string() });
const FreezePayload = v.object({
  userId: v.string(),
  ref: v.string(),
  lotId: v.string(),
  overpaidMinor: v.number(),
  currency: v.string(),
});
const LotPayload = v.object({ userId: v.string(), lotId: v.string() });
const PersonPayload = v.object({ userId: v.string() });
const RefundPayload = v.object({ userId: v.string(), refundId: v.string() });
const RefundMailPayload = v.object({
  ...RefundPayload.entries,
  outcome: v.picklist(['confirmed', 'failed']),
});
