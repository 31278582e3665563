import type { Writable } from 'node:stream';
import type pg from 'pg';
import { compareCursors, endOfLog } from '#db/reader.ts';
import type { Cursor } from '#db/reader.ts';
import { answerWritten, createRouter, notFound } from '#services/platform/http/http.ts';
import type { Log } from '#services/platform/process/log.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { encode } from './hub.ts';
import type { Hub, Message, Subscription } from './hub.ts';
import { liveEndpoints } from './contract.ts';
import type { Bye, Snapshot } from './contract.ts';
import { liveLimits } from './limits.ts';
import type { OpenStreams } from './open-streams.ts';
import { createPulse } from './pulse.ts';
import type { Pulse } from './pulse.ts';
import type { SessionWatch } from './session-watch.ts';

/**
 * `GET /stream`: a snapshot and then facts, or, with a usable `Last-Event-ID`, only the facts after it.
 * The subscription begins before the snapshot or the gap is read, so that nothing is missed. Duplicates
 * are recognised by their place in the log.
 */
export type StreamDependencies = {
  pool: pg.Pool;
  hub: Hub;
  sessions: SessionWatch;
  openStreams: OpenStreams;
  rateLimits: RateLimits;
  /** A connection that takes nothing for this long is closed. */
  drainedWithinMs: number;
  /** Read together with its place in the log. The caller owns `watching`. */
  snapshot: (
    userId: string,
    watching: string | null,
  ) => Promise<{ cursor: Cursor; snapshot: Snapshot }>;
  /** Null for what does not exist. */
  ownerOf: (watching: string) => Promise<string | null>;
  clock: () => number;
};

export function streamRoutes(dependencies: StreamDependencies & ServeDependencies) {
  const { openStreams, rateLimits } = dependencies;
  const pulse = createPulse(liveLimits.pingEveryMs, liveLimits.pingGroups);
  const stream = serve(
    liveEndpoints,
    {
      'GET /stream': async ({ context, userId, sessionId, apiKey, expiresAt, query }) => {
        await rateLimits.take('streams', userId);
        const watching = query.optimization ?? null;
        if (watching !== null && (await dependencies.ownerOf(watching)) !== userId)
          throw notFound('Failed to get optimization');
        const showsCredits = apiKey === null || apiKey.scopes.includes('credits:read');
        const who = { userId, watching, showsCredits };
        const lastEventId = context.req.header('last-event-id');
        const endsAt = expiresAt.getTime() - Math.random() * liveLimits.tokenSpreadMs;
        const headers = {
          'Content-Type': 'text/event-stream; charset=utf-8',
          'Cache-Control': 'no-cache, no-transform',
          'X-Accel-Buffering': 'no',
        };
        // A response to HEAD has no body, so no stream is opened for it.
        if (context.req.method === 'HEAD') return context.body(null, 200, headers);
        const leave = openStreams.open({ userId, apiKey, address: context.get('address') });
        const follower = { ...who, sessionId, endsAt, lastEventId, leave, log: context.get('log') };
        return answerWritten(context, headers, (connection) => {
          void follow(dependencies, pulse, follower, connection);
        });
      },
    },
    dependencies,
  );
  return createRouter()
    .use('/stream', async (context, next) => {
      await rateLimits.takeFrom('streams-address', context.get('address'));
      await next();
    })
    .route('/', stream);
}

type Follower = {
  userId: string;
  watching: string | null;
  showsCredits: boolean;
  sessionId: string;
  endsAt: number;
  lastEventId: string | undefined;
  /** Gives the stream's place back. */
  leave: () => void;
  log: Log;
};

/** Writes until the client leaves or the stream ends. Never rejects. */
async function follow(
  dependencies: StreamDependencies,
  pulse: Pulse,
  follower: Follower,
  connection: Writable,
): Promise<void> {
  const { hub, sessions, clock } = dependencies;
  const { sessionId, endsAt, leave, log } = follower;
  if (!connection.writable) {
    leave();
    return;
  }
  const subscription = hub.subscribe(follower);
  const still = pulse.join(() => subscription.ping());
  const unwatch = sessions.watch(sessionId, () => subscription.end(bye('session')));
  const endByToken = () => subscription.end(bye('token'));
  const expiry = setTimeout(endByToken, Math.max(0, endsAt - clock()));
  const close = () => {
    clearTimeout(expiry);
    still();
    unwatch();
    subscription.end(null);
    leave();
  };
  connection.once('close', close);
  try {
    await writeMessages(dependencies, follower, subscription, connection);
  } catch (error) {
    // The client sees an ordinary end and connects again.
    if (connection.writable) log.error({ err: error }, 'A stream failed');
  }
  close();
  connection.end();
}

