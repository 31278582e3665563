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
    subject: "Your payment didn't go through",
    paragraphs: [
      `Your bank didn't confirm your ${moneyText(amountMinor, currency)} payment for ${packageName} on ${productName}. You weren't charged, and no credits were added.`,
      'You can try again with the same payment method or a different one.',
      ...testPayments({ movesMoney }),
    ],
    action: { label: 'Buy credits', url: `${publicUrl}/credits/purchase` },
  };
}
