import type { LinkKind } from '#services/identity/contract.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/**
 * The emails about an account. None holds a name or other text that a user typed: anyone can sign up
 * with a stranger's address, and could otherwise choose what we send there.
 */
export type EmailHead = { productName: string; publicUrl: string };

/** After a sign-up, to the address that it named. */
export function confirmEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: 'Confirm your email address',
    paragraphs: [
      `Someone signed up for ${head.productName} with this address. If it was you, please confirm it.`,
      "The link works once, within 24 hours. Open it in the browser you signed up in and you'll be signed in right away. In another browser, you'll choose a new password first.",
    ],
    action: { label: 'Confirm my address', url: linkUrl(head, 'confirm', token) },
    closing: ["If it wasn't you, ignore this email. No one can confirm this address without it."],
  };
}

export function magicEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: `Sign in to ${head.productName}`,
    paragraphs: [
      `Someone asked to sign in to ${head.productName} with this address. If it was you, use this link.`,
      'It works once, within 10 minutes, and signs you in only in the browser where you asked for it.',
    ],
    action: { label: 'Sign in', url: linkUrl(head, 'magic', token) },
    closing: ["If it wasn't you, ignore this email. No one can sign in this way without the link."],
  };
}

export function resetEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: 'Choose a new password',
    paragraphs: [
      `Someone asked to reset the password of the ${head.productName} account with this address. If it was you, use this link.`,
      'It works once, within 10 minutes, and only in the browser where you asked for it.',
    ],
    action: { label: 'Choose a new password', url: linkUrl(head, 'reset', token) },
    closing: ["If it wasn't you, ignore this email. Your password stays the same."],
  };
}

export function passwordChangedEmail(head: EmailHead): EmailContent {
  return {
    subject: 'Your password was changed',
    paragraphs: [
      `The password of your ${head.productName} account was just changed, and every other device was signed out.`,
      "If it was you, there's nothing to do.",
      "If it wasn't you, someone else has been in your account. Choose a new password now. That signs them out too, and revokes all API keys.",
    ],
    action: { label: 'Choose a new password', url: `${head.publicUrl}/forgot-password` },
  };
}

/** To the new address, before the change takes effect. */
export function changeAskedEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: 'Confirm your new email address',
    paragraphs: [
      `Someone signed in to ${head.productName} wants to use this address for their account. If it was you, please confirm it.`,
      'The link works once, within 24 hours, and only in the browser where you asked for the change.',
    ],
    action: { label: 'Use this address', url: linkUrl(head, 'email', token) },
    closing: ["If it wasn't you, ignore this email. Your address won't be used."],
  };
}

/** To the previous address of an account that has changed it. */
export function addressChangedEmail(head: EmailHead, undoToken: string): EmailContent {
  return {
    subject: "Your account's email address was changed",
    paragraphs: [
      `Your ${head.productName} account now uses a different email address. We won't send account email here anymore.`,
      "If it was you, there's nothing to do.",
      "If it wasn't you, take your account back. This restores your address, removes the password, signs out every device, and lets you choose a new password. The link works once, within 7 days, in any browser.",
    ],
    action: { label: 'Take my account back', url: linkUrl(head, 'undo', undoToken) },
  };
}

/** To the address of an account whose erasure was asked for. */
export function accountErasingEmail(head: EmailHead): EmailContent {
  return {
    subject: 'Your account is being deleted',
    paragraphs: [
      `You or the operator asked to delete your ${head.productName} account. It's closed, every device is signed out, and your name, address, questions, and answers are being removed. We keep records of amounts, without your name. This can't be undone.`,
      'Unused credits you bought in the last 30 days are refunded automatically to your original payment method. Banks usually take 5 to 10 days to show it. Other credits are lost.',
      "If it was you, there's nothing to do. If anything is refunded, we'll send one more email with the amounts. That will be the last one.",
      "If it wasn't you, someone else knew your password or used a device you were signed in on. Change that password anywhere else you use it, and contact the operator.",
    ],
  };
}

/** To the owner of an address that another user tried to sign up with or to change to. */
export function accountExistsEmail(head: EmailHead): EmailContent {
  return {
    subject: `You already have a ${head.productName} account`,
    paragraphs: [
      `Someone tried to use this address for a ${head.productName} account. You already have one, so nothing changed.`,
      'If it was you, just sign in. Forgot your password? You can reset it on the login page.',
    ],
    action: { label: 'Sign in', url: `${head.publicUrl}/login` },
    closing: ["If it wasn't you, there's nothing to do. Your account hasn't changed."],
  };
}

/** The token is in the fragment, which browsers do not send to servers. */
function linkUrl({ publicUrl }: EmailHead, kind: LinkKind, token: string): string {
  return `${publicUrl}/auth/link/${kind}#${token}`;
}
