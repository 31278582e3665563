import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { createEntrance } from '#services/live/socket/entrance.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import {
  connectionLimits,
  createHttpServer,
  listen,
  stopListening,
} from '#services/platform/process/listen.ts';
import { createLog } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';

const upgrade = [
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  '\r\n',
].join('\r\n');

/** An entrance at a real port. */
async function serve(server: Server, take: RateLimits['take']) {
  const entrance = createEntrance({
    server,
    headers: {},
    addressOf: () => '192.0.2.1',
    rateLimits: { take } as RateLimits,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  const port = createHttpServer(() => new Response(), connectionLimits, entrance.protocol);
  const address = new URL(await listen(port, { host: '127.0.0.1', port: 0 }));
  return {
    port,
    address: { host: address.hostname, port: Number(address.port) },
    async [Symbol.asyncDispose]() {
      entrance.close();
      await stopListening(port);
    },
  };
}

test('an upgrade beyond the address limit is refused and cut, even if the client stays', async () => {
  await using served = await serve(createServer(), async () => {
    throw new Problem('rate-limited', 'Too many requests');
  });
  // The client receives the end of the stream and does not end its own side.
  const client = connect({ ...served.address, allowHalfOpen: true });
  let received = '';
  client.on('data', (data: Buffer) => (received += data.toString()));
  client.write(upgrade);
  await once(client, 'end');
  expect(received).toContain(' 503 Service Unavailable');
  await vi.waitFor(async () => expect(await connectionsOf(served.port)).toBe(0), 20_000);
  expect(client.destroyed).toBe(false);
  client.destroy();
});

test('an upgraded connection is cut when its client leaves too much unread', async () => {
  const server = createServer();
  const written = Promise.withResolvers<Duplex>();
  server.on('upgrade', (_request, socket) => {
    // More than the buffers of two sockets hold.
    socket.write(Buffer.alloc(32_000_000));
    written.resolve(socket);
  });
  await using served = await serve(server, async () => undefined);
  const client = connect(served.address);
  client.on('error', () => undefined);
  client.pause();
  client.write(upgrade);
  const socket = await written.promise;
  await vi.waitFor(() => expect(socket.destroyed).toBe(true), 20_000);
  client.destroy();
});

async function connectionsOf(server: Server): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  return promise;
}
