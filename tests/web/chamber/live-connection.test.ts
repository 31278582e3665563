import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Connection,
  type ConnectionPorts,
  connectionWords,
  createConnection,
  type StreamConnection,
  type StreamMessage,
} from '#web/live/connection.ts';

type Visit = {
  url: string;
  headers: Headers;
  accept: () => void;
  refuse: (status: number, message?: string, headers?: Record<string, string>) => void;
  breakOff: () => void;
  say: (event: string, data: unknown, id?: string) => void;
  end: () => void;
};

let visits: Visit[] = [];
let connection: StreamConnection;
let statuses: Connection[] = [];
let messages: StreamMessage[] = [];
let missing: string[] = [];
let token: string | null = 'token-1';
let online = true;
let renewals = 0;

beforeEach(() => {
  vi.useFakeTimers();
  visits = [];
  statuses = [];
  messages = [];
  missing = [];
  token = 'token-1';
  online = true;
  renewals = 0;
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => visit(url, init));
  const ports: ConnectionPorts = {
    token: async () => token,
    renew: async () => {
      renewals += 1;
    },
    isOnline: () => online,
    onMessage: (message) => messages.push(message),
    onStatus: (status) => statuses.push(status),
    onServerTime: () => undefined,
    onMissing: (id) => missing.push(id),
    // The middle of the jitter, so that the delays are exactly the backoff.
    random: () => 0.5,
  };
  connection = createConnection(ports);
});

