import { Problem } from '#services/platform/problem.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';

export type PaidOtherwise = { credits: number; amountMinor: number; currency: string };

/**
 * Writes down that an operator has paid out, without the provider, what an erased user is owed
 * for a purchase. Its credits go, and no bank is asked to take the money any more.
 *
 * @throws Problem 409 `refund-not-possible`
 */
export async function bookPaidOtherwise(
  { ledger }: Pick<PaymentDependencies, 'ledger'>,
  { userId, purchaseId, actor }: { userId: string; purchaseId: string; actor: string },
): Promise<PaidOtherwise> {
  const closed = await ledger.readClosedAccount(userId);
  const owed = closed?.owed.find(({ lot }) => lot.purchaseId === purchaseId);
  if (!owed)
    throw new Problem(
      'refund-not-possible',
      'This purchase owes nothing to an erased user, or its refund is already on its way.',
    );
  const { lot, credits, amountMinor } = owed;
  const ref = `paid:${purchaseId}`;
  const before = lot.clawbacks.find((clawback) => clawback.ref === ref)?.wanted ?? 0;
  await ledger.setClawback({
    userId,
    lotId: lot.lotId,
    ref,
    cause: 'correction',
    wanted: before + credits,
    owes: false,
    actor,
  });
  return { credits, amountMinor, currency: lot.currency ?? '' };
}
