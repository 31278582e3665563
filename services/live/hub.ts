import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { EpochWatch } from '#db/backup/epoch.ts';
import { compareCursors, endOfLog, lagSeconds, readPage } from '#db/reader.ts';
import type { Cursor } from '#db/reader.ts';
import { pause, tail } from '#db/tail.ts';
import type { Wake } from '#db/tail.ts';
import { retryWhileUnavailable } from '#services/platform/jobs/retry-while-unavailable.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { Bye, Fact, FactType } from './contract.ts';
import { liveLimits } from './limits.ts';
import { createStreamIds } from './stream-ids.ts';
import type { StreamIds } from './stream-ids.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

/**
 * One reader per process turns events into facts and sends them to the users who may see them. It reads
 * without locks and keeps only its place in the log. A subscriber that falls behind loses its queue and
 * gets a snapshot instead.
 */
export type FactBody = { entity: Fact['entity']; patch: Record<string, unknown> };

/** The facts of one event: for all of its owner's streams, and for those that watch one object. */
export type StreamFacts = {
  type: FactType;
  at: string;
  general: FactBody | null;
  watched: { id: string; fact: FactBody } | null;
};

export type FactSource = {
  streamPrefix: string;
  /** Null for a stream without an owner. */
  ownerOf: (streamId: string) => Promise<string | null>;
  factsOf: (recorded: RecordedEvent) => Promise<StreamFacts> | StreamFacts;
};

/** One encoded message of the stream; all subscribers share the buffer. */
export type Message = {
  bytes: Uint8Array;
  cursor: Cursor | null;
  /** The unencoded fact, for the socket; null for a delta, a ping and a bye. */
  fact: Fact | null;
};

export type Subscription = {
  /**
   * The next messages; waits for the first. Empty when the subscription has ended. While it waits, each
   * message goes to `straight` at once; one that this refuses ends the wait.
   */
  take(straight?: (message: Message) => boolean): Promise<readonly Message[]>;
  /** The queue was dropped: the subscriber needs a snapshot. Reading it clears it. */
  overflowed(): boolean;
  /** Facts up to and including this place are already known to the subscriber. */
  startAfter(cursor: Cursor): void;
  /**
   * A sign of life. It names the place that the log was read to, once that lies behind every earlier message:
   * a user for whom nothing happens does not fall behind what others do.
   */
  ping(): void;
  end(bye: Bye | null): void;
};

export type Hub = {
  subscribe(who: { userId: string; watching: string | null }): Subscription;
  /** Of the present epoch. */
  ids(): Promise<StreamIds>;
  /** The owner's facts after `from`, up to and including `to`, oldest first. */
  factsBetween(
    who: { userId: string; watching: string | null },
    from: Cursor,
    to: Cursor,
  ): AsyncIterable<Message>;
  /** Ids that are watched now. */
  watched(): string[];
  /** To everyone who watches `id`. */
  broadcast(id: string, bytes: Uint8Array): void;
  /** To every stream of one user. */
  notify(userId: string, bytes: Uint8Array): void;
  drain(): void;
  /** Milliseconds since the oldest event that was not yet read was written; 0 when there is none. */
  lagMs(): Promise<number>;
  close(): Promise<void>;
};

type Subscriber = {
  userId: string;
  watching: string | null;
  queue: Message[];
  bytes: number;
  overflowed: boolean;
  start: Cursor | null;
  /** Of its newest message. */
  newest: Cursor | null;
  wake: (() => void) | null;
  straight: ((message: Message) => boolean) | null;
  ended: boolean;
};

