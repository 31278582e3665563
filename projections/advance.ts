import type { Pool } from 'pg';
import { type Cursor, compareCursors, type Look, readPage, readRange } from '#db/reader.ts';
import { inTransaction, isPassing, sqlState } from '#db/transaction.ts';
import {
  type Checkpoint,
  lockCheckpoint,
  readCheckpoint,
  recordFault,
  saveCursor,
} from './checkpoint.ts';
import { type Projection, usedEventTypes } from './define.ts';
import { eventRange } from './range.ts';

/**
 * Advances one asynchronous projection, a page at a time. A page is one transaction: it locks the
 * checkpoint, runs the projection's statement over a range of the log and saves the cursor, so every
 * event counts exactly once, whoever dies when.
 */
export type Advancing = {
  projection: Projection;
  pool: Pool;
  /** Events in the largest page. */
  limit: number;
  /** How often one event may fail before the projection stops. */
  tries: number;
  onFailed?: (name: string, reason: string) => void;
  onError?: (error: unknown) => void;
};

/** What came of one look at the log, and how long to keep away after an error. */
export type Step = Pick<Look, 'caughtUp' | 'unsafeInSight'> & { retryInMs?: number };

const waitForRing: Step = { caughtUp: true, unsafeInSight: false };
const lookAgain: Step = { caughtUp: false, unsafeInSight: false };
const firstRetryMs = 50;
const lastRetryMs = 5_000;

/**
 * Returns the function that takes the next step. It never rejects. Errors of the database are waited
 * out. Any other error belongs to an event: the page is halved until only that event is left. It
 * then gets `tries` attempts and stops the projection, because skipping it would leave the table
 * wrong for ever, and only a person can tell why it fails.
 */
export function createAdvance(advancing: Advancing): () => Promise<Step> {
  const { projection, pool, onError } = advancing;
  // The table's own checkpoint while it is known for certain, and how far beyond it only events of
  // other types were seen.
  let known: { saved: Cursor; cursor: Cursor } | undefined;
  let limit = advancing.limit;
  let errorsInARow = 0;

  const advance = async (): Promise<Step> => {
    if (!known) {
      const { cursor, status } = await readCheckpoint(pool, projection.name);
      if (status === 'failed') return waitForRing;
      known = { saved: cursor, cursor };
    }
    const { count, ...look } = await readRange(pool, known.cursor, {
      limit,
      types: usedEventTypes(projection),
    });
    if (count > 0) {
      const moved = await bringRange(pool, projection, known, look.cursor);
      if (!moved) {
        known = undefined;
        return lookAgain;
      }
    }
    known = { saved: count > 0 ? look.cursor : known.saved, cursor: look.cursor };
    limit = Math.min(limit * 2, advancing.limit);
    errorsInARow = 0;
    return look;
  };

  const afterError = async (error: unknown): Promise<Step> => {
    errorsInARow += 1;
    const retry = { ...lookAgain, retryInMs: retryDelay(errorsInARow) };
    const from = known?.cursor;
    // A connection may have been lost during the commit: the table knows what happened.
    known = undefined;
    if (!from || isPassing(error)) return retry;
    if (limit > 1) {
      limit = Math.ceil(limit / 2);
      errorsInARow = 0;
      return lookAgain;
    }
    const stopped = await reportFault(error, from, advancing);
    return stopped ? waitForRing : retry;
  };

  return async () => {
    try {
      return await advance();
    } catch (error) {
      onError?.(error);
      try {
        return await afterError(error);
      } catch (furtherError) {
        onError?.(furtherError);
        return { ...lookAgain, retryInMs: retryDelay(errorsInARow) };
      }
    }
  };
}

/** Brings the events up to `until` into the table; false when someone else has moved it meanwhile. */
function bringRange(
  pool: Pool,
  projection: Projection,
  known: { saved: Cursor; cursor: Cursor },
  until: Cursor,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const checkpoint = await lockCheckpoint(client, projection.name);
    if (!isWhereItWas(checkpoint, known.saved)) return false;
    await client.query(
      projection.apply(projection.name, eventRange(projection, known.cursor, until)),
    );
    await saveCursor(client, projection.name, until);
    return true;
  });
}

function isWhereItWas({ status, cursor }: Checkpoint, saved: Cursor): boolean {
  return status === 'running' && compareCursors(cursor, saved) === 0;
}

async function reportFault(error: unknown, from: Cursor, advancing: Advancing): Promise<boolean> {
  const { projection, pool, tries, onFailed } = advancing;
  const { name } = projection;
  const types = usedEventTypes(projection);
  const { events } = await readPage(pool, from, { limit: 1, types });
  const event = events[0];
  if (!event) return false;
  const message = error instanceof Error ? error.message : String(error);
  const reason = `${event.type} ${event.messageId} of ${event.streamId}: ${sqlState(error) ?? 'error'} ${message}`;
  const { cursor: at } = await readCheckpoint(pool, name);
  const status = await recordFault(pool, name, { at, messageId: event.messageId, reason }, tries);
  if (status === 'failed') onFailed?.(name, reason);
  return status === 'failed';
}

function retryDelay(errorsInARow: number): number {
  return Math.min(firstRetryMs * 2 ** (errorsInARow - 1), lastRetryMs);
}
