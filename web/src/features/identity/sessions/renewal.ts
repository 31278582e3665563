/**
 * When the access token is renewed, and by which tab. Rotating uses up the cookie's token, so of all
 * tabs only the one that holds the lock rotates; the others wait until it is done and then ask for a
 * token of their own, which changes nothing. No token ever goes from tab to tab.
 */
export const renewalTimes = {
  /** A token with less than this left is renewed. */
  aheadMs: 300_000,
  checkEveryMs: 30_000,
  /** How long a token is taken to last when the server does not say. */
  fallbackSeconds: 3_600,
  /**
   * A try of the rotation. When its answer is lost, the server gives the same successor again for ten
   * seconds and takes a later repeat for theft; two tries fit in.
   */
  tryMs: 4_000,
  /** A tab that hangs with the lock keeps the others waiting no longer than this. */
  lockWaitMs: 15_000,
} as const;

const lockName = 'sevenfold.session';

/** Rotates here when no other tab is at it, else waits for that one and then mints. */
export async function inOneTab<T>(rotate: () => Promise<T>, mint: () => Promise<T>): Promise<T> {
  const { locks } = navigator;
  const own = await locks.request(lockName, { ifAvailable: true }, async (lock) =>
    lock ? { result: await rotate() } : null,
  );
  if (own) return own.result;
  await settled(
    locks.request(
      lockName,
      { mode: 'shared', signal: AbortSignal.timeout(renewalTimes.lockWaitMs) },
      () => undefined,
    ),
  );
  return mint();
}

/** Resolves however the promise ends: whether the other tab made it does not matter to this one. */
async function settled(promise: Promise<unknown>): Promise<void> {
  await Promise.allSettled([promise]);
}

/** Calls `look` now and then, and whenever somebody comes back to the page or to the network. */
export function keepLooking(look: () => void): void {
  setInterval(look, renewalTimes.checkEveryMs);
  const lookWhenShown = (): void => {
    if (document.visibilityState === 'visible') look();
  };
  document.addEventListener('visibilitychange', lookWhenShown);
  for (const event of ['focus', 'online', 'pageshow']) addEventListener(event, look);
}
