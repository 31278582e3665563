import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect as connectTo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { connect, outcomeOf } from '#tests/live/sockets.ts';
import type { Client as SocketClient, ClientOptions } from '#tests/live/sockets.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { startAlternating } from './support/alternating.ts';
import type { Alternating } from './support/alternating.ts';
import { startGate } from './support/gate.ts';
import type { Gate } from './support/gate.ts';

/**
 * Clients of the socket over two API processes behind one port that sends each request to the other
 * one, while a third process works the runs. The tests go through the life of these processes in order:
 * one is started again, and at last one is killed.
 */
let started: AsyncDisposableStack;
let database: TestDatabase;
let settings: Settings;
let gate: Gate;
/** The one that stays, and the one that is stopped and started again. */
let steady: OwnProcess;
let moving: OwnProcess;
/** What is behind the port. */
let behind: OwnProcess[] = [];
let port: Alternating;
let client: Client;
let open: SocketClient[] = [];

const addressOf = (api: OwnProcess) => String(api.details['address']);
const startApi = async () => started.use(await startProcess('api.ts', settings));

beforeAll(async () => {
  started = new AsyncDisposableStack();
  database = await createTestDatabase();
  started.defer(async () => database.drop());
  const folder = temporaryFolder();
  started.defer(() => folder.remove());
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    PUBLIC_URL: 'http://127.0.0.1:3000',
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: '0',
  };
  const sandbox = started.use(await startProcess('sandbox/server.ts', { DATA_DIR: folder.path }));
  // The answers of the first run wait until they are let go.
  gate = started.use(await startGate(String(sandbox.details['url']), ['hold']));
  const startWorker = async () =>
    started.use(await startProcess('worker.ts', { ...settings, SANDBOX_URL: gate.url }));
  [steady, moving] = await Promise.all([startApi(), startApi(), startWorker()]);
  port = started.use(await startAlternating(() => behind.map(addressOf)));
  client = createClient(addressOf(steady), settings);
}, 300_000);
afterEach(() => {
  for (const { socket } of open) socket.disconnect();
  open = [];
});
afterAll(async () => started.disposeAsync(), 300_000);

/** A client as the specification has one: it subscribes at each connection. */
type Following = SocketClient & { connections: () => number; ended: () => string[] };

function following(person: Person, runId: string, options: ClientOptions = {}): Following {
  const made = connect(port.url, person.token, options);
  open.push(made);
  let connections = 0;
  made.socket.on('connect', () => {
    connections += 1;
    made.socket.emit('subscribe-optimization', runId);
  });
  return {
    ...made,
    connections: () => connections,
    ended: () =>
      made.heard.map(({ event }) => event).filter((event) => event !== 'optimization-progress'),
  };
}

async function draft({ token }: Person): Promise<string> {
  const run = await client.data<Optimization>('/optimizations', {
    token,
    body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
  });
  return run.id;
}

const read = async ({ token }: Person, runId: string) =>
  client.data<Optimization>(`/optimizations/${runId}`, { token });
const process = async ({ token }: Person, runId: string) =>
  client.data(`/optimizations/${runId}/process`, { method: 'POST', token });

/** The processes that others find, by the address where they are found. */
async function peers(): Promise<{ id: string; host: string; port: number }[]> {
  const { rows } = await database.pool.query<{ id: string; host: string; port: number }>(
    'select process_id as id, host, port from api_process order by process_id',
  );
  return rows;
}

const unknownId = { status: 400, body: { code: 1, message: 'Session ID unknown' } };
const pollPath = (sid: string) =>
  `/socket.io/?EIO=4&transport=polling&sid=${encodeURIComponent(sid)}`;

type Answer = { status: number; body: unknown };

async function answerOf(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { headers });
  return { status: response.status, body: await response.json() };
}

test(
  'clients follow a run through a restart of their process to the end that is read, and cancel another',
  { timeout: 300_000 },
  async () => {
    behind = [moving];
    const person = await client.signUp({ credits: 100 });
    const [runId, otherId] = [await draft(person), await draft(person)];
    const all = [
      following(person, runId),
      following(person, runId, { transports: ['polling'] }),
      following(person, runId, { transports: ['polling', 'websocket'] }),
    ];
    await eventually('subscriptions', () => all.every(({ heard }) => heard.length > 0));
    await process(person, runId);
    await eventually('calls that wait for their answers', () => gate.waiting() > 0);

    behind = [];
    moving.signal('SIGTERM');
    expect(await moving.ended).toBe(0);
    // Whoever has ended is found no more.
    expect(await peers()).toHaveLength(1);
    moving = await startApi();
    behind = [moving];
    await eventually('connections', () => all.every(({ connections }) => connections() === 2));
    gate.release();
    await eventually('the end', () => all.every(({ ended }) => ended().length > 0));
    const run = await read(person, runId);
    expect(run.status).toBe('completed');
    for (const one of all) {
      expect(one.ended()).toEqual(['optimization-complete']);
      expect(one.heard.at(-1)?.payload).toEqual({ optimizationId: runId, result: run });
    }

    const [first] = all;
    expect(await first?.send('subscribe-optimization', otherId)).toEqual({ ok: true });
    expect(await first?.send('cancel-optimization', otherId)).toEqual({ ok: true });
    await eventually('the cancellation', () => first?.ended().length === 2);
    expect(first?.heard.at(-1)).toEqual({
      event: 'optimization-cancelled',
      payload: { optimizationId: otherId, cancelled: true },
    });
    expect((await read(person, otherId)).status).toBe('cancelled');
  },
);

