import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { SettingsError } from './env.ts';
import { httpLimits } from '#services/platform/limits.ts';

/**
 * Opening and closing the one HTTP port, with words for what a person can repair.
 */
type Fetch = Parameters<typeof getRequestListener>[0];
type ConnectionLimits = Record<
  'headerBytes' | 'headersMs' | 'receiveMs' | 'keepAliveMs' | 'silenceMs' | 'slowCheckMs',
  number
>;

/** Takes what no route answers: all requests and upgrades that it says are its own. */
export type OtherProtocol = {
  isOwn(request: IncomingMessage): boolean;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
};

/**
 * A server that waits for nobody: what arrives too slowly is answered 408 and cut, headers that are too
 * long 431, and whoever takes nothing of an answer is cut. None bounds how long an answer takes on which
 * something moves, so a stream stays open.
 */
export function createHttpServer(
  fetch: Fetch,
  limits: ConnectionLimits = httpLimits,
  other?: OtherProtocol,
): Server {
  const handle = getRequestListener(fetch, { autoCleanupIncoming: false });
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.receiveMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.slowCheckMs,
      // Whoever asks for another protocol elsewhere is answered as if they had not.
      shouldUpgradeCallback: (request) => other?.isOwn(request) ?? false,
    },
    (request, response) => {
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

export type Place = {
  host: string;
  port: number;
  /** A port of this process alone, also where a supervisor shares those of its processes. */
  isOwn?: boolean;
};

/** Answers that are still being sent get this long before their connections are cut. */
const drainMs = 5000;

/**
 * What nobody read of a body is taken and thrown away: whoever is still sending hears the answer, and the
 * connection is free for the next call. How long this may take is bounded as for every body.
 */
function discardRest(request: IncomingMessage): void {
  if (request.readableEnded) return;
  request.removeAllListeners('data');
  request.resume();
}

/** The address that it listens on. @throws SettingsError when the place is taken or not ours */
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

/** Takes no new calls, lets running ones end, and cuts those that do not. */
export async function stopListening(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed.promise;
  clearTimeout(timer);
}

function listenLine({ host, port }: Place, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'EADDRINUSE') return `PORT: ${port} on ${host} is taken by another program`;
  if (code === 'EACCES') return `PORT: ${port} needs more rights; choose one above 1023`;
  return `HOST: cannot listen on ${host} (${code})`;
}
