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
      `We're refunding ${refund.amount} for ${counted(refund.credits, 'unused ')} from ${refund.packageName}.`,
      arrival,
      "If the bank declines it, we'll return the credits to your balance and let you know.",
      ...testPayments(refund),
    ],
    action: purchases(head),
  };
}

export function refundDoneEmail(refund: RefundNotice, head: EmailHead): EmailContent {
  return {
    subject: `We refunded ${refund.amount}`,
    paragraphs: [
      ...ours(refund),
      `We've refunded ${refund.amount} for ${counted(refund.credits, 'unused ')} from ${refund.packageName}.`,
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
    subject: `Your refund of ${amount} didn't go through`,
    paragraphs: [
      `We couldn't refund ${amount} for ${counted(credits)} from ${packageName}. The bank declined it.`,
      back === null
        ? `You can't use ${credits === 1 ? 'this credit' : 'these credits'}, because the payment itself was taken back or is disputed.`
        : `${counted(back.credits)} ${isOrAre(back.credits)} back in your balance.${back.credits < credits ? ' Your bank has already paid back the rest.' : ''} You can use ${back.credits === 1 ? 'it' : 'them'}, or ask for the refund again until ${back.until} (UTC).`,
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
    subject: 'Refunds for your deleted account',
    paragraphs: [
      "We're refunding your unused credits:",
      ...refunds.map(
        (refund) =>
          `${refund.amount} for ${counted(refund.credits, 'unused ')} from ${refund.packageName}.`,
      ),
      arrival,
      "If the bank declines a refund, we'll keep trying for a few days. If the money doesn't arrive, contact the operator.",
      ...testPayments({ movesMoney }),
    ],
    closing: ['This is the last email about your account.'],
  };
}

const arrival =
  'The money goes to your original payment method. Banks usually take 5 to 10 days to show it.';

function ours({ isOurs }: RefundNotice): string[] {
  return isOurs ? ["We made this refund ourselves. You didn't need to ask."] : [];
}

function purchases({ publicUrl }: EmailHead): { label: string; url: string } {
  return { label: 'See your purchases', url: `${publicUrl}/credits` };
}
