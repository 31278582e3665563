import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A port before several processes, which sends each request to the next of them: no two in a row share
 * one. While there is none, callers wait.
 */
export type Alternating = AsyncDisposable & {
  url: string;
  /** Of the requests of one connection, how many went to each process, by the process' address. */
  requestsOf(sid: string): ReadonlyMap<string, number>;
};

/** `urls` is asked at each request. */
export async function startAlternating(urls: () => readonly string[]): Promise<Alternating> {
  const counts = new Map<string, Map<string, number>>();
  const upgraded = new Set<Duplex>();
  let turn = 0;
  const closing = new AbortController();

  /** Null when the port closes before there is one. */
  const next = async (request: IncomingMessage): Promise<URL | null> => {
    while (urls().length === 0 && !closing.signal.aborted) await sleep(25);
    const all = urls();
    const url = all[turn % all.length];
    turn += 1;
    if (url === undefined) return null;
    const sid = new URL(request.url ?? '/', url).searchParams.get('sid');
    if (sid !== null) {
      const ofOne = counts.get(sid) ?? new Map<string, number>();
      counts.set(sid, ofOne.set(url, (ofOne.get(url) ?? 0) + 1));
    }
    return new URL(url);
  };

  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const there = await next(request);
    if (there === null) {
      response.destroy();
      return;
    }
    const asked = httpRequest({
      host: there.hostname,
      port: there.port,
      method: request.method,
      path: request.url,
      headers: request.headers,
      agent: false,
    });
    asked.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // Either side may be gone; the other one hears it.
      pipeline(answer, response, () => undefined);
    });
    asked.once('error', () => response.destroy());
    response.once('close', () => asked.destroy());
    request.pipe(asked);
  };

  const forwardUpgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const there = await next(request);
    if (there === null) {
      socket.destroy();
      return;
    }
    const other = connect(Number(there.port), there.hostname);
    for (const [one, another] of [
      [socket, other],
      [other, socket],
    ] as const) {
      upgraded.add(one);
      one.on('error', () => another.destroy());
      one.once('close', () => {
        upgraded.delete(one);
        another.destroy();
      });
    }
    const headers = request.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1] ?? ''}`] : [],
    );
    other.write([`GET ${request.url ?? '/'} HTTP/1.1`, ...headers, '', ''].join('\r\n'));
    other.write(head);
    socket.pipe(other).pipe(socket);
  };

  const server = createServer((request, response) => void forward(request, response));
  server.on('upgrade', (request, socket, head) => void forwardUpgrade(request, socket, head));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('There is no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requestsOf: (sid) => counts.get(sid) ?? new Map<string, number>(),
    async [Symbol.asyncDispose]() {
      closing.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}
