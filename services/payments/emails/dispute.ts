import { credits as counted, isOrAre, testPayments, wasOrWere } from './words.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** `amount` is money in words, to the cent. */
export type DisputeNotice = {
  amount: string;
  packageName: string;
  productName: string;
  publicUrl: string;
  movesMoney: boolean;
};

export type TakenCredits = {
  /** Are gone from the account. */
  taken: number;
  /** Were used, and are owed now. */
  owed: number;
  /** Running optimizations hold them; what comes back is taken, and what is used is owed. */
  held: number;
};

/** The money was taken back, and credits with it. */
export function disputeTakenEmail(dispute: DisputeNotice, figures: TakenCredits): EmailContent {
  const { amount, packageName, productName } = dispute;
  const { owed } = figures;
  return {
    subject: `Your payment of ${amount} is disputed`,
    paragraphs: [
      `Your bank took back ${amount} of your payment for ${packageName} on ${productName} because the payment was disputed.`,
      ...taken(figures),
      ...(owed === 0
        ? []
        : [
            `You had already used ${counted(owed)} from this payment, so you owe ${them(owed)}. You can't start an optimization until ${owed === 1 ? "it's" : "they're"} settled. The next credits you buy or receive settle ${them(owed)} first.`,
          ]),
      ...held(figures),
      "Was this a mistake? Ask your bank to withdraw the dispute. If it's withdrawn or decided in our favor, we return the credits, clear what you owe because of it, and let you know.",
      ...testPayments(dispute),
    ],
    action:
      owed === 0
        ? { label: 'See your credits', url: `${dispute.publicUrl}/credits` }
        : { label: 'Settle what you owe', url: `${dispute.publicUrl}/credits/purchase` },
  };
}

/** The bank only asks so far: nothing is owed, and what was not used is out of reach. */
export function inquiryEmail(dispute: DisputeNotice, figures: TakenCredits): EmailContent {
  const { amount, packageName, productName } = dispute;
  return {
    subject: `Your bank is asking about your payment of ${amount}`,
    paragraphs: [
      `Your bank is asking about ${amount} of your payment for ${packageName} on ${productName}. No money has been taken back so far.`,
      ...taken(figures),
      ...held(figures),
      "If you recognize the payment, tell your bank. When the inquiry closes, we'll return the credits and let you know.",
      ...testPayments(dispute),
    ],
    action: { label: 'See your credits', url: `${dispute.publicUrl}/credits` },
  };
}

export type ReturnedCredits = {
  /** Can be used again. */
  back: number;
  /** Were owed, and are not any more. */
  cancelled: number;
  /** Is owed all the same, for other reasons. */
  stillOwed: number;
};

/** The dispute or the inquiry is over, and its credits are back. */
export function disputeOverEmail(dispute: DisputeNotice, figures: ReturnedCredits): EmailContent {
  const { amount, packageName, productName } = dispute;
  const { back, cancelled, stillOwed } = figures;
  return {
    subject: `The dispute about your payment of ${amount} is closed`,
    paragraphs: [
      `Your payment for ${packageName} on ${productName} is no longer in question.`,
      ...(back === 0 ? [] : [`${counted(back)} ${isOrAre(back)} back in your balance.`]),
      ...(cancelled === 0
        ? []
        : [`You no longer owe the ${counted(cancelled)} this dispute caused.`]),
      stillOwed === 0
        ? 'You can start optimizations as usual.'
        : `You still owe ${counted(stillOwed)} for another reason. The next credits you buy or receive settle ${them(stillOwed)}. Until then, you can't start an optimization.`,
      ...testPayments(dispute),
    ],
    action: { label: 'See your credits', url: `${dispute.publicUrl}/credits` },
  };
}

function taken({ taken: credits }: TakenCredits): string[] {
  return credits === 0
    ? []
    : [`${counted(credits)} ${wasOrWere(credits)} taken back from your account.`];
}

function held({ held: credits }: TakenCredits): string[] {
  return credits === 0
    ? []
    : [
        `Up to ${counted(credits, 'more ')} ${isOrAre(credits)} on hold for a running optimization. When it ends, we'll take back what it returns.`,
      ];
}

function them(credits: number): string {
  return credits === 1 ? 'it' : 'them';
}
