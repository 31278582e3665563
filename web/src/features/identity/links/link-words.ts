import { type LinkKind, linkKinds } from '#services/identity/contract.ts';
import type { AskedLink } from './link-request.tsx';

/** What the page behind an email's link says before its button is pressed. */
export type LinkWords = {
  heading: string;
  promise: string;
  button: string;
  busy: string;
  /** The link to request instead; null where only a signed-in user can. */
  instead: AskedLink | null;
};

export const linkWords: Readonly<Record<LinkKind, LinkWords>> = {
  confirm: {
    heading: 'Confirm your address',
    promise:
      "Confirm that this address is yours. In the browser you signed up in, this also signs you in. In another browser, you'll choose a new password first.",
    button: 'Confirm my address',
    busy: 'Confirming…',
    instead: 'confirm',
  },
  magic: {
    heading: 'Sign in with this link',
    promise: 'This works in the browser where you asked for the link.',
    button: 'Sign in',
    busy: 'Signing in…',
    instead: 'magic',
  },
  reset: {
    heading: 'Reset your password',
    promise: "Next you'll choose a new password. Your old one works until you save it.",
    button: 'Choose a new password',
    busy: 'One moment…',
    instead: 'reset',
  },
  email: {
    heading: 'Use this address',
    promise:
      "You'll sign in with this address from now on, and our emails will come here. We'll email your old address a link to undo this within 7 days.",
    button: 'Use this address',
    busy: 'Changing…',
    instead: null,
  },
  undo: {
    heading: 'Undo the address change',
    promise:
      "This restores your address, signs out every device, and removes the password, so the person who changed it is locked out. Next you'll choose a new password.",
    button: 'Restore my address',
    busy: 'Undoing…',
    instead: 'reset',
  },
};

export function isLinkKind(kind: string): kind is LinkKind {
  return linkKinds.some((known) => known === kind);
}
