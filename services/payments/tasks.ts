import type { Task } from 'graphile-worker';
import * as v from 'valibot';
import { checkPayment } from './settle/check-payment.ts';
import type { WebhookHandlers, PaymentDependencies } from './dependencies.ts';
import { repair } from './settle/repair.ts';
import { mailSpendingFrozen } from './purchases/paid-twice.ts';
import { createPlanHandlers } from './plans/webhooks.ts';
import { planTasks } from './plans/tasks.ts';
import { mailReceipt } from './purchases/receipts.ts';
import { createRefundHandlers } from './refunds/webhooks.ts';
import { refundTasks } from './refunds/tasks.ts';
import { createPurchaseHandlers, mergeHandlers, processWebhookEvent } from './webhooks.ts';

/** The jobs of payments. Each may run twice or be killed anywhere. */
export function paymentTasks(dependencies: PaymentDependencies): Readonly<Record<string, Task>> {
  const handlers = webhookHandlers(dependencies);
  return {
    'process-webhook-event': async (payload) =>
      processWebhookEvent(dependencies, handlers, v.parse(WebhookEventPayload, payload).eventId),
    'mail-receipt': async (payload) => mailReceipt(dependencies, v.parse(LotPayload, payload)),
    'mail-spending-frozen': async (payload) =>
      mailSpendingFrozen(dependencies, v.parse(FreezePayload, payload)),
    'check-payment': async (payload) => checkPayment(dependencies, v.parse(LotPayload, payload)),
    'repair-difference': async (payload) =>
      repair(dependencies, v.parse(DifferencePayload, payload).object),
    ...refundTasks(dependencies),
    ...planTasks(dependencies),
  };
}

/** All that is done about what the provider tells. */
function webhookHandlers(dependencies: PaymentDependencies): WebhookHandlers {
  return mergeHandlers(
    createPurchaseHandlers(dependencies),
    createPlanHandlers(dependencies),
    createRefundHandlers(dependencies),
  );
}

const WebhookEventPayload = v.object({ eventId: v.string() });
const DifferencePayload = v.object({ object: v.string() });
const FreezePayload = v.object({
  userId: v.string(),
  ref: v.string(),
  lotId: v.string(),
  overpaidMinor: v.number(),
  currency: v.string(),
});
const LotPayload = v.object({ userId: v.string(), lotId: v.string() });
