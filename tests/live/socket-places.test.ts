import type { IncomingMessage } from 'node:http';
import { connect as connectTo } from 'node:net';
import timers from 'node:timers';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openLiveView } from '#services/http/live-view.ts';
import { createOpenStreams } from '#services/live/open-streams.ts';
import type { OpenStreams } from '#services/live/open-streams.ts';
import type { SessionWatch } from '#services/live/session-watch.ts';
import { socketLimits } from '#services/live/socket/limits.ts';
import { openSockets } from '#services/live/socket/socketio.ts';
import type { SocketDependencies } from '#services/live/socket/socketio.ts';
import { newId } from '#services/platform/ids.ts';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { Problem } from '#services/platform/problem.ts';
import { createRateLimits } from '#services/platform/http/rate-limits.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { connect, openPort, outcomeOf } from './sockets.ts';
import type { Client, ClientOptions } from './sockets.ts';

/**
 * Socket connections take the same places as streams, and free them however they end. Here a user's id
 * is the user's token, and a client names its own address.
 */
let app: TestApp;
let live: Awaited<ReturnType<typeof openLiveView>>;
let resources: AsyncDisposableStack;

beforeAll(async () => {
  app = await createTestApp();
  live = await openLiveView(app.context, app.core);
});
afterAll(async () => app.close());

beforeEach(() => {
  const stack = new AsyncDisposableStack();
  resources = stack;
  return async () => stack.disposeAsync();
});

const tooMany = {
  message: 'The rate limit is reached: too many pages are open at once. Close some of them.',
  data: { code: 'too-many-streams', retry_ms: 10_000 },
};

type Served = { url: string; places: OpenStreams; drain: () => Promise<void> };
type Changes = Partial<SocketDependencies> & { expiresAt?: () => Date };

async function serve({ expiresAt, ...changes }: Changes = {}): Promise<Served> {
  const { env, log } = app.context;
  const openStreams = changes.openStreams ?? createOpenStreams({ perPerson: 1, perAddress: 50 });
  const sockets = openSockets({
    ...live,
    sessions: { watch: () => () => {}, close: async () => {} },
    rateLimits: createRateLimits({ ...app.core, ...env, overrides: 'off', log }),
    authenticate: async (userId) => ({
      userId,
      sessionId: 'ses_none',
      expiresAt: expiresAt?.() ?? new Date(Date.now() + 3_600_000),
      apiKey: null,
    }),
    origins: { own: new Set(), foreign: new Set() },
    readRun: async () => null,
    whileScored: (run) => run,
    cancelRun: async () => {},
    apiProcesses: 10,
    transports: ['polling', 'websocket'],
    callerOf: ({ headers }: IncomingMessage) => headers['x-address']?.toString() ?? '192.0.2.1',
    log,
    ...changes,
    openStreams,
  });
  const url = await listen(sockets.server, { host: '127.0.0.1', port: 0 });
  resources.defer(async () => {
    const stopped = stopListening(sockets.server);
    sockets.server.closeAllConnections();
    await stopped;
  });
  return { url, places: openStreams, drain: async () => sockets.drain() };
}

function client({ url }: Served, userId: string, options: ClientOptions = {}): Client {
  const made = connect(url, userId, { transports: ['websocket'], reconnection: false, ...options });
  resources.defer(() => void made.socket.disconnect());
  return made;
}

async function connected(...args: Parameters<typeof client>): Promise<Client> {
  const made = client(...args);
  expect(await outcomeOf(made)).toBe('connected');
  return made;
}

/** The error that a refused client receives, or `connected`. */
async function refusalOf(...args: Parameters<typeof client>): Promise<unknown> {
  const { socket } = client(...args);
  const outcome = Promise.withResolvers<unknown>();
  socket.once('connect_error', (error) => {
    outcome.resolve({ message: error.message, data: 'data' in error ? error.data : null });
  });
  socket.once('connect', () => outcome.resolve('connected'));
  return outcome.promise;
}

function isFree({ places }: Served, who: { userId: string; address?: string }): boolean {
  try {
    places.open({ apiKey: null, address: '192.0.2.1', ...who })();
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === 'too-many-streams') return false;
    throw error;
  }
}

