import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, request as httpRequest } from 'node:http';
import type {
  ClientRequest,
  IncomingMessage,
  OutgoingHttpHeaders,
  Server,
  ServerResponse,
} from 'node:http';
import { hostname } from 'node:os';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { callerOfAddress } from './client-address.ts';
import { healthLimits, httpLimits } from '#services/platform/limits.ts';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import type { OtherProtocol } from '#services/platform/process/listen.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import type { RateLimits } from './rate-limits.ts';

/**
 * A socket that polls has its state in one process, while its requests come to any that listens on the
 * port. The id of its connection names its process, and whoever gets a request for another process
 * hands it over whole. Processes find one another in a table, and know one another's requests by a
 * signature under the key that they all have; nothing else is answered at the private address.
 */
export type Peers = {
  newConnectionId(): string;
  /** The public side: own connections are served here, others where they are. */
  atPort(local: Server): OtherProtocol;
  /** Listens at the private address and says where. */
  open(local: Server): Promise<void>;
  /** Cuts what still goes on, and is found no more. */
  close(): Promise<void>;
};

export type PeerOptions = {
  pool: pg.Pool;
  /** The address to listen on for other processes. */
  host: string;
  /** Shared by all processes; the first signs, any verifies. */
  keys: readonly Buffer[];
  /** Requests under it are handed over. */
  path: string;
  /** Of every answer. */
  headers: Readonly<Record<string, string>>;
  addressOf: (request: IncomingMessage) => string;
  rateLimits: RateLimits;
  log: Log;
};

/** Who calls, as the process at the port found out; whatever a caller writes there is thrown away. */
export const callerHeader = 'x-sevenfold-caller';
const proofHeader = 'x-sevenfold-proof';

const peerLimits = {
  /** A process that is gone takes nothing. */
  connectMs: 2_000,
  /** Longer than a poll waits. */
  silenceMs: 60_000,
  knownPeers: 256,
  /**
   * Written to an upgraded connection and not taken yet: several times the largest message. Whoever
   * only asks for pongs and takes none would else have us keep them all.
   */
  unsentBytes: 4_000_000,
  unsentCheckMs: 250,
} as const;

type Place = { host: string; port: number };

