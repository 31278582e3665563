import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { pause, type Wake } from './tail.ts';

/**
 * The one LISTEN of a process. A commit notifies with an empty payload; the events are read from the log.
 * The driver listens again after most lost connections, but gives up when the server refuses the new one,
 * and a connection that a middlebox dropped looks alive for ever. So the listener notifies itself, and
 * reconnects when that notice does not arrive.
 */

export type Listener = {
  /** Calls back at each commit, and whenever something may have been missed. */
  onWake: Wake;
  /** Resolves when it listens for the first time. */
  ready: Promise<void>;
  /** Ends the connection and all callbacks. */
  close: () => Promise<void>;
};

export type ListenOptions = {
  /** A session-mode connection to the primary. */
  url: string;
  channel?: string;
  pingEveryMs?: number;
  /** How long its own notice may take. */
  silenceMs?: number;
  /** Gets the reason for a reconnect; readers poll meanwhile. */
  onReconnect?: (reason: unknown) => void;
};

const firstRetryMs = 100;
const lastRetryMs = 5_000;

/** Listens until it is closed, also through restarts of the database. */
export function startListening({
  url,
  channel = 'events',
  pingEveryMs = 10_000,
  silenceMs = 5_000,
  onReconnect,
}: ListenOptions): Listener {
  const callbacks = new Set<() => void>();
  const closing = new AbortController();
  const ready = Promise.withResolvers<void>();
  const notify = () => {
    for (const callback of callbacks) callback();
  };

  const keepListening = async () => {
    let retryMs = firstRetryMs;
    while (!closing.signal.aborted) {
      const session = openSession(url, channel, silenceMs, notify);
      try {
        await session.listen();
        retryMs = firstRetryMs;
        ready.resolve();
        while (!closing.signal.aborted) {
          await pause(pingEveryMs, closing.signal);
          if (!closing.signal.aborted) await session.ping();
        }
      } catch (error) {
        onReconnect?.(error);
      } finally {
        await session.end().catch((error: unknown) => onReconnect?.(error));
      }
      await pause(retryMs, closing.signal);
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
  };

  const ended = keepListening();
  return {
    onWake: (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    ready: ready.promise,
    close: async () => {
      callbacks.clear();
      closing.abort();
      await ended;
      ready.resolve();
    },
  };
}

function openSession(url: string, channel: string, silenceMs: number, notify: () => void) {
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    connect_timeout: Math.ceil(silenceMs / 1_000),
    keep_alive: 10,
    max_lifetime: null,
    onnotice: () => {},
    connection: { application_name: 'sevenfold listener' },
  });
  const echoChannel = `echo_${randomBytes(8).toString('hex')}`;
  let heard: (() => void) | undefined;

  return {
    // The driver calls `onlisten` again after a reconnect: notices in between were missed.
    listen: async () => {
      await within(
        silenceMs,
        sql.listen(echoChannel, () => heard?.()),
      );
      await within(silenceMs, sql.listen(channel, notify, notify));
    },
    ping: async () => {
      const echo = Promise.withResolvers<void>();
      heard = echo.resolve;
      await within(silenceMs, Promise.all([echo.promise, sql.notify(echoChannel, '')]));
    },
    end: () => sql.end({ timeout: 0 }),
  };
}

async function within<Result>(ms: number, promise: Promise<Result>): Promise<Result> {
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => silence.reject(new Error(`The listener got no notice for ${ms} ms`)),
    ms,
  );
  try {
    return await Promise.race([promise, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}
