import { credits as counted, isOrAre, testPayments } from './words.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** `amount` is money in words, to the cent. */
export type RefundNotice = {
  amount: string;
  credits: number;
  packageName: string;
  /** The operator asked for it. */
  isOurs: boolean;
  movesMoney: boolean;
};

type EmailHead = { publicUrl: string };

/** While the bank takes its time; a refund that is made at once has `refundDoneEmail` alone. */
export function refundAskedEmail(refund: RefundNotice, head: EmailHead): EmailContent {
  return {
    subject: `Your refund of ${refund.amount} is on its way`,
    paragraphs: [
      ...ours(refund),
      `We are paying back ${refund.amount} for ${counted(refund.credits, 'unused ')} of ${refund.packageName}.`,
      arrival,
      'If the bank turns it down, the credits come back to your account and we tell you.',
      ...testPayments(refund),
    ],
    action: purchases(head),
  };
}

export function refundDoneEmail(refund: RefundNotice, head: EmailHead): EmailContent {
  return {
    subject: `We have refunded ${refund.amount}`,
    paragraphs: [
      ...ours(refund),
      `We have paid back ${refund.amount} for ${counted(refund.credits, 'unused ')} of ${refund.packageName}.`,
      arrival,
      ...testPayments(refund),
    ],
    action: purchases(head),
  };
}

/**
 * `back` is what came back of its credits, and the day until which it can be asked for again; null when
 * nothing did.
 */
export function refundFailedEmail(
  refund: RefundNotice & { back: { credits: number; until: string } | null },
  head: EmailHead,
): EmailContent {
  const { amount, credits, packageName, back } = refund;
  return {
    subject: `Your refund of ${amount} did not go through`,
    paragraphs: [
      `We could not pay back ${amount} for ${counted(credits)} of ${packageName}: the bank turned it down.`,
      back === null
        ? `The ${credits === 1 ? 'credit' : 'credits'} cannot be used, because the payment itself was taken back or is disputed.`
        : `${counted(back.credits)} ${isOrAre(back.credits)} back in your account${back.credits < credits ? '; the others went with what the bank has paid back' : ''}. You can use ${back.credits === 1 ? 'it' : 'them'}, or ask for the refund again until ${back.until} (UTC).`,
      ...testPayments(refund),
    ],
    action: purchases(head),
  };
}

/** For a deleted account, once it is certain what is paid back; at least one refund. */
export function accountRefundsEmail(
  refunds: readonly Pick<RefundNotice, 'amount' | 'credits' | 'packageName'>[],
  { movesMoney }: Pick<RefundNotice, 'movesMoney'>,
): EmailContent {
  return {
    subject: 'What we pay back as your account is deleted',
    paragraphs: [
      'We are paying back what you bought and have not used:',
      ...refunds.map(
        (refund) =>
          `${refund.amount} for ${counted(refund.credits, 'unused ')} of ${refund.packageName}.`,
      ),
      arrival,
      'If the bank turns a payment down, we try again for some days by ourselves. Should the money not arrive, write to the operator.',
      ...testPayments({ movesMoney }),
    ],
    closing: ['This is the last mail about the account.'],
  };
}

const arrival = 'It goes to where you paid from. Banks usually take 5 to 10 days to show it.';

function ours({ isOurs }: RefundNotice): string[] {
  return isOurs
    ? ['We have refunded this on our own account: you did not have to ask for it.']
    : [];
}

function purchases({ publicUrl }: EmailHead): { label: string; url: string } {
  return { label: 'See your purchases', url: `${publicUrl}/credits` };
}