test(
  'a client that polls follows a run to its end, whichever of two processes gets its requests',
  { timeout: 300_000 },
  async () => {
    behind = [steady, moving];
    const person = await client.signUp();
    const runId = await draft(person);
    const follower = following(person, runId, { transports: ['polling'], reconnection: false });
    await eventually('the subscription', () => follower.heard.length > 0);
    const sid = follower.socket.io.engine.id ?? '';
    expect((await peers()).map(({ id }) => id)).toContain(sid.split('.')[0]);
    await process(person, runId);
    await eventually('the end', () => follower.ended().length > 0);
    expect(follower.ended()).toEqual(['optimization-complete']);
    expect(follower.heard.at(-1)?.payload).toEqual({
      optimizationId: runId,
      result: await read(person, runId),
    });
    expect(follower.connections()).toBe(1);
    // Both had requests of this one connection, so one of them handed them over.
    const counts = port.requestsOf(sid);
    for (const api of behind) expect(counts.get(addressOf(api))).toBeGreaterThan(2);
  },
);

/** Keeps what it is asked, and answers nothing that a client would take for its own. */
async function startRecorder() {
  const requests: { path: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      requests.push({
        path: request.url ?? '',
        headers: request.headers,
        body: await text(request),
      });
      response.end('recorded');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('There is no port');
  return {
    requests,
    port: address.port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

test('a process hands requests to no other place than where a process says that it is', async () => {
  await using recorder = await startRecorder();
  const place = `127.0.0.1:${recorder.port}`;
  const tail = 'A'.repeat(20);
  for (const sid of [
    place,
    `http://${place}/`,
    `//${place}/${tail}`,
    `${place}.${tail}`,
    `${'0'.repeat(16)}.${tail}@${place}`,
    `${'0'.repeat(16)}.${tail}\r\nHost: ${place}`,
    `${'0'.repeat(16)}' or true --.${tail}`,
    `${'0'.repeat(16)}.${tail}`,
    '..',
  ])
    expect([sid, await answerOf(`${addressOf(steady)}${pollPath(sid)}`)]).toEqual([sid, unknownId]);
  // Nor do the other parts of a request say where it goes.
  const { id } = (await peers())[0] ?? { id: '' };
  const { hostname, port: ours } = new URL(addressOf(steady));
  for (const lines of [
    [`GET http://${place}${pollPath(`${id}.${tail}`)} HTTP/1.1`, `Host: ${place}`],
    [`GET ${pollPath(`${id}.${tail}`)} HTTP/1.1`, `Host: ${place}`, `X-Forwarded-Host: ${place}`],
    [`GET ${pollPath(`${id}.${tail}`)} HTTP/1.1`, 'Host: x', `Forwarded: host="${place}"`],
  ]) {
    const socket = connectTo(Number(ours), hostname);
    socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
    expect((await text(socket)).slice(0, 12)).toMatch(/^HTTP\/1\.1 4\d\d$/);
  }
  expect(recorder.requests).toEqual([]);

  // What does reach a process' place is signed for it alone, and names whom the first one saw.
  const placed = 'f'.repeat(16);
  await database.ownerPool.query(
    'insert into api_process (process_id, host, port) values ($1, $2, $3)',
    [placed, '127.0.0.1', recorder.port],
  );
  const path = pollPath(`${placed}.${tail}`);
  const response = await fetch(`${addressOf(steady)}${path}`, {
    method: 'POST',
    headers: { 'x-sevenfold-caller': '203.0.113.7', 'x-sevenfold-proof': 'forged' },
    body: '40',
  });
  expect(await response.text()).toBe('recorded');
  await database.ownerPool.query('delete from api_process where process_id = $1', [placed]);
  expect(recorder.requests).toEqual([
    {
      path,
      body: '40',
      headers: expect.objectContaining({
        'x-sevenfold-caller': '127.0.0.1',
        'x-sevenfold-proof': expect.stringMatching(/^[\w-]{43}$/) as string,
      }) as IncomingMessage['headers'],
    },
  ]);
  await expectRefused(String(recorder.requests[0]?.headers['x-sevenfold-proof']));
});

/** A connection of this process that goes on, as its own client speaks to it. */
async function connectionAt(api: OwnProcess): Promise<string> {
  const { token } = await client.signUp({ credits: 0 });
  const opened = await fetch(`${addressOf(api)}/socket.io/?EIO=4&transport=polling`);
  const { sid } = JSON.parse((await opened.text()).slice(1)) as { sid: string };
  expect(
    await said(`${addressOf(api)}${pollPath(sid)}`, {
      body: `40/optimization,${JSON.stringify({ token })}`,
    }),
  ).toEqual({ status: 200, text: 'ok' });
  return sid;
}

async function said(
  url: string,
  { body, headers = {} }: { body: string; headers?: Record<string, string> },
): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text() };
}

/** At the places of all processes, also about their own connections, by whoever shows this or nothing. */
async function expectRefused(proof: string): Promise<void> {
  const sids = await Promise.all([steady, moving].map(connectionAt));
  const all = await peers();
  expect(all).toHaveLength(2);
  for (const { id, host, port: place } of all) {
    const sid = sids.find((one) => one.startsWith(`${id}.`)) ?? '';
    for (const headers of [{}, { 'x-sevenfold-proof': '' }, { 'x-sevenfold-proof': proof }])
      for (const path of [
        '/',
        '/api/health',
        '/socket.io/?EIO=4&transport=polling',
        pollPath(sid),
      ]) {
        const { status, text: answer } = await said(`http://${host}:${place}${path}`, {
          headers,
          body: '41/optimization,',
        });
        expect([path, { status, body: JSON.parse(answer) as unknown }]).toEqual([path, unknownId]);
      }
  }
  // They go on, so what was sent to their private places was not heard.
  for (const [index, api] of [steady, moving].entries())
    expect(
      await said(`${addressOf(api)}${pollPath(sids[index] ?? '')}`, { body: '41/optimization,' }),
    ).toEqual({ status: 200, text: 'ok' });
}

test('the place of a process answers nobody but the others, and at no other address', async () => {
  await expectRefused('A'.repeat(43));
  const others = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ address, scopeid }) => address !== '127.0.0.1' && (scopeid ?? 0) === 0)
    .map(({ address }) => address);
  for (const { id, host, port: place } of await peers()) {
    expect(host).toBe('127.0.0.1');
    for (const address of others) {
      const outcome = Promise.withResolvers<string>();
      const socket = connectTo(place, address);
      socket.once('connect', () => outcome.resolve('connected'));
      socket.once('error', () => outcome.resolve('refused'));
      expect([address, await outcome.promise]).toEqual([address, 'refused']);
    }
    // An upgrade is refused as a request is.
    const asked = httpRequest({
      host,
      port: place,
      path: `/socket.io/?EIO=4&transport=websocket&sid=${id}.${'A'.repeat(20)}`,
      headers: { connection: 'Upgrade', upgrade: 'websocket', 'x-sevenfold-proof': 'A'.repeat(43) },
    });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(400);
    answer.resume();
  }
});