export async function createHub(options: {
  pool: pg.Pool;
  epoch: Pick<EpochWatch, 'current' | 'onChange'>;
  wake: Wake;
  sources: readonly FactSource[];
  /** Shared by all processes: ids of messages are signed under them. */
  keys: readonly Buffer[];
  log: Log;
}): Promise<Hub> {
  const { pool, epoch, wake, sources, keys, log } = options;
  const subscribers = createSubscribers();
  let isDraining = false;
  const owners = createOwners(sources);
  const stopping = new AbortController();
  let ids = createStreamIds({ keys, epoch: await epoch.current() });
  let place = await endOfLog(pool);
  let placeEpoch = ids.epoch;
  let sameEpoch = new AbortController();
  epoch.onChange(() => sameEpoch.abort());

  const reading = readEpochs().catch((error: unknown) => {
    // Without its reader a hub would show stale data, so every stream is sent to another process.
    log.error({ err: error }, 'The live reader has stopped');
    drain();
  });

  async function readEpochs(): Promise<void> {
    while (!stopping.signal.aborted) {
      await readLog(AbortSignal.any([stopping.signal, sameEpoch.signal]));
      if (!stopping.signal.aborted) await beginAgain();
    }
  }

  async function readLog(signal: AbortSignal): Promise<void> {
    await tail({
      pool,
      wake,
      cursor: place,
      signal,
      onError: (error) => log.warn({ err: error }, 'The log could not be read; trying again'),
      async onPage(page) {
        await retryWhileUnavailable(() => epoch.current(), { signal }).catch(() =>
          sameEpoch.abort(),
        );
        for (const event of page.events) {
          if (signal.aborted) return;
          await deliver(event, signal);
        }
        place = page.cursor;
      },
    });
  }

  /** In another epoch the place means other events: every subscriber gets a snapshot. */
  async function beginAgain(): Promise<void> {
    sameEpoch = new AbortController();
    try {
      const current = await epoch.current();
      const end = await endOfLog(pool);
      useIdsOf(current);
      place = end;
      placeEpoch = current;
      for (const subscriber of subscribers.all()) overflow(subscriber);
    } catch (error) {
      log.warn({ err: error }, 'The log could not be read; trying again');
      sameEpoch.abort();
      await pause(liveLimits.beginAgainMs, stopping.signal);
    }
  }

  /** Never rejects: one bad event must not stop the hub. While the database is unavailable it waits. */
  async function deliver(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    if (subscribers.isEmpty()) return;
    // Until the owner is known, it may concern every subscriber.
    let theirs = subscribers.all();
    try {
      const found = await retryWhileUnavailable(() => owners.of(event.streamId), { signal });
      if (!found) return;
      theirs = subscribers.of(found.owner);
      if (theirs.size === 0) return;
      const facts = await retryWhileUnavailable(async () => found.source.factsOf(event), {
        signal,
      });
      const encoded = encodedFacts(ids.idOf(found.owner, placeOf(event)), event, facts);
      for (const subscriber of theirs) {
        const message = encoded(subscriber.watching);
        if (message) offer(subscriber, message);
      }
    } catch (error) {
      log.warn(
        { err: error, stream: event.streamId, position: event.streamPosition },
        'An event could not be published; its subscribers get a snapshot',
      );
      for (const subscriber of theirs) overflow(subscriber);
    }
  }

  function useIdsOf(current: string): void {
    if (ids.epoch !== current) ids = createStreamIds({ keys, epoch: current });
  }

  function pingOf({ userId, start, newest }: Subscriber): Message {
    const isAhead = [start, newest].every((one) => one === null || compareCursors(place, one) > 0);
    if (!isAhead || ids.epoch !== placeEpoch) return { bytes: ping, cursor: null, fact: null };
    return { bytes: encode('ping', {}, ids.idOf(userId, place)), cursor: place, fact: null };
  }

  /** Later subscribers are sent to another process, too: a kept-alive connection may still ask. */
  function drain(): void {
    isDraining = true;
    for (const subscriber of subscribers.all()) endWith(subscriber, drained());
  }

  return {
    async ids() {
      useIdsOf(await epoch.current());
      return ids;
    },
    subscribe({ userId, watching }) {
      const subscriber: Subscriber = {
        userId,
        watching,
        queue: [],
        bytes: 0,
        overflowed: false,
        start: null,
        newest: null,
        wake: null,
        straight: null,
        ended: false,
      };
      subscribers.add(subscriber);
      if (isDraining) endWith(subscriber, drained());
      return subscriptionOf(subscriber, {
        ping: () => pingOf(subscriber),
        leave: () => subscribers.remove(subscriber),
      });
    },
    async *factsBetween({ userId, watching }, from, to) {
      let cursor = from;
      const theirs = ids;
      for (;;) {
        const page = await readPage(pool, cursor, { limit: liveLimits.resumePage });
        for (const event of page.events) {
          if (compareCursors(event, to) > 0) return;
          const found = await owners.of(event.streamId);
          if (found?.owner !== userId) continue;
          const facts = await found.source.factsOf(event);
          const message = encodedFacts(theirs.idOf(userId, placeOf(event)), event, facts)(watching);
          if (message) yield message;
        }
        if (page.caughtUp) return;
        cursor = page.cursor;
      }
    },
    watched: () => subscribers.watched(),
    broadcast(id, bytes) {
      for (const subscriber of subscribers.watching(id))
        offer(subscriber, { bytes, cursor: null, fact: null });
    },
    notify(userId, bytes) {
      for (const subscriber of subscribers.of(userId))
        offer(subscriber, { bytes, cursor: null, fact: null });
    },
    drain,
    lagMs: async () => (await lagSeconds(pool, place)) * 1000,
    async close() {
      stopping.abort();
      for (const subscriber of subscribers.all()) endWith(subscriber, null);
      await reading;
    },
  };
}

/** Indexed by user and by watched id, so that an event costs only the streams it concerns. */
function createSubscribers() {
  const all = new Set<Subscriber>();
  const byUser = new Map<string, Set<Subscriber>>();
  const byWatched = new Map<string, Set<Subscriber>>();
  const none: ReadonlySet<Subscriber> = new Set();
  return {
    isEmpty: () => all.size === 0,
    all: (): ReadonlySet<Subscriber> => all,
    of: (userId: string): ReadonlySet<Subscriber> => byUser.get(userId) ?? none,
    watching: (id: string): ReadonlySet<Subscriber> => byWatched.get(id) ?? none,
    watched: () => [...byWatched.keys()],
    add(subscriber: Subscriber) {
      all.add(subscriber);
      addTo(byUser, subscriber.userId, subscriber);
      if (subscriber.watching !== null) addTo(byWatched, subscriber.watching, subscriber);
    },
    remove(subscriber: Subscriber) {
      all.delete(subscriber);
      removeFrom(byUser, subscriber.userId, subscriber);
      if (subscriber.watching !== null) removeFrom(byWatched, subscriber.watching, subscriber);
    },
  };
}

