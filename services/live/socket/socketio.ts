import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server as SocketServer } from 'socket.io';
import type { ExtendedError, Socket } from 'socket.io';
import * as v from 'valibot';
import type { Optimization } from '#services/optimizations/contract.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import type { Origins } from '#services/platform/http/cors.ts';
import { httpLimits, perProcess } from '#services/platform/limits.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { Hub, Subscription } from '#services/live/hub.ts';
import { liveLimits } from '#services/live/limits.ts';
import type { OpenStreams } from '#services/live/open-streams.ts';
import type { SessionWatch } from '#services/live/session-watch.ts';
import { clientEvents, socketNamespace, socketPath } from './contract.ts';
import type { Acknowledgement, RefusalData, ServerEvents } from './contract.ts';
import { socketLimits } from './limits.ts';

/**
 * The socket that older clients follow runs by: a shim over the hub. It emits to the connections of
 * its own process only and keeps no state of a run: when the hub tells of one, the run is read once
 * for all connections that follow it.
 */
export type SocketDependencies = {
  hub: Hub;
  sessions: SessionWatch;
  /** The same that count the streams of this process: a connection takes one of their places. */
  openStreams: OpenStreams;
  rateLimits: RateLimits;
  authenticate: Authenticate;
  origins: Origins;
  /** Null for what does not exist. */
  ownerOf: (runId: string) => Promise<string | null>;
  /** As it is now; null for what its owner no longer sees. */
  readRun: (runId: string) => Promise<Optimization | null>;
  /** The same run as it was when its reviews were counted, which happens between two reads. */
  whileScored: (run: Optimization) => Optimization;
  cancelRun: (runId: string) => Promise<void>;
  /** They share the limit of connections that wait to be let in. */
  apiProcesses: number;
  /** Names a connection; whoever it asks next must find this process by it. */
  newConnectionId: () => string;
  /** Who calls, as a limit counts. */
  callerOf: (request: IncomingMessage) => string;
  clock: () => number;
  log: Log;
};

export type Sockets = {
  /** Takes the requests and upgrades of the socket's path; it listens nowhere itself. */
  server: Server;
  /** Sends every connection away, to come back to another process. */
  drain(): Promise<void>;
};

type NoEvents = Record<string, never>;
type Connection = Socket<NoEvents, ServerEvents>;
/** Of the protocol below, which has no person yet. */
type Raw = Connection['conn'];

type Watch = {
  runId: string;
  subscription: Subscription;
  /** Whether each has received the scores; null before it has received anything. */
  connections: Map<Connection, boolean | null>;
  /** Begins after it was asked for, and is shared by all who ask before it begins. */
  read(): Promise<Optimization | null>;
  lastReadAt(): number;
};

