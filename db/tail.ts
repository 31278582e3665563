import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type Cursor, type ReadProgress, type Page, pageLimit, readPage } from './reader.ts';

/**
 * Following the log as it grows. A reader wakes at the notice of a commit and once a second. While an open
 * transaction hides committed events it wakes after 2, 4, … 32 ms: the end of that transaction sends no
 * notice.
 */

/** Calls back whenever there may be something new. Returns the function that ends it. */
export type Wake = (callback: () => void) => () => void;

export type FollowOptions = {
  wake: Wake;
  /** Polls at least this often, in case a notice is lost. */
  pollMs?: number;
  /** Ends the loop after the current read. */
  signal: AbortSignal;
};

export type TailOptions = FollowOptions & {
  pool: Pool;
  cursor: Cursor;
  /** Gets each page with events, one at a time, in order. A rejection ends the tail with it. */
  onPage: (page: Page) => Promise<void> | void;
  /** Reports a failed read. The tail continues where it was, so nothing is lost. */
  onError?: (error: unknown) => void;
  limit?: number;
  types?: readonly string[];
};

export const pollEveryMs = 1_000;
const firstHiddenMs = 2;
const lastHiddenMs = 32;
const firstRetryMs = 50;
const lastRetryMs = 2_000;

/**
 * Reads every event after `cursor` exactly once and in order until the signal aborts; resolves with the
 * cursor it reached. A lost connection is retried for ever; only `onPage` can make it reject.
 */
export async function tail(options: TailOptions): Promise<Cursor> {
  const { pool, onPage, onError, limit = pageLimit, types } = options;
  let cursor = options.cursor;
  let retryMs = firstRetryMs;

  const poll = async (): Promise<ReadProgress> => {
    let page: Page;
    try {
      page = await readPage(pool, cursor, types ? { limit, types } : { limit });
    } catch (error) {
      onError?.(error);
      await pause(retryMs, options.signal);
      retryMs = Math.min(retryMs * 2, lastRetryMs);
      return { cursor, caughtUp: false, unsafeInSight: false };
    }
    retryMs = firstRetryMs;
    if (page.events.length > 0) await onPage(page);
    cursor = page.cursor;
    return page;
  };

  await follow(poll, options);
  return cursor;
}

/**
 * Calls `poll` while there is more, then waits as described above and calls it again, until the signal
 * aborts. A notice during a poll means one more poll. Rejects with the error of `poll`.
 */
export async function follow(
  poll: () => Promise<Pick<ReadProgress, 'caughtUp' | 'unsafeInSight'>>,
  { wake, signal, pollMs = pollEveryMs }: FollowOptions,
): Promise<void> {
  const notice = createNotice(wake, signal);
  let hiddenMs = firstHiddenMs;
  try {
    while (!signal.aborted) {
      notice.reset();
      const { caughtUp, unsafeInSight } = await poll();
      if (!caughtUp) continue;
      await notice.wait(unsafeInSight ? hiddenMs : pollMs);
      hiddenMs = unsafeInSight ? Math.min(hiddenMs * 2, lastHiddenMs) : firstHiddenMs;
    }
  } finally {
    notice.close();
  }
}

/** Ends early when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Remembers a notice that came while the loop was not waiting. */
function createNotice(wake: Wake, signal: AbortSignal) {
  let isDue = false;
  let wakeUp: (() => void) | undefined;
  const notify = () => {
    isDue = true;
    wakeUp?.();
  };
  const unsubscribe = wake(notify);
  signal.addEventListener('abort', notify, { once: true });
  return {
    reset: () => {
      isDue = false;
    },
    wait: (ms: number) => {
      if (isDue || signal.aborted) return Promise.resolve();
      return new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wakeUp = () => {
          clearTimeout(timer);
          wakeUp = undefined;
          resolve();
        };
      });
    },
    close: () => {
      unsubscribe();
      signal.removeEventListener('abort', notify);
    },
  };
}
