import { connect } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Server } from 'node:http';
import { requestLimits } from '#services/platform/http/http.ts';
import { connectionLimits, createHttpServer } from '#services/platform/process/listen.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
let server: Server;
let port: number;
beforeAll(async () => {
  app = await createTestApp();
  server = createHttpServer(app.app.fetch);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await app.close();
});

/** A login of exactly so many bytes; below the limit it fails with 401. */
function bodyOf(bytes: number): string {
  const body = JSON.stringify({ email: 'a@example.com', password: 'Wrong-123' });
  return body + ' '.repeat(bytes - body.length);
}

/** In chunks, so that no length is sent. */
function chunked(body: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(body);
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(sent, sent + 10_000));
      sent += 10_000;
    },
  });
}

async function login(body: string | ReadableStream): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    ...(typeof body === 'string' ? {} : { duplex: 'half' }),
  });
  await response.arrayBuffer();
  return response.status;
}

describe('a body may have 100 kB and not one byte more', () => {
  test.each([
    [requestLimits.bodyBytes - 1, 401],
    [requestLimits.bodyBytes, 401],
    [requestLimits.bodyBytes + 1, 413],
    [requestLimits.bodyBytes * 10, 413],
  ])('a body of %i bytes gets %i', async (bytes, status) => {
    expect(await login(bodyOf(bytes))).toBe(status);
    expect(await login(chunked(bodyOf(bytes)))).toBe(status);
  });

  test('a wrong Content-Length is refused, whether too large or invalid', async () => {
    const answers = [];
    for (const length of ['1000000000000', '-1', '1e3', '5, 6']) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.end(
        'POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
          `Content-Length: ${length}\r\n\r\n{}`,
      );
      let answer = '';
      socket.on('data', (data: Buffer) => (answer += data.toString()));
      await once(socket, 'close');
      answers.push(answer.split(' ')[1]);
    }
    expect(answers).toEqual(['413', '400', '400', '400']);
  });

  test('only a picture has a limit of its own', async () => {
    const { token } = await app.signUp();
    const send = async (path: string, method: string, type: string, bytes: number) =>
      (
        await fetch(`http://127.0.0.1:${port}/api${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': type },
          body: new Uint8Array(bytes),
        })
      ).status;
    expect(await send('/users/me/avatar', 'PUT', 'image/png', 256 * 1024)).toBe(415);
    expect(await send('/users/me/avatar', 'PUT', 'image/png', 256 * 1024 + 1)).toBe(413);
    expect(await send('/users/me', 'PATCH', 'image/png', 256 * 1024)).toBe(413);
  });
});

describe('JSON may be nested 20 deep', () => {
  const nested = (depth: number) =>
    `{"email":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)},"password":"Wrong-123"}`;
  test.each([
    [requestLimits.jsonDepth, false],
    [requestLimits.jsonDepth + 1, true],
    [40_000, true],
  ])('JSON nested %i deep is too deep: %s', async (depth, isTooDeep) => {
    const response = await app.app.request('http://localhost/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: nested(depth),
    });
    expect(response.status).toBe(400);
    const reply = (await response.json()) as { message: string };
    expect(reply.message === 'The request body is nested too deeply.').toBe(isTooDeep);
  });

  test('brackets in a string are not nesting', async () => {
    const { token } = await app.signUp();
    const name = `${'[{'.repeat(19)}\\"[`;
    const response = await app.call('/users/me', { method: 'PATCH', token, body: { name } });
    expect(response.status).toBe(200);
  });
});

describe('headers and addresses', () => {
  test('an address may have 4,000 characters', async () => {
    const status = async (length: number) => {
      const start = 'http://localhost/api/health/';
      const response = await app.app.request(start + 'a'.repeat(length - start.length));
      return response.status;
    };
    expect(await status(requestLimits.addressLength)).toBe(404);
    expect(await status(requestLimits.addressLength + 1)).toBe(414);
  });

  test('headers may have 16 kB together', async () => {
    const status = async (bytes: number) =>
      (
        await fetch(`http://127.0.0.1:${port}/api/health`, {
          headers: { 'x-long': 'a'.repeat(bytes) },
        })
      ).status;
    expect(await status(connectionLimits.headerBytes - 1_000)).toBe(200);
    expect(await status(connectionLimits.headerBytes)).toBe(431);
  });
});
