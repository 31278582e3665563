import type { Connection } from './follow.ts';
import { socketLimits } from './limits.ts';

/** The connection of the protocol below, which has no user yet. */
export type Raw = Connection['conn'];

/**
 * Connections that have not authenticated yet, by address. They do not count as open streams, so they
 * have a limit of their own. Each is cut when its time is over: the library's own close waits 30 s for
 * a client that does not answer.
 */
export function createWaiting(limit: number) {
  const counts = new Map<string, number>();
  const leaving = new WeakMap<Raw, () => void>();
  return {
    isFull: (address: string) => (counts.get(address) ?? 0) >= limit,
    enter(raw: Raw, address: string) {
      counts.set(address, (counts.get(address) ?? 0) + 1);
      const timer = setTimeout(() => cut(raw), socketLimits.connectMs);
      const leave = () => {
        if (!leaving.delete(raw)) return;
        clearTimeout(timer);
        const rest = (counts.get(address) ?? 1) - 1;
        if (rest === 0) counts.delete(address);
        else counts.set(address, rest);
      };
      leaving.set(raw, leave);
      raw.once('close', leave);
    },
    leave: (raw: Raw) => leaving.get(raw)?.(),
  };
}

export type Backlogs = {
  enter(raw: Raw): void;
  /** Resolves once the client has read what was sent before; never, when the connection ends first. */
  drained(raw: Raw): Promise<void>;
};

/**
 * Cuts a client that sends packets faster than any real one, and one that is sent more while it reads
 * nothing: a client that answers every ping need not read, so its queue would grow without end. One
 * message may exceed the bound, so only what waited before it counts.
 */
export function createBacklogs(clock: () => number): Backlogs {
  const all = new WeakMap<Raw, { bytes: number; wake: () => void }>();
  return {
    enter(raw) {
      const isWithin = createBucket(clock, socketLimits);
      const waiting = { bytes: 0, wake: () => {} };
      all.set(raw, waiting);
      raw.on('packet', () => {
        if (!isWithin()) cut(raw);
      });
      raw.on('packetCreate', ({ data }: { data?: string | Buffer }) => {
        if (waiting.bytes > socketLimits.backlogBytes) cut(raw);
        waiting.bytes += data === undefined ? 0 : Buffer.byteLength(data);
      });
      // The transport takes the whole queue once the client has read what was written before.
      raw.on('flush', () => {
        waiting.bytes = 0;
        waiting.wake();
      });
    },
    async drained(raw) {
      const waiting = all.get(raw);
      if (waiting === undefined || waiting.bytes === 0) return;
      await new Promise<void>((resolve) => {
        waiting.wake = resolve;
      });
    },
  };
}

/** Ends a connection and drops its queue. */
function cut(raw: Raw): void {
  // A polling client is otherwise given time for one more request.
  raw.transport.discard();
  raw.close();
  raw.close(true);
  terminate(raw);
}

/** A websocket is otherwise given time to answer the close frame, and may send until then. */
function terminate({ transport }: Raw): void {
  const socket: unknown = Reflect.get(transport, 'socket');
  if (typeof socket !== 'object' || socket === null || !('terminate' in socket)) return;
  if (typeof socket.terminate === 'function') Reflect.apply(socket.terminate, socket, []);
}

/**
 * Bounds the time in which a websocket answers the close frame, also for one that no connection
 * upgraded to. `ws` has an option for it that the engine does not pass on.
 */
export function closeSoon(engine: object): void {
  const websockets: unknown = Reflect.get(engine, 'ws');
  const options: unknown =
    typeof websockets === 'object' && websockets !== null && Reflect.get(websockets, 'options');
  if (typeof options !== 'object' || options === null)
    throw new Error('The websockets of the engine have no options');
  Object.assign(options, { closeTimeout: socketLimits.closeMs });
}

/** Whether there is room for one more: so many at once, and so many a second over time. */
function createBucket(
  clock: () => number,
  { packets, packetsPerSecond }: { packets: number; packetsPerSecond: number },
): () => boolean {
  let left: number = packets;
  let at = clock();
  return () => {
    const now = clock();
    left = Math.min(packets, left + (Math.max(0, now - at) / 1000) * packetsPerSecond) - 1;
    at = now;
    return left >= 0;
  };
}

/**
 * Messages of one connection: so many in each second, and handled one after another, so that subscribe
 * and unsubscribe take effect in the order sent. `hasTurn` is false for those beyond the bounds.
 */
export function createInbox(clock: () => number) {
  let second = 0;
  let taken = 0;
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return (receiveNext: (hasTurn: boolean) => Promise<void>): void => {
    const now = Math.floor(clock() / 1000);
    if (now !== second) {
      second = now;
      taken = 0;
    }
    taken += 1;
    if (taken > socketLimits.eventsPerSecond || waiting >= socketLimits.eventsWaiting) {
      void receiveNext(false);
      return;
    }
    waiting += 1;
    last = last
      .then(async () => receiveNext(true))
      .finally(() => {
        waiting -= 1;
      });
  };
}
