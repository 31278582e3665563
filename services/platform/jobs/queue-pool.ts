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
 */
export function queuePool(pool: pg.Pool): pg.Pool {
  type Callback = Parameters<pg.Pool['connect']>[0];
  const connect = (callback?: Callback) =>
    // With a callback it is the listening connection, which the queue restores itself.
    callback === undefined ? connectWhileUnavailable(pool) : pool.connect(callback);
  return new Proxy(pool, {
    get(target, property): unknown {
      if (property === 'connect') return connect;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The part of a client that the queue uses. */
async function connectWhileUnavailable(pool: pg.Pool) {
  let client: pg.PoolClient | null = await retryWhileUnavailable(() => pool.connect());
  const query = async (...statement: [string | pg.QueryConfig, unknown[]?]) => {
    client ??= await pool.connect();
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