export function openSockets(dependencies: SocketDependencies): Sockets {
  const { origins, callerOf, clock, log } = dependencies;
  const server = createServer((_request, response) => response.writeHead(404).end());
  const waiting = createWaiting(
    perProcess(socketLimits.waitingPerAddress, dependencies.apiProcesses),
  );
  const backlogs = createBacklogs(clock);
  let draining = false;
  const io = new SocketServer<NoEvents, ServerEvents>(server, {
    path: socketPath,
    serveClient: false,
    transports: ['polling', 'websocket'],
    perMessageDeflate: false,
    httpCompression: false,
    maxHttpBufferSize: socketLimits.messageBytes,
    upgradeTimeout: socketLimits.connectMs,
    pingInterval: socketLimits.pingEveryMs,
    pingTimeout: socketLimits.pongWithinMs,
    cors: { origin: [...origins.own, ...origins.foreign], maxAge: httpLimits.preflightSeconds },
    allowRequest(request, decide) {
      const refusal = refusalOf(request);
      decide(refusal, refusal === null);
    },
  });
  const refusalOf = (request: IncomingMessage): string | null => {
    const { origin } = request.headers;
    if (draining) return 'Try again';
    if (origin !== undefined && !origins.own.has(origin) && !origins.foreign.has(origin))
      return 'Origin not allowed';
    return waiting.isFull(callerOf(request)) ? words.tooManyWaiting : null;
  };
  closeSoon(io.engine);
  // The engine starts afresh then.
  server.on('listening', () => closeSoon(io.engine));
  io.engine.generateId = dependencies.newConnectionId;
  io.engine.on('connection', (raw: Raw) => {
    waiting.enter(raw, callerOf(raw.request));
    backlogs.enter(raw);
  });
  // Nobody has business elsewhere, and the default would let everybody in.
  io.use((_connection, next) => next(connectError(notAuthenticated())));
  const runs = createWatches(dependencies);
  const welcomeOrRefuse = async (connection: Connection) => {
    try {
      await welcome(dependencies, connection, runs, backlogs);
      waiting.leave(connection.conn);
      return undefined;
    } catch (error) {
      if (error instanceof Problem) return connectError(error);
      log.error({ err: error }, 'A connection could not be opened');
      return connectError(new Problem('internal', words.fault));
    }
  };
  io.of(socketNamespace).use((connection, next) => {
    void (async () => next(await welcomeOrRefuse(connection)))();
  });
  return {
    server,
    async drain() {
      draining = true;
      const all = [...io.of(socketNamespace).sockets.values()];
      await Promise.all(
        all.map(async (connection) => {
          await sleep(Math.random() * socketLimits.drainSpreadMs);
          sendAway(connection);
        }),
      );
      io.engine.close();
    },
  };
}

const words = {
  authenticate: 'Authentication required',
  notFound: 'Failed to get optimization',
  notUnderstood: 'The message was not understood',
  tooManyEvents: 'Too many messages; please wait a moment',
  tooManySubscriptions: `At most ${socketLimits.subscriptions} runs can be followed at a time`,
  tooManyWaiting: 'Too many connections of this address wait to be let in',
  fault: 'Something went wrong on our side. Nothing was charged.',
} as const;

function notAuthenticated(): Problem {
  return new Problem('authentication-required', words.authenticate);
}

/** What the client hears as its `connect_error`: a sentence, and data that a program reads. */
function connectError({ message, code, extras }: Problem): ExtendedError {
  const { retryAfterSeconds } = extras;
  const data: RefusalData = {
    code,
    ...(retryAfterSeconds === undefined ? {} : { retry_ms: retryAfterSeconds * 1000 }),
  };
  return Object.assign(new Error(message), { data });
}

/**
 * Lets somebody in for as long as their token and their session last, in one of the places that their
 * streams take, too. However the connection ends, its place is free again.
 *
 * @throws Problem 401 `authentication-required`, 429 `rate-limited` or `too-many-streams`
 */
async function welcome(
  dependencies: SocketDependencies,
  connection: Connection,
  runs: Watches,
  backlogs: Backlogs,
): Promise<void> {
  const { authenticate, sessions, openStreams, rateLimits, callerOf, clock } = dependencies;
  const { conn } = connection;
  const address = callerOf(conn.request);
  await rateLimits.take('streams-address', address);
  const token = tokenOf(connection.handshake.auth);
  const caller = token === null ? null : await authenticate(token);
  if (token === null || caller === null) throw notAuthenticated();
  await rateLimits.take('streams', caller.userId);
  // Whoever left meanwhile is never heard to leave again.
  if (conn.readyState !== 'open') throw notAuthenticated();
  const leave = openStreams.open({ userId: caller.userId, address });
  const unwatch = sessions.watch(caller.sessionId, () => sendOut(connection));
  const endsAt = caller.expiresAt.getTime() - Math.random() * liveLimits.tokenSpreadMs;
  const timer = setTimeout(() => sendAway(connection), Math.max(0, endsAt - clock()));
  const end = () => {
    clearTimeout(timer);
    unwatch();
    leave();
    runs.leaveAll(connection);
  };
  // One that goes before it is let in has no disconnect of its own.
  conn.once('close', end);
  connection.once('disconnect', () => {
    end();
    // It holds no place any more, so nothing of it may stay.
    conn.close();
  });
  const take = createInbox(clock);
  const sender = { connection, token, userId: caller.userId };
  connection.onAny((event: string, ...args: unknown[]) =>
    take(async (hasTurn) => {
      // A client that asks for more than it takes waits for itself.
      if (hasTurn) await backlogs.taken(conn);
      await receive(dependencies, runs, { ...sender, hasTurn }, event, args);
    }),
  );
}

