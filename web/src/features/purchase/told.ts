/**
 * The checkouts that this tab has already thanked for, so that a reload of the page does not thank
 * again. Kept until the tab is closed.
 */
const key = 'sevenfold.purchases-told';

/** True the first time it is asked about a checkout. */
export function isFirstTelling(sessionId: string): boolean {
  if (!navigator.cookieEnabled) return true;
  const told = (sessionStorage.getItem(key) ?? '').split(' ').filter(Boolean);
  if (told.includes(sessionId)) return false;
  sessionStorage.setItem(key, [...told, sessionId].join(' '));
  return true;
}
