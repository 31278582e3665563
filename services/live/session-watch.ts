import type { Log } from '#services/platform/process/log.ts';
import { liveLimits } from './limits.ts';

/**
 * A stream outlives the request that opened it, and must not outlive its session. One statement
 * polls the sessions of all open streams of a process.
 */
export type SessionWatch = {
  /** Calls `onEnd` once when the session has ended. Returns how to stop watching. */
  watch(sessionId: string, onEnd: () => void): () => void;
  close(): Promise<void>;
};

export function startSessionWatch(options: {
  /** Of these sessions the ones that have ended. */
  ended: (sessionIds: readonly string[]) => Promise<readonly string[]>;
  log: Log;
}): SessionWatch {
  const { ended, log } = options;
  const watched = new Map<string, Set<() => void>>();
  let polling: Promise<void> | null = null;

  const poll = async () => {
    if (watched.size === 0) return;
    for (const sessionId of await ended([...watched.keys()])) {
      const all = watched.get(sessionId) ?? [];
      watched.delete(sessionId);
      for (const onEnd of all) onEnd();
    }
  };
  const timer = setInterval(() => {
    polling ??= poll()
      .catch((error: unknown) => log.warn({ err: error }, 'Sessions could not be polled'))
      .finally(() => {
        polling = null;
      });
  }, liveLimits.sessionsEveryMs);
  timer.unref();
  return {
    watch(sessionId, onEnd) {
      const all = watched.get(sessionId) ?? new Set();
      watched.set(sessionId, all.add(onEnd));
      return () => {
        all.delete(onEnd);
        if (all.size === 0 && watched.get(sessionId) === all) watched.delete(sessionId);
      };
    },
    async close() {
      clearInterval(timer);
      await polling;
    },
  };
}
