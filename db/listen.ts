import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { pause, type Wake } from './tail.ts';

/**
 * The one LISTEN of a process. A commit rings with an empty payload; what happened is read from the
 * log. The driver listens again by itself after most lost connections, but gives up when the server
 * refuses the new one, and a connection that a middlebox dropped looks alive for ever. So the
 * listener rings itself, and starts afresh when it does not hear that.
 */

export type Listener = {
  /** Calls back at each commit, and whenever something may have been missed. */
  onWake: Wake;
  /** Resolves when it has begun to listen for the first time. */
  ready: Promise<void>;
  /** Ends the connection and all callbacks. */
  close: () => Promise<void>;
};

export type ListenOptions = {
  /** A session-mode connection to the primary. */
  url: string;
  channel?: string;
  pingEveryMs?: number;
  /** How long its own ring may take to come back. */
  silenceMs?: number;
  /** Told why it starts afresh; the poll of the readers carries them meanwhile. */
  onReconnect?: (reason: unknown) => void;
};

const firstRetryMs = 100;
const lastRetryMs = 5_000;

/** Begins to listen, and goes on until it is closed, whatever happens to the database. */
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
  const ring = () => {
    for (const callback of callbacks) callback();
  };

  const keepListening = async () => {
    let retryMs = firstRetryMs;
    while (!closing.signal.aborted) {
      const session = openSession(url, channel, silenceMs, ring);
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

function openSession(url: string, channel: string, silenceMs: number, ring: () => void) {
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
    // The driver calls `onlisten` again when it has reconnected: whatever rang meanwhile was missed.
    listen: async () => {
      await within(
        silenceMs,
        sql.listen(echoChannel, () => heard?.()),
      );
      await within(silenceMs, sql.listen(channel, ring, ring));
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
    () => silence.reject(new Error(`The listener heard nothing for ${ms} ms`)),
    ms,
  );
  try {
    return await Promise.race([promise, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}
