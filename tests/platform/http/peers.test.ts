import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { addressOfRequest } from '#services/platform/http/client-address.ts';
import type { Env } from '#services/platform/process/env.ts';
import { httpLimits } from '#services/platform/limits.ts';
import { createHttpServer, listen, stopListening } from '#services/platform/process/listen.ts';
import { createPeers } from '#services/platform/http/peers.ts';
import { createRateLimits } from '#services/platform/http/rate-limits.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const upgradeOf = (sid: string) =>
  [
    `GET /socket.io/?EIO=4&transport=websocket&sid=${sid} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    '\r\n',
  ].join('\r\n');

/** At a real port, and known to other processes. */
async function serve(local: Server, overrides: Env['rateLimits'] = 'off') {
  const { env, log } = app.context;
  const peers = createPeers({
    pool: app.core.pool,
    host: '127.0.0.1',
    keys: [Buffer.alloc(32)],
    path: '/socket.io/',
    headers: {},
    addressOf: (request) => addressOfRequest(request, 0),
    rateLimits: createRateLimits({ ...app.core, ...env, overrides, log }),
    log,
  });
  const server = createHttpServer(app.app.fetch, httpLimits, peers.atPort(local));
  const { port } = new URL(await listen(server, { host: '127.0.0.1', port: 0 }));
  await peers.open(local);
  return {
    server,
    port: Number(port),
    async [Symbol.asyncDispose]() {
      await Promise.all([stopListening(server), peers.close()]);
    },
  };
}

test.each([
  ['of a connection that no process has', 'off', '400 Bad Request'],
  ['beyond the limit', { address: { limit: 0, windowSeconds: 60 } }, '503 Service Unavailable'],
] as const)(
  'an upgrade %s is refused, and the connection is gone although its client stays',
  async (_which, overrides, status) => {
    await using served = await serve(createServer(), overrides);
    // It hears that the other side has ended, and does not end.
    const client = connect({ port: served.port, host: '127.0.0.1', allowHalfOpen: true });
    let heard = '';
    client.on('data', (data: Buffer) => (heard += data.toString()));
    client.write(upgradeOf(`0123456789abcdef.${'a'.repeat(20)}`));
    await once(client, 'end');
    expect(heard).toContain(` ${status}`);
    await vi.waitFor(async () => expect(await connectionsOf(served.server)).toBe(0), 20_000);
    expect(client.destroyed).toBe(false);
    client.destroy();
  },
);

test('an upgraded connection is cut when much was written to it that its client does not take', async () => {
  const local = createServer();
  const written = Promise.withResolvers<Duplex>();
  local.on('upgrade', (_request, socket) => {
    // More than lies in the buffers of two sockets.
    socket.write(Buffer.alloc(32_000_000));
    written.resolve(socket);
  });
  await using served = await serve(local);
  const client = connect({ port: served.port, host: '127.0.0.1' });
  client.on('error', () => undefined);
  client.pause();
  client.write(upgradeOf(''));
  const socket = await written.promise;
  await vi.waitFor(() => expect(socket.destroyed).toBe(true), 20_000);
  client.destroy();
});

async function connectionsOf(server: ReturnType<typeof createHttpServer>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  return promise;
}
