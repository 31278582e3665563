/**
 * When the access token is renewed, and by which tab. Rotating uses up the cookie's token, so only
 * the tab that holds the lock rotates. The others wait and then mint a token of their own, which
 * changes nothing. No token ever moves between tabs.
 */
export const renewalTimes = {
  /** A token that expires within this time is renewed. */
  aheadMs: 300_000,
  checkEveryMs: 30_000,
  /** The lifetime of a token when the server does not state it. */
  fallbackSeconds: 3_600,
  /**
   * One attempt of the rotation. After a lost reply the server returns the same successor for ten
   * seconds and treats a later repeat as theft; two attempts fit.
   */
  tryMs: 4_000,
  /** The longest that a hung tab with the lock blocks the others. */
  lockWaitMs: 15_000,
} as const;

const lockName = 'sevenfold.session';

/** Rotates here unless another tab does, else waits for it and mints. */
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

async function settled(promise: Promise<unknown>): Promise<void> {
  await Promise.allSettled([promise]);
}

/** Calls `check` at intervals, and when the page or the network comes back. */
export function checkRegularly(check: () => void): void {
  setInterval(check, renewalTimes.checkEveryMs);
  const checkWhenShown = (): void => {
    if (document.visibilityState === 'visible') check();
  };
  document.addEventListener('visibilitychange', checkWhenShown);
  for (const event of ['focus', 'online', 'pageshow']) addEventListener(event, check);
}