async function writeMessages(
  { pool, hub, snapshot, drainedWithinMs }: StreamDependencies,
  { userId, watching, showsCredits, lastEventId }: Follower,
  subscription: Subscription,
  connection: Writable,
): Promise<void> {
  let full: Promise<void> | null = null;
  const untilDrained = async () => {
    await drained(connection, drainedWithinMs);
    full = null;
  };
  const put = (bytes: Uint8Array) => {
    if (!connection.writable || connection.write(bytes)) return;
    full = untilDrained();
  };
  const write = async (bytes: Uint8Array) => {
    if (full) await full;
    put(bytes);
  };
  const writeSnapshot = async () => {
    const { cursor, snapshot: content } = await snapshot(userId, watching);
    subscription.startAfter(cursor);
    const { balance, ...runs } = content;
    const shown = showsCredits ? { balance, ...runs } : runs;
    await write(encode('snapshot', shown, (await hub.ids()).idOf(userId, cursor)));
  };
  const isShown = ({ fact }: Message) => showsCredits || fact?.entity.kind !== 'account';
  const ids = await hub.ids();
  const from = lastEventId === undefined ? null : ids.cursorOf(userId, lastEventId);
  const to = await endOfLog(pool);
  if (from && (await isResumable(pool, from, to))) {
    subscription.startAfter(to);
    let known = from;
    for await (const message of hub.factsBetween({ userId, watching }, from, to))
      if (isShown(message)) {
        known = message.cursor ?? known;
        await write(message.bytes);
      }
    // Cut again before its next message, the stream resumes from here.
    if (compareCursors(to, known) > 0) await write(encode('ping', {}, ids.idOf(userId, to)));
  } else await writeSnapshot();
  const straight = (message: Message) => {
    if (full) return false;
    if (isShown(message)) put(message.bytes);
    return true;
  };
  for (;;) {
    const messages = await subscription.take(straight);
    if (subscription.overflowed()) await writeSnapshot();
    else if (messages.length === 0) return;
    else for (const chunk of chunksOf(messages.filter(isShown))) await write(chunk);
  }
}

/** Resolves when the connection takes more or is closed; one that takes nothing for so long is cut. */
async function drained(connection: Writable, withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => connection.destroy(), withinMs).unref();
  connection.once('drain', resolve).once('close', resolve);
  await promise;
  connection.off('drain', resolve).off('close', resolve);
  clearTimeout(timer);
}

/**
 * The queue in chunks of a bounded size. A single message, the usual case, is sent as the buffer that
 * all streams share.
 */
function* chunksOf(messages: readonly Message[]): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for (const { bytes } of messages) {
    if (waiting.length > 0 && size + bytes.byteLength > liveLimits.chunkBytes) {
      yield joined(waiting);
      waiting = [];
      size = 0;
    }
    waiting.push(bytes);
    size += bytes.byteLength;
  }
  if (waiting.length > 0) yield joined(waiting);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = pieces;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces);
}

/** Not ahead of this reader, and what it missed is at most a day old and cheaper than a snapshot. */
async function isResumable(pool: pg.Pool, from: Cursor, to: Cursor): Promise<boolean> {
  if (compareCursors(from, to) > 0) return false;
  const { rows } = await pool.query<{ missed: number; recent: boolean }>(
    `select count(*)::integer as missed,
       coalesce(min(created) > now() - make_interval(hours => $4), true) as recent
     from (
       select created from emt_messages
       where (transaction_id, global_position) > ($1::xid8, $2::bigint)
       order by transaction_id, global_position limit $3 + 1) as later`,
    [from.transactionId, from.globalPosition, liveLimits.resumeEvents, liveLimits.resumeHours],
  );
  const found = rows[0];
  return found !== undefined && found.recent && found.missed <= liveLimits.resumeEvents;
}

function bye(reason: Bye['reason']): Bye {
  return { reason, retry_ms: Math.round(Math.random() * 1000) };
}
