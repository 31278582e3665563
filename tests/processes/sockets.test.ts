import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import { connect, outcomeOf } from '#tests/live/sockets.ts';
import type { Client as SocketClient, ClientOptions } from '#tests/live/sockets.ts';
import { freePort } from '#services/platform/process/listen.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { startGate } from './support/gate.ts';
import type { Gate } from './support/gate.ts';

/** Clients of the socket at an API process that is restarted and killed, while a worker works the runs. */
let started: AsyncDisposableStack;
let settings: Settings;
let gate: Gate;
let api: OwnProcess;
let client: Client;
let open: SocketClient[] = [];

const startApi = async () => started.use(await startProcess('api.ts', settings));
const url = () => `http://127.0.0.1:${settings['PORT']}`;

beforeAll(async () => {
  started = new AsyncDisposableStack();
  const database = await createTestDatabase();
  started.defer(async () => database.drop());
  const folder = temporaryFolder();
  started.defer(() => folder.remove());
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    PUBLIC_URL: 'http://127.0.0.1:3000',
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: String(await freePort()),
  };
  const sandbox = started.use(await startProcess('sandbox/server.ts', { DATA_DIR: folder.path }));
  // The replies of the first run wait until they are released.
  gate = started.use(await startGate(String(sandbox.details['url']), ['hold']));
  const startWorker = async () =>
    started.use(await startProcess('worker.ts', { ...settings, SANDBOX_URL: gate.url }));
  [api] = await Promise.all([startApi(), startWorker()]);
  client = createClient(url(), settings);
}, 300_000);
afterEach(() => {
  for (const { socket } of open) socket.disconnect();
  open = [];
});
afterAll(async () => started.disposeAsync(), 300_000);

/** A client as the specification has one: it subscribes at each connection. */
type Following = SocketClient & { connections: () => number; ended: () => string[] };

function following(person: Person, runId: string, options: ClientOptions = {}): Following {
  const made = connect(url(), person.token, options);
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

test(
  'clients follow a run through a restart of the API process to its end, and cancel another run',
  { timeout: 300_000 },
  async () => {
    const person = await client.signUp({ credits: 100 });
    const [runId, otherId] = [await draft(person), await draft(person)];
    const all = [
      following(person, runId),
      following(person, runId, { transports: ['polling'] }),
      following(person, runId, { transports: ['polling', 'websocket'] }),
    ];
    await eventually('subscriptions', () => all.every(({ heard }) => heard.length > 0));
    await client.data(`/optimizations/${runId}/process`, { method: 'POST', token: person.token });
    await eventually('calls that wait for their replies', () => gate.waiting() > 0);

    api.signal('SIGTERM');
    expect(await api.ended).toBe(0);
    api = await startApi();
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
  'a polling client whose process was killed gets "Session ID unknown" from the next one and reconnects',
  { tags: ['long'], timeout: 300_000 },
  async () => {
    const person = await client.signUp();
    const runId = await draft(person);
    const follower = following(person, runId, { transports: ['polling'] });
    await eventually('the subscription', () => follower.heard.length > 0);
    const dead = follower.socket.io.engine.id ?? '';

    api.signal('SIGKILL');
    expect(await api.ended).toBe(null);
    api = await startApi();
    await eventually('the second connection', () => follower.connections() === 2);
    expect(follower.socket.io.engine.id).not.toBe(dead);

    const polled = await fetch(`${url()}/socket.io/?EIO=4&transport=polling&sid=${dead}`);
    expect([polled.status, await polled.json()]).toEqual([
      400,
      { code: 1, message: 'Session ID unknown' },
    ]);
    const late = connect(url(), person.token, {
      transports: ['websocket'],
      query: { sid: dead },
      reconnection: false,
    });
    open.push(late);
    expect(await outcomeOf(late)).toBe('websocket error');

    await client.data(`/optimizations/${runId}/cancel`, { method: 'POST', token: person.token });
    await eventually('the end', () => follower.ended().length > 0);
    expect(follower.ended()).toEqual(['optimization-cancelled']);
  },
);
