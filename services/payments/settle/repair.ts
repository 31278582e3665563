import type { Queryable } from '#db/connect.ts';
import { purchaseLimits } from '#services/platform/limits.ts';
import { bookWhatWentBack } from './check-payment.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { repairers } from './reconcile/difference.ts';
import type { Difference } from './reconcile/difference.ts';
import { bookDispute } from '#services/payments/disputes/disputes.ts';
import { findPaymentOf } from './granted-payment.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import { findPurchase } from '#services/payments/purchases/purchases.ts';
import { recordRefundNotices } from '#services/payments/refunds/webhooks.ts';

/**
 * Repairing what the comparison of the books finds. Nothing is changed to what was found: a job reads the
 * object again, in the same way as if news of it had just come.
 */

/** A job for each difference whose words say that a worker reads it again. */
export async function askToRepair(client: Queryable, found: readonly Difference[]): Promise<void> {
  const objects = found.flatMap(({ repairs, object }) =>
    repairs === repairers.reading ? [object] : [],
  );
  await client.query(
    `select graphile_worker.add_job('repair-difference', json_build_object('object', object),
       job_key := 'repair:' || object, max_attempts := $2)
     from unnest($1::text[]) as object`,
    [[...new Set(objects)], purchaseLimits.deliveryAttempts],
  );
}

/** `object` is what a difference is about; its id says what it is. */
export async function repair(dependencies: PaymentDependencies, object: string): Promise<void> {
  switch (object.split('_', 1)[0]) {
    case 'dp':
    case 'du':
    case 'pdp':
      await bookDispute(dependencies, object);
      return;
    case 're':
    case 'pyr':
      await recordRefundNotices(dependencies, object);
      return;
    case 'in':
      await takePayment(dependencies, object);
      return;
    case 'pur':
      return repairPurchase(dependencies, object);
    case 'pi':
      return repairPayment(dependencies, object);
    default:
      throw new Error('Nobody knows how to repair this');
  }
}

/** It says that its invoice was granted. */
async function repairPurchase(
  dependencies: PaymentDependencies,
  purchaseId: string,
): Promise<void> {
  const row = await findPurchase(dependencies.pool, { purchaseId });
  if (row?.invoice_id) await takePayment(dependencies, row.invoice_id);
}

async function repairPayment(dependencies: PaymentDependencies, intentId: string): Promise<void> {
  const payment = await findPaymentOf(dependencies, { intentId, chargeId: null });
  if (payment !== null) await bookWhatWentBack(dependencies, payment);
}
