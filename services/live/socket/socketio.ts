import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server as SocketServer } from 'socket.io';
import type { ExtendedError } from 'socket.io';
import * as v from 'valibot';
import { preflightSeconds } from '#services/platform/http/cors.ts';
import type { Origins } from '#services/platform/http/cors.ts';
import { requestLimits } from '#services/platform/http/http.ts';
import { perProcess } from '#services/platform/limits.ts';
import { Problem } from '#services/platform/problem.ts';
import { liveLimits } from '#services/live/limits.ts';
import type { OpenStreams } from '#services/live/open-streams.ts';
import type { SessionWatch } from '#services/live/session-watch.ts';
import { closeSoon, createBacklogs, createInbox, createWaiting } from './bounds.ts';
import type { Backlogs, Raw } from './bounds.ts';
import { socketNamespace, socketPath } from './contract.ts';
import type { RefusalData, ServerEvents } from './contract.ts';
import { createFollowedRuns } from './follow.ts';
import type { Connection, FollowDependencies, FollowedRuns } from './follow.ts';
import { socketLimits } from './limits.ts';
import { receive, sendAway, sendOut, words } from './messages.ts';
import type { MessageDependencies } from './messages.ts';

/**
 * The socket by which older clients follow runs: a shim over the hub. It sends to the connections of its
 * own process only and keeps no state of a run: when the hub reports a change, the run is read once for
 * all connections that follow it.
 */
export type SocketDependencies = FollowDependencies &
  Omit<MessageDependencies, 'runs'> & {
    sessions: SessionWatch;
    /** Counts the streams of this process and these connections together. */
    openStreams: OpenStreams;
    origins: Origins;
    /** Polling needs all requests of a connection to reach the same process. */
    transports: ('polling' | 'websocket')[];
    /** They share the limit of connections that have not authenticated yet. */
    apiProcesses: number;
    /** The caller, as a limit counts it. */
    callerOf: (request: IncomingMessage) => string;
    clock: () => number;
  };

export type Sockets = {
  /** Handles the requests and upgrades of the socket's path; it does not listen itself. */
  server: Server;
  /** Closes every connection, so that its client reconnects to another process. */
  drain(): Promise<void>;
};

export function openSockets(dependencies: SocketDependencies): Sockets {
  const { origins, callerOf, clock, log } = dependencies;
  const server = createServer((_request, response) => response.writeHead(404).end());
  const waiting = createWaiting(
    perProcess(socketLimits.waitingPerAddress, dependencies.apiProcesses),
  );
  const backlogs = createBacklogs(clock);
  let draining = false;
  const io = new SocketServer<Record<string, never>, ServerEvents>(server, {
    path: socketPath,
    serveClient: false,
    transports: dependencies.transports,
    perMessageDeflate: false,
    httpCompression: false,
    maxHttpBufferSize: socketLimits.messageBytes,
    upgradeTimeout: socketLimits.connectMs,
    pingInterval: socketLimits.pingEveryMs,
    pingTimeout: socketLimits.pongWithinMs,
    cors: { origin: [...origins.own, ...origins.foreign], maxAge: preflightSeconds },
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
  // Listening makes a new engine.
  server.on('listening', () => closeSoon(io.engine));
  io.engine.on('connection', (raw: Raw) => {
    waiting.enter(raw, callerOf(raw.request));
    backlogs.enter(raw);
  });
  // The default namespace has no use, and the library would let everyone in.
  io.use((_connection, next) => next(connectError(notAuthenticated())));
  const runs = createFollowedRuns(dependencies);
  const welcomeOrRefuse = async (connection: Connection, next: (refusal?: Error) => void) => {
    try {
      await welcome(dependencies, connection, runs, backlogs);
      waiting.leave(connection.conn);
      next();
    } catch (error) {
      if (error instanceof Problem) {
        next(connectError(error));
        return;
      }
      log.error({ err: error }, 'A connection could not be opened');
      // A refused client would not try again on its own; a closed one does so within two seconds.
      await sleep(socketLimits.faultMs * (1 + Math.random()));
      sendAway(connection);
      // The library keeps a connection until it hears of its end here.
      next(connectError(new Problem('internal', words.fault)));
    }
  };
  io.of(socketNamespace).use((connection, next) => void welcomeOrRefuse(connection, next));
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

function notAuthenticated(): Problem {
  return new Problem('authentication-required', words.authenticate);
}

/** What the client receives as its `connect_error`: a sentence, and data for programs. */
function connectError({ message, code, extras }: Problem): ExtendedError {
  const { retryAfterSeconds } = extras;
  const data: RefusalData = {
    code,
    ...(retryAfterSeconds === undefined ? {} : { retry_ms: retryAfterSeconds * 1000 }),
  };
  return Object.assign(new Error(message), { data });
}

/**
 * Lets a client in until its token or its session ends. It takes one of the places that the user's
 * streams take, and frees it however the connection ends.
 *
 * @throws Problem 401 `authentication-required`, 429 `rate-limited` or `too-many-streams`
 */
async function welcome(
  dependencies: SocketDependencies,
  connection: Connection,
  runs: FollowedRuns,
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
  // `close` may have fired already.
  if (conn.readyState !== 'open') throw notAuthenticated();
  const leave = openStreams.open({ userId: caller.userId, apiKey: null, address });
  const unwatch = sessions.watch(caller.sessionId, () => sendOut(connection));
  const endsAt = caller.expiresAt.getTime() - Math.random() * liveLimits.tokenSpreadMs;
  const timer = setTimeout(() => sendAway(connection), Math.max(0, endsAt - clock()));
  const end = () => {
    clearTimeout(timer);
    unwatch();
    leave();
    runs.leaveAll(connection);
  };
  // A connection that closes before it is let in emits no `disconnect`.
  conn.once('close', end);
  connection.once('disconnect', () => {
    end();
    // It has given up its place, so the connection below must not stay open.
    conn.close();
  });
  const take = createInbox(clock);
  const { userId } = caller;
  connection.onAny((event: string, ...args: unknown[]) =>
    take(async (hasTurn) => {
      // A client that requests more than it reads has to wait.
      if (hasTurn) await backlogs.drained(conn);
      const message = { connection, token, userId, hasTurn, event, args };
      await receive({ ...dependencies, runs }, message);
    }),
  );
}

function tokenOf(handshake: unknown): string | null {
  const parsed = v.safeParse(Handshake, handshake);
  return parsed.success ? parsed.output.token : null;
}

const Handshake = v.object({
  token: v.pipe(v.string(), v.maxLength(requestLimits.addressLength), v.nonEmpty()),
});
