import { useState } from 'react';
import { useSecondsUntil } from '#web/features/identity/use-seconds-until.ts';

/** Seconds before the same link may be asked for again. */
const resendAfterSeconds = 60;

/** A request for a link by mail: how often it was made, and when it may be made again. */
export type LinkRequestState = {
  /** How many links this page has asked for. */
  sent: number;
  busy: boolean;
  /** What went wrong the last time. */
  failure: unknown;
  /** Seconds until another one may be asked for. */
  waitSeconds: number;
  /** Sends it, unless one is under way or it is too early. Resolves once it is answered. */
  ask: (send: () => Promise<void>) => Promise<void>;
};

/** `lastSentAt`: of a mail that was asked for before this page was opened, in milliseconds. */
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
