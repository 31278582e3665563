import { derivedId } from '#services/platform/ids.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { accountFrozenEmail, creditsFrozenEmail } from '#services/payments/emails/frozen.ts';

type Frozen = Omit<Parameters<PaymentDependencies['ledger']['freezeSpending']>[0], 'actor'>;

/** One mail to the operator and one to the customer for each freeze; the event that freezes enqueues them. */
export async function mailSpendingFrozen(
  dependencies: PaymentDependencies,
  frozen: Frozen,
): Promise<void> {
  try {
    await mailOperator(dependencies, frozen);
    await mailCustomer(dependencies, frozen);
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
    dependencies.log.warn(
      { user_id: frozen.userId, resource_id: frozen.ref },
      'The frozen account was erased: no mail is sent',
    );
  }
}

async function mailCustomer(
  dependencies: PaymentDependencies,
  { userId, ref }: Frozen,
): Promise<void> {
  const { queueMail, noticeAddress } = dependencies;
  const to = await noticeAddress(userId);
  if (to === null) return;
  await queueMail({
    id: derivedId('mai', ref, 'credits-frozen'),
    userId,
    to,
    kind: 'credits-frozen',
    content: creditsFrozenEmail(dependencies),
  });
}

async function mailOperator(
  { ledger, queueMail, contactEmail, log, movesMoney }: PaymentDependencies,
  { userId, ref, lotId, overpaidMinor, currency }: Frozen,
): Promise<void> {
  if (contactEmail === null) {
    log.warn(
      { user_id: userId, resource_id: ref },
      'CONTACT_EMAIL is not set: no operator is notified of the frozen account',
    );
    return;
  }
  const { lots } = await ledger.readAccount(userId);
  const purchaseId = lots.find((lot) => lot.lotId === lotId)?.purchaseId ?? lotId;
  const amount = moneyText(overpaidMinor, currency);
  await queueMail({
    id: derivedId('mai', ref, 'spending-frozen'),
    userId,
    to: contactEmail,
    kind: 'spending-frozen',
    content: accountFrozenEmail({ amount, userId, purchaseId, ref, movesMoney }),
  });
}
