import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { Namespace } from 'socket.io';
import * as v from 'valibot';
import { socketLimits } from '#services/live/socket/limits.ts';
import { Evolution, Optimization, ProgressStep } from '#services/optimizations/contract/run.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { connect, openPort, outcomeOf } from './sockets.ts';
import type { Client, ClientOptions, TestPort } from './sockets.ts';

let app: TestCouncil;
let port: TestPort;
let open: Client[] = [];

beforeAll(async () => {
  app = await createTestCouncil();
  port = await openPort(app);
});
afterEach(() => {
  for (const { socket } of open) socket.disconnect();
  open = [];
});
afterAll(async () => {
  await port[Symbol.asyncDispose]();
  await app.close();
});

const { bias: _bias, ...progressFields } = Evolution.entries;
/** Messages have these fields and no others. */
const shapes = {
  'optimization-progress': v.strictObject({
    optimizationId: v.string(),
    stage: ProgressStep,
    progress: v.strictObject({ ...progressFields, models: Optimization.entries.models }),
  }),
  'optimization-complete': v.strictObject({ optimizationId: v.string(), result: Optimization }),
} as const;

const question = { challenge: 'Rent or buy the workshop?', strategy: 'balanced' };

function client(token: unknown, options?: ClientOptions): Client {
  const made = connect(port.url, token, options);
  open.push(made);
  return made;
}

async function connected(person: Pick<Person, 'token'>, options?: ClientOptions): Promise<Client> {
  const made = client(person.token, options);
  expect(await outcomeOf(made)).toBe('connected');
  return made;
}

async function draft(person: Person): Promise<Optimization> {
  return app.data<Optimization>('/optimizations', { token: person.token, body: question });
}

async function withCredits(): Promise<Person> {
  const person = await app.signUp();
  await app.core.ledger.give({
    userId: person.userId,
    credits: 50,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: randomUUID(),
  });
  return person;
}

async function revoke(person: Person): Promise<void> {
  await app.database.ownerPool.query('update sessions set revoked_at = now() where user_id = $1', [
    person.userId,
  ]);
}

const ended = ({ heard }: Client) =>
  heard.filter(({ event }) => event !== 'optimization-progress').map(({ event }) => event);

describe.each([
  ['websocket, then polling', ['websocket', 'polling']],
  ['polling alone', ['polling']],
])('over %s', (_what, transports) => {
  test('a run is followed to its end, in the shapes of the contract', async () => {
    const person = await withCredits();
    const run = await draft(person);
    const follower = await connected(person, { transports });
    expect(await follower.send('subscribe-optimization', run.id)).toEqual({ ok: true });
    await app.data(`/optimizations/${run.id}/process`, { method: 'POST', token: person.token });
    await expect.poll(() => ended(follower)).toEqual(['optimization-complete']);
    for (const { event, payload } of follower.heard)
      expect(v.parse(shapes[event as keyof typeof shapes], payload)).toEqual(payload);
    expect(follower.heard[0]).toMatchObject({
      event: 'optimization-progress',
      payload: { optimizationId: run.id, stage: 'initializing', progress: { id: run.id } },
    });
    const stages = follower.heard.flatMap(({ payload }) =>
      'stage' in payload ? [String(payload.stage)] : [],
    );
    expect(stages.filter((stage) => stage === 'detecting_bias')).toHaveLength(1);
    const order: readonly string[] = ProgressStep.options;
    const places = stages.map((stage) => order.indexOf(stage));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(follower.heard.at(-1)?.payload).toMatchObject({
      optimizationId: run.id,
      result: { id: run.id, status: 'completed', progress: 100 },
    });
  });

  test('a cancelled run notifies its followers once', async () => {
    const person = await withCredits();
    const run = await draft(person);
    const follower = await connected(person, { transports });
    const optimizationId = run.id;
    expect(await follower.send('subscribe-optimization', { optimizationId })).toEqual({ ok: true });
    expect(await follower.send('cancel-optimization', { optimizationId })).toEqual({ ok: true });
    await expect.poll(() => ended(follower)).toEqual(['optimization-cancelled']);
    expect(follower.heard.at(-1)?.payload).toEqual({ optimizationId, cancelled: true });
    const read = await app.data<Optimization>(`/optimizations/${run.id}`, { token: person.token });
    expect(read.status).toBe('cancelled');
    // Nothing is left to cancel, and followers get no second message.
    await follower.send('cancel-optimization', run.id);
    expect(ended(follower)).toHaveLength(1);
  });
});

