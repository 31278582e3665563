import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { callerOfAddress } from '#services/platform/http/client-address.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { OtherProtocol } from '#services/platform/process/listen.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { socketPath } from './contract.ts';

/** The caller, as the rate limit counts it. What a client writes there is overwritten. */
export const callerHeader = 'x-sevenfold-caller';

/**
 * Written to an upgraded connection and not yet read: several times the largest message. A client that
 * requests pongs and reads none would otherwise fill our memory.
 */
const unsentBytes = 4_000_000;
const unsentCheckMs = 250;

export type Entrance = {
  protocol: OtherProtocol;
  /** Cuts every upgraded connection. */
  close(): void;
};

/** Passes each request for the socket to its server, in exchange for a turn of the address limit. */
export function createEntrance(options: {
  server: Server;
  /** On every response. */
  headers: Readonly<Record<string, string>>;
  addressOf: (request: IncomingMessage) => string;
  rateLimits: RateLimits;
  log: Log;
}): Entrance {
  const { server, log } = options;
  const upgraded = new Set<Duplex>();

  /** @throws Problem 429 */
  const enter = async (request: IncomingMessage) => {
    // Set now: once the connection has closed, its address is gone.
    const caller = callerOfAddress(options.addressOf(request));
    request.headers[callerHeader] = caller;
    await options.rateLimits.take('address', caller);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      await enter(request);
      server.emit('request', request, response);
    } catch (error) {
      refuse(response, error, log);
    }
  };

  const serveUpgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    try {
      await enter(request);
      server.emit('upgrade', request, socket, head);
    } catch (error) {
      if (!(error instanceof Problem)) log.error({ err: error }, 'An upgrade failed');
      // A refused client that does not hang up would otherwise keep the connection open.
      socket.once('finish', () => socket.destroy());
      socket.end(unavailable);
    }
  };

  const unsentChecks = setInterval(() => {
    for (const socket of upgraded) if (socket.writableLength > unsentBytes) socket.destroy();
  }, unsentCheckMs);
  unsentChecks.unref();

  return {
    protocol: {
      isOwn: (request) => request.url?.startsWith(socketPath) === true,
      onRequest(request, response) {
        for (const [name, value] of Object.entries(options.headers))
          response.setHeader(name, value);
        response.setHeader('Cache-Control', 'no-store');
        void serve(request, response);
      },
      onUpgrade(request, socket, head) {
        upgraded.add(socket);
        socket.on('error', (error) => log.debug({ err: error }, 'A socket broke'));
        socket.once('close', () => upgraded.delete(socket));
        void serveUpgrade(request, socket, head);
      },
    },
    close() {
      clearInterval(unsentChecks);
      for (const socket of upgraded) socket.destroy();
    },
  };
}

/** In the form of Engine.IO's own refusals. */
function refuse(response: ServerResponse, error: unknown, log: Log): void {
  const isProblem = error instanceof Problem;
  if (!isProblem) log.error({ err: error }, 'A request of a socket failed');
  const seconds = isProblem ? error.extras.retryAfterSeconds : undefined;
  response.writeHead(isProblem ? error.status : 503, {
    'Content-Type': 'application/json',
    ...(seconds === undefined ? {} : { 'Retry-After': String(seconds) }),
  });
  response.end(JSON.stringify({ code: 3, message: isProblem ? error.message : 'Try again' }));
}

const unavailable =
  'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
