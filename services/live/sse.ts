import type pg from 'pg';
import * as v from 'valibot';
import { compareCursors, endOfLog, lastPosition } from '#db/reader.ts';
import type { Cursor } from '#db/reader.ts';
import { callerOf } from '#services/platform/auth.ts';
import type { Authenticate } from '#services/platform/auth.ts';
import { createRouter, notFound, parseQuery } from '#services/platform/http.ts';
import { cursorOf, encode, idOf } from './hub.ts';
import type { Hub, Subscription } from './hub.ts';
import type { Bye, Snapshot } from './contract.ts';
import { liveLimits } from './limits.ts';
import type { SessionWatch } from './session-watch.ts';

/**
 * `GET /stream`: a snapshot and then facts, or, with a usable `Last-Event-ID`, only the facts after
 * it. Subscribing comes first and the snapshot or the gap is read afterwards, so nothing falls
 * between; what comes twice is told apart by its place in the log.
 */
export type StreamDependencies = {
  pool: pg.Pool;
  hub: Hub;
  sessions: SessionWatch;
  /** Read together with its place in the log. `watching` is the caller's own. */
  snapshot: (
    userId: string,
    watching: string | null,
  ) => Promise<{ cursor: Cursor; snapshot: Snapshot }>;
  /** Null for what does not exist. */
  ownerOf: (watching: string) => Promise<string | null>;
  clock: () => number;
};

const StreamQuery = v.object({
  optimization: v.optional(v.pipe(v.string(), v.regex(/^opt_[0-9a-z]{26}$/, 'Not a run id'))),
});

export function streamRoutes(dependencies: StreamDependencies, authenticate: Authenticate) {
  return createRouter().get('/stream', async (context) => {
    const caller = await callerOf(authenticate, context.req.header('authorization'));
    const watching = parseQuery(context, StreamQuery).optimization ?? null;
    if (watching !== null && (await dependencies.ownerOf(watching)) !== caller.userId)
      throw notFound('Failed to get optimization');
    const who = { userId: caller.userId, watching };
    const lastEventId = context.req.header('last-event-id');
    const endsAt = caller.expiresAt.getTime() - Math.random() * liveLimits.tokenSpreadMs;
    const body = streamBody(() => {
      const subscription = dependencies.hub.subscribe(who);
      return {
        subscription,
        messages: messagesOf(dependencies, who, subscription, lastEventId),
        endsInMs: Math.max(0, endsAt - dependencies.clock()),
        unwatch: dependencies.sessions.watch(caller.sessionId, () =>
          subscription.end(bye('session')),
        ),
        onFailure: (error: unknown) =>
          context.get('log').error({ err: error }, 'A stream could not go on'),
      };
    });
    return context.body(body, 200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    });
  });
}

async function* messagesOf(
  { pool, hub, snapshot }: StreamDependencies,
  who: { userId: string; watching: string | null },
  subscription: Subscription,
  lastEventId: string | undefined,
): AsyncGenerator<Uint8Array> {
  const begin = async () => {
    const { cursor, snapshot: content } = await snapshot(who.userId, who.watching);
    subscription.startAfter(cursor);
    return encode('snapshot', content, idOf(hub.epoch, cursor));
  };
  const from = lastEventId === undefined ? null : cursorOf(hub.epoch, lastEventId);
  const to = await endOfLog(pool);
  if (from && (await isResumable(pool, from, to))) {
    subscription.startAfter(to);
    for await (const { bytes } of hub.factsBetween(who, from, to)) yield bytes;
  } else yield await begin();
  for (;;) {
    const messages = await subscription.take();
    if (subscription.overflowed()) {
      yield await begin();
      continue;
    }
    if (messages.length === 0) return;
    for (const { bytes } of messages) yield bytes;
  }
}

/** Known, at most a day old, not from the future, and cheaper than a snapshot. */
async function isResumable(pool: pg.Pool, from: Cursor, to: Cursor): Promise<boolean> {
  if (compareCursors(from, to) > 0) return false;
  const { rows } = await pool.query<{ known: boolean; missed: number }>(
    `select
       ($2 = '${lastPosition}' or exists (
         select from emt_messages
         where transaction_id = $1::xid8 and global_position = $2::bigint)) as known,
       (select count(*)::integer from (
         select from emt_messages
         where (transaction_id, global_position) > ($1::xid8, $2::bigint) limit $3) as later)
         as missed`,
    [from.transactionId, from.globalPosition, liveLimits.resumeEvents + 1],
  );
  const { rows: first } = await pool.query<{ recent: boolean }>(
    `select created > now() - make_interval(hours => $3) as recent from emt_messages
     where (transaction_id, global_position) >= ($1::xid8, $2::bigint)
     order by transaction_id, global_position limit 1`,
    [from.transactionId, from.globalPosition, liveLimits.resumeHours],
  );
  const found = rows[0];
  return (
    found !== undefined &&
    found.known &&
    found.missed <= liveLimits.resumeEvents &&
    (first[0]?.recent ?? true)
  );
}

type Opened = {
  subscription: Subscription;
  messages: AsyncGenerator<Uint8Array>;
  endsInMs: number;
  unwatch: () => void;
  onFailure: (error: unknown) => void;
};

/**
 * The messages as a response body, with heartbeats, an end, and a bound on how long it may stall.
 * Nothing is opened before somebody reads: the body of an answer to HEAD is neither read nor
 * cancelled, and would keep what it holds for ever.
 */
function streamBody(open: () => Opened): ReadableStream<Uint8Array> {
  const ping = encode('ping', {});
  let opened: (Opened & { timers: NodeJS.Timeout[] }) | null = null;
  let stalled: NodeJS.Timeout | undefined;
  let cancelled = false;
  const begin = () => {
    const all = open();
    const { subscription, endsInMs } = all;
    return {
      ...all,
      timers: [
        setInterval(() => subscription.push(ping), liveLimits.pingEveryMs),
        setTimeout(() => subscription.end(bye('token')), endsInMs),
      ],
    };
  };
  const end = () => {
    clearTimeout(stalled);
    if (opened === null) return;
    for (const timer of opened.timers) clearTimeout(timer);
    opened.unwatch();
    opened.subscription.end(null);
  };
  return new ReadableStream<Uint8Array>(
    {
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
          // Nobody asks for more until this is taken; a connection that takes nothing is let go.
          stalled = setTimeout(() => {
            end();
            controller.error(new Error('The client takes nothing'));
          }, liveLimits.drainedWithinMs);
        } catch (error) {
          if (cancelled) return;
          // To the client it is an end like any other, after which it connects again.
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

function bye(reason: Bye['reason']): Bye {
  return { reason, retry_ms: Math.round(Math.random() * 1000) };
}
