import { onSessionEnd } from '#web/features/identity/sessions/session.ts';
import { allowed } from './consent.ts';
import { type Key, placeOf } from './places.ts';

/**
 * The one way to local and session storage. Keys that need consent live in memory until it is given, and
 * return there when it is withdrawn; so does everything in a browser that forbids storage.
 */
const memory = new Map<Key, string>();

// One user's words must not reach the next.
onSessionEnd(() => {
  for (const key of memory.keys()) if (key.startsWith('sevenfold.draft.')) memory.delete(key);
});

export function readKept(key: Key): string | null {
  return storageOf(key)?.getItem(key) ?? memory.get(key) ?? null;
}

/** True when the device keeps it, false when only this page does. */
export function keep(key: Key, text: string): boolean {
  const storage = storageOf(key);
  try {
    storage?.setItem(key, text);
    if (storage) {
      memory.delete(key);
      return true;
    }
  } catch (error) {
    // The storage is full.
    if (!(error instanceof DOMException)) throw error;
    storage?.removeItem(key);
  }
  memory.set(key, text);
  return false;
}

export function forget(key: Key): void {
  memory.delete(key);
  if (!navigator.cookieEnabled) return;
  localStorage.removeItem(key);
  sessionStorage.removeItem(key);
}

function storageOf(key: Key): Storage | null {
  const [area, purpose] = placeOf(key) ?? [];
  // A browser that forbids storage throws on any access.
  if (!navigator.cookieEnabled || area === undefined) return null;
  if (purpose === 'functional' && !allowed().functional) return null;
  return area === 'local' ? localStorage : sessionStorage;
}

/** After a choice: moves what needs consent to where the choice allows it. */
export function moveKept(): void {
  if (!navigator.cookieEnabled) return;
  if (allowed().functional) {
    for (const [key, text] of memory) keep(key, text);
    return;
  }
  for (const storage of [localStorage, sessionStorage])
    for (const key of Object.keys(storage) as Key[])
      if (placeOf(key)?.[1] === 'functional') {
        memory.set(key, storage.getItem(key) ?? '');
        storage.removeItem(key);
      }
}