test('streams and sockets of a user share a limit, and the refusal says that it is reached', async () => {
  const served = await serve({ openStreams: createOpenStreams({ perPerson: 3, perAddress: 50 }) });
  const userId = newId('usr');
  const leave = served.places.open({ apiKey: null, userId, address: '192.0.2.9' });
  const first = await connected(served, userId);
  await connected(served, userId, { transports: ['polling'] });
  expect(await refusalOf(served, userId)).toEqual(tooMany);
  expect(await refusalOf(served, userId, { transports: ['polling'] })).toEqual(tooMany);
  expect(() => served.places.open({ apiKey: null, userId, address: '192.0.2.9' })).toThrow(
    tooMany.message,
  );
  // Open ones stay open, and other users are not affected.
  expect(
    await first.send('demo-progress', { optimizationId: 'x', stage: 'y', progress: 1 }),
  ).toEqual({ ok: true });
  await connected(served, newId('usr'));
  leave();
  await connected(served, userId);
  expect(await refusalOf(served, userId)).toEqual(tooMany);
});

test('the limit of an address counts the connections of all users', async () => {
  const served = await serve({ openStreams: createOpenStreams({ perPerson: 9, perAddress: 3 }) });
  const from = (address: string) => ({ extraHeaders: { 'x-address': address } });
  served.places.open({ apiKey: null, userId: newId('usr'), address: '192.0.2.7' });
  const first = await connected(served, newId('usr'), from('192.0.2.7'));
  await connected(served, newId('usr'), from('192.0.2.7'));
  expect(await refusalOf(served, newId('usr'), from('192.0.2.7'))).toEqual(tooMany);
  await connected(served, newId('usr'), from('192.0.2.8'));
  first.socket.disconnect();
  await expect
    .poll(() => isFree(served, { userId: newId('usr'), address: '192.0.2.7' }))
    .toBe(true);
});