/** With the farewell of the protocol, after which clients stay away until they are told to come. */
function sendOut(connection: Connection): void {
  connection.disconnect(true);
  // Before it was let in there is nobody to say it to.
  connection.conn.close();
}

/** Without a farewell of the protocol, after which clients would not come back by themselves. */
function sendAway(connection: Connection): void {
  connection.conn.close();
}

function tokenOf(handshake: unknown): string | null {
  const parsed = v.safeParse(Handshake, handshake);
  return parsed.success ? parsed.output.token : null;
}

const Handshake = v.object({
  token: v.pipe(v.string(), v.maxLength(httpLimits.addressLength), v.nonEmpty()),
});

// --- what clients send ---

type Sender = {
  connection: Connection;
  token: string;
  userId: string;
  hasTurn: boolean;
};

async function receive(
  dependencies: SocketDependencies,
  runs: Watches,
  sender: Sender,
  event: string,
  args: unknown[],
): Promise<void> {
  const last = args.at(-1);
  const acknowledge: (answer: Acknowledgement) => void =
    typeof last === 'function' ? (answer) => void Reflect.apply(last, null, [answer]) : () => {};
  const payload = typeof last === 'function' ? args.slice(0, -1) : args;
  try {
    if (!sender.hasTurn) throw new Refusal(words.tooManyEvents);
    if (!isClientEvent(event) || payload.length !== 1) throw new Refusal(words.notUnderstood);
    const parsed = v.safeParse(clientEvents[event], payload[0]);
    if (!parsed.success) throw new Refusal(words.notUnderstood);
    // Asked again with each message: whoever signed out a moment ago is not waited for to be sent away.
    if ((await dependencies.authenticate(sender.token)) === null) {
      acknowledge({ error: words.authenticate });
      sendOut(sender.connection);
      return;
    }
    if (typeof parsed.output === 'string')
      await act(dependencies, runs, sender, event, parsed.output, () => acknowledge({ ok: true }));
    else acknowledge({ ok: true });
  } catch (error) {
    if (error instanceof Refusal || error instanceof Problem) {
      acknowledge({ error: error.message });
      return;
    }
    dependencies.log.error({ err: error }, 'A message of a socket could not be answered');
    acknowledge({ error: words.fault });
  }
}

class Refusal extends Error {
  override readonly name = 'Refusal';
}

function isClientEvent(event: string): event is keyof typeof clientEvents {
  return Object.hasOwn(clientEvents, event);
}

async function act(
  { ownerOf, readRun, whileScored, cancelRun, rateLimits }: SocketDependencies,
  runs: Watches,
  { connection, userId }: Sender,
  event: keyof typeof clientEvents,
  runId: string,
  acknowledge: () => void,
): Promise<void> {
  if (event === 'unsubscribe-optimization') {
    runs.leave(connection, runId);
    acknowledge();
    return;
  }
  if ((await ownerOf(runId)) !== userId) throw new Refusal(words.notFound);
  if (event === 'cancel-optimization') {
    await rateLimits.take('run-changes', userId, { userId });
    if ((await readRun(runId)) === null) throw new Refusal(words.notFound);
    await cancelRun(runId);
    acknowledge();
    return;
  }
  const watch = runs.join(connection, runId, userId);
  if (watch === null) throw new Refusal(words.tooManySubscriptions);
  const run = await watch.read();
  if (run === null) {
    runs.leave(connection, runId);
    throw new Refusal(words.notFound);
  }
  acknowledge();
  // It may have heard of the end, or have left, while the run was read.
  if (watch.connections.has(connection)) tell(runs, watch, connection, { run, whileScored });
}

