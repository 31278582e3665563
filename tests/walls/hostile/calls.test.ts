import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHttpServer } from '#services/platform/process/listen.ts';
import type { TestApp } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import { buildPages } from '#tests/web/support/site.ts';
import {
  credentials,
  entries,
  fieldsOf,
  methodOf,
  newCaller,
  pretendWorker,
  send,
} from '#tests/walls/calls.ts';
import type { Caller, RouteEntry, Sample } from '#tests/walls/calls.ts';
import { counts, cursors, headers, hiddenCharacters, paths, textUnits } from './inputs.ts';
import type { Hostile } from './inputs.ts';

/** Sends the inputs of `inputs.ts` to every call and page of the real application. */
let app: TestApp;
let server: Server;
let port: number;
let caller: Caller;
beforeAll(async () => {
  await buildPages();
  app = await createTestShop();
  await pretendWorker(app);
  server = createHttpServer(app.app.fetch);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  caller = await newCaller(app);
}, 120_000);
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await app.close();
});
beforeEach(() => void app.logged.splice(0));

/** Generous on a busy machine; nothing here has a reason to take a second. */
const mostMs = 10_000;
const innards = /\bat .*\.ts:\d+|node_modules|\/services\/|root:x:|permission denied|<script>alert/;

const faultsLogged = () => app.logged.filter((line) => line.includes('"level":"error"'));

/** The status and text of the response to a raw request. */
async function answerTo(request: string): Promise<{ status: number; text: string }> {
  const socket = connect(port, '127.0.0.1');
  const closed = Promise.withResolvers<void>();
  let text = '';
  socket
    .on('data', (data: Buffer) => {
      text += data.toString('latin1');
      // A stream stays open until the client closes it.
      if (/^content-type: text\/event-stream/im.test(text)) socket.destroy();
    })
    .on('error', () => undefined)
    .on('close', () => closed.resolve());
  await once(socket, 'connect');
  socket.write(request);
  const timer = setTimeout(() => socket.destroy(), mostMs);
  await closed.promise;
  clearTimeout(timer);
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), text };
}

const places = ['/', '/credits', '/api/health', '/api/users/me', '/api/stream', '/api-docs'];

test.each(headers)(
  '$name is answered below 500, within the limit, with no secret',
  async (hostile) => {
    for (const place of places) {
      const isOwn = /^authorization:/i.test(hostile.input);
      const own = isOwn ? '' : `Authorization: Bearer ${caller.token}\r\n`;
      const { status, text } = await answerTo(
        `GET ${place} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${own}${hostile.input}\r\n\r\n`,
      );
      expect([place, status, status >= 200 && status < 500]).toEqual([place, status, true]);
      expect([place, innards.exec(text), text.includes(caller.token)]).toEqual([
        place,
        null,
        false,
      ]);
    }
    expect(app.logged.join()).not.toContain(caller.token);
    expect(faultsLogged()).toEqual([]);
  },
);

test.each(paths)('a path of $name is answered below 500, within the limit', async ({ input }) => {
  for (const method of ['GET', 'HEAD', 'POST']) {
    const { status, text } = await answerTo(
      `${method} ${input} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    );
    expect([method, status, status >= 200 && status < 500]).toEqual([method, status, true]);
    expect([method, innards.exec(text)]).toEqual([method, null]);
  }
  expect(faultsLogged()).toEqual([]);
});

const texts: Hostile<string>[] = [
  { name: 'every unit', input: textUnits.map(({ input }) => input.repeat(20)).join('') },
  { name: 'every hidden character', input: hiddenCharacters.map(({ input }) => input).join(' ') },
  { name: 'a long word', input: 'x'.repeat(90_000) },
];

/** The valid call with a hostile value in each place in turn. */
function spoilt(proper: Sample, entry: RouteEntry): Hostile<Sample>[] {
  const { path, body, ...sample } = proper;
  const fields = entry.schema === undefined ? [] : fieldsOf(entry.schema);
  const [place = '', query] = path.split('?');
  const named = (what: string, { name }: Hostile<string>, input: Sample) => ({
    name: `${what}: ${name}`,
    input,
  });
  // Raw JSON that JSON.stringify cannot produce; each field is checked separately.
  const raw = (json: string): Sample => ({
    ...sample,
    path,
    headers: { ...sample.headers, 'content-type': 'application/json' },
    raw: Uint8Array.from(
      Buffer.from(`{${fields.map((field) => `${JSON.stringify(field)}:${json}`).join(',')}}`),
    ),
  });
  return [
    ...fields.flatMap((field) =>
      texts.map((each) =>
        named(field, each, { ...sample, path, body: { ...body, [field]: each.input } }),
      ),
    ),
    ...(fields.length === 0 ? [] : counts).map((each) =>
      named('all fields', each, raw(each.input)),
    ),
    ...cursors.flatMap((each) => [
      ...[...new URLSearchParams(query).keys()].map((key) =>
        named(key, each, { ...proper, path: `${place}?${key}=${each.input}` }),
      ),
      ...place
        .split('/')
        .filter((part) => /_|magic|20\d\d/.test(part))
        .map((part) => named(part, each, { ...proper, path: path.replace(part, each.input) })),
    ]),
  ];
}

describe('hostile texts, numbers and paths', () => {
  test.each(Object.entries(entries))(
    '%s answers hostile texts, numbers and paths below 500 and in time',
    async (route, entry) => {
      const owner = await newCaller(app);
      const proper = await entry.sample(app, owner);
      const own = await credentials(app, entry.access, owner);
      const method = methodOf(route);
      const secrets = Object.values(own);
      for (const { name, input } of spoilt(proper, entry)) {
        const shown = { 'sec-fetch-site': 'same-origin', ...own, ...input.headers };
        const begun = performance.now();
        const response = await send(app, method, input, shown);
        const text = response.ok ? '' : await response.text();
        const ms = performance.now() - begun;
        const isFine = response.status < 500 || response.status === entry.status;
        expect([name, response.status, isFine, ms < mostMs]).toEqual([
          name,
          response.status,
          true,
          true,
        ]);
        expect([name, innards.exec(text), secrets.filter((one) => text.includes(one))]).toEqual([
          name,
          null,
          [],
        ]);
      }
      expect(faultsLogged()).toEqual([]);
    },
  );
});
