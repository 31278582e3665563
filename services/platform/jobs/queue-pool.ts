import type pg from 'pg';
import { isTransient } from '#db/transaction.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/**
 * The pool for the job queue. graphile-worker does not await the statement that removes a finished job or
 * returns a failed one. If Postgres is unavailable at that moment, the unhandled error would end the
 * process with all its model calls. Through this pool each statement is repeated until the database
 * answers.
 *
 * So a statement whose reply was lost may run twice. That is harmless, except that a job may be taken
 * without a worker running it; `job-locks.ts` frees it.
 *
 * A job may end after the process has closed the pool, for example when it was stopped while it opened. Then
 * the statement never begins, and the process ends without it; `job-locks.ts` frees that job, too.
 */
export function queuePool(pool: pg.Pool, times: ListenTimes = listenTimes): pg.Pool {
  const connect = (callback?: Callback) =>
    callback === undefined
      ? connectWhileUnavailable(pool)
      : connectListening(pool, callback, times);
  return new Proxy(pool, {
    get(target, property): unknown {
      if (property === 'connect') return connect;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

type Callback = Parameters<pg.Pool['connect']>[0];
type ListenTimes = { pingEveryMs: number; answersWithinMs: number };

const listenTimes: ListenTimes = { pingEveryMs: 10_000, answersWithinMs: 5_000 };

/**
 * With a callback it is the queue's listening connection, which the queue restores after an error. Nothing
 * else is asked on it, so one that the network has lost would stay silent until TCP gives it up.
 */
function connectListening(pool: pg.Pool, callback: Callback, times: ListenTimes): void {
  pool.connect((error, client, release) => {
    if (client === undefined) return callback(error, client, release);
    const statement = { text: 'select', query_timeout: times.answersWithinMs };
    let timer: NodeJS.Timeout | undefined;
    let isHeld = true;
    const ping = async (): Promise<void> => {
      try {
        await client.query(statement);
        if (isHeld) later();
      } catch (lost) {
        if (!isHeld) return;
        void client.end();
        client.emit('error', lost instanceof Error ? lost : new Error('silent'));
      }
    };
    const later = () => {
      timer = setTimeout(() => void ping(), times.pingEveryMs);
    };
    later();
    return callback(error, client, (reason) => {
      isHeld = false;
      clearTimeout(timer);
      release(reason);
    });
  });
}

/** The part of a client that the queue uses. */
async function connectWhileUnavailable(pool: pg.Pool) {
  const take = async (): Promise<pg.PoolClient> =>
    pool.ending ? new Promise(() => undefined) : pool.connect();
  let client: pg.PoolClient | null = await retryWhileUnavailable(take);
  const query = async (...statement: [string | pg.QueryConfig, unknown[]?]) => {
    client ??= await take();
    try {
      return await client.query(...statement);
    } catch (error) {
      if (isTransient(error)) {
        client.release(true);
        client = null;
      }
      throw error;
    }
  };
  return {
    query: async (...statement: Parameters<typeof query>) =>
      retryWhileUnavailable(() => query(...statement)),
    release: () => client?.release(),
  };
}