afterEach(() => {
  connection.pause();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function visit(url: string, init: RequestInit): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const encoder = new TextEncoder();
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  const aborted = (): void => {
    reject(new DOMException('aborted', 'AbortError'));
    body?.error(new DOMException('aborted', 'AbortError'));
  };
  init.signal?.addEventListener('abort', aborted);
  visits.push({
    url,
    headers: new Headers(init.headers),
    accept: () =>
      resolve(
        new Response(
          new ReadableStream<Uint8Array>({
            start: (controller) => {
              body = controller;
            },
          }),
        ),
      ),
    refuse: (status, message = 'No', headers = {}) =>
      resolve(Response.json({ message }, { status, headers })),
    breakOff: () => {
      reject(new TypeError('Failed to fetch'));
      body?.error(new TypeError('network error'));
    },
    say: (event, data, id) =>
      body?.enqueue(
        encoder.encode(
          `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
        ),
      ),
    end: () => body?.close(),
  });
  return promise;
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const status = (): string | undefined => statuses.at(-1)?.status;

function at(index: number): Visit {
  const found = visits[index];
  if (!found) throw new Error(`There were only ${visits.length} requests`);
  return found;
}

async function connected(): Promise<Visit> {
  connection.start();
  await settle();
  at(0).accept();
  await settle();
  return at(0);
}

const delta = {
  run: 'opt_1',
  seat: 'S1',
  slot: 'opinion.S1',
  attempt: 1,
  offset: 0,
  text: 'a',
  progress: 1,
};
const fact = {
  type: 'CallStarted',
  at: '2026-11-20T12:00:00.000Z',
  stream: 'optimization-opt_1',
  version: 3,
  entity: { kind: 'run', id: 'opt_1' },
  patch: {},
};

describe('the stream', () => {
  it('the stream is opened with the token and is connected once the server accepts it', async () => {
    const first = await connected();
    expect(first.url).toBe('/api/stream');
    expect(first.headers.get('authorization')).toBe('Bearer token-1');
    expect(first.headers.get('last-event-id')).toBeNull();
    expect(statuses.map((one) => one.status)).toEqual(['connecting', 'connected']);
  });

  it('messages are passed on in order, without pings', async () => {
    const first = await connected();
    first.say('fact', fact, 'e.1.1');
    first.say('ping', {});
    first.say('delta', delta);
    await settle();
    expect(messages.map((message) => message.kind)).toEqual(['fact', 'delta']);
  });

  it('the stream survives a message that breaks its contract', async () => {
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    const first = await connected();
    first.say('fact', { type: 'SomethingNew' });
    first.say('delta', delta);
    await settle();
    expect(messages.map((message) => message.kind)).toEqual(['delta']);
  });

  it('the stream resumes after its last id when it breaks off', async () => {
    const first = await connected();
    first.say('fact', fact, 'e.1.7');
    first.say('delta', delta);
    await settle();
    first.breakOff();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(at(1).headers.get('last-event-id')).toBe('e.1.7');
  });

  it('the stream waits 1, 2, 5, 10 and 10 s between attempts, and 1 s again after a success', async () => {
    connection.start();
    await settle();
    for (const [index, seconds] of [1, 2, 5, 10, 10].entries()) {
      at(index).breakOff();
      await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1);
      expect(visits).toHaveLength(index + 1);
      await vi.advanceTimersByTimeAsync(1);
      expect(visits).toHaveLength(index + 2);
    }
    at(5).accept();
    await settle();
    at(5).say('ping', {});
    await settle();
    at(5).end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(visits).toHaveLength(7);
  });

  it('the stream waits at least as long as the server says, plus a random delay', async () => {
    connection.start();
    await settle();
    at(0).refuse(429, 'Too many streams', { 'retry-after': '20' });
    // Half of the random part, which is half of the 20 s.
    await vi.advanceTimersByTimeAsync(24_999);
    expect(visits).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(visits).toHaveLength(2);
    at(1).refuse(429, 'Too many streams', { 'retry-after': '86400' });
    // A Retry-After of a day is capped.
    await vi.advanceTimersByTimeAsync(375_000);
    expect(visits).toHaveLength(3);
    at(2).refuse(429, 'Too many streams', { 'retry-after': 'Sun, 22 Nov 2026 12:00:00 GMT' });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(visits).toHaveLength(4);
  });

  it('the stream reconnects at once on request', async () => {
    connection.start();
    await settle();
    at(0).breakOff();
    await settle();
    connection.hurry();
    await settle();
    expect(visits).toHaveLength(2);
  });

  it('the stream treats 40 s of silence as a dead connection', async () => {
    const first = await connected();
    first.say('ping', {});
    await vi.advanceTimersByTimeAsync(39_000);
    first.say('ping', {});
    await vi.advanceTimersByTimeAsync(39_000);
    expect(visits).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(visits).toHaveLength(2);
  });

  it('the stream watches a run from a snapshot on, and stops watching without one', async () => {
    const first = await connected();
    first.say('fact', fact, 'e.1.7');
    await settle();
    connection.watch('opt_1');
    await settle();
    expect(at(1).url).toBe('/api/stream?optimization=opt_1');
    expect(at(1).headers.get('last-event-id')).toBeNull();
    at(1).accept();
    await settle();
    at(1).say('fact', fact, 'e.1.9');
    await settle();
    connection.watch(null);
    await settle();
    expect(at(2).headers.get('last-event-id')).toBe('e.1.9');
  });

  it('the stream reports a missing run and continues without it', async () => {
    connection.watch('opt_gone');
    connection.start();
    await settle();
    at(0).refuse(404);
    await settle();
    expect(missing).toEqual(['opt_gone']);
    expect(at(1).url).toBe('/api/stream');
  });

  it('the stream ends when the session ends, and starts again on request', async () => {
    token = null;
    connection.start();
    await settle();
    expect(visits).toHaveLength(0);
    expect(status()).toBe('idle');
    token = 'token-2';
    connection.start();
    await settle();
    expect(at(0).headers.get('authorization')).toBe('Bearer token-2');
  });

  it('the stream gets a new token when the server refuses the old one', async () => {
    connection.start();
    await settle();
    at(0).refuse(401);
    await settle();
    expect(renewals).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(visits).toHaveLength(2);
  });

  it('a paused stream is closed, and resumes after its last id', async () => {
    const first = await connected();
    first.say('fact', fact, 'e.1.7');
    await settle();
    connection.pause();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(visits).toHaveLength(1);
    expect(status()).toBe('idle');
    connection.start();
    await settle();
    expect(at(1).headers.get('last-event-id')).toBe('e.1.7');
  });
});

describe('a stream that says bye', () => {
  it.each([
    ['drain', 'e.1.7', 0],
    ['token', 'e.1.7', 1],
    ['session', 'e.1.7', 1],
    ['overflow', null, 0],
  ] as const)(
    'a stream that the server ends with %s reopens after the stated time',
    async (reason, id, asked) => {
      const first = await connected();
      first.say('fact', fact, 'e.1.7');
      first.say('bye', { reason, retry_ms: 700 });
      await vi.advanceTimersByTimeAsync(699);
      expect(visits).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(at(1).headers.get('last-event-id')).toBe(id);
      expect(renewals).toBe(asked);
    },
  );
});

describe('the words for the connection', () => {
  it('the connection line describes a failed first attempt, being offline and a refusal', async () => {
    connection.start();
    await settle();
    at(0).breakOff();
    await settle();
    expect(statuses.at(-1)).toEqual({ status: 'error', message: 'Connection failed' });
    online = false;
    await vi.advanceTimersByTimeAsync(1_000);
    at(1).breakOff();
    await settle();
    expect(status()).toBe('offline');
    await vi.advanceTimersByTimeAsync(2_000);
    at(2).refuse(429, 'Too many streams');
    await settle();
    expect(statuses.at(-1)).toEqual({ status: 'error', message: 'Too many streams' });
  });

  it('the connection line states the age of the page after a break', async () => {
    const first = await connected();
    first.say('ping', {});
    await settle();
    first.breakOff();
    await settle();
    expect(status()).toBe('reconnecting');
    expect(connection.lastHeardAt()).toBe(Date.now());
  });

  it.each([
    [{ status: 'connected' }, 0, 'Connected'],
    [{ status: 'connecting' }, null, 'Connecting...'],
    [{ status: 'reconnecting' }, 12_400, 'Reconnecting. Last update 12s ago.'],
    [
      { status: 'offline' },
      5_000,
      "You're offline. The run continues, and this page will catch up.",
    ],
    [{ status: 'error', message: 'Connection failed' }, null, 'Error: Connection failed'],
  ] as const)('the connection line describes %o', (state, agoMs, words) => {
    expect(connectionWords(state, agoMs)).toBe(words);
  });
});