test('each subscription to an ended run gets its end at once', async () => {
  const person = await withCredits();
  const run = await app.ask(person, question);
  const follower = await connected(person);
  for (const times of [1, 2]) {
    expect(await follower.send('subscribe-optimization', run.id)).toEqual({ ok: true });
    await expect.poll(() => ended(follower)).toHaveLength(times);
  }
  expect(follower.heard.map(({ event }) => event)).toEqual([
    'optimization-complete',
    'optimization-complete',
  ]);
});

test('a client that has unsubscribed from a run gets no more messages about it', async () => {
  const person = await withCredits();
  const run = await draft(person);
  const [stays, leaves] = [await connected(person), await connected(person)];
  for (const one of [stays, leaves]) await one.send('subscribe-optimization', run.id);
  expect(await leaves.send('unsubscribe-optimization', run.id)).toEqual({ ok: true });
  const before = leaves.heard.length;
  await app.data(`/optimizations/${run.id}/process`, { method: 'POST', token: person.token });
  await expect.poll(() => ended(stays)).toHaveLength(1);
  expect(leaves.heard.length).toBeLessThanOrEqual(before + 1);
  expect(ended(leaves)).toEqual([]);
});

test('messages of one client are handled in order, whether or not it waits for the responses', async () => {
  const person = await withCredits();
  const run = await draft(person);
  const [stays, leaves, returns] = [
    await connected(person),
    await connected(person),
    await connected(person),
  ];
  const [join, leave] = ['subscribe-optimization', 'unsubscribe-optimization'];
  const sent = [
    ...[join].map(async (event) => stays.send(event, run.id)),
    ...[join, leave].map(async (event) => leaves.send(event, run.id)),
    ...[join, leave, join].map(async (event) => returns.send(event, run.id)),
  ];
  expect(await Promise.all(sent)).toEqual(sent.map(() => ({ ok: true })));
  await stays.send('cancel-optimization', run.id);
  await expect
    .poll(() => [ended(stays), ended(returns)])
    .toEqual([['optimization-cancelled'], ['optimization-cancelled']]);
  expect(ended(leaves)).toEqual([]);
});

describe('a refused client', () => {
  test.each([
    ['without a token', undefined],
    ['with a malformed token', 'abc'],
    ['with a number as its token', 7],
    ['with an object as its token', { token: 'x' }],
    ['with a very long token', 'x'.repeat(5000)],
    ['with an empty token', ''],
  ])('a client is refused %s', async (_what, token) => {
    expect(await outcomeOf(client(token))).toBe('Authentication required');
  });

  test('a client is refused when its session has ended', async () => {
    const person = await app.signUp();
    await revoke(person);
    expect(await outcomeOf(client(person.token))).toBe('Authentication required');
  });

  test('a client is refused at another namespace', async () => {
    const person = await app.signUp();
    const elsewhere = client(person.token).socket.io.socket('/', { auth: { token: person.token } });
    const refused = Promise.withResolvers<string>();
    elsewhere.once('connect_error', (error) => refused.resolve(error.message));
    elsewhere.connect();
    expect(await refused.promise).toBe('Authentication required');
  });

  test('a page of a foreign origin is refused', async () => {
    for (const [origin, status] of [
      ['https://foreign.example', 403],
      ['null', 403],
      ['http://127.0.0.1:3000', 200],
    ] as const) {
      const response = await fetch(`${port.url}/socket.io/?EIO=4&transport=polling`, {
        headers: { origin },
      });
      expect([origin, response.status]).toEqual([origin, status]);
      await response.arrayBuffer();
    }
  });
});

test('a malformed message is answered with a sentence, and the connection stays open', async () => {
  const person = await app.signUp();
  const run = await draft(person);
  const one = await connected(person);
  const junk: unknown[][] = [
    ['subscribe-optimization'],
    ['subscribe-optimization', null],
    ['subscribe-optimization', 7],
    ['subscribe-optimization', run.id, run.id],
    ['subscribe-optimization', { optimizationId: run.id, more: 1 }],
    ['subscribe-optimization', [run.id]],
    ['subscribe-optimization', 'opt_\u0000'],
    ['subscribe-optimization', Buffer.from('x')],
    ['cancel-optimization', { optimizationId: { $ne: '' } }],
    ['demo-progress', { optimizationId: 'x', stage: 'y', progress: 101 }],
    ['demo-progress', 'x'],
    ['constructor', run.id],
    ['nothing-of-ours', run.id],
  ];
  for (const [event, ...args] of junk)
    expect(await one.send(String(event), ...args)).toEqual({
      error: "We couldn't read that message",
    });
  expect(one.socket.connected).toBe(true);
});

