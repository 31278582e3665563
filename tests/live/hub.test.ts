import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startListening } from '#db/listen.ts';
import { compareCursors } from '#db/reader.ts';
import type { Listener } from '#db/listen.ts';
import { creditFacts } from '#services/credits/facts.ts';
import { createHub } from '#services/live/hub.ts';
import type { Hub, Subscription } from '#services/live/hub.ts';
import { newId } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';
import { userOf } from '#services/credits/account/events.ts';

let app: TestApp;
let listener: Listener;
let hub: Hub;
const logged: string[] = [];
/** Users for whose events the owner or the facts cannot be read. */
let broken: { owner?: string; facts?: string } = {};
/** How many questions the database does not answer. */
const unanswered = { epoch: 0, owner: 0 };

function askDatabase(about: keyof typeof unanswered): void {
  if (unanswered[about] === 0) return;
  unanswered[about] -= 1;
  throw new Error('Connection terminated unexpectedly');
}

beforeAll(async () => {
  app = await createTestApp();
  listener = startListening({ url: app.database.appUrl });
  hub = await createHub({
    pool: app.database.pool,
    epoch: {
      onChange: (callback) => app.core.epoch.onChange(callback),
      async current() {
        askDatabase('epoch');
        return app.core.epoch.current();
      },
    },
    wake: listener.onWake,
    keys: [Buffer.alloc(32)],
    log: createLog({
      level: 'warn',
      process: 'test',
      destination: { write: (line) => void logged.push(line) },
    }),
    sources: [
      {
        streamPrefix: 'credits-',
        async ownerOf(stream) {
          askDatabase('owner');
          if (userOf(stream) === broken.owner) throw new Error('No database');
          return userOf(stream);
        },
        factsOf(recorded) {
          if (userOf(recorded.streamId) === broken.facts) throw new Error('No text');
          return creditFacts(recorded);
        },
      },
    ],
  });
});
afterAll(async () => {
  await hub.close();
  await listener.close();
  await app.close();
});
beforeEach(() => {
  broken = {};
  logged.splice(0);
});

const giveOne = (userId: string) => give(app, userId, 1);

const person = () => {
  const userId = newId('usr');
  return { userId, subscription: hub.subscribe({ userId, watching: null }) };
};
const factsIn = async (subscription: Subscription) => (await subscription.take()).length;

test('an event without readable facts sends its owner a snapshot, and other users nothing', async () => {
  const [ann, bob] = [person(), person()];
  broken = { facts: ann.userId };
  await giveOne(ann.userId);
  await giveOne(bob.userId);
  expect(await factsIn(bob.subscription)).toBe(1);
  expect(bob.subscription.overflowed()).toBe(false);
  expect(await factsIn(ann.subscription)).toBe(0);
  expect(ann.subscription.overflowed()).toBe(true);
  expect(logged).toHaveLength(1);
  broken = {};
  await giveOne(ann.userId);
  expect(await factsIn(ann.subscription)).toBe(1);
  for (const { subscription } of [ann, bob]) subscription.end(null);
});

test('an event without a known owner sends every user a snapshot, and later facts follow', async () => {
  const [ann, bob] = [person(), person()];
  broken = { owner: ann.userId };
  await giveOne(ann.userId);
  for (const { subscription } of [ann, bob]) {
    expect(await factsIn(subscription)).toBe(0);
    expect(subscription.overflowed()).toBe(true);
  }
  broken = {};
  await giveOne(bob.userId);
  expect(await factsIn(bob.subscription)).toBe(1);
  for (const { subscription } of [ann, bob]) subscription.end(null);
});

test('events wait for a database that is unavailable for a moment, and nobody gets a snapshot', async () => {
  const [ann, bob] = [person(), person()];
  Object.assign(unanswered, { epoch: 2, owner: 2 });
  await giveOne(ann.userId);
  expect(await factsIn(ann.subscription)).toBe(1);
  expect(unanswered).toEqual({ epoch: 0, owner: 0 });
  for (const { subscription } of [ann, bob]) {
    expect(subscription.overflowed()).toBe(false);
    subscription.end(null);
  }
  expect(logged).toEqual([]);
});

