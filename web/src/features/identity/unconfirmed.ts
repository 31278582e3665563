import * as v from 'valibot';
import { forget, keep, readKept } from '#web/consent/device.ts';

/**
 * The address of a new account that is not confirmed yet. It is kept for this tab's session, so
 * that a reload of the waiting page does not ask for it again.
 */
const Kept = v.object({
  email: v.string(),
  /** Stands for the address in a request for another email. */
  pendingToken: v.optional(v.string()),
  /** When the last email was requested, in milliseconds; null when unknown. */
  sentAt: v.nullable(v.number()),
});
export type Kept = v.InferOutput<typeof Kept>;

const key = 'sevenfold.unconfirmed';

export function keepUnconfirmed(kept: Kept): void {
  keep(key, JSON.stringify(kept));
}

export function readUnconfirmed(): Kept | null {
  const stored = readKept(key);
  if (stored === null) return null;
  try {
    return v.parse(Kept, JSON.parse(stored));
  } catch {
    // Not a value of this page: the address is asked for instead.
    forget(key);
    return null;
  }
}

export function forgetUnconfirmed(): void {
  forget(key);
}
