import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { bookDispute } from '#services/payments/disputes/disputes.ts';
import { bookLeftOverWarnings } from '#services/payments/disputes/fraud-warnings.ts';
import { findPaymentOfLot } from './granted-payment.ts';
import { bookBankRefunds } from '#services/payments/refunds/refunds.ts';
import type { GrantedPayment } from '#services/payments/purchases/purchases.ts';

/**
 * Looks, once it has been granted, at what of a payment has gone back by then. News of that may have come
 * while the payment was not known here, and nobody tells it again.
 *
 * @throws Problem 503 while the provider is away
 */
export async function checkPayment(
  dependencies: PaymentDependencies,
  { userId, lotId }: { userId: string; lotId: string },
): Promise<void> {
  const { lots } = await dependencies.ledger.readAccount(userId);
  const lot = lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) throw new Error('There is no such lot in this account');
  const payment = await findPaymentOfLot(dependencies, userId, lot);
  if (payment === null) return;
  await bookWhatWentBack(dependencies, payment);
  await bookLeftOverWarnings(dependencies);
}

/** Refunds that were made without us, and disputes. Doing it again changes nothing. */
export async function bookWhatWentBack(
  dependencies: PaymentDependencies,
  payment: GrantedPayment,
): Promise<void> {
  await bookBankRefunds(dependencies, payment);
  for (const { disputeId } of await dependencies.provider.listDisputesOf(payment.intentId))
    await bookDispute(dependencies, disputeId);
}
