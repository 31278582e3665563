import type { Queryable } from '#db/connect.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { takePayment } from '#services/payments/plans/payments.ts';
import { disputeMoved, paymentMoved, refundMoved } from '#services/payments/refunds/webhooks.ts';
import { repairers } from './reconcile/difference.ts';
import type { Difference } from './reconcile/difference.ts';
import { jobAttempts } from './lock.ts';
import { settle } from './settle.ts';

/**
 * Repairing what the comparison of the books finds. Nothing is changed to what was found: a job settles
 * the payment, as if a webhook event of the object had just arrived.
 */

/** A job for each difference whose words say that a worker settles it. */
export async function askToRepair(client: Queryable, found: readonly Difference[]): Promise<void> {
  const objects = found.flatMap(({ repairs, object }) =>
    repairs === repairers.settling ? [object] : [],
  );
  await client.query(
    `select graphile_worker.add_job('repair-difference', json_build_object('object', object),
       job_key := 'repair:' || object, max_attempts := $2)
     from unnest($1::text[]) as object`,
    [[...new Set(objects)], jobAttempts],
  );
}

/** `object` is what a difference is about; its id says what it is. */
export async function repair(dependencies: PaymentDependencies, object: string): Promise<void> {
  switch (object.split('_', 1)[0]) {
    case 'dp':
    case 'du':
    case 'pdp':
      await disputeMoved(dependencies, object);
      return;
    case 're':
    case 'pyr':
      await refundMoved(dependencies, object);
      return;
    case 'in':
      await takePayment(dependencies, object);
      return;
    case 'pur':
      await settle(dependencies, { purchaseId: object });
      return;
    case 'pi':
      await paymentMoved(dependencies, { intentId: object, chargeId: null });
      return;
    default:
      throw new Error('This object cannot be repaired');
  }
}
