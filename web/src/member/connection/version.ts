import { useEffect, useRef, useSyncExternalStore } from 'react';
import { createSignal } from '#web/ui/signal.ts';

/**
 * Whether the server now sends newer pages than this one. A page asks when it is shown again after a
 * while and when its stream returns, because a new version restarts the server. A page whose part no
 * longer exists offers the reload itself (`page-problem.tsx`).
 */
const askEveryMs = 600_000;

let isOld = false;
let askedAt = Date.now();
const found = createSignal();

/** Offers the reload. */
export function foundNewVersion(): void {
  if (isOld) return;
  isOld = true;
  found.emit();
}

/** The first script that a page names; each build names its own. */
export function entryOf(html: string): string | null {
  return /<script\b[^>]*\bsrc="([^"]+)"/.exec(html)?.[1] ?? null;
}

/** @param isDue asks although the last answer is recent */
async function ask(isDue: boolean): Promise<void> {
  if (isOld || (!isDue && Date.now() - askedAt < askEveryMs)) return;
  askedAt = Date.now();
  try {
    const response = await fetch('/dashboard', { cache: 'no-store', credentials: 'same-origin' });
    const entry = response.ok ? entryOf(await response.text()) : null;
    const own = document.querySelector('script[src]')?.getAttribute('src');
    if (entry !== null && entry !== own) foundNewVersion();
  } catch (error) {
    console.debug('The version could not be checked; the next occasion asks again', error);
  }
}

/** Follows the server's version. `isConnected` is whether the stream is open. */
export function useVersionWatch(isConnected: boolean): void {
  useEffect(() => {
    const askWhenShown = (): void => {
      if (!document.hidden) void ask(false);
    };
    document.addEventListener('visibilitychange', askWhenShown);
    return () => document.removeEventListener('visibilitychange', askWhenShown);
  }, []);
  const wasConnected = useRef(false);
  useEffect(() => {
    if (!isConnected) return;
    // Not at the page's first connection.
    if (wasConnected.current) void ask(true);
    wasConnected.current = true;
  }, [isConnected]);
}

export function useIsOldVersion(): boolean {
  return useSyncExternalStore(found.subscribe, () => isOld);
}
