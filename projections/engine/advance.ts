import type { Pool } from 'pg';
import { compareCursors, type Cursor, type ReadProgress, readRange } from '#db/reader.ts';
import { inTransaction, isTransient } from '#db/transaction.ts';
import { lockCheckpoint, passCursor, readCheckpoint, saveCursor } from './checkpoint.ts';
import { type Projection, usedEventTypes } from './define.ts';
import { type AppliedPage, applyPage, type PageOfEvents, type SetAside } from './set-aside.ts';

/**
 * Advances one asynchronous projection, a page at a time. A page is one transaction: it locks the
 * checkpoint, runs the projection's statement over a range of the log and saves the cursor. So every
 * event counts exactly once, even if a process dies.
 */
export type Advancing = {
  projection: Projection;
  pool: Pool;
  /** Events in the largest page. */
  limit: number;
  /** Called when a stream was set aside. */
  onSetAside?: (setAside: SetAside) => void;
  /** Called with each error after which a step is retried. */
  onError?: (error: unknown) => void;
  /** How often at most the checkpoint moves past events that the projection ignores; a minute by default. */
  passEveryMs?: number;
};

/** What one step found, and how long to wait after an error. */
export type Step = Pick<ReadProgress, 'caughtUp' | 'unsafeInSight'> & { retryInMs?: number };

const lookAgain: Step = { caughtUp: false, unsafeInSight: false };
const firstRetryMs = 50;
const lastRetryMs = 5_000;
const defaultPassEveryMs = 60_000;

/**
 * Returns the function that takes the next step. It never rejects. An event that the statement fails
 * at sets its stream aside. After any other error the step is retried, with a smaller page where the
 * size may have been the trouble.
 */
export function createAdvance(advancing: Advancing): () => Promise<Step> {
  const { projection, pool, onSetAside, onError, passEveryMs = defaultPassEveryMs } = advancing;
  // The table's checkpoint while it is known for certain, and the cursor after it, past events of types
  // that the projection ignores.
  let known: { saved: Cursor; cursor: Cursor } | undefined;
  let limit = advancing.limit;
  let errorsInARow = 0;
  let passedAt = performance.now();

  /** Without it, a status and the next start would read all ignored events since the last used one. */
  const pass = async ({ saved, cursor }: { saved: Cursor; cursor: Cursor }): Promise<void> => {
    if (performance.now() - passedAt < passEveryMs || compareCursors(cursor, saved) <= 0) return;
    passedAt = performance.now();
    const isPassed = await passCursor(pool, projection.name, saved, cursor);
    known = isPassed ? { saved: cursor, cursor } : undefined;
  };

  const advance = async (): Promise<Step> => {
    if (!known) {
      const saved = await readCheckpoint(pool, projection.name);
      known = { saved, cursor: saved };
    }
    const { count, ...look } = await readRange(pool, known.cursor, {
      limit,
      types: usedEventTypes(projection),
    });
    if (count === 0) {
      known = { saved: known.saved, cursor: look.cursor };
      await pass(known);
      return look;
    }
    const page = { after: known.cursor, until: look.cursor, count };
    const applied = await applyAt(pool, projection, known.saved, page);
    if (!applied) {
      known = undefined;
      return lookAgain;
    }
    known = { saved: applied.cursor, cursor: applied.cursor };
    limit = Math.min(limit * 2, advancing.limit);
    if (!applied.setAside) return look;
    onSetAside?.(applied.setAside);
    return lookAgain;
  };

  return async () => {
    try {
      const step = await advance();
      errorsInARow = 0;
      return step;
    } catch (error) {
      onError?.(error);
      // A connection may have been lost during the commit: the table knows what happened.
      known = undefined;
      if (!isTransient(error)) limit = Math.ceil(limit / 2);
      errorsInARow += 1;
      return { ...lookAgain, retryInMs: retryDelay(errorsInARow) };
    }
  };
}

/** Applies a page; null when another process has moved the table meanwhile. */
function applyAt(
  pool: Pool,
  projection: Projection,
  saved: Cursor,
  page: PageOfEvents,
): Promise<AppliedPage | null> {
  return inTransaction(pool, async (client) => {
    const { name } = projection;
    if (compareCursors(await lockCheckpoint(client, name), saved) !== 0) return null;
    const applied = await applyPage(client, { projection, table: name }, page);
    await saveCursor(client, name, applied.cursor);
    return applied;
  });
}

function retryDelay(errorsInARow: number): number {
  return Math.min(firstRetryMs * 2 ** (errorsInARow - 1), lastRetryMs);
}
