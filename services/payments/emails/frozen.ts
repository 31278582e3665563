import type { EmailContent } from '#services/platform/mail/layout.ts';
import { testPayments } from './words.ts';

/** For the customer, after a payment went back twice. */
export function creditsFrozenEmail({
  contactEmail,
  publicUrl,
  movesMoney,
}: {
  contactEmail: string | null;
  publicUrl: string;
  movesMoney: boolean;
}): EmailContent {
  return {
    subject: 'Your credits are frozen',
    paragraphs: [
      "We refunded one of your payments, and then your bank took back the same payment. Until this is settled, you can't spend your credits or any you buy. Please contact us.",
      ...(contactEmail === null ? [] : [`Our email address is ${contactEmail}.`]),
      ...testPayments({ movesMoney }),
    ],
    action: { label: 'See your credits', url: `${publicUrl}/credits` },
  };
}

/** The same for the operator. */
export function accountFrozenEmail({
  amount,
  userId,
  purchaseId,
  ref,
  movesMoney,
}: {
  amount: string;
  userId: string;
  purchaseId: string;
  ref: string;
  movesMoney: boolean;
}): EmailContent {
  return {
    subject: `An account is frozen: ${amount} went back twice`,
    paragraphs: [
      `A payment was refunded and then lost to a dispute. ${amount} more went back than was paid.`,
      `Account ${userId}, purchase ${purchaseId}, dispute ${ref}.`,
      'The account can spend no credits until you lift the freeze. Settle the matter with its owner or your bank first.',
      `To lift it: npm run cli -- credits unfreeze ${userId} --reason "…"`,
      ...testPayments({ movesMoney }),
    ],
  };
}
