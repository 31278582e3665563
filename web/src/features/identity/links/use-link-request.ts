import { useEffect, useState } from 'react';

/** Seconds before the same link may be requested again. */
const resendAfterSeconds = 60;

/** A request for a link by email: how often it was sent, and when it may be sent again. */
export type LinkRequestState = {
  sent: number;
  busy: boolean;
  /** The last failure. */
  failure: unknown;
  waitSeconds: number;
  /** Sends it, unless a request is under way or it is too early. */
  ask: (send: () => Promise<void>) => Promise<void>;
};

/** `lastSentAt`: when an email was requested before this page was opened, in milliseconds. */
export function useLinkRequest(lastSentAt: number | null = null): LinkRequestState {
  const [sent, setSent] = useState(0);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const [againAt, setAgainAt] = useState(
    lastSentAt === null ? null : lastSentAt + resendAfterSeconds * 1000,
  );
  const waitSeconds = useSecondsUntil(againAt);
  return {
    sent,
    busy,
    failure,
    waitSeconds,
    async ask(send) {
      if (busy || waitSeconds > 0) return;
      setFailure(null);
      setBusy(true);
      try {
        await send();
        setSent((count) => count + 1);
        setAgainAt(Date.now() + resendAfterSeconds * 1000);
      } catch (error) {
        setFailure(error);
      } finally {
        setBusy(false);
      }
    },
  };
}

/** Whole seconds until a moment, counting down; 0 once it has passed, and for null. */
function useSecondsUntil(atMs: number | null): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const update = (): void => {
      const seconds = atMs === null ? 0 : Math.max(0, Math.ceil((atMs - Date.now()) / 1000));
      setLeft(seconds);
      if (seconds === 0) clearInterval(timer);
    };
    const timer = setInterval(update, 1_000);
    update();
    return () => clearInterval(timer);
  }, [atMs]);
  return left;
}
