import { analyticsUrl } from '#web/app/product.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { type Allowed, consentVersion, hasChosen, noteChoice, refusesTracking } from './consent.ts';
import { consentCookie } from './cookie.ts';
import { moveKept } from './device.ts';
import { consentDays } from './places.ts';

/** Making a choice; loaded when someone does. */
const recordKey = 'sevenfold.consent';

export function saveChoice(next: Allowed): void {
  const letters = [next.functional && 'f', next.analytics && 'a'];
  const value = `${consentVersion}.${letters.filter(Boolean).join('') || '-'}`;
  if (navigator.cookieEnabled) {
    const secure = location.protocol === 'https:' ? '; Secure' : '';
    document.cookie = `${consentCookie}=${value}; Path=/; Max-Age=${consentDays * 86_400}; SameSite=Lax${secure}`;
    const record = { choice: value, at: new Date().toISOString() };
    localStorage.setItem(recordKey, JSON.stringify(record));
  }
  noteChoice(value);
  moveKept();
  announce('Your choice is saved.');
}

export function acceptAll(): void {
  saveChoice({
    functional: true,
    analytics: analyticsUrl !== undefined && !refusesTracking(),
  });
}

export function refuseAll(): void {
  saveChoice({ functional: false, analytics: false });
}

/** When the choice was made, ISO 8601; null before it, or when the browser does not keep it. */
export function chosenAt(): string | null {
  if (!navigator.cookieEnabled || !hasChosen()) return null;
  return /"at":"([^"]+)"/.exec(localStorage.getItem(recordKey) ?? '')?.[1] ?? null;
}
