import { consentDays, type PlaceName } from './places.ts';

/**
 * Every cookie and every key in this browser, for the page that lists them. A test compares it with what
 * a browser holds after a visit of all pages.
 */
export type Kept = {
  what: string;
  purpose: 'necessary' | 'functional';
  lasts: string;
};

/** By name. Over https the first three begin with `__Host-`, elsewhere with `sf_`. */
export const cookies: Readonly<Record<string, Kept>> = {
  '__Host-refresh': {
    what: 'Keeps you signed in. Scripts cannot read it.',
    purpose: 'necessary',
    lasts:
      'Until you close the browser, a day at most. With “Remember me”: a week without use, 30 days at most',
  },
  '__Host-nonce': {
    what: 'A random number, set when you ask for a link by email, so that the link signs you in only in this browser.',
    purpose: 'necessary',
    lasts: '1 day',
  },
  '__Host-device': {
    what: 'Lets you sign in here while someone else guesses your password. Set when you sign in.',
    purpose: 'necessary',
    lasts: '180 days, also after you sign out',
  },
  sf_theme: {
    what: 'Light or dark, set when you choose one.',
    purpose: 'necessary',
    lasts: '1 year',
  },
  sf_motion: {
    what: 'Less or full motion, set when you choose one.',
    purpose: 'necessary',
    lasts: '1 year',
  },
  sf_density: {
    what: 'Line spacing, set when you choose it.',
    purpose: 'necessary',
    lasts: '1 year',
  },
  sf_consent: {
    what: 'Your choice about this list, so that no page asks again.',
    purpose: 'necessary',
    lasts: `${consentDays} days`,
  },
};

export const keys: Readonly<Record<PlaceName, Kept>> = {
  'sevenfold.consent': {
    what: 'Your choice, its version and when you made it.',
    purpose: 'necessary',
    lasts: 'Until you delete it',
  },
  'sevenfold.unconfirmed': {
    what: 'The address of a new account that is not confirmed yet.',
    purpose: 'necessary',
    lasts: 'Until you close the tab',
  },
  'sevenfold.pkce': {
    what: 'A secret of this tab while a sign-in link is on its way.',
    purpose: 'necessary',
    lasts: 'Until it is used, or you close the tab',
  },
  'tsr-scroll-restoration-v1_3': {
    what: 'How far you had scrolled, so that the back button returns you there.',
    purpose: 'necessary',
    lasts: 'Until you close the tab',
  },
  'sevenfold.draft.': {
    what: 'Drafts of forms and how you set up a view. A key for each, with the ID of your account.',
    purpose: 'functional',
    lasts: 'Until you send, clear or sign out',
  },
  'sevenfold.purchases-announced': {
    what: 'Which purchases this tab has thanked you for.',
    purpose: 'functional',
    lasts: 'Until you close the tab',
  },
};