function addTo<Member>(sets: Map<string, Set<Member>>, key: string, member: Member): void {
  const members = sets.get(key) ?? new Set<Member>();
  sets.set(key, members.add(member));
}

function removeFrom<Member>(sets: Map<string, Set<Member>>, key: string, member: Member): void {
  const members = sets.get(key);
  members?.delete(member);
  if (members?.size === 0) sets.delete(key);
}

function drained(): Bye {
  return { reason: 'drain', retry_ms: Math.round(Math.random() * liveLimits.drainSpreadMs) };
}

function subscriptionOf(
  subscriber: Subscriber,
  { ping, leave }: { ping: () => Message; leave: () => void },
): Subscription {
  return {
    async take(straight) {
      for (;;) {
        const messages = subscriber.queue.filter((message) => isNew(subscriber, message));
        subscriber.queue = [];
        subscriber.bytes = 0;
        if (messages.length > 0 || subscriber.ended || subscriber.overflowed) return messages;
        await new Promise<void>((resolve) => {
          subscriber.wake = resolve;
          subscriber.straight = straight ?? null;
        });
      }
    },
    overflowed() {
      const was = subscriber.overflowed;
      subscriber.overflowed = false;
      return was;
    },
    startAfter(cursor) {
      subscriber.start = cursor;
    },
    ping() {
      offer(subscriber, ping());
    },
    end(bye) {
      endWith(subscriber, bye);
      leave();
    },
  };
}

/** The subscriber knows everything up to `start` from its snapshot or its last id. */
function isNew(subscriber: Subscriber, { cursor }: Message): boolean {
  const { start } = subscriber;
  if (cursor === null || start === null) return true;
  if (compareCursors(cursor, start) <= 0) return false;
  // So is every later one.
  subscriber.start = null;
  return true;
}

/** Bounded: a full queue is dropped whole, and the subscriber starts again from a snapshot. */
function offer(subscriber: Subscriber, message: Message): void {
  if (subscriber.ended || subscriber.overflowed) return;
  subscriber.newest = message.cursor ?? subscriber.newest;
  if (subscriber.straight !== null) {
    if (!isNew(subscriber, message) || subscriber.straight(message)) return;
  }
  subscriber.queue.push(message);
  subscriber.bytes += message.bytes.byteLength;
  const full =
    subscriber.bytes > liveLimits.queueBytes || subscriber.queue.length > liveLimits.queueMessages;
  if (full) overflow(subscriber);
  else awaken(subscriber);
}

function overflow(subscriber: Subscriber): void {
  if (subscriber.ended) return;
  subscriber.queue = [];
  subscriber.bytes = 0;
  subscriber.newest = null;
  subscriber.overflowed = true;
  awaken(subscriber);
}

function endWith(subscriber: Subscriber, bye: Bye | null): void {
  if (subscriber.ended) return;
  if (bye) subscriber.queue.push({ bytes: encode('bye', bye), cursor: null, fact: null });
  subscriber.ended = true;
  awaken(subscriber);
}

function awaken(subscriber: Subscriber): void {
  subscriber.wake?.();
  subscriber.wake = null;
  subscriber.straight = null;
}

export function placeOf({ transactionId, globalPosition }: Cursor): Cursor {
  return { transactionId, globalPosition };
}

/** Encodes each of the two facts of an event once, for all streams of its owner. */
function encodedFacts(
  id: string,
  event: RecordedEvent,
  facts: StreamFacts,
): (watching: string | null) => Message | null {
  const made = new Map<FactBody, Message>();
  return (watching) => {
    const body =
      facts.watched && facts.watched.id === watching ? facts.watched.fact : facts.general;
    if (!body) return null;
    const known = made.get(body);
    if (known) return known;
    const fact: Fact = {
      type: facts.type,
      at: facts.at,
      stream: event.streamId,
      version: event.streamPosition,
      ...body,
    };
    const message = { bytes: encode('fact', fact, id), cursor: placeOf(event), fact };
    made.set(body, message);
    return message;
  };
}

/** One message in the wire format of server-sent events. */
export function encode(event: string, data: unknown, id?: string): Buffer {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return Buffer.from(`${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

const ping = encode('ping', {});

/** The owner of a stream never changes, so each is read once. */
function createOwners(sources: readonly FactSource[]) {
  const known = new LRUCache<string, string>({ max: liveLimits.knownOwners });
  return {
    async of(streamId: string): Promise<{ owner: string; source: FactSource } | null> {
      const source = sources.find(({ streamPrefix }) => streamId.startsWith(streamPrefix));
      if (!source) return null;
      const owner = known.get(streamId) ?? (await source.ownerOf(streamId));
      if (owner === null) return null;
      known.set(streamId, owner);
      return { owner, source };
    },
  };
}