test('of a thousand messages at once, only those beyond the limit are refused', async () => {
  const person = await app.signUp();
  const run = await draft(person);
  const one = await connected(person);
  const answers = await Promise.all(
    Array.from({ length: 1000 }, async () => one.send('subscribe-optimization', run.id)),
  );
  const taken = answers.filter((answer) => 'ok' in answer);
  expect(taken.length).toBeGreaterThan(0);
  expect(answers.filter((answer) => 'error' in answer)).toContainEqual({
    error: 'Too many messages; please wait a moment',
  });
  expect(one.socket.connected).toBe(true);
});

test.each([['websocket'], ['polling']])(
  'a message over the limit ends its connection over %s',
  async (transport) => {
    const person = await app.signUp();
    const one = await connected(person, { transports: [transport], reconnection: false });
    const gone = Promise.withResolvers<string>();
    one.socket.once('disconnect', (reason) => gone.resolve(reason));
    one.socket.emit('demo-progress', randomBytes(socketLimits.messageBytes).toString('hex'));
    expect(await gone.promise).toMatch(/transport/);
  },
);

test('a connection ends before its token does, and its client reconnects with a new token', async () => {
  let aheadMs = 0;
  const clocked = await createTestApp({ clock: () => Date.now() + aheadMs });
  const spread = vi.spyOn(Math, 'random').mockReturnValue(0.999);
  try {
    await using its = await openPort(clocked);
    const person = await clocked.signUp();
    let token = person.token;
    // A minute before the end of a token of ten is a second away.
    aheadMs = (600 - 61) * 1000;
    const made = connect(its.url, undefined, {
      auth: (give: (auth: object) => void) => give({ token }),
    });
    open.push(made);
    const gone = Promise.withResolvers<string>();
    made.socket.once('disconnect', (reason) => gone.resolve(reason));
    expect(await outcomeOf(made)).toBe('connected');
    token = (await clocked.signUp()).token;
    expect(await gone.promise).toBe('transport close');
    expect(await outcomeOf(made)).toBe('connected');
    aheadMs += 601_000;
    expect(await outcomeOf(connectOnce(its.url, token))).toBe('Authentication required');
  } finally {
    spread.mockRestore();
    for (const { socket } of open) socket.disconnect();
    await clocked.close();
  }
});

test('an error on our side ends the connection, and the client reconnects and subscribes on its own', async () => {
  const person = await withCredits();
  const run = await app.ask(person, question);
  const { ownerPool } = app.database;
  const away = async <T>(during: () => Promise<T>): Promise<T> => {
    await ownerPool.query('alter table sessions rename to sessions_away');
    try {
      return await during();
    } finally {
      await ownerPool.query('alter table sessions_away rename to sessions');
    }
  };
  // The library has no public list of connections that it has not let in.
  const forgotten = vi.spyOn(Namespace.prototype, '_remove');
  const follower = await away(async () => {
    const made = client(person.token);
    made.socket.on('connect', () => made.socket.emit('subscribe-optimization', run.id));
    const closed = Promise.withResolvers<void>();
    made.socket.io.once('close', () => closed.resolve());
    await closed.promise;
    return made;
  });
  await expect.poll(() => forgotten.mock.calls.length).toBe(1);
  forgotten.mockRestore();
  const { socket } = follower;
  await expect.poll(() => ended(follower), { timeout: 30_000 }).toEqual(['optimization-complete']);
  await away(async () => {
    expect(await follower.send('subscribe-optimization', run.id)).toEqual({
      error: 'Something went wrong on our side. Please try again in a moment.',
    });
    const gone = Promise.withResolvers<string>();
    socket.once('disconnect', (reason) => gone.resolve(reason));
    socket.emit('subscribe-optimization', run.id);
    expect(await gone.promise).toBe('transport close');
  });
  await expect.poll(() => ended(follower), { timeout: 30_000 }).toHaveLength(2);
});

function connectOnce(url: string, token: string): Client {
  const made = connect(url, token, { reconnection: false });
  open.push(made);
  return made;
}