export function createPeers(options: PeerOptions): Peers {
  const { pool, keys, path, log } = options;
  const processId = randomBytes(8).toString('hex');
  const find = createDirectory(pool);
  const upgraded = new Set<Duplex>();
  let own: Server | null = null;
  let beats: NodeJS.Timeout | undefined;
  let unsentChecks: NodeJS.Timeout | undefined;

  const isOwn = (request: IncomingMessage) => request.url?.startsWith(path) === true;

  const keep = (socket: Duplex) => {
    upgraded.add(socket);
    socket.on('error', (error) => log.debug({ err: error }, 'A socket broke'));
    socket.once('close', () => upgraded.delete(socket));
  };

  /** Null for a connection of this process, or one that is only now being made. */
  const elsewhere = async (request: IncomingMessage): Promise<'unknown' | Peer | null> => {
    const id = processOf(request);
    if (id === null || id === processId) return null;
    const place = await find.placeOf(id);
    return place === null ? 'unknown' : { ...place, proof: proofOf(keys[0], id) };
  };

  /** @throws Problem 429 */
  const enter = async (request: IncomingMessage) => {
    delete request.headers[proofHeader];
    const caller = callerOfAddress(options.addressOf(request));
    request.headers[callerHeader] = caller;
    await options.rateLimits.take('address', caller);
    return elsewhere(request);
  };

  const serve = async (local: Server, request: IncomingMessage, response: ServerResponse) => {
    try {
      const peer = await enter(request);
      if (peer === null) local.emit('request', request, response);
      else if (peer === 'unknown') refuseUnknown(response);
      else handOver(peer, request, response, log);
    } catch (error) {
      refuse(response, error, log);
    }
  };

  const serveUpgrade = async (
    local: Server,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ) => {
    try {
      const peer = await enter(request);
      if (peer === null) local.emit('upgrade', request, socket, head);
      else if (peer === 'unknown') hangUp(socket, unknownUpgrade);
      else handOverUpgrade(peer, request, socket, head, keep);
    } catch (error) {
      if (!(error instanceof Problem)) log.error({ err: error }, 'A socket was not served');
      hangUp(socket, refusedUpgrade);
    }
  };

  return {
    newConnectionId: () => `${processId}.${randomBytes(15).toString('base64url')}`,
    atPort: (local) => ({
      isOwn,
      onRequest(request, response) {
        for (const [name, value] of Object.entries(options.headers))
          response.setHeader(name, value);
        response.setHeader('Cache-Control', 'no-store');
        void serve(local, request, response);
      },
      onUpgrade(request, socket, head) {
        keep(socket);
        void serveUpgrade(local, request, socket, head);
      },
    }),
    async open(local) {
      const isHandedOver = (request: IncomingMessage) =>
        isOwn(request) &&
        processOf(request) === processId &&
        keys.some((key) => isSame(request.headers[proofHeader], proofOf(key, processId)));
      own = createServer(
        {
          maxHeaderSize: httpLimits.headerBytes,
          headersTimeout: httpLimits.headersMs,
          requestTimeout: httpLimits.receiveMs,
        },
        (request, response) => {
          if (isHandedOver(request)) local.emit('request', request, response);
          else refuseUnknown(response);
        },
      );
      own.on('upgrade', (request, socket, head) => {
        keep(socket);
        if (isHandedOver(request)) local.emit('upgrade', request, socket, head);
        else hangUp(socket, unknownUpgrade);
      });
      const address = new URL(await listen(own, { host: options.host, port: 0, isOwn: true }));
      const isEverywhere = ['0.0.0.0', '::'].includes(options.host);
      const place = { host: isEverywhere ? hostname() : options.host, port: Number(address.port) };
      const beat = async () => {
        await announce(pool, processId, place);
      };
      await beat();
      unsentChecks = setInterval(() => {
        for (const socket of upgraded)
          if (socket.writableLength > peerLimits.unsentBytes) socket.destroy();
      }, peerLimits.unsentCheckMs);
      unsentChecks.unref();
      beats = setInterval(() => {
        void beat().catch((error: unknown) =>
          log.warn({ err: error }, 'Where this process is reached could not be written'),
        );
      }, healthLimits.heartbeatEveryMs);
      beats.unref();
    },
    async close() {
      clearInterval(beats);
      clearInterval(unsentChecks);
      for (const socket of upgraded) socket.destroy();
      if (own) {
        own.closeAllConnections();
        await stopListening(own);
      }
      await pool.query('delete from api_process where process_id = $1', [processId]);
    },
  };
}

type Peer = Place & { proof: string };

/** The process that the connection of a request belongs to; null for one that is new. */
function processOf(request: IncomingMessage): string | null {
  const query = new URLSearchParams(request.url?.split('?', 2)[1] ?? '');
  const sid = query.get('sid');
  if (sid === null || sid === '') return null;
  return /^(?<id>[0-9a-f]{16})\.[\w-]{20}$/.exec(sid)?.groups?.['id'] ?? 'none';
}

function proofOf(key: Buffer | undefined, processId: string): string {
  if (key === undefined) throw new Error('There is no key to sign with');
  return createHmac('sha256', key).update(`socket of ${processId}`).digest('base64url');
}

function isSame(told: string | string[] | undefined, proof: string): boolean {
  if (typeof told !== 'string' || told.length !== proof.length) return false;
  return timingSafeEqual(Buffer.from(told, 'latin1'), Buffer.from(proof, 'latin1'));
}

// --- who is where ---

/** An address is never given to another id, so what was found stays true until its process is gone. */
function createDirectory(pool: pg.Pool) {
  const known = new LRUCache<string, Place>({ max: peerLimits.knownPeers });
  return {
    async placeOf(id: string): Promise<Place | null> {
      const cached = known.get(id);
      if (cached) return cached;
      const { rows } = await pool.query<Place>(
        'select host, port from api_process where process_id = $1',
        [id],
      );
      const place = rows[0] ?? null;
      if (place !== null) known.set(id, place);
      return place;
    },
  };
}