describe('the place of a connection', () => {
  /** How a connection ends that has its user's only place. */
  const ends: [string, string[], (ending: Ending) => Promise<void> | void][] = [
    ['is left by its client', ['websocket'], ({ its }) => void its.socket.disconnect()],
    ['is left by a client that polls', ['polling'], ({ its }) => void its.socket.disconnect()],
    ['is cut', ['websocket'], ({ cut }) => cut()],
    [
      'sends too much at once',
      ['websocket'],
      ({ its }) => void its.socket.emit('demo-progress', 'x'.repeat(socketLimits.messageBytes)),
    ],
    ['has lost its session', ['websocket'], ({ endSession }) => endSession()],
    ['has lost its session, and polls', ['polling'], ({ endSession }) => endSession()],
    ['is sent to another process', ['websocket'], async ({ served }) => served.drain()],
    ['is sent to another process, and polls', ['polling'], async ({ served }) => served.drain()],
  ];
  type Ending = { served: Served; its: Client; cut: () => void; endSession: () => void };

  test.each(ends)(
    'a place is free again when its connection %s',
    async (_what, transports, endIt) => {
      let endSession = () => {};
      const sessions: SessionWatch = {
        watch: (_sessionId, onEnd) => {
          endSession = onEnd;
          return () => {};
        },
        close: async () => {},
      };
      const served = await serve({ sessions });
      const userId = newId('usr');
      const its = await connected(served, userId, { transports });
      expect(isFree(served, { userId })).toBe(false);
      const cut = () => its.socket.io.engine.transport.close();
      await endIt({ served, its, cut, endSession: () => endSession() });
      await expect.poll(() => isFree(served, { userId })).toBe(true);
    },
  );

  test('a place is free again when the session ends at the moment of the connection', async () => {
    const taken = Promise.withResolvers<boolean>();
    const userId = newId('usr');
    const served = await serve({
      sessions: {
        watch: (_sessionId, onEnd) => {
          taken.resolve(!isFree(served, { userId }));
          queueMicrotask(onEnd);
          return () => {};
        },
        close: async () => {},
      },
    });
    const its = client(served, userId);
    expect(await taken.promise).toBe(true);
    await expect.poll(() => isFree(served, { userId })).toBe(true);
    expect(its.socket.connected).toBe(false);
  });

  test('a place is free again when the token expires', async () => {
    const served = await serve({ expiresAt: () => new Date(Date.now() + 100) });
    const userId = newId('usr');
    const its = client(served, userId);
    const gone = Promise.withResolvers<string>();
    its.socket.once('disconnect', (reason) => gone.resolve(reason));
    expect(await gone.promise).toBe('transport close');
    await expect.poll(() => isFree(served, { userId })).toBe(true);
  });

  test('a place is free again when the client leaves the namespace, and its connection is cut', async () => {
    const served = await serve();
    const userId = newId('usr');
    const raw = new WebSocket(`${served.url}/socket.io/?EIO=4&transport=websocket`);
    const heard: string[] = [];
    const closed = Promise.withResolvers<void>();
    raw.addEventListener('close', () => closed.resolve());
    raw.addEventListener('message', ({ data }) => {
      heard.push(String(data));
      if (String(data).startsWith('0'))
        raw.send(`40/optimization,${JSON.stringify({ token: userId })}`);
      if (String(data).startsWith('40/optimization,')) raw.send('41/optimization,');
    });
    await closed.promise;
    expect(heard[1]).toMatch(/^40\/optimization,\{"sid"/);
    await expect.poll(() => isFree(served, { userId })).toBe(true);
  });

  test('a place is free again when the client stops polling', async () => {
    const due = new Map<number | undefined, () => void>();
    // Engine.IO uses this timer; the test calls its callbacks.
    const clock = vi.spyOn(timers, 'setTimeout').mockImplementation((callback, ms) => {
      due.set(ms, callback);
      return setTimeout(callback, ms);
    });
    resources.defer(() => clock.mockRestore());
    const served = await serve();
    const userId = newId('usr');
    const base = `${served.url}/socket.io/?EIO=4&transport=polling`;
    const opened = await (await fetch(base)).text();
    const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
    const body = `40/optimization,${JSON.stringify({ token: userId })}`;
    await (await fetch(`${base}&sid=${sid}`, { method: 'POST', body })).text();
    expect(await (await fetch(`${base}&sid=${sid}`)).text()).toMatch(/^40\/optimization,\{"sid"/);
    expect(isFree(served, { userId })).toBe(false);
    due.get(socketLimits.pingEveryMs)?.();
    expect(isFree(served, { userId })).toBe(false);
    due.get(socketLimits.pongWithinMs)?.();
    expect(isFree(served, { userId })).toBe(true);
  });
});

test.each([
  ['at its last moment', 0, 600_000],
  ['half a minute before', 0.5, 570_000],
])('a connection ends with its token, randomly spread: %s', async (_what, chance, afterMs) => {
  const now = Date.parse('2026-11-01T12:00:00Z');
  const timer = vi.spyOn(globalThis, 'setTimeout');
  const random = vi.spyOn(Math, 'random').mockReturnValue(chance);
  resources.defer(() => {
    random.mockRestore();
    timer.mockRestore();
  });
  const served = await serve({ clock: () => now, expiresAt: () => new Date(now + 600_000) });
  const its = await connected(served, newId('usr'));
  const gone = Promise.withResolvers<string>();
  its.socket.once('disconnect', (reason) => gone.resolve(reason));
  const [due, ...others] = timer.mock.calls.filter(([, ms]) => ms === afterMs);
  expect(others).toEqual([]);
  const message = { optimizationId: 'x', stage: 'y', progress: 1 };
  expect(await its.send('demo-progress', message)).toEqual({ ok: true });
  due?.[0]();
  // Without a disconnect packet, after which the client would not reconnect automatically.
  expect(await gone.promise).toBe('transport close');
});

test('a client that has not authenticated takes no place, and such clients are limited by address', async () => {
  const served = await serve({
    authenticate: async (token) =>
      token === 'nobody'
        ? null
        : {
            userId: token,
            sessionId: 'ses_none',
            expiresAt: new Date(Date.now() + 3_600_000),
            apiKey: null,
          },
  });
  const userId = newId('usr');
  expect(await refusalOf(served, 'nobody')).toEqual({
    message: 'Authentication required',
    data: { code: 'authentication-required' },
  });
  expect(isFree(served, { userId })).toBe(true);

  const from = (address: string) => ({ headers: { 'x-address': address } });
  const handshake = async (address: string) => {
    const url = `${served.url}/socket.io/?EIO=4&transport=polling`;
    const response = await fetch(url, from(address));
    return { status: response.status, text: await response.text() };
  };
  const ids: string[] = [];
  for (let count = 0; count < socketLimits.waitingPerAddress / 10; count += 1) {
    const { status, text } = await handshake('192.0.2.7');
    expect(status).toBe(200);
    ids.push((JSON.parse(text.slice(1)) as { sid: string }).sid);
  }
  expect(await handshake('192.0.2.7')).toEqual({
    status: 403,
    text: JSON.stringify({
      code: 4,
      message: 'Too many connections from this address are waiting',
    }),
  });
  expect((await handshake('192.0.2.8')).status).toBe(200);
  // A client that authenticates no longer counts.
  await fetch(`${served.url}/socket.io/?EIO=4&transport=polling&sid=${ids[0]}`, {
    method: 'POST',
    body: `40/optimization,${JSON.stringify({ token: userId })}`,
    ...from('192.0.2.7'),
  });
  await expect.poll(async () => (await handshake('192.0.2.7')).status).toBe(200);
  expect(isFree(served, { userId })).toBe(false);
});

test.each([
  ['person', { streams: { limit: 3, windowSeconds: 60 } }, 5],
  ['address', { 'streams-address': { limit: 3, windowSeconds: 60 } }, 3],
])(
  'connections that one %s opens too often are refused, also when none stays',
  async (_, overrides, asked) => {
    const { env, log } = app.context;
    let authenticated = 0;
    const served = await serve({
      rateLimits: createRateLimits({ ...app.core, ...env, overrides, log }),
      authenticate: async (userId) => {
        authenticated += 1;
        const expiresAt = new Date(Date.now() + 3_600_000);
        return { userId, sessionId: 'ses_none', expiresAt, apiKey: null };
      },
    });
    const userId = newId('usr');
    for (let count = 0; count < 3; count += 1) {
      const { socket } = await connected(served, userId);
      socket.disconnect();
      await expect.poll(() => isFree(served, { userId })).toBe(true);
    }
    for (let count = 0; count < 2; count += 1)
      expect(await refusalOf(served, userId)).toEqual({
        message: expect.stringContaining('rate limit') as string,
        data: { code: 'rate-limited', retry_ms: expect.any(Number) as number },
      });
    expect(isFree(served, { userId })).toBe(true);
    // Beyond the limit of its address no client is authenticated.
    expect(authenticated).toBe(asked);
  },
);

test('in the application streams and sockets of a user share twenty places', async () => {
  const limited = await createTestApp({ env: { RATE_LIMITS: 'streams=1000/m' } });
  resources.defer(async () => limited.close());
  const port = await openPort(limited);
  resources.defer(async () => port[Symbol.asyncDispose]());
  const { token } = await limited.signUp();
  const stop = new AbortController();
  resources.defer(() => stop.abort());
  // A response that nothing holds may be collected, and its stream ends then.
  const held: Response[] = [];
  const stream = async () => {
    const response = await fetch(`${port.url}/api/stream`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    });
    held.push(response);
    return response;
  };
  for (let count = 0; count < 19; count += 1) expect((await stream()).status).toBe(200);
  const one = connect(port.url, token, { transports: ['websocket'], reconnection: false });
  expect(await outcomeOf(one)).toBe('connected');
  expect((await stream()).status).toBe(429);
  const more = connect(port.url, token, { transports: ['websocket'], reconnection: false });
  expect(await outcomeOf(more)).toBe(tooMany.message);
  one.socket.disconnect();
  await expect.poll(async () => (await stream()).status).toBe(200);
});

test('cancelling over a socket counts against the same limit as the API call', async () => {
  const limited = await createTestApp({ env: { RATE_LIMITS: 'run-changes=1/h' } });
  resources.defer(async () => limited.close());
  const port = await openPort(limited);
  resources.defer(async () => port[Symbol.asyncDispose]());
  const { token } = await limited.signUp();
  const draft = { challenge: 'Should we open a second shop?', strategy: 'ultra-economy' };
  const { id } = await limited.data<{ id: string }>('/optimizations', { token, body: draft });
  const one = connect(port.url, token, { transports: ['websocket'], reconnection: false });
  expect(await outcomeOf(one)).toBe('connected');
  expect(await one.send('cancel-optimization', id)).toEqual({ ok: true });
  expect(await one.send('cancel-optimization', id)).toEqual({
    error: expect.stringContaining('rate limit') as string,
  });
  one.socket.disconnect();
});

describe('a connection that misbehaves', () => {
  test('a connection is cut that requests responses and reads none', async () => {
    // One packet a second.
    let now = Date.now();
    const served = await serve({ clock: () => (now += 1_000) });
    const userId = newId('usr');
    const raw = await rawConnection(served, userId);
    raw.socket.pause();
    // Each is answered with a refusal that names the namespace.
    const asked = `40/${'x'.repeat(15_000)},`;
    const sending = setInterval(() => raw.send(asked), 1);
    resources.defer(() => clearInterval(sending));
    await expect.poll(() => isFree(served, { userId }), { timeout: 60_000 }).toBe(true);
  });

  test('a connection is cut that sends packets faster than any client does', async () => {
    const served = await serve({ clock: () => 0 });
    const userId = newId('usr');
    const raw = await rawConnection(served, userId);
    for (let packet = 0; packet <= socketLimits.packets; packet += 1) raw.send('3');
    await expect.poll(() => isFree(served, { userId })).toBe(true);
  });
});

test(
  'a connection that has not authenticated after 5 seconds is ended, whatever it sends',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    const refuseAll = { authenticate: async () => null };
    const hanging = { authenticate: async () => new Promise<null>(() => {}) };
    const connects = '40/optimization,{"token":"nobody"}';
    const port = await openPort(app);
    resources.defer(async () => port[Symbol.asyncDispose]());
    const polls = async (
      { url }: Pick<Served, 'url'>,
      begin: (path: string) => void = () => {},
    ) => {
      const path = '/socket.io/?EIO=4&transport=polling';
      const opened = await (await fetch(`${url}${path}`)).text();
      const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
      begin(`${url}${path}&sid=${sid}`);
      return sid;
    };
    /** Seconds until a process no longer knows a polling connection. */
    const untilUnknown = async ({ url }: Served, sid: string) => {
      const probe = `${url}/socket.io/?EIO=4&transport=polling&sid=${sid}`;
      await expect
        .poll(async () => (await fetch(probe, { method: 'POST', body: '3' })).status, {
          timeout: 45_000,
          interval: 100,
        })
        .toBe(400);
    };
    const seconds = async (until: () => Promise<unknown>) => {
      const begun = performance.now();
      await until();
      return (performance.now() - begun) / 1000;
    };
    // None of them answers the closing handshake of its websocket.
    const lasted = await Promise.all(
      Object.entries({
        'a websocket that says nothing': async () => {
          const raw = await rawConnection(await serve(), null);
          await raw.closed;
        },
        'a websocket that fails to authenticate again and again': async () => {
          const raw = await rawConnection(await serve(refuseAll), null);
          const again = setInterval(() => raw.send(connects), 500);
          await raw.closed;
          clearInterval(again);
        },
        'a websocket whose token is still being checked': async () => {
          const raw = await rawConnection(await serve(hanging), null);
          raw.send(connects);
          await raw.closed;
        },
        'a websocket that connects to another namespace': async () => {
          const raw = await rawConnection(await serve(), null);
          raw.send('40/somewhere,');
          await raw.closed;
        },
        'polling that stops after its handshake': async () => {
          const served = await serve();
          await untilUnknown(served, await polls(served));
        },
        'polling that waits for a message': async () => {
          const served = await serve();
          const sid = await polls(served, (url) => void fetch(url).catch(() => {}));
          await untilUnknown(served, sid);
        },
        'a change to a websocket that never asks for it': async () => {
          const served = await serve();
          const raw = await rawConnection(served, null, await polls(served));
          await raw.closed;
        },
        'a change to a websocket that stops halfway, at the port of the application': async () => {
          const raw = await rawConnection(port, null, await polls(port));
          raw.send('2probe');
          await raw.closed;
        },
      }).map(async ([what, until]) => [what, await seconds(until)] as const),
    );
    // The libraries would wait 35 seconds; a busy machine may take one or two more than 6.
    expect(lasted.filter(([, time]) => time < 4.5 || time > 12)).toEqual([]);
  },
);

