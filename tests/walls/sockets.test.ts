import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { liveLimits } from '#services/live/limits.ts';
import { clientEvents } from '#services/live/socket/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { connect, openPort, outcomeOf } from '#tests/live/sockets.ts';
import type { Client, TestPort } from '#tests/live/sockets.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { newCaller } from './calls.ts';
import type { Caller } from './calls.ts';

/**
 * Every message that a socket accepts, from every kind of caller. The test decides when sessions are
 * checked. Until then the connection of an ended session stays open, and its messages must be refused
 * even though the sender owns the run.
 */
let app: TestApp;
let port: TestPort;
/** How far the application's clock is ahead, in milliseconds. */
let aheadMs = 0;
let open: Client[] = [];

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  app = await createTestApp({ clock: () => Date.now() + aheadMs });
  port = await openPort(app);
});
afterEach(() => {
  for (const { socket } of open) socket.disconnect();
  open = [];
});
afterAll(async () => {
  await port[Symbol.asyncDispose]();
  await app.close();
  vi.useRealTimers();
});

function client(token: unknown): Client {
  const made = connect(port.url, token, { reconnection: false });
  open.push(made);
  return made;
}

async function connected({ token }: Pick<Caller, 'token'>): Promise<Client> {
  const made = client(token);
  expect(await outcomeOf(made)).toBe('connected');
  return made;
}

async function draft({ token }: Caller): Promise<string> {
  const run = await app.data<Optimization>('/optimizations', {
    token,
    body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
  });
  return run.id;
}

async function eventsOf(runId: string): Promise<string[]> {
  const { events } = await app.core.readStream(`optimization-${runId}`);
  return events.map(({ type }) => type);
}

async function disconnected({ socket }: Client): Promise<string> {
  const gone = Promise.withResolvers<string>();
  socket.once('disconnect', (reason) => gone.resolve(reason));
  return gone.promise;
}

const stagesHeard = ({ heard }: Client) => heard.map(({ payload }) => payload['stage']);

const messages = Object.keys(clientEvents);
const payloadOf = (event: string, runId: string) =>
  event === 'demo-progress'
    ? { optimizationId: 'demo', stage: 'routing', progress: 20, message: 'Routing' }
    : runId;

/** What ends a user's session while they are connected. */
const ends: [string, (owner: Caller) => Promise<unknown>][] = [
  [
    'revoked',
    async ({ token, sessionId }) =>
      app.data(`/auth/sessions/${sessionId}`, { method: 'DELETE', token }),
  ],
  [
    'erasing',
    // Set directly, because the route also ends the sessions: the account's state must be enough.
    async ({ userId }) =>
      app.database.ownerPool.query('update users set erasing_at = now() where id = $1', [userId]),
  ],
  [
    'expired',
    async () => {
      aheadMs += 601_000;
    },
  ],
];

describe.each(messages)('the socket message %s', (event) => {
  test(`${event} answers only the owner, and no one else learns whether the run exists`, async () => {
    const [owner, other] = [await newCaller(app), await newCaller(app)];
    const runId = await draft(owner);
    const foreign = await connected(other);
    const answer = await foreign.send(event, payloadOf(event, runId));
    const isOwned = event === 'subscribe-optimization' || event === 'cancel-optimization';
    expect(answer).toEqual(isOwned ? { error: 'Failed to get optimization' } : { ok: true });
    const unknown = await foreign.send(event, payloadOf(event, `opt_${'0'.repeat(26)}`));
    expect(unknown).toEqual(answer);
    expect(foreign.heard).toEqual([]);
    expect(await eventsOf(runId)).toEqual(['OptimizationCreated']);

    expect(await outcomeOf(client(undefined))).toBe('Authentication required');
    // The owner's message still works afterwards.
    const own = await connected(owner);
    expect(await own.send(event, payloadOf(event, runId))).toEqual({ ok: true });
  });

  test.each(ends)(
    `${event} does nothing for an owner whose session is %s, and ends the connection`,
    async (_, end) => {
      const owner = await newCaller(app);
      const runId = await draft(owner);
      const late = await connected(owner);
      const gone = disconnected(late);
      await end(owner);
      expect(late.socket.connected).toBe(true);
      expect(await late.send(event, payloadOf(event, runId))).toEqual({
        error: 'Authentication required',
      });
      expect(await gone).toBe('io server disconnect');
      expect(late.heard).toEqual([]);
      expect(await eventsOf(runId)).toEqual(['OptimizationCreated']);
      expect(await outcomeOf(client(owner.token))).toBe('Authentication required');
    },
  );
});

test('a client that only listens gets nothing once a check has found its session ended', async () => {
  const owner = await newCaller(app);
  const again = await app.data<{ token: string }>('/auth/login', {
    body: { email: owner.email, password: testPassword },
  });
  const runId = await draft(owner);
  const [leaves, stays] = [await connected(owner), await connected(again)];
  for (const one of [leaves, stays])
    expect(await one.send('subscribe-optimization', runId)).toEqual({ ok: true });
  // Perhaps more than once: the run's creation may be published after it was read.
  for (const one of [leaves, stays])
    await expect.poll(() => stagesHeard(one)).toContain('initializing');
  const gone = disconnected(leaves);
  await app.data(`/auth/sessions/${owner.sessionId}`, { method: 'DELETE', token: again.token });
  // Nothing else has ended it, although every automatic check had time to run.
  for (let count = 0; count < 5; count += 1)
    await stays.send('demo-progress', payloadOf('demo-progress', runId));
  expect(leaves.socket.connected).toBe(true);

  await vi.advanceTimersByTimeAsync(liveLimits.sessionsEveryMs);
  expect(await gone).toBe('io server disconnect');
  expect(leaves.socket.active).toBe(false);
  await stays.send('cancel-optimization', runId);
  // A cancelled draft ends at once, without a stage.
  const hasHeardTheEnd = ({ heard }: Client) =>
    heard.some(({ event }) => event === 'optimization-cancelled');
  await expect.poll(() => hasHeardTheEnd(stays)).toBe(true);
  expect(hasHeardTheEnd(leaves)).toBe(false);
  expect(liveLimits.sessionsEveryMs).toBeLessThanOrEqual(500);
});