// --- what clients hear ---

function tell(
  runs: Watches,
  watch: Watch,
  connection: Connection,
  { run, whileScored }: { run: Optimization } & Pick<SocketDependencies, 'whileScored'>,
): void {
  const optimizationId = watch.runId;
  const isScored = run.evolution.bias !== null;
  if (watch.connections.get(connection) === false && isScored)
    progressed(connection, whileScored(run));
  watch.connections.set(connection, isScored);
  switch (run.status) {
    case 'completed':
      connection.emit('optimization-complete', { optimizationId, result: run });
      break;
    case 'failed':
      connection.emit('optimization-error', {
        optimizationId,
        error: run.ended_because ?? 'Optimization failed',
        code: run.council.conclusion?.reason ?? 'failed',
      });
      break;
    case 'cancelled':
      connection.emit('optimization-cancelled', { optimizationId, cancelled: true });
      break;
    case 'pending':
    case 'processing':
      progressed(connection, run);
      return;
  }
  // Nothing follows an end.
  runs.leave(connection, optimizationId);
}

function progressed(connection: Connection, { id, evolution, models }: Optimization): void {
  const { bias: _bias, ...progress } = evolution;
  connection.emit('optimization-progress', {
    optimizationId: id,
    stage: progress.current_step,
    progress: { ...progress, models },
  });
}

type Watches = {
  /** Null when the connection follows as many as it may. */
  join(connection: Connection, runId: string, userId: string): Watch | null;
  leave(connection: Connection, runId: string): void;
  leaveAll(connection: Connection): void;
};

/** The runs that connections of this process follow, each with one subscription of the hub. */
function createWatches({ hub, readRun, whileScored, log }: SocketDependencies): Watches {
  const watches = new Map<string, Watch>();
  const followedBy = new Map<Connection, Set<string>>();

  const open = (runId: string, userId: string): Watch => {
    const reads = createReads(async () => readRun(runId));
    const subscription = hub.subscribe({ userId, watching: runId });
    const watch: Watch = { runId, subscription, connections: new Map(), ...reads };
    watches.set(runId, watch);
    void follow(watch);
    return watch;
  };

  const follow = async (watch: Watch): Promise<void> => {
    let failed = false;
    for (;;) {
      const messages = failed ? [] : await watch.subscription.take();
      const overflowed = watch.subscription.overflowed();
      if (watch.connections.size === 0) return;
      if (messages.length === 0 && !overflowed && !failed) break;
      const happened =
        failed || overflowed || messages.some(({ fact }) => fact?.entity.kind === 'run');
      const quietFor = performance.now() - watch.lastReadAt();
      if (!happened && quietFor < socketLimits.textEveryMs) continue;
      try {
        const run = await watch.read();
        failed = false;
        for (const connection of watch.connections.keys()) {
          if (run === null) watchesApi.leave(connection, watch.runId);
          else tell(watchesApi, watch, connection, { run, whileScored });
        }
      } catch (error) {
        log.warn({ err: error }, 'A run could not be read for those who follow it; trying again');
        failed = true;
        await sleep(socketLimits.readAgainMs);
      }
    }
    // The hub has ended: another process has one that goes on.
    for (const connection of watch.connections.keys()) sendAway(connection);
  };

  const watchesApi: Watches = {
    join(connection, runId, userId) {
      const followed = followedBy.get(connection) ?? new Set();
      if (connection.conn.readyState !== 'open') return null;
      if (!followed.has(runId) && followed.size >= socketLimits.subscriptions) return null;
      followedBy.set(connection, followed.add(runId));
      const watch = watches.get(runId) ?? open(runId, userId);
      if (!watch.connections.has(connection)) watch.connections.set(connection, null);
      return watch;
    },
    leave(connection, runId) {
      followedBy.get(connection)?.delete(runId);
      const watch = watches.get(runId);
      if (watch === undefined || !watch.connections.delete(connection)) return;
      if (watch.connections.size > 0) return;
      watches.delete(runId);
      watch.subscription.end(null);
    },
    leaveAll(connection) {
      for (const runId of followedBy.get(connection) ?? []) watchesApi.leave(connection, runId);
      followedBy.delete(connection);
    },
  };
  return watchesApi;
}

