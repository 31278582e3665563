import type pg from 'pg';
import { isTransient } from '#db/transaction.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/**
 * The pool as the job queue gets it. graphile-worker does not wait for the statement that removes a
 * job which is done, or puts back one that failed, so when Postgres is away at that moment nobody
 * catches the error, and it would end the process with every model call that is under way. Through
 * this pool each statement of the queue is repeated until the database answers.
 *
 * A statement whose reply was lost may so run twice. The queue's statements are harmless twice but
 * for one: the job that the lost reply told of is taken and nobody works on it, which is what
 * `job-locks.ts` looks for.
 */
export function queuePool(pool: pg.Pool): pg.Pool {
  type Callback = Parameters<pg.Pool['connect']>[0];
  const connect = (callback?: Callback) =>
    // With a callback it is the connection that listens, which the queue looks after itself.
    callback === undefined ? connectWhileUnavailable(pool) : pool.connect(callback);
  return new Proxy(pool, {
    get(target, property): unknown {
      if (property === 'connect') return connect;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** As much of a client as the queue uses. */
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
