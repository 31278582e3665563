import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openLiveView } from '#services/http/live-view.ts';
import { encode } from '#services/live/hub.ts';
import { createOpenStreams } from '#services/live/open-streams.ts';
import { streamRoutes } from '#services/live/sse.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { clientAddress } from '#services/platform/http/client-address.ts';
import { answerError, createRouter, requestLog } from '#services/platform/http/http.ts';
import { newId } from '#services/platform/ids.ts';
import { createHttpServer, listen } from '#services/platform/process/listen.ts';
import { createRateLimits } from '#services/platform/http/rate-limits.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';

/** The stream over real connections, to clients that are slow, many, or both. */
type Live = Awaited<ReturnType<typeof openLiveView>>;
let app: TestApp;
let live: Live;
let person: Person;
let watched: string;
let resources: AsyncDisposableStack;
/** Subscriptions so far. */
let subscribed = 0;

beforeAll(async () => {
  app = await createTestApp();
  live = await openLiveView(app.context, app.core);
  person = await app.signUp();
  const run = await app.data<Optimization>('/optimizations', {
    token: person.token,
    body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
  });
  watched = run.id;
});
afterAll(async () => app.close());

beforeEach(() => {
  subscribed = 0;
  const stack = new AsyncDisposableStack();
  resources = stack;
  return async () => stack.disposeAsync();
});

type Served = { port: number; server: Server; connections: () => Promise<number> };

/** Here a user's id is the user's token, until it expires. */
async function serve(
  changes: Partial<StreamDependencies> = {},
  expiresAt = () => new Date(Date.now() + 3_600_000),
): Promise<Served> {
  const { env, log } = app.context;
  const { hub } = { ...live, ...changes };
  const dependencies: StreamDependencies = {
    ...live,
    // There are no sessions to watch.
    sessions: { watch: () => () => {}, close: async () => {} },
    rateLimits: createRateLimits({ ...app.core, ...env, overrides: 'off', log }),
    ...changes,
    hub: {
      ...hub,
      subscribe(who) {
        subscribed += 1;
        return hub.subscribe(who);
      },
    },
  };
  const router = createRouter().use(requestLog(log), clientAddress(1));
  router.onError(answerError);
  router.route(
    '/',
    streamRoutes({
      ...dependencies,
      authenticate: async (userId) => ({
        userId,
        sessionId: 'ses_none',
        expiresAt: expiresAt(),
        apiKey: null,
      }),
      authenticateService: async () => 'svc_none',
    }),
  );
  const server = createHttpServer(router.fetch);
  const address = await listen(server, { host: '127.0.0.1', port: 0 });
  resources.defer(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return {
    port: Number(new URL(address).port),
    server,
    connections: async () => {
      const { promise, resolve } = Promise.withResolvers<number>();
      server.getConnections((_error, count) => resolve(count));
      return promise;
    },
  };
}

type Asking = { userId?: string; watching?: string; address?: string; from?: string };

function ask(socket: Socket, asking: Asking = {}): void {
  const { userId = person.userId, watching, address, from } = asking;
  const lines = [
    `GET /stream${watching === undefined ? '' : `?optimization=${watching}`} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${userId}`,
    ...(address === undefined ? [] : [`X-Forwarded-For: ${address}`]),
    ...(from === undefined ? [] : [`Last-Event-ID: ${from}`]),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

function socketTo({ port }: Served): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {
    // The server cuts it on purpose; tests await its `close`.
  });
  resources.defer(() => void socket.destroy());
  return socket;
}

/** The head of the response, with the part of its body that came with it. */
async function headOf(socket: Socket): Promise<string> {
  let text = '';
  while (!text.includes('\r\n\r\n')) {
    const [data] = (await once(socket, 'data')) as [Buffer];
    text += data.toString();
  }
  return text;
}

/** Opens and keeps a stream; rejects what is refused. */
async function opened(served: Served, asking: Asking = {}): Promise<Socket> {
  const socket = socketTo(served);
  ask(socket, asking);
  const head = await headOf(socket);
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head);
  socket.resume();
  return socket;
}

async function statusOf(served: Served, asking: Asking = {}): Promise<string> {
  const socket = socketTo(served);
  ask(socket, asking);
  const head = await headOf(socket);
  socket.destroy();
  return head;
}

type Listener = { heard: (word: string) => Promise<void>; events: () => readonly string[] };