function createReads(
  readNow: () => Promise<Optimization | null>,
): Pick<Watch, 'read' | 'lastReadAt'> {
  let next: Promise<Optimization | null> | null = null;
  let lastAt = Number.NEGATIVE_INFINITY;
  const begin = async (): Promise<Optimization | null> => {
    await sleep(Math.max(0, lastAt + socketLimits.readEveryMs - performance.now()));
    next = null;
    lastAt = performance.now();
    return readNow();
  };
  return {
    read: async () => (next ??= begin()),
    lastReadAt: () => lastAt,
  };
}

// --- bounds ---

/**
 * Connections that have not authenticated yet, by address. They hold no place of a stream, so they are
 * counted apart, until they authenticate or end. Each is cut when its time is over: the close of the
 * library waits half a minute for a client that does not answer.
 */
function createWaiting(limit: number) {
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

type Backlogs = {
  enter(raw: Raw): void;
  /** Resolves once the client has taken what it was told before; never, when it ends instead. */
  taken(raw: Raw): Promise<void>;
};

/**
 * Cuts whoever sends packets faster than any client does, and whoever goes on being told while it takes
 * nothing: what waits for it would grow without end, since a client that answers every ping need not
 * read. One message may be larger than the bound, so what waited before it is what counts.
 */
function createBacklogs(clock: () => number): Backlogs {
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
      // The transport takes all that waits once the client has taken what was written before.
      raw.on('flush', () => {
        waiting.bytes = 0;
        waiting.wake();
      });
    },
    async taken(raw) {
      const waiting = all.get(raw);
      if (waiting === undefined || waiting.bytes === 0) return;
      await new Promise<void>((resolve) => {
        waiting.wake = resolve;
      });
    },
  };
}

/** Nothing is written from here on; then what waits is thrown away, and not waited for. */
function cut(raw: Raw): void {
  // One that polls is else given time to ask once more, and be answered that it is closed.
  raw.transport.discard();
  raw.close();
  raw.close(true);
  terminate(raw);
}

/**
 * Bounds how long a websocket may take to answer that it is closed, also one that no connection changed
 * to. The library that makes them has an option for it; the engine between does not pass one on.
 */
function closeSoon(engine: object): void {
  const websockets: unknown = Reflect.get(engine, 'ws');
  const options: unknown =
    typeof websockets === 'object' && websockets !== null && Reflect.get(websockets, 'options');
  if (typeof options !== 'object' || options === null)
    throw new Error('The websockets of the engine have no options');
  Object.assign(options, { closeTimeout: socketLimits.closeMs });
}

/** A websocket is else given time to answer the farewell, and may send as before until then. */
function terminate({ transport }: Raw): void {
  const socket: unknown = Reflect.get(transport, 'socket');
  if (typeof socket !== 'object' || socket === null || !('terminate' in socket)) return;
  if (typeof socket.terminate === 'function') Reflect.apply(socket.terminate, socket, []);
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
 * Messages of one connection: so many in each second, and acted on one after another, so that whoever
 * subscribes and leaves at once has left. `hasTurn` is false for those beyond the bounds.
 */
function createInbox(clock: () => number) {
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