test.each([
  ['many messages', 501, 10],
  ['large messages', 5, 60_000],
])(
  'a queue of too %s is dropped whole, and the next message begins a new one',
  async (_, count, size) => {
    const subscription = hub.subscribe({ userId: newId('usr'), watching: 'opt_watched' });
    const other = hub.subscribe({ userId: newId('usr'), watching: 'opt_other' });
    const bytes = new Uint8Array(size);
    for (let message = 0; message < count; message += 1) hub.broadcast('opt_watched', bytes);
    expect(await subscription.take()).toEqual([]);
    expect(subscription.overflowed()).toBe(true);
    hub.broadcast('opt_watched', bytes);
    hub.broadcast('opt_other', bytes);
    const [message, ...more] = await subscription.take();
    expect(more).toEqual([]);
    // The same bytes for all, not a copy for each.
    expect(message?.bytes).toBe(bytes);
    expect(await factsIn(other)).toBe(1);
    expect(other.overflowed()).toBe(false);
    for (const one of [subscription, other]) one.end(null);
    expect(hub.watched()).toEqual([]);
  },
);

test('while a subscriber waits, messages reach it at once, until it refuses one', async () => {
  const subscription = hub.subscribe({ userId: newId('usr'), watching: 'opt_straight' });
  const seen: number[] = [];
  const taken = subscription.take(({ bytes }) => {
    if (seen.length === 2) return false;
    seen.push(bytes.byteLength);
    return true;
  });
  for (const size of [1, 2, 3, 4]) hub.broadcast('opt_straight', new Uint8Array(size));
  expect(seen).toEqual([1, 2]);
  expect((await taken).map(({ bytes }) => bytes.byteLength)).toEqual([3, 4]);
  subscription.end(null);
});

test('all streams of a user get the same buffer of an event', async () => {
  const ann = person();
  const again = hub.subscribe({ userId: ann.userId, watching: null });
  await giveOne(ann.userId);
  const [[one], [two]] = [await ann.subscription.take(), await again.take()];
  expect(one?.bytes).toBe(two?.bytes);
  for (const subscription of [ann.subscription, again]) subscription.end(null);
});

test('a ping names the place that the log was read to, unless the stream knows it', async () => {
  const [ann, bob, eve] = [person(), person(), person()];
  await giveOne(ann.userId);
  const [fact] = await ann.subscription.take();
  const cursor = fact!.cursor!;
  await expect.poll(() => hub.lagMs()).toBe(0);
  eve.subscription.startAfter(cursor);
  const placeIn = async ({ userId, subscription }: typeof ann) => {
    subscription.ping();
    const [ping] = await subscription.take();
    const [, id] = /^id: (.+)$/m.exec(new TextDecoder().decode(ping?.bytes)) ?? [];
    return id === undefined ? null : (await hub.ids()).cursorOf(userId, id);
  };
  expect(await placeIn(bob)).toEqual(cursor);
  for (const one of [bob, ann, eve]) expect(await placeIn(one)).toBeNull();
  await giveOne(ann.userId);
  await expect.poll(() => hub.lagMs()).toBe(0);
  expect(compareCursors((await placeIn(eve))!, cursor)).toBeGreaterThan(0);
  for (const { subscription } of [ann, bob, eve]) subscription.end(null);
});

test('a stream that opens while the process stops is sent to another process', async () => {
  const before = person();
  hub.drain();
  for (const { subscription } of [before, person()]) {
    const [bye] = await subscription.take();
    expect(new TextDecoder().decode(bye?.bytes)).toContain('"reason":"drain"');
    subscription.end(null);
  }
});
