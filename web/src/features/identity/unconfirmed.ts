import * as v from 'valibot';

/**
 * The address that somebody has signed up with and not confirmed yet. It is kept for this tab's
 * session, so that a reload of the page that waits for the confirmation does not ask for it again.
 */
const Kept = v.object({
  email: v.string(),
  /** Stands for the address in a request for another mail. */
  pendingToken: v.optional(v.string()),
  /** When the last mail was asked for, in milliseconds; null when that is not known. */
  sentAt: v.nullable(v.number()),
});
export type Kept = v.InferOutput<typeof Kept>;

const key = 'sevenfold.unconfirmed';

export function keepUnconfirmed(kept: Kept): void {
  // A browser that forbids storage throws on the mere mention of it; the page then asks again.
  if (navigator.cookieEnabled) sessionStorage.setItem(key, JSON.stringify(kept));
}

export function readUnconfirmed(): Kept | null {
  if (!navigator.cookieEnabled) return null;
  const stored = sessionStorage.getItem(key);
  if (stored === null) return null;
  try {
    return v.parse(Kept, JSON.parse(stored));
  } catch {
    // Written by another version of this page, or by hand: the address is asked for instead.
    sessionStorage.removeItem(key);
    return null;
  }
}

export function forgetUnconfirmed(): void {
  if (navigator.cookieEnabled) sessionStorage.removeItem(key);
}
