import { derivedId } from '#services/platform/ids.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import type {
  WebhookHandler,
  WebhookHandlers,
  PaymentDependencies,
} from '#services/payments/dependencies.ts';
import { fulfil } from '#services/payments/settle/fulfil.ts';
import { planPaymentFailedEmail } from '#services/payments/emails/plan.ts';
import { takePayment } from './payments.ts';
import { isPastDue, tierUntil } from './tier.ts';
import type { PlanRow } from './rows.ts';
import { endSurplusPlans, finishEnding } from './end.ts';
import { readPlan } from './read.ts';
import type { InvoiceView } from '#services/payments/provider.ts';

/**
 * Webhook events of plans. A paid invoice grants the credits of its period, once by its id, and says
 * which tier was paid for and until when. After any other event the subscription is read again.
 */
export function createPlanHandlers(dependencies: PaymentDependencies): WebhookHandlers {
  const readAgain: WebhookHandler = async ({ objectId }) => {
    const plan = objectId === null ? null : await readPlan(dependencies, objectId);
    if (plan === null) return 'ignored';
    await closeCheckouts(dependencies, plan);
    await finishEnding(dependencies, plan.subscription_id);
    await endSurplusPlans(dependencies, plan.user_id);
    return 'read';
  };
  return {
    'invoice.paid': async ({ objectId }) =>
      objectId === null ? 'ignored' : takePayment(dependencies, objectId),
    'invoice.payment_failed': async ({ objectId }) =>
      objectId === null ? 'ignored' : takeFailure(dependencies, objectId),
    'customer.subscription.created': readAgain,
    'customer.subscription.updated': readAgain,
    'customer.subscription.deleted': readAgain,
  };
}

/** When a plan has ended without a payment, its checkout no longer waits for a bank. */
async function closeCheckouts(dependencies: PaymentDependencies, plan: PlanRow): Promise<void> {
  const hasEnded = plan.status === 'incomplete_expired' || plan.status === 'canceled';
  if (!hasEnded || plan.paid_since !== null) return;
  const { rows } = await dependencies.pool.query<{ id: string }>(
    `select id from purchase
     where user_id = $1 and kind = 'plan_checkout' and status in ('open', 'processing')
       and session_id is not null`,
    [plan.user_id],
  );
  for (const { id } of rows) await fulfil(dependencies, { purchaseId: id });
}

/** A first payment brings no email: the user is still on the provider's page and reads it there. */
async function takeFailure(dependencies: PaymentDependencies, invoiceId: string): Promise<string> {
  const invoice = await dependencies.provider.retrieveInvoice(invoiceId);
  if (!invoice || invoice.subscriptionId === null || invoice.status === 'paid') return 'ignored';
  const plan = await readPlan(dependencies, invoice.subscriptionId);
  if (plan === null) return 'ignored';
  await finishEnding(dependencies, plan.subscription_id);
  const isWanted = isPastDue(plan) && !plan.cancel_at_period_end;
  if (invoice.reason === 'subscription_create' || !isWanted) return 'read';
  await notifyOfFailure(dependencies, invoice, plan);
  return 'past-due';
}

async function notifyOfFailure(
  dependencies: PaymentDependencies,
  invoice: InvoiceView,
  plan: PlanRow,
): Promise<void> {
  const { queueMail, noticeAddress, clock } = dependencies;
  const to = await noticeAddress(plan.user_id);
  if (to === null) return;
  const until = tierUntil(plan) ?? 0;
  const packageId = invoice.packageId ?? plan.next_package_id;
  try {
    await queueMail({
      id: derivedId('mai', invoice.invoiceId, 'payment-failed'),
      userId: plan.user_id,
      to,
      kind: 'plan-payment-failed',
      content: planPaymentFailedEmail({
        ...dependencies,
        packageName: packageOf(packageId)?.name ?? packageId,
        amountMinor: invoice.subtotalMinor,
        currency: invoice.currency,
        keptUntil: until > clock() ? new Date(until) : null,
      }),
    });
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}
