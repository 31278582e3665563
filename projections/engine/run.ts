import pg from 'pg';
import { pageLimit } from '#db/reader.ts';
import { follow, pause, pollEveryMs, type Wake } from '#db/tail.ts';
import { createAdvance } from './advance.ts';
import type { Projection } from './define.ts';
import type { SetAside } from './set-aside.ts';

/**
 * Runs the asynchronous projections, each in its own loop: one that fails leaves the others alone.
 *
 * Any number of processes may run this. A session lock per projection elects the process that works,
 * so that the others do not read the log in vain; the checkpoint keeps the table right in any case.
 */
export type RunnerOptions = {
  /** The application's pool, for the pages. */
  pool: pg.Pool;
  /** The same database, for the one session that holds the locks. */
  url: string;
  projections: readonly Projection[];
  wake: Wake;
  /** Called when a stream was set aside; its events then wait for `projections retry`. */
  onSetAside?: (setAside: SetAside) => void;
  /** Called with each error after which something is retried. */
  onError?: (error: unknown) => void;
  /** Events a page. */
  limit?: number;
  /** How often a process asks for locks that it lacks, and makes sure that it still has the others. */
  ownershipMs?: number;
  pollMs?: number;
  /** A pause after each look that reached the end of the log. */
  restMs?: number;
};

export type Runner = {
  /** Finishes the pages under way and gives the locks back. */
  close: () => Promise<void>;
};

const defaultOwnershipMs = 2_000;
/** These read models may be this late. While events come all the time, that is ten pages a second. */
const defaultRestMs = 100;
const sessionTimeoutMs = 5_000;

/** Starts the runner of this process; it runs until `close`. */
export function startProjectionRunner(options: RunnerOptions): Runner {
  const closing = new AbortController();
  const ended = keepOwning(options, closing.signal);
  return {
    close: async () => {
      closing.abort();
      await ended;
    },
  };
}

async function keepOwning(options: RunnerOptions, closing: AbortSignal): Promise<void> {
  const { ownershipMs = defaultOwnershipMs, onError } = options;
  while (!closing.aborted) {
    try {
      await ownAndRun(options, closing);
    } catch (error) {
      onError?.(error);
    }
    await pause(ownershipMs, closing);
  }
}

/** Holds one session, runs each projection whose lock it gets, and ends when the session does. */
async function ownAndRun(options: RunnerOptions, closing: AbortSignal): Promise<void> {
  const { projections, ownershipMs = defaultOwnershipMs, onError } = options;
  const lost = new AbortController();
  const session = openSession(options, () => lost.abort());
  const signal = AbortSignal.any([closing, lost.signal]);
  const running: Promise<void>[] = [];
  try {
    await session.connect();
    const waiting = new Set(projections.filter(({ kind }) => kind === 'async'));
    while (!signal.aborted) {
      for (const projection of waiting) {
        if (!(await tryToOwn(session, projection))) continue;
        waiting.delete(projection);
        running.push(runProjection(projection, options, signal));
      }
      await pause(ownershipMs, signal);
      // A session that does not answer has lost its locks, and another process may have them.
      if (!signal.aborted) await session.query('select');
    }
  } finally {
    lost.abort();
    await Promise.all(running);
    await session.end().catch((error: unknown) => onError?.(error));
  }
}

function openSession({ url, onError }: RunnerOptions, onEnd: () => void): pg.Client {
  const session = new pg.Client({
    connectionString: url,
    application_name: 'sevenfold projections',
    connectionTimeoutMillis: sessionTimeoutMs,
    query_timeout: sessionTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  session.on('error', (error) => {
    onError?.(error);
    onEnd();
  });
  session.on('end', onEnd);
  return session;
}

async function tryToOwn(session: pg.Client, { name }: Projection): Promise<boolean> {
  const { rows } = await session.query<{ owned: boolean }>(
    `select pg_try_advisory_lock(hashtextextended('projection ' || $1, 0)) as owned`,
    [name],
  );
  return rows[0]?.owned === true;
}

function runProjection(
  projection: Projection,
  options: RunnerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { pool, wake, limit = pageLimit, restMs = defaultRestMs, onSetAside, onError } = options;
  const advance = createAdvance({
    projection,
    pool,
    limit,
    ...(onSetAside && { onSetAside }),
    ...(onError && { onError }),
  });
  const look = async () => {
    const { retryInMs, ...step } = await advance();
    if (retryInMs !== undefined) await pause(retryInMs, signal);
    else if (step.caughtUp) await pause(restMs, signal);
    return step;
  };
  return follow(look, { wake, signal, pollMs: options.pollMs ?? pollEveryMs });
}
