import { dayInWords } from '#services/platform/locale.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { credits as inCredits, testPayments } from './words.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

export type Receipt = {
  purchaseId: string;
  packageName: string;
  /** One of the payments of a plan. */
  isPlan: boolean;
  /** When the plan takes money again, and how much without tax; null when it does not. */
  renewal: { at: Date; amountMinor: number } | null;
  credits: number;
  /** With tax. */
  paidMinor: number;
  taxMinor: number;
  currency: string;
  paidAt: Date;
  /** The provider's own. */
  receiptUrl: string | null;
  /** Credits that can be spent now. */
  available: number;
  debt: number;
  /** No credits can be spent until the operator lifts it. */
  frozen: boolean;
  productName: string;
  publicUrl: string;
  movesMoney: boolean;
};

/** Once for each payment. */
export function receiptEmail(receipt: Receipt): EmailContent {
  const { packageName, credits, isPlan, publicUrl, productName } = receipt;
  return {
    subject: `Your receipt: ${packageName}, ${inCredits(credits)}`,
    paragraphs: [
      `Thank you. We added ${inCredits(credits)} from ${packageName} to your ${productName} account.${isPlan ? ` Your plan adds ${inCredits(credits)} every month.` : ''}`,
      amountSentence(receipt),
      balanceSentence(receipt),
      ...renewalSentences(receipt),
      ...testPayments(receipt),
    ],
    action: { label: 'See your credits', url: `${publicUrl}/credits` },
    closing: [
      ...(receipt.receiptUrl === null ? [] : [`Payment provider's receipt: ${receipt.receiptUrl}`]),
      `Purchase ${receipt.purchaseId}. You can refund unused credits within 30 days on your credits page.`,
    ],
  };
}

function amountSentence({ paidMinor, taxMinor, currency, paidAt }: Receipt): string {
  const tax =
    taxMinor === 0 ? 'No tax was added.' : `That includes ${moneyText(taxMinor, currency)} tax.`;
  return `Paid on ${dayInWords(paidAt)} (UTC): ${moneyText(paidMinor, currency)}. ${tax}`;
}

function renewalSentences({ renewal, currency, publicUrl }: Receipt): string[] {
  if (renewal === null) return [];
  const price = moneyText(renewal.amountMinor, currency);
  return [
    `Your plan renews on ${dayInWords(renewal.at)} (UTC) for ${price}, plus tax where it applies, and then every month until you cancel. Cancel anytime on your plan page: ${publicUrl}/credits/plan`,
  ];
}

function balanceSentence({ available, debt, frozen }: Receipt): string {
  const balance = frozen
    ? `You now have ${inCredits(available)}, which you can't spend while your account is frozen.`
    : `You now have ${inCredits(available)} available.`;
  return debt === 0 ? balance : `${balance} You still owe ${inCredits(debt)}.`;
}