test(
  'a client whose process was killed hears from the other that it is unknown, and comes back',
  { timeout: 300_000 },
  async () => {
    behind = [moving];
    const person = await client.signUp();
    const runId = await draft(person);
    const follower = following(person, runId, { transports: ['polling'] });
    await eventually('the subscription', () => follower.heard.length > 0);
    const sid = follower.socket.io.engine.id ?? '';
    const gone = Promise.withResolvers<Answer>();
    follower.socket.once('disconnect', (_reason, why) => {
      // In Node and in a browser alike it is the request that failed.
      const { context } = why as { context: { status: number; responseText: string } };
      gone.resolve({ status: context.status, body: JSON.parse(context.responseText) });
    });

    // From now on the other process has its requests, and hands them over until it cannot.
    behind = [steady];
    expect(
      await follower.send('demo-progress', { optimizationId: 'demo', stage: 'a', progress: 1 }),
    ).toEqual({ ok: true });
    const handed = () => port.requestsOf(sid).get(addressOf(steady)) ?? 0;
    await eventually('a poll at the other process', () => handed() >= 2);
    moving.signal('SIGKILL');
    expect(await moving.ended).toBe(null);
    expect(await gone.promise).toEqual(unknownId);
    await eventually('the second connection', () => follower.connections() === 2);
    expect(follower.socket.io.engine.id?.split('.')[0]).not.toBe(sid.split('.')[0]);

    const [own] = (follower.socket.io.engine.id ?? '').split('.');
    // Of the dead process, of none, and of this one.
    for (const dead of [
      sid,
      `${'0'.repeat(16)}.${'A'.repeat(20)}`,
      `${own}.${'A'.repeat(20)}`,
      'x',
    ]) {
      expect([dead, await answerOf(`${port.url}${pollPath(dead)}`)]).toEqual([dead, unknownId]);
      const late = connect(port.url, person.token, {
        transports: ['websocket'],
        query: { sid: dead },
        reconnection: false,
      });
      open.push(late);
      expect([dead, await outcomeOf(late)]).toEqual([dead, 'websocket error']);
    }

    await client.data(`/optimizations/${runId}/cancel`, { method: 'POST', token: person.token });
    await eventually('the end', () => follower.ended().length > 0);
    expect(follower.ended()).toEqual(['optimization-cancelled']);
    expect((await read(person, runId)).status).toBe('cancelled');
  },
);
