import { type LinkKind, linkKinds } from '#services/identity/contract.ts';
import type { AskedLink } from './ask-for-link.tsx';

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
      'The button confirms that this address is yours. In the browser where you signed up it signs you in, too; in another one you choose a new password first.',
    button: 'Confirm my address',
    busy: 'Confirming…',
    instead: 'confirm',
  },
  magic: {
    heading: 'Sign in with this link',
    promise: 'The button signs you in, if this is the browser where you asked for the link.',
    button: 'Sign in',
    busy: 'Signing in…',
    instead: 'magic',
  },
  reset: {
    heading: 'Reset your password',
    promise:
      'The button opens the form for your new password. Until you have saved one, the old one stays as it is.',
    button: 'Choose a new password',
    busy: 'One moment…',
    instead: 'reset',
  },
  email: {
    heading: 'Use this address',
    promise:
      'From now on you sign in with this address, and our mails go here. The address you had gets a mail with a link that undoes this for 7 days.',
    button: 'Use this address',
    busy: 'Changing…',
    instead: null,
  },
  undo: {
    heading: 'Undo the change of your address',
    promise:
      'The button brings this address back, ends every session and removes the password, so that the person who changed it is out. On the next page you choose a new password.',
    button: 'Bring my address back',
    busy: 'Undoing…',
    instead: 'reset',
  },
};

export function isLinkKind(kind: string): kind is LinkKind {
  return linkKinds.some((known) => known === kind);
}
