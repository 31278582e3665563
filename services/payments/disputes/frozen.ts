import { derivedId } from '#services/platform/ids.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { moneyText } from '#services/payments/money.ts';
import { testPayments } from '#services/payments/emails/payment-failed.ts';

type Frozen = Omit<Parameters<PaymentDependencies['paid']['freezeSpending']>[0], 'actor'>;

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
  { queueMail, noticeAddress, contactEmail, publicUrl, movesMoney }: PaymentDependencies,
  { userId, ref }: Frozen,
): Promise<void> {
  const to = await noticeAddress(userId);
  if (to === null) return;
  await queueMail({
    id: derivedId('mai', ref, 'credits-frozen'),
    userId,
    to,
    kind: 'credits-frozen',
    content: {
      subject: 'Your credits are frozen',
      paragraphs: [
        'We refunded a payment of yours, and then your bank took it back as well. Until that is settled your credits cannot be spent, nor any that you buy. Please write to us.',
        ...(contactEmail === null ? [] : [`Our address is ${contactEmail}.`]),
        ...(movesMoney ? [] : [testPayments]),
      ],
      action: { label: 'See your credits', url: `${publicUrl}/credits` },
    },
  });
}

async function mailOperator(
  { paid, queueMail, contactEmail, log, movesMoney }: PaymentDependencies,
  { userId, ref, lotId, overpaidMinor, currency }: Frozen,
): Promise<void> {
  if (contactEmail === null) {
    log.warn(
      { user_id: userId, resource_id: ref },
      'CONTACT_EMAIL is not set: no operator is notified of the frozen account',
    );
    return;
  }
  const { lots } = await paid.readAccount(userId);
  const purchaseId = lots.find((lot) => lot.lotId === lotId)?.purchaseId ?? lotId;
  const amount = moneyText(overpaidMinor, currency);
  await queueMail({
    id: derivedId('mai', ref, 'spending-frozen'),
    userId,
    to: contactEmail,
    kind: 'spending-frozen',
    content: {
      subject: `An account is frozen: ${amount} went back twice`,
      paragraphs: [
        `A payment was refunded and then lost to a dispute. ${amount} more went back than was paid.`,
        `Account ${userId}, purchase ${purchaseId}, dispute ${ref}.`,
        'The account can spend no credits until you lift the freeze. Settle the matter with its owner or your bank first.',
        `To lift it: npm run cli -- credits unfreeze ${userId} --reason "…"`,
        ...(movesMoney ? [] : [testPayments]),
      ],
    },
  });
}
