import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as v from 'valibot';
import {
  answerData,
  answerError,
  createRouter,
  parseBody,
  requestLog,
} from '#services/platform/http/http.ts';
import { createLog } from '#services/platform/process/log.ts';
import { securityHeaders } from '#services/platform/http/security-headers.ts';

const logged: string[] = [];
const log = createLog({
  level: 'info',
  process: 'test',
  destination: { write: (line) => void logged.push(line) },
});
const app = createRouter()
  .use(requestLog(log), securityHeaders({ isHttps: false }))
  .post('/said', async (context) => {
    const body = await parseBody(
      context,
      v.strictObject({ text: v.optional(v.string('A text is required'), 'nothing') }),
    );
    return answerData(context, body);
  });
app.onError((error, context) => answerError(error, context));

async function say(body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  return app.request('http://localhost/said', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
}

beforeEach(() => void logged.splice(0));

describe('a body that is not valid', () => {
  const canary = 'Canary';
  test.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['that is not JSON', `{"text": ${canary}`],
    ['that is no object', `"${canary}"`],
    ['with an unknown key', `{"${canary} said no": 1}`],
    ['with the key of every object', `{"__proto__": {"text": "${canary}"}}`],
    ['with the character NUL, which the database cannot hold', `{"text": "${canary}\\u0000"}`],
    ['with the character NUL deep inside', `{"text": [[{"a": "${canary}\\u0000"}]]}`],
    ['nested deeper than the limit', `{"text": ${'['.repeat(49_000)}${']'.repeat(49_000)}}`],
    ['that is not UTF-8', Uint8Array.from(Buffer.from(`{"text": "${canary}\xff"}`, 'latin1'))],
  ])('a body %s is refused with 400 and not repeated', async (_what, body) => {
    const response = await say(body);
    const text = await response.text();
    expect(response.status).toBe(400);
    expect(text).not.toContain(canary);
    expect(logged.join()).not.toContain(canary);
  });
});

test('no body, white space and {} are the same, and a byte order mark is ignored', async () => {
  for (const body of ['', ' ', '{}', '\uFEFF{}'])
    expect(await (await say(body)).json()).toEqual({ data: { text: 'nothing' } });
});

test('half a surrogate pair is read as the replacement character', async () => {
  expect(await (await say('{"text": "cut \\ud83d"}')).json()).toEqual({
    data: { text: 'cut \uFFFD' },
  });
});

test('a response has a type, is not cached, and forbids sniffing', async () => {
  for (const response of [await say('{}'), await say('{')]) {
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  }
});

describe('over a socket', () => {
  let server: Server;
  let port: number;
  beforeEach(async () => {
    const handle = getRequestListener(app.fetch);
    server = createServer((request, response) => void handle(request, response));
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

  test('a caller that disconnects while it sends causes no internal error', async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      'POST /said HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        'Content-Length: 5000\r\n\r\n{"text',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.resetAndDestroy();
    await expect.poll(() => logged.length).toBeGreaterThan(0);
    const lines = logged.map((line) => JSON.parse(line) as { level: string; status?: number });
    expect(lines.map(({ level, status }) => `${level} ${status}`)).toEqual(['info 400']);
  });
});
