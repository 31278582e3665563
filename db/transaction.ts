import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Opens a transaction that reads as of one moment and has no id. */
export const beginReading = 'begin isolation level repeatable read, read only';

/** For what reads a whole log at an operator's word. Nothing else waits for it. */
export const wholeLogLimit = '12h';

/** Gives an open transaction another limit than its connection's, whose timer runs and has to be stopped first. */
export async function limitTo(client: pg.ClientBase, limit: string): Promise<void> {
  await client.query('set local transaction_timeout = 0');
  await client.query("select set_config('transaction_timeout', $1, true)", [limit]);
}

/**
 * Runs `work` in one transaction on a client of its own and commits it. Rejects with the first error; after
 * an error of the commit itself, the transaction may have happened.
 */
export async function inTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
  begin = 'begin',
): Promise<Result> {
  const client = await pool.connect();
  try {
    const result = await transact(client, () => work(client), begin);
    client.release();
    return result;
  } catch (error) {
    // In any state, closing the session ends its transaction.
    client.release(true);
    throw error;
  }
}

/** The same on a given client, such as one that holds a session lock. */
export async function transact<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
  begin = 'begin',
): Promise<Result> {
  await client.query(begin);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await undo(client, 'rollback', error);
    throw error;
  }
}

const shortLocks = { timeoutMs: 50, attempts: 200, longestPauseMs: 500 };

/**
 * Runs a transaction that locks what others are writing to. They queue behind a lock that waits, so
 * it waits for 50 ms at most, gives way, and is tried again after `between`.
 */
export async function withShortLocks<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
  between: () => Promise<unknown> = async () => undefined,
): Promise<Result> {
  const { timeoutMs, attempts, longestPauseMs } = shortLocks;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transact(client, async () => {
        await client.query(`set local lock_timeout = ${timeoutMs}`);
        return work();
      });
    } catch (error) {
      if (!givesWay.has(sqlState(error) ?? '') || attempt >= attempts) throw error;
      await sleep(Math.random() * Math.min(20 * attempt, longestPauseMs));
      await between();
    }
  }
}

// Lock not available, deadlock detected.
const givesWay = new Set(['55P03', '40P01']);

/** Runs `work` within an open transaction: an error undoes `work` alone. */
export async function nested<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
): Promise<Result> {
  await client.query('savepoint nested');
  try {
    const result = await work();
    await client.query('release savepoint nested');
    return result;
  } catch (error) {
    await undo(client, 'rollback to savepoint nested', error);
    throw error;
  }
}

/** A connection that does not answer is left alone: the statement would wait behind the lost one. */
async function undo(client: pg.ClientBase, statement: string, error: unknown): Promise<void> {
  if (sqlState(error) === undefined && isTransient(error)) return;
  // The connection may be lost meanwhile, and the server rolls back; the first error says more.
  await client.query(statement).catch(() => undefined);
}

/** The SQLSTATE of a database error; undefined for anything else, such as a lost connection. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/**
 * Whether the same statement may succeed later: the connection, the server, a lock or a deadlock failed,
 * and not the statement. Errors that are not the driver's or the network's are not transient.
 */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return passingStates.test(state) && state !== queryCanceled;
  return error instanceof Error && (networkCodes.test(codeOf(error)) || lost.test(error.message));
}

/** Whether the database took too long: to connect, for a lock, a statement or a whole transaction. */
export function isTimeout(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return timeoutStates.has(state);
  return (
    error instanceof Error && (codeOf(error) === 'ETIMEDOUT' || /timeout/i.test(error.message))
  );
}

// Connection, transaction rollback, insufficient resources, lock not available, operator intervention,
// system error, and a server that only reads: a standby that is about to take over. An idle or overlong
// transaction is not among them: its size is the cause.
const passingStates = /^(08|25006|40|53|55P03|57|58)/;
const queryCanceled = '57014';
const timeoutStates: ReadonlySet<string> = new Set([queryCanceled, '55P03', '25P03', '25P04']);
const networkCodes = /^(E[A-Z]+|CONN[A-Z_]+)$/;
const lost = /connection|timeout|not queryable/i;

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
