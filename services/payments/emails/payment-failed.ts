import { moneyText } from '#services/platform/numbers.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';
import { testPayments } from './words.ts';

/** A payment that the bank had to confirm, and did not. */
export type FailedPayment = {
  packageName: string;
  /** Without tax. */
  amountMinor: number;
  currency: string;
  productName: string;
  publicUrl: string;
  movesMoney: boolean;
};

export function paymentFailedEmail(payment: FailedPayment): EmailContent {
  const { packageName, amountMinor, currency, productName, publicUrl, movesMoney } = payment;
  return {
    subject: 'Your payment did not go through',
    paragraphs: [
      `Your bank did not confirm the payment of ${moneyText(amountMinor, currency)} for ${packageName} at ${productName}. Nothing was charged, and no credits were added.`,
      'You can buy the package again, with the same or another way to pay.',
      ...testPayments({ movesMoney }),
    ],
    action: { label: 'Buy credits', url: `${publicUrl}/credits/purchase` },
  };
}
