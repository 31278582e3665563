import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createHttpServer } from '#services/platform/process/listen.ts';
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
beforeEach(() => void app.logged.splice(0));

const canary = 'Canary-4b1d';

/** All statuses and the whole text that the raw request is answered with. */
async function answersTo(
  request: string,
  isCut = false,
): Promise<{ statuses: string[]; text: string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString()));
  await once(socket, 'connect');
  if (isCut) socket.end(request);
  else socket.write(request);
  await once(socket, 'close');
  return {
    statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status),
    text,
  };
}

const post = 'POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
const json = 'Content-Type: application/json\r\n';

test.each([
  ['a method that is none', `${canary} / HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ['another protocol', `GET /${canary} GOPHER/1.1\r\nHost: localhost\r\n\r\n`],
  ['no host', `GET /${canary} HTTP/1.1\r\n\r\n`],
  ['a host that cannot be one', `GET /api/health HTTP/1.1\r\nHost: ${canary} <x>\r\n\r\n`],
  ['two hosts', `GET / HTTP/1.1\r\nHost: localhost\r\nHost: ${canary}\r\n\r\n`],
  ['a header without a colon', `GET / HTTP/1.1\r\nHost: localhost\r\n${canary}\r\n\r\n`],
  [
    'a header that continues in the next line',
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n ${canary}\r\n\r\n`,
  ],
  [
    'a length and chunks at once',
    `${post}${json}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${canary}`,
  ],
  ['two lengths', `${post}${json}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}${canary}`],
  [
    'an encoding that is none',
    `${post}${json}Transfer-Encoding: chunked, ${canary}\r\n\r\n0\r\n\r\n`,
  ],
  ['chunks of no size', `${post}${json}Transfer-Encoding: chunked\r\n\r\n${canary}\r\n`],
  ['a body that is cut', `${post}${json}Content-Length: 400\r\n\r\n{"${canary}`],
])('a request with %s is refused once, without an echo', async (_what, request) => {
  const { statuses, text } = await answersTo(request, true);
  expect(statuses.length).toBeLessThanOrEqual(1);
  expect(statuses.filter((status) => !status.startsWith('4'))).toEqual([]);
  expect(text).not.toContain(canary);
  expect(app.logged.join()).not.toContain(canary);
});

test.each([
  ['broken escapes', '/api/%E0%A4%A'],
  ['escapes of nothing', '/api/avatars/%00'],
  ['a way out of the folder', '/api/../../etc/passwd'],
  ['a whole address in place of a path', `http://${canary}.example/api/users/me`],
  ['no slash in front', 'api/users/me'],
  ['an asterisk', '*'],
  ['two slashes', '//api//users//me'],
  ['a semicolon', '/api/users/me;jsessionid=1'],
  ['another case', '/API/users/me'],
  ['letters of other scripts', '/api/users/%EF%BD%8De'],
])('a path with %s is refused', async (_what, path) => {
  const { statuses, text } = await answersTo(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  expect(statuses).toHaveLength(1);
  expect(statuses[0]).toMatch(/^4/);
  expect(text).not.toMatch(/Canary|etc\/passwd|at .*\.ts:/);
});

test('no other method reads what GET and HEAD read', async () => {
  for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'PATCH', 'PUT', 'DELETE', 'POST']) {
    const { statuses, text } = await answersTo(
      `${method} /api/users/me/../health HTTP/1.1\r\nHost: localhost\r\nX-Canary: ${canary}\r\nConnection: close\r\n\r\n`,
    );
    // The response to a preflight has only headers.
    const refused = method === 'OPTIONS' ? /^204/ : /^4/;
    expect([method, statuses]).toEqual([method, [expect.stringMatching(refused)]]);
    expect(text).not.toContain(canary);
  }
});