/** Says where this process is, and forgets those that have said nothing for long. */
async function announce(pool: pg.Pool, processId: string, { host, port }: Place): Promise<void> {
  await pool.query(
    `with gone as (
       delete from api_process where beat_at < now() - interval '10 minutes' and process_id <> $1)
     insert into api_process (process_id, host, port) values ($1, $2, $3)
     on conflict (process_id) do update set beat_at = now()`,
    [processId, host, port],
  );
}

// --- handing over ---

function ask({ host, port, proof }: Peer, request: IncomingMessage): ClientRequest {
  const headers: OutgoingHttpHeaders = { ...request.headers, [proofHeader]: proof };
  for (const name of ['transfer-encoding', 'keep-alive', 'expect']) delete headers[name];
  if (request.headers.upgrade === undefined) delete headers['connection'];
  const asked = httpRequest({
    host,
    port,
    method: request.method,
    path: request.url,
    headers,
    agent: false,
    timeout: peerLimits.silenceMs,
  });
  const timer = setTimeout(() => asked.destroy(), peerLimits.connectMs);
  asked.once('socket', (socket) => socket.once('connect', () => clearTimeout(timer)));
  asked.once('close', () => clearTimeout(timer));
  asked.once('timeout', () => asked.destroy());
  return asked;
}

function handOver(peer: Peer, request: IncomingMessage, response: ServerResponse, log: Log): void {
  const asked = ask(peer, request);
  asked.once('response', (answer) => {
    const { connection: _connection, 'keep-alive': _keepAlive, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, headers);
    pipeline(answer, response, (error) => {
      if (error) log.debug({ err: error }, 'An answer that was handed over broke off');
    });
  });
  asked.on('error', (error) => {
    log.debug({ err: error }, 'The process of a connection could not be reached');
    refuseUnknown(response);
  });
  response.once('close', () => asked.destroy());
  request.pipe(asked);
}

function handOverUpgrade(
  peer: Peer,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  keep: (socket: Duplex) => void,
): void {
  const asked = ask(peer, request);
  asked.once('upgrade', (answer, theirs, theirHead) => {
    keep(theirs);
    // Whoever has gone meanwhile is never heard to go again.
    if (socket.destroyed) {
      theirs.destroy();
      return;
    }
    const lines = answer.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1] ?? ''}`] : [],
    );
    socket.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'));
    socket.write(theirHead);
    theirs.write(head);
    socket.pipe(theirs).pipe(socket);
    socket.once('close', () => theirs.destroy());
    theirs.once('close', () => socket.destroy());
  });
  asked.once('response', (answer) => {
    answer.resume();
    hangUp(socket, unknownUpgrade);
  });
  asked.on('error', () => hangUp(socket, unknownUpgrade));
  asked.end();
}

/** In the words of the protocol, after which a client connects anew. */
function refuseUnknown(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(400, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ code: 1, message: 'Session ID unknown' }));
}

function refuse(response: ServerResponse, error: unknown, log: Log): void {
  const isProblem = error instanceof Problem;
  if (!isProblem) log.error({ err: error }, 'A request of a socket was not served');
  const seconds = isProblem ? error.extras.retryAfterSeconds : undefined;
  response.writeHead(isProblem ? error.status : 503, {
    'Content-Type': 'application/json',
    ...(seconds === undefined ? {} : { 'Retry-After': String(seconds) }),
  });
  response.end(JSON.stringify({ code: 3, message: isProblem ? error.message : 'Try again' }));
}

/** Both ways: whoever is refused and does not hang up would else keep the connection for ever. */
function hangUp(socket: Duplex, answer: string): void {
  socket.once('finish', () => socket.destroy());
  socket.end(answer);
}

const emptyAnswer = 'Connection: close\r\nContent-Length: 0\r\n\r\n';
const unknownUpgrade = `HTTP/1.1 400 Bad Request\r\n${emptyAnswer}`;
const refusedUpgrade = `HTTP/1.1 503 Service Unavailable\r\n${emptyAnswer}`;
