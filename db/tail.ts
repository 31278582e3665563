import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type Cursor, type ReadProgress, type Page, pageLimit, readPage } from './reader.ts';

/**
 * Following the log as it grows. A reader wakes when a commit rings, when a second has passed, and,
 * while committed events are still hidden by an open transaction, after 2, 4, … 32 ms: nobody rings
 * when that transaction ends.
 */

/** Calls back whenever there may be something new. Returns the function that ends it. */
export type Wake = (callback: () => void) => () => void;

export type FollowOptions = {
  wake: Wake;
  /** Looks at least this often, whoever forgets to ring. */
  pollMs?: number;
  /** Ends the loop; a look under way is finished first. */
  signal: AbortSignal;
};

export type TailOptions = FollowOptions & {
  pool: Pool;
  cursor: Cursor;
  /** Gets each page with events, one at a time, in order. A rejection ends the tail with it. */
  onPage: (page: Page) => Promise<void> | void;
  /** Told of each failed read. The tail goes on from where it was, so nothing is lost by it. */
  onError?: (error: unknown) => void;
  limit?: number;
  types?: readonly string[];
};

export const pollEveryMs = 1_000;
const firstRelookMs = 2;
const lastRelookMs = 32;
const firstRetryMs = 50;
const lastRetryMs = 2_000;

/**
 * Reads every event after `cursor` exactly once and in order, until the signal aborts; resolves with
 * the cursor it reached. A lost connection is retried for ever; only `onPage` can make it reject.
 */
export async function tail(options: TailOptions): Promise<Cursor> {
  const { pool, onPage, onError, limit = pageLimit, types } = options;
  let cursor = options.cursor;
  let retryMs = firstRetryMs;

  const look = async (): Promise<ReadProgress> => {
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

  await follow(look, options);
  return cursor;
}

/**
 * Calls `look` for as long as there is more, then waits as described above and calls it again, until
 * the signal aborts. A ring during a look means one more look. Rejects with what `look` rejects with.
 */
export async function follow(
  look: () => Promise<Pick<ReadProgress, 'caughtUp' | 'unsafeInSight'>>,
  { wake, signal, pollMs = pollEveryMs }: FollowOptions,
): Promise<void> {
  const bell = createBell(wake, signal);
  let relookMs = firstRelookMs;
  try {
    while (!signal.aborted) {
      bell.reset();
      const { caughtUp, unsafeInSight } = await look();
      if (!caughtUp) continue;
      await bell.wait(unsafeInSight ? relookMs : pollMs);
      relookMs = unsafeInSight ? Math.min(relookMs * 2, lastRelookMs) : firstRelookMs;
    }
  } finally {
    bell.close();
  }
}

/** Waits, or returns at once when the signal has aborted or does so meanwhile. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Remembers a ring that came while nobody was waiting. */
function createBell(wake: Wake, signal: AbortSignal) {
  let rung = false;
  let answer: (() => void) | undefined;
  const ring = () => {
    rung = true;
    answer?.();
  };
  const unsubscribe = wake(ring);
  signal.addEventListener('abort', ring, { once: true });
  return {
    reset: () => {
      rung = false;
    },
    wait: (ms: number) => {
      if (rung || signal.aborted) return Promise.resolve();
      return new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        answer = () => {
          clearTimeout(timer);
          answer = undefined;
          resolve();
        };
      });
    },
    close: () => {
      unsubscribe();
      signal.removeEventListener('abort', ring);
    },
  };
}