/** Without the socket.io client, which always reads and answers. */
async function rawConnection({ url }: Pick<Served, 'url'>, userId: string | null, sid?: string) {
  const { port } = new URL(url);
  const socket = connectTo({ port: Number(port), host: '127.0.0.1' });
  resources.defer(() => void socket.destroy());
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(
    [
      `GET /socket.io/?EIO=4&transport=websocket${sid === undefined ? '' : `&sid=${sid}`} HTTP/1.1`,
      'Host: localhost',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`,
      '\r\n',
    ].join('\r\n'),
  );
  let heard = '';
  socket.on('data', (data: Buffer) => (heard += data.toString('latin1')));
  /** One frame of text, whose mask of zeros changes nothing. */
  const send = (text: string) => {
    const bytes = Buffer.from(text);
    const head =
      bytes.length < 126
        ? [0x81, 0x80 | bytes.length]
        : [0x81, 0x80 | 126, bytes.length >> 8, bytes.length & 255];
    socket.write(Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), bytes]));
  };
  await expect.poll(() => heard).toContain(sid === undefined ? '"sid"' : ' 101 ');
  if (userId === null) return { socket, send, closed };
  send(`40/optimization,${JSON.stringify({ token: userId })}`);
  await expect.poll(() => heard).toContain('40/optimization,');
  return { socket, send, closed };
}

test('where API processes share one port, only websockets are offered', async () => {
  const served = await serve({ transports: ['websocket'] });
  await connected(served, newId('usr'), { transports: ['websocket', 'polling'] });
  const polled = await fetch(`${served.url}/socket.io/?EIO=4&transport=polling`);
  expect([polled.status, await polled.json()]).toEqual([
    400,
    { code: 0, message: 'Transport unknown' },
  ]);
});
