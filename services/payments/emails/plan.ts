import { moneyText } from '#services/platform/numbers.ts';
import { dayOf, testPayments } from './words.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** A payment of a plan that runs already, which failed. */
export type FailedPlanPayment = {
  packageName: string;
  /** Without tax. */
  amountMinor: number;
  currency: string;
  /** The tier is kept until then; null when nothing is kept. */
  keptUntil: Date | null;
  productName: string;
  publicUrl: string;
  movesMoney: boolean;
};

export function planPaymentFailedEmail(payment: FailedPlanPayment): EmailContent {
  const { packageName, amountMinor, currency, keptUntil, productName, publicUrl } = payment;
  return {
    subject: 'The payment of your plan did not go through',
    paragraphs: [
      `The payment of ${moneyText(amountMinor, currency)} for your plan ${packageName} at ${productName} did not go through. No credits were added for the new month. Credits that you have stay.`,
      keptUntil === null
        ? 'Your plan’s benefits have ended. They come back when the payment goes through.'
        : `Your plan’s benefits stay until ${dayOf(keptUntil)} (UTC), so there is time to put it right. Check your card on the page of your plan; the payment is then tried again.`,
      ...testPayments(payment),
    ],
    action: { label: 'Open my plan', url: `${publicUrl}/credits/plan` },
    closing: ['If you do not want the plan any more, you can cancel it on the same page.'],
  };
}

/** A change that a user has just made to their plan. */
export type MovedPlan = {
  action: 'plan.changed' | 'plan.cancelled' | 'plan.resumed';
  packageName: string;
  /** What it becomes when it renews, where that is another one. */
  nextName: string | null;
  /** Of the next payment, without tax; null when there is none. */
  amountMinor: number;
  currency: string;
  /** The end of what is paid; null when that is over. */
  until: Date | null;
  productName: string;
  publicUrl: string;
  movesMoney: boolean;
};

export function planMovedEmail(moved: MovedPlan): EmailContent {
  const { action, packageName, nextName, amountMinor, currency, until, productName } = moved;
  const name = nextName ?? packageName;
  const price = moneyText(amountMinor, currency);
  const renews =
    until === null
      ? `It is ${name} for ${price} a month, plus tax where it applies.`
      : `It renews on ${dayOf(until)} (UTC) as ${name} for ${price}, plus tax where it applies.`;
  const words = {
    'plan.changed': {
      subject: `Your plan will be ${name}`,
      paragraphs: [`You have changed your plan at ${productName}. ${renews}`],
    },
    'plan.cancelled': {
      subject: 'Your plan is cancelled',
      paragraphs: [
        until === null
          ? `You have cancelled your plan ${packageName} at ${productName}. It has ended, and nothing more is charged.`
          : `You have cancelled your plan ${packageName} at ${productName}. It stays until ${dayOf(until)} (UTC) and does not renew: nothing more is charged.`,
        'Credits that you have stay.',
      ],
    },
    'plan.resumed': {
      subject: 'Your plan continues',
      paragraphs: [`Your plan at ${productName} is not cancelled any more. ${renews}`],
    },
  }[action];
  return {
    subject: words.subject,
    paragraphs: [...words.paragraphs, ...testPayments(moved)],
    action: { label: 'Open my plan', url: `${moved.publicUrl}/credits/plan` },
    closing: ['You can change or cancel your plan at any time on that page.'],
  };
}
