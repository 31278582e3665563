import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as v from 'valibot';
import { answerData, answerError, createRouter, parseBody } from '#services/platform/http/http.ts';
import { connectionLimits, createHttpServer } from '#services/platform/process/listen.ts';

const limits = {
  ...connectionLimits,
  headersMs: 150,
  receiveMs: 300,
  keepAliveMs: 100,
  silenceMs: 2_000,
  slowCheckMs: 20,
};

let server: Server;
let port: number;
const app = createRouter()
  .get('/', (context) => answerData(context, 'here'))
  .get('/slow', async (context) => {
    await sleep(2 * limits.receiveMs);
    return answerData(context, 'after a while');
  })
  // More than the buffers of two sockets hold.
  .get('/large', (context) => answerData(context, 'a'.repeat(32_000_000)))
  .post('/', async (context) => answerData(context, await parseBody(context, v.strictObject({}))));
app.onError((error, context) => answerError(error, context));

beforeEach(async () => {
  server = createHttpServer(app.fetch, limits);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** What the server sends until it closes the socket. */
async function answerTo(write: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data: Buffer) => (answer += data.toString()));
  await once(socket, 'connect');
  // The server may cut the socket during a write; `once` would reject with that error.
  socket.on('error', () => undefined);
  const closed = Promise.withResolvers<void>();
  socket.once('close', () => closed.resolve());
  write(socket);
  await closed.promise;
  return answer.split('\r\n')[0] ?? '';
}

/** A byte that arrives after the cut resets the socket, which can lose the unread response. */
const cut = /^(?:HTTP\/1\.1 4\d\d .*)?$/;

/** Sends one byte at a time until the server closes the socket. */
function trickle(socket: Socket, first: string, byte: string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(byte), 20);
  socket.on('close', () => clearInterval(timer));
}

describe('a slow client', () => {
  test('a client that sends nothing is disconnected', async () => {
    expect(await answerTo(() => undefined)).toMatch(cut);
  });

  test('a client that sends its headers byte by byte is disconnected', async () => {
    expect(
      await answerTo((socket) =>
        trickle(socket, 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', 'a'),
      ),
    ).toMatch(cut);
  });

  test('a client that sends its body byte by byte is disconnected', async () => {
    const head =
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n';
    expect(await answerTo((socket) => trickle(socket, head, ' '))).toMatch(cut);
  });

  test('a client with an idle connection is disconnected', async () => {
    const answer = await answerTo((socket) =>
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    );
    expect(answer).toContain(' 200 ');
  });

  test('a client that does not read its response is disconnected', async () => {
    const accepted = once(server, 'connection');
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [theirs] = (await accepted) as [Socket];
    await new Promise((resolve) => theirs.once('close', resolve));
    expect(socket.bytesRead).toBeLessThan(32_000_000);
    socket.destroy();
  });

  test('a client that sends too many headers is refused', async () => {
    const header = `X-Long: ${'a'.repeat(limits.headerBytes)}`;
    expect(
      await answerTo((socket) =>
        socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`),
      ),
    ).toContain(' 431 ');
  });
});

test('a slow response is not cut off', async () => {
  const response = await fetch(`http://127.0.0.1:${port}/slow`);
  expect(await response.json()).toEqual({ data: 'after a while' });
});

test('a client that asks on without taking responses is disconnected', async () => {
  let asked = 0;
  const counting = createHttpServer(async () => {
    asked += 1;
    await sleep(500);
    return new Response('here');
  }, limits);
  counting.listen(0, '127.0.0.1');
  await once(counting, 'listening');
  const address = counting.address();
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100));
  await once(socket, 'close');
  expect(asked).toBeLessThanOrEqual(limits.pipelined);
  counting.close();
});
