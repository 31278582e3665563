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
      `Your bank has taken back ${amount} of your payment for ${packageName} at ${productName}, because the payment was disputed.`,
      ...taken(figures),
      ...(owed === 0
        ? []
        : [
            `${counted(owed)} of it ${wasOrWere(owed)} used already, so your account owes ${them(owed)}. No optimization can start until the debt is settled. The next credits that you receive settle it first, such as those of a purchase.`,
          ]),
      ...held(figures),
      'Was it a mistake? Ask your bank to withdraw the dispute. If it is withdrawn or decided for us, the credits come back, what is owed because of it is cancelled, and we tell you.',
      ...testPayments(dispute),
    ],
    action:
      owed === 0
        ? { label: 'See your credits', url: `${dispute.publicUrl}/credits` }
        : { label: 'Settle what is owed', url: `${dispute.publicUrl}/credits/purchase` },
  };
}

/** The bank only asks so far: nothing is owed, and what was not used is out of reach. */
export function inquiryEmail(dispute: DisputeNotice, figures: TakenCredits): EmailContent {
  const { amount, packageName, productName } = dispute;
  return {
    subject: `Your bank asks about your payment of ${amount}`,
    paragraphs: [
      `Your bank asks about ${amount} of your payment for ${packageName} at ${productName}. No money was taken back so far.`,
      ...taken(figures),
      ...held(figures),
      'If you know the payment, tell your bank so. When the inquiry is closed, the credits come back, and we tell you.',
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
    subject: `The dispute about your payment of ${amount} is over`,
    paragraphs: [
      `Your payment for ${packageName} at ${productName} is not in question any more.`,
      ...(back === 0 ? [] : [`${counted(back)} ${isOrAre(back)} back in your account.`]),
      ...(cancelled === 0
        ? []
        : [
            `The ${counted(cancelled)} that your account owed because of it ${isOrAre(cancelled)} not owed any more.`,
          ]),
      stillOwed === 0
        ? 'You can start optimizations again.'
        : `Your account still owes ${counted(stillOwed)} for another reason. No optimization can start until the next credits that you receive have settled ${them(stillOwed)}.`,
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
        `Up to ${counted(credits)} more ${isOrAre(credits)} held by a running optimization, and ${credits === 1 ? 'follows' : 'follow'} when it has ended.`,
      ];
}

function them(credits: number): string {
  return credits === 1 ? 'it' : 'them';
}
