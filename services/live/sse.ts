import { ServerResponse } from 'node:http';
import type pg from 'pg';
import { compareCursors, endOfLog } from '#db/reader.ts';
import type { Cursor } from '#db/reader.ts';
import { createRouter, notFound } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
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
  const { hub, sessions, openStreams, rateLimits, drainedWithinMs } = dependencies;
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
        const body = streamBody(
          () => {
            const subscription = hub.subscribe(who);
            return {
              subscription,
              messages: messagesOf(dependencies, who, subscription, lastEventId),
              endsInMs: Math.max(0, endsAt - dependencies.clock()),
              unwatch: sessions.watch(sessionId, () => subscription.end(bye('session'))),
              onFailure: (error: unknown) =>
                context.get('log').error({ err: error }, 'A stream failed'),
            };
          },
          { pulse, drainedWithinMs, leave, cut: cutOf(context) },
        );
        return context.body(body, 200, headers);
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

async function* messagesOf(
  { pool, hub, snapshot }: StreamDependencies,
  who: { userId: string; watching: string | null; showsCredits: boolean },
  subscription: Subscription,
  lastEventId: string | undefined,
): AsyncGenerator<Uint8Array> {
  const begin = async () => {
    const { cursor, snapshot: content } = await snapshot(who.userId, who.watching);
    subscription.startAfter(cursor);
    const { balance, ...runs } = content;
    const shown = who.showsCredits ? { balance, ...runs } : runs;
    return encode('snapshot', shown, (await hub.ids()).idOf(who.userId, cursor));
  };
  const isShown = ({ fact }: Message) => who.showsCredits || fact?.entity.kind !== 'account';
  const from =
    lastEventId === undefined ? null : (await hub.ids()).cursorOf(who.userId, lastEventId);
  const to = await endOfLog(pool);
  if (from && (await isResumable(pool, from, to))) {
    subscription.startAfter(to);
    for await (const message of hub.factsBetween(who, from, to))
      if (isShown(message)) yield message.bytes;
  } else yield await begin();
  for (;;) {
    const messages = await subscription.take();
    if (subscription.overflowed()) {
      yield await begin();
      continue;
    }
    if (messages.length === 0) return;
    yield* chunksOf(messages.filter(isShown));
  }
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

/** At most a day old, not ahead of this reader, and cheaper than a snapshot. */
async function isResumable(pool: pg.Pool, from: Cursor, to: Cursor): Promise<boolean> {
  if (compareCursors(from, to) > 0) return false;
  const { rows } = await pool.query<{ missed: number; recent: boolean }>(
    `select count(*) filter (where (transaction_id, global_position) > ($1::xid8, $2::bigint))
         ::integer as missed,
       coalesce(min(created) > now() - make_interval(hours => $4), true) as recent
     from (
       select transaction_id, global_position, created from emt_messages
       where (transaction_id, global_position) >= ($1::xid8, $2::bigint)
       order by transaction_id, global_position limit $3 + 2) as later`,
    [from.transactionId, from.globalPosition, liveLimits.resumeEvents, liveLimits.resumeHours],
  );
  const found = rows[0];
  return found !== undefined && found.recent && found.missed <= liveLimits.resumeEvents;
}

type Opened = {
  subscription: Subscription;
  messages: AsyncGenerator<Uint8Array>;
  endsInMs: number;
  unwatch: () => void;
  onFailure: (error: unknown) => void;
};

type Bounds = {
  pulse: Pulse;
  drainedWithinMs: number;
  /** Gives the stream's place back. */
  leave: () => void;
  /** Ends the connection at once and drops its queue. */
  cut: () => void;
};

/**
 * The messages as a response body, with heartbeats, an end, and a bound on how long it may stall. A body
 * that is never read ends after the same time.
 */
function streamBody(
  open: () => Opened,
  { pulse, drainedWithinMs, leave, cut }: Bounds,
): ReadableStream<Uint8Array> {
  const ping = encode('ping', {});
  let opened: (Opened & { close: () => void }) | null = null;
  let stalled: NodeJS.Timeout | undefined;
  let cancelled = false;
  const begin = () => {
    const all = open();
    const { subscription, endsInMs, unwatch } = all;
    const still = pulse.join(() => subscription.push(ping));
    const expiry = setTimeout(() => subscription.end(bye('token')), endsInMs);
    const close = () => {
      clearTimeout(expiry);
      still();
      unwatch();
      subscription.end(null);
    };
    return { ...all, close };
  };
  const end = () => {
    clearTimeout(stalled);
    opened?.close();
    leave();
  };
  /** The next chunk waits until the last is taken; a connection that takes nothing is closed. */
  const untilTaken = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    stalled = setTimeout(() => {
      cancelled = true;
      end();
      controller.close();
      cut();
    }, drainedWithinMs).unref();
  };
  return new ReadableStream<Uint8Array>(
    {
      start: untilTaken,
      async pull(controller) {
        clearTimeout(stalled);
        opened ??= begin();
        try {
          const next = await opened.messages.next();
          if (cancelled) return;
          if (next.done === true) {
            end();
            controller.close();
            return;
          }
          controller.enqueue(next.value);
          untilTaken(controller);
        } catch (error) {
          if (cancelled) return;
          // The client sees an ordinary end and connects again.
          opened.onFailure(error);
          end();
          controller.close();
        }
      },
      cancel() {
        cancelled = true;
        end();
      },
    },
    { highWaterMark: 0 },
  );
}

/** A call from inside this process has no connection. */
function cutOf(context: HttpContext): () => void {
  const bindings: unknown = context.env;
  const isOverSocket = typeof bindings === 'object' && bindings !== null && 'outgoing' in bindings;
  const outgoing = isOverSocket ? bindings.outgoing : null;
  return () => {
    if (outgoing instanceof ServerResponse) outgoing.destroy();
  };
}

function bye(reason: Bye['reason']): Bye {
  return { reason, retry_ms: Math.round(Math.random() * 1000) };
}
