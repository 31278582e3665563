import { useSyncExternalStore } from 'react';
import { analyticsUrl } from '#web/app/product.ts';
import { createSignal } from '#web/ui/signal.ts';
import { choicePattern, consentCookie } from './cookie.ts';

/**
 * What a visitor allows on this device. A cookie holds the choice, so that the server leaves the banner
 * out of its pages; local storage holds it with its time (`choose.ts`). Without a choice only the
 * necessary is kept.
 */
export type Allowed = { functional: boolean; analytics: boolean };

/** A new version asks again; so does the first setting of analytics. */
export const consentVersion = analyticsUrl === undefined ? '1' : '1a';
const pattern = new RegExp(choicePattern(consentVersion));

const choices = createSignal();
/** Calls back after each choice, also of another tab. */
export const onChoice = choices.subscribe;
/** The choice of this page's life. The cookie of another tab comes late, or never if it is refused. */
let newest = '';

/** Empty before a choice. */
function chosen(): string {
  return pattern.exec(`${consentCookie}=${newest}; ${document.cookie}`)?.[1] ?? '';
}

export function hasChosen(): boolean {
  return chosen() !== '';
}

/** Global Privacy Control: the browser refuses on behalf of its user. */
export function refusesTracking(): boolean {
  return 'globalPrivacyControl' in navigator && navigator.globalPrivacyControl === true;
}

export function allowed(): Allowed {
  const [, letters = ''] = chosen().split('.');
  return {
    functional: letters.includes('f'),
    analytics: analyticsUrl !== undefined && letters.includes('a') && !refusesTracking(),
  };
}

/** Called with the cookie's new value, also for a choice in another tab. */
export function noteChoice(value: string): void {
  newest = value;
  choices.emit();
}

export function useAllowed(): Allowed | null {
  const value = useSyncExternalStore(onChoice, chosen, () => '');
  return value === '' ? null : allowed();
}

/** Deletes keys of local storage, which needs no consent. */
export function removeStored(matches: (key: string) => boolean): void {
  // A browser that forbids storage throws on any access, and has nothing to delete.
  if (!navigator.cookieEnabled) return;
  for (const key of Object.keys(localStorage)) if (matches(key)) localStorage.removeItem(key);
}
