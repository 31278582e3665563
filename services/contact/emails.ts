import type { EmailContent } from '#services/platform/mail/layout.ts';
import type { ContactTopic } from './contract.ts';

/** The account that a message was sent from, as it was then. */
export type SenderAccount = { id: string; email: string; isConfirmed: boolean };

/** In place of what was changed in the database and can no longer be opened. */
export const damaged = '[damaged]';

/** To the operator, who answers its sender directly. */
export function messageEmail({
  reference,
  topic,
  email,
  account,
  message,
}: {
  reference: string;
  topic: ContactTopic;
  email: string;
  /** Null for a visitor. */
  account: SenderAccount | null;
  message: string;
}): EmailContent {
  return {
    subject: `Message ${reference}: ${topic}`,
    paragraphs: [
      `From ${email}. ${senderWords(email, account)}`,
      `Reply to this email to answer. Reference ${reference}. The message:`,
    ],
    quote: message,
  };
}

/** Whether the sender is who the address says. */
export function senderWords(email: string, account: SenderAccount | null): string {
  if (email === damaged) return 'This message was changed in the database and cannot be read.';
  if (account === null) return 'Not signed in: anyone can enter this address.';
  const { id, email: own, isConfirmed } = account;
  const state = isConfirmed ? 'confirmed' : 'not confirmed';
  return own === email.toLowerCase()
    ? `Signed in as ${id}. This is the address of the account, ${state}.`
    : `Signed in as ${id}. This is NOT the address of the account, which is ${own}, ${state}.`;
}

/** To the sender. It repeats none of their words: anyone can name a stranger's address. */
export function receiptEmail(
  { productName, publicUrl }: { productName: string; publicUrl: string },
  reference: string,
): EmailContent {
  return {
    subject: `We have your message: ${reference}`,
    paragraphs: [
      `Your message to ${productName} has arrived. Its reference is ${reference}.`,
      'Mention this reference if you write again.',
    ],
    action: { label: 'Open Help', url: `${publicUrl}/help` },
    closing: ['If you did not write to us, someone entered your address by mistake. Do nothing.'],
  };
}
