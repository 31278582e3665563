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
    subject: 'Confirm your e-mail address',
    paragraphs: [
      `Somebody signed up for ${head.productName} with this address. If that was you, confirm that it is yours.`,
      'The link works once, within 24 hours. Open it in the browser in which you signed up and you are signed in at once; in another one you choose a new password first.',
    ],
    action: { label: 'Confirm my address', url: linkUrl(head, 'confirm', token) },
    closing: [
      'If it was not you, do nothing. Without this mail nobody can confirm that the address is theirs.',
    ],
  };
}

export function magicEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: `Sign in to ${head.productName}`,
    paragraphs: [
      `Somebody asked to sign in to ${head.productName} with this address. If that was you, use this link.`,
      'It works once, within 10 minutes, and signs you in only in the browser where you asked for it.',
    ],
    action: { label: 'Sign in', url: linkUrl(head, 'magic', token) },
    closing: ['If it was not you, do nothing. Without the link nobody can sign in this way.'],
  };
}

export function resetEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: 'Choose a new password',
    paragraphs: [
      `Somebody asked for a new password for the ${head.productName} account with this address. If that was you, use this link.`,
      'It works once, within 10 minutes, and only in the browser where you asked for it.',
    ],
    action: { label: 'Choose a new password', url: linkUrl(head, 'reset', token) },
    closing: ['If it was not you, do nothing. Your password stays as it is.'],
  };
}

export function passwordChangedEmail(head: EmailHead): EmailContent {
  return {
    subject: 'Your password was changed',
    paragraphs: [
      `The password of your ${head.productName} account was changed a moment ago, and the account was signed out everywhere else.`,
      'If that was you, there is nothing to do.',
      'If it was not you, somebody else has been in your account. Choose a new password now: that signs them out, too.',
    ],
    action: { label: 'Choose a new password', url: `${head.publicUrl}/forgot-password` },
  };
}

/** To the new address, before the change takes effect. */
export function changeAskedEmail(head: EmailHead, token: string): EmailContent {
  return {
    subject: 'Confirm your new e-mail address',
    paragraphs: [
      `Somebody who is signed in to ${head.productName} wants to use this address for their account. If that was you, confirm that it is yours.`,
      'The link works once, within 24 hours, and only in the browser where you asked for the change.',
    ],
    action: { label: 'Use this address', url: linkUrl(head, 'email', token) },
    closing: ['If it was not you, do nothing. Your address is then not used.'],
  };
}

/** To the previous address of an account that has changed it. */
export function addressChangedEmail(head: EmailHead, undoToken: string): EmailContent {
  return {
    subject: 'The address of your account was changed',
    paragraphs: [
      `Your ${head.productName} account now has another e-mail address. Mail about it no longer comes here.`,
      'If that was you, there is nothing to do.',
      'If it was not you, take the account back. That brings this address back, removes the password, signs everyone out, and lets you choose a new password. It works once, within 7 days, in any browser.',
    ],
    action: { label: 'Take my account back', url: linkUrl(head, 'undo', undoToken) },
  };
}

/** To the address of an account whose erasure was asked for. */
export function accountErasingEmail(head: EmailHead): EmailContent {
  return {
    subject: 'Your account is being deleted',
    paragraphs: [
      `You or the operator asked to delete your ${head.productName} account. It is closed, everyone is signed out, and your name, address, questions and answers are being removed. Amounts stay in our books without your name. This cannot be undone.`,
      'Credits that you bought in the last 30 days and have not used are refunded to where you paid from, without your asking; banks usually take 5 to 10 days to show it. Other credits are lost.',
      'If that was you, there is nothing to do. When something is refunded, one more mail names the amounts; there is no other about the account.',
      'If it was not you, somebody else knew your password or used a device on which you were signed in. Change that password wherever else you use it, and inform the operator.',
    ],
  };
}

/** To the owner of an address that another user tried to sign up with or to change to. */
export function accountExistsEmail(head: EmailHead): EmailContent {
  return {
    subject: `You already have a ${head.productName} account`,
    paragraphs: [
      `Somebody asked to use this address for a ${head.productName} account. There is one with it already, so nothing was changed.`,
      'If that was you, sign in. If you have forgotten your password, the page for signing in helps you to a new one.',
    ],
    action: { label: 'Sign in', url: `${head.publicUrl}/login` },
    closing: ['If it was not you, there is nothing to do. Your account is as it was.'],
  };
}

/** The token is in the fragment, which browsers do not send to servers. */
function linkUrl({ publicUrl }: EmailHead, kind: LinkKind, token: string): string {
  return `${publicUrl}/auth/link/${kind}#${token}`;
}
