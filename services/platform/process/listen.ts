import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, ServerResponse } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { writerOf } from '#services/platform/http/http.ts';
import { SettingsError } from './env.ts';

/**
 * Opening and closing the one HTTP port, with messages for what an operator can repair.
 */
type Fetch = Parameters<typeof getRequestListener>[0];

export const connectionLimits = {
  /** Of all headers of a request, its first line included. */
  headerBytes: 16_384,
  /** For headers to arrive, and for the request as a whole. */
  headersMs: 10_000,
  receiveMs: 30_000,
  /**
   * A connection without a request. Proxies keep theirs for up to two minutes and must be the ones to end
   * it, else they send a request while we close.
   */
  keepAliveMs: 125_000,
  /**
   * A connection without progress during a response: a client that reads nothing would make us keep the
   * response for ever. Streams and sockets send something more often.
   */
  silenceMs: 60_000,
  /** Requests of a client that does not wait for the responses before. Neither browsers nor proxies do that. */
  pipelined: 16,
  /** How often slow connections are checked. */
  slowCheckMs: 1_000,
} as const;

/** Handles the requests and upgrades that no route handles. */
export type OtherProtocol = {
  isOwn(request: IncomingMessage): boolean;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
};

/**
 * A server with bounds: a request that arrives too slowly gets 408, headers that are too long 431, and a
 * client that takes nothing of a response is cut. A response that makes progress is not bounded, so a
 * stream stays open.
 */
export function createHttpServer(
  fetch: Fetch,
  limits: Record<keyof typeof connectionLimits, number> = connectionLimits,
  other?: OtherProtocol,
): Server {
  const handle = getRequestListener(answering(fetch), { autoCleanupIncoming: false });
  const waiting = new WeakMap<Socket, number>();
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.receiveMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.slowCheckMs,
      // On other paths an upgrade is ignored.
      shouldUpgradeCallback: (request) => other?.isOwn(request) ?? false,
    },
    (request, response) => {
      const { socket } = request;
      const count = (waiting.get(socket) ?? 0) + 1;
      if (count > limits.pipelined) {
        socket.destroy();
        return;
      }
      waiting.set(socket, count);
      response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
      if (other?.isOwn(request) === true) {
        other.onRequest(request, response);
        return;
      }
      response.once('finish', () => discardRest(request));
      void handle(request, response);
    },
  );
  server.setTimeout(limits.silenceMs);
  if (other)
    server.on('upgrade', (request, socket, head) => other.onUpgrade(request, socket, head));
  return server;
}

/** Sends the head of a response that is written, and gives its connection to the writer. */
function answering(fetch: Fetch): Fetch {
  return async (request, bindings) => {
    const response = (await fetch(request, bindings)) as Response;
    const write = writerOf(bindings);
    const { incoming, outgoing } = bindings;
    if (write === null || !(outgoing instanceof ServerResponse)) return response;
    // Ending with the connection, the body needs no frames around what is written.
    outgoing.removeHeader('transfer-encoding');
    outgoing.setHeader('connection', 'close');
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    // A client that did not wait for its last response would get this body first.
    if (outgoing.socket === null) incoming.socket.destroy();
    write(incoming.socket);
    return RESPONSE_ALREADY_SENT;
  };
}

export type Place = {
  host: string;
  port: number;
  /** A port of this process alone, also where a supervisor shares ports. */
  isOwn?: boolean;
  /** Where the port comes from; PORT when left out. */
  variable?: string;
};

/** Open responses get this long before their connections are cut. */
const drainMs = 5000;

/**
 * Reads and drops the rest of a body: a client that still sends gets the response, and the connection is
 * free for the next call. The usual time limit of a body applies.
 */
function discardRest(request: IncomingMessage): void {
  if (request.readableEnded) return;
  request.removeAllListeners('data');
  request.resume();
}

/** The address that it listens on. @throws SettingsError when the port is taken or the host not ours */
export async function listen(server: Server, place: Place): Promise<string> {
  try {
    server.listen({ port: place.port, host: place.host, exclusive: place.isOwn ?? false });
    await once(server, 'listening');
  } catch (error) {
    throw new SettingsError([listenLine(place, error)], { cause: error });
  }
  const address = server.address();
  const port = address === null || typeof address === 'string' ? place.port : address.port;
  return `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`;
}

/**
 * A free loopback port, below those that the system gives to outgoing connections: such a connection
 * could take it before it is used.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 32_768);
  const probe = createNetServer();
  const taken = Promise.withResolvers<boolean>();
  probe.once('error', (error: NodeJS.ErrnoException) =>
    error.code === 'EADDRINUSE' ? taken.resolve(true) : taken.reject(error),
  );
  probe.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
    probe.close(() => taken.resolve(false)),
  );
  return (await taken.promise) ? freePort() : port;
}

/** Accepts no new calls, lets running ones end, and cuts the rest. */
export async function stopListening(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed.promise;
  clearTimeout(timer);
}

function listenLine({ host, port, variable = 'PORT' }: Place, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'EADDRINUSE') return `${variable}: ${port} on ${host} is already in use`;
  if (code === 'EACCES')
    return `${variable}: ${port} needs elevated rights. Choose a port above 1023.`;
  return `HOST: cannot listen on ${host} (${code})`;
}