/** A client that reads everything at once; `heard` waits for a message with this word. */
async function listener(served: Served, asking: Asking): Promise<Listener> {
  const query = asking.watching === undefined ? '' : `?optimization=${asking.watching}`;
  const stop = new AbortController();
  resources.defer(() => stop.abort());
  const response = await fetch(`http://127.0.0.1:${served.port}/stream${query}`, {
    headers: {
      authorization: `Bearer ${asking.userId ?? person.userId}`,
      ...(asking.from === undefined ? {} : { 'last-event-id': asking.from }),
    },
    signal: stop.signal,
  });
  if (!response.ok || response.body === null) throw new Error(`It answered ${response.status}`);
  const waiting = new Map<string, () => void>();
  const events: string[] = [];
  const parser = createParser({
    onEvent({ event = '', data }) {
      events.push(event);
      const { word = event } = JSON.parse(data) as { word?: string };
      waiting.get(word)?.();
    },
  });
  const decoder = new TextDecoder();
  const body = response.body as AsyncIterable<Uint8Array>;
  void (async () => {
    try {
      for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  return {
    events: () => events,
    heard: async (word) => {
      if (events.includes(word)) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(word, resolve);
      await promise;
    },
  };
}

/** A message that fills the buffers of a connection sooner than small ones do. */
const large = (word: string) => encode('delta', { word, text: 'x'.repeat(200_000) });

test.each([
  ['stops reading', undefined],
  [
    'reads a byte now and then',
    (socket: () => Socket) => ({
      buffer: Buffer.alloc(1),
      callback: () => {
        setTimeout(() => socket().resume(), 50);
        return false;
      },
    }),
  ],
])(
  'a client that %s is cut, while another one gets every message',
  { timeout: 300_000 },
  async (_what, onread) => {
    const served = await serve({ drainedWithinMs: 400 });
    const healthy = await listener(served, { watching: watched });
    await healthy.heard('snapshot');
    const slow: Socket =
      onread === undefined
        ? connect(served.port, '127.0.0.1')
        : connect({ port: served.port, host: '127.0.0.1', onread: onread(() => slow) });
    resources.defer(() => void slow.destroy());
    slow.on('error', () => {
      // The server cuts this connection; the test checks the server's side.
    });
    ask(slow, { watching: watched });
    if (onread === undefined) slow.pause();
    await expect.poll(() => subscribed).toBe(2);
    let sent = 0;
    while ((await served.connections()) > 1) {
      const word = `word-${sent}`;
      live.hub.broadcast(watched, large(word));
      await healthy.heard(word);
      sent += 1;
    }
    expect(healthy.events().filter((event) => event === 'delta')).toHaveLength(sent);
    expect(healthy.events().filter((event) => event === 'snapshot')).toHaveLength(1);
  },
);

test(
  'of a thousand streams of one user three open, and the rest are refused before anything is read',
  { tags: ['long'] },
  async () => {
    const served = await serve({
      openStreams: createOpenStreams({ perPerson: 3, perAddress: 50 }),
    });
    const first = await opened(served);
    const kept = [first, await opened(served), await opened(served)];
    for (let group = 0; group < 10; group += 1) {
      const heads = await Promise.all(Array.from({ length: 100 }, async () => statusOf(served)));
      for (const head of heads) {
        expect(head).toMatch(/^HTTP\/1\.1 429 /);
        expect(head).toMatch(/^retry-after: 10\r$/im);
        expect(head).toContain('"code":"too-many-streams"');
      }
    }
    expect(subscribed).toBe(3);
    expect(kept.map(({ readyState }) => readyState)).toEqual(['open', 'open', 'open']);
    // Another user is not affected.
    await opened(served, { userId: newId('usr') });
    first.destroy();
    await expect.poll(async () => (await statusOf(served)).slice(0, 12)).toBe('HTTP/1.1 200');
  },
);

test('the limit of an address counts the streams of all users', async () => {
  const served = await serve({ openStreams: createOpenStreams({ perPerson: 9, perAddress: 2 }) });
  const address = '192.0.2.7';
  await opened(served, { userId: newId('usr'), address });
  await opened(served, { userId: newId('usr'), address });
  expect(await statusOf(served, { userId: newId('usr'), address })).toMatch(/^HTTP\/1\.1 429 /);
  await opened(served, { userId: newId('usr'), address: '192.0.2.8' });
});

test.each([
  ['person', { streams: { limit: 5, windowSeconds: 60 } }],
  ['address', { 'streams-address': { limit: 5, windowSeconds: 60 } }],
])(
  'streams that one %s opens too often are refused, also when none stays',
  async (_, overrides) => {
    const { env, log } = app.context;
    const served = await serve({
      rateLimits: createRateLimits({ ...app.core, ...env, overrides, log }),
    });
    const heads: string[] = [];
    for (let call = 0; call < 8; call += 1) heads.push(await statusOf(served));
    expect(heads.map((head) => head.slice(9, 12))).toEqual([
      ...Array.from({ length: 5 }, () => '200'),
      ...Array.from({ length: 3 }, () => '429'),
    ]);
    expect(heads.at(-1)).toMatch(/^retry-after: \d+\r$/im);
    expect(heads.at(-1)).toContain('"code":"rate-limited"');
    expect(subscribed).toBe(5);
  },
);

test(
  'a storm of short connections leaves nothing behind, and the client that stays gets every message',
  { tags: ['long'] },
  async () => {
    const places = createOpenStreams({ perPerson: 400, perAddress: 400 });
    const served = await serve({ openStreams: places });
    const healthy = await listener(served, { watching: watched });
    await healthy.heard('snapshot');
    for (let wave = 0; wave < 3; wave += 1) {
      const sockets = Array.from({ length: 100 }, () => socketTo(served));
      for (const socket of sockets) ask(socket, { watching: watched });
      // Some leave before their response, some after.
      await Promise.all(sockets.slice(0, 50).map(headOf));
      for (const socket of sockets) socket.destroy();
      live.hub.broadcast(watched, encode('delta', { word: `wave-${wave}` }));
      await healthy.heard(`wave-${wave}`);
    }
    await expect.poll(served.connections).toBe(1);
    // Every place but one is free again.
    await expect
      .poll(() => {
        const taken: (() => void)[] = [];
        try {
          for (let place = 0; place < 399; place += 1)
            taken.push(places.open({ apiKey: null, userId: person.userId, address: '127.0.0.1' }));
          return true;
        } catch {
          return false;
        } finally {
          for (const leave of taken) leave();
        }
      })
      .toBe(true);
    expect(healthy.events().filter((event) => event === 'delta')).toHaveLength(3);
  },
);

test('a stream has its connection to itself: another request behind it frees its place and ends both', async () => {
  const places = createOpenStreams({ perPerson: 2, perAddress: 2 });
  const served = await serve({ openStreams: places });
  const socket = socketTo(served);
  ask(socket);
  const head = await headOf(socket);
  expect(head).toMatch(/^connection: close\r$/im);
  expect(head).not.toMatch(/^(?:transfer-encoding|content-length):/im);
  expect(subscribed).toBe(1);
  const closed = once(socket.resume(), 'close');
  ask(socket);
  await closed;
  expect(subscribed).toBe(1);
  await expect.poll(served.connections).toBe(0);
  await Promise.all([opened(served), opened(served)]);
});

test('a stream ends with a message before its token expires', async () => {
  const served = await serve({}, () => new Date(Date.now() + 1000));
  const client = await listener(served, {});
  await client.heard('bye');
  expect(client.events()).toEqual(['snapshot', 'bye']);
});

test('in another epoch open streams and older ids get a snapshot, once the database has a new connection', async () => {
  const served = await serve();
  const response = await fetch(`http://127.0.0.1:${served.port}/stream`, {
    headers: { authorization: `Bearer ${person.userId}` },
  });
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  const part = await reader?.read();
  await reader?.cancel();
  const from = /^id: (\S+)$/m.exec(new TextDecoder().decode(part?.value))?.[1] ?? '';
  const open = await listener(served, {});
  await open.heard('snapshot');
  expect((await live.hub.ids()).cursorOf(person.userId, from)).not.toBeNull();
  await app.database.ownerPool.query(`update epoch set value = 'ffffffffffff'`);
  await app.database.ownerPool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'sevenfold test'`,
  );
  await expect.poll(() => open.events()).toEqual(['snapshot', 'snapshot']);
  expect((await live.hub.ids()).cursorOf(person.userId, from)).toBeNull();
  const client = await listener(served, { from });
  await client.heard('snapshot');
  expect(client.events()[0]).toBe('snapshot');
});
