import { dayInWords } from '#services/platform/locale.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { testPayments } from './words.ts';
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
    subject: "Your plan payment didn't go through",
    paragraphs: [
      `Your ${moneyText(amountMinor, currency)} payment for the ${packageName} plan on ${productName} didn't go through, so no credits were added for the new month. You keep the credits you have.`,
      keptUntil === null
        ? "Your plan's benefits have ended. They return once the payment goes through."
        : `Your plan's benefits stay until ${dayInWords(keptUntil)} (UTC), so there's time to fix it. Update your card on your plan page and the payment will be tried again.`,
      ...testPayments(payment),
    ],
    action: { label: 'Open my plan', url: `${publicUrl}/credits/plan` },
    closing: ['If you no longer want the plan, you can cancel it on the same page.'],
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
      ? `It is ${name}, at ${price} a month plus tax where it applies.`
      : `It renews on ${dayInWords(until)} (UTC) as ${name}, at ${price} a month plus tax where it applies.`;
  const words = {
    'plan.changed': {
      subject: `Your plan is changing to ${name}`,
      paragraphs: [`You changed your plan on ${productName}. ${renews}`],
    },
    'plan.cancelled': {
      subject: 'Your plan is canceled',
      paragraphs: [
        until === null
          ? `You canceled your ${packageName} plan on ${productName}. It has ended, and you won't be charged again.`
          : `You canceled your ${packageName} plan on ${productName}. It lasts until ${dayInWords(until)} (UTC) and won't renew. You won't be charged again.`,
        'You keep the credits you have.',
      ],
    },
    'plan.resumed': {
      subject: 'Your plan continues',
      paragraphs: [`Your plan on ${productName} is no longer set to end. ${renews}`],
    },
  }[action];
  return {
    subject: words.subject,
    paragraphs: [...words.paragraphs, ...testPayments(moved)],
    action: { label: 'Open my plan', url: `${moved.publicUrl}/credits/plan` },
    closing: ['You can change or cancel your plan anytime on your plan page.'],
  };
}
