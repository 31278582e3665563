import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#services/platform/ids.ts';
import { callsOf, createTestApp } from '#tests/support/app.ts';
import type { Calls, Person, TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { give } from '#tests/support/processes/service.ts';
import { listenTo } from './client.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { openHttp } from '#services/http/open.ts';

let app: TestApp;
const oldKey = randomBytes(32);
beforeAll(async () => {
  app = await createTestApp({ jwtKeys: [oldKey] });
});
afterAll(async () => app.close());

const giveOne = (userId: string) => give(app, userId, 1);

/** Another process over the same database, with these keys. */
async function processWith(jwtKeys: readonly Buffer[]): Promise<Calls> {
  const context = { ...app.context, env: { ...app.context.env, jwtKeys } };
  return callsOf((await openHttp(context, app.core)).app);
}

/** The id of the snapshot that a new stream begins with. */
async function idFor({ token }: Pick<Person, 'token'>): Promise<string> {
  const [first] = await listenTo(app, { token, enough: () => true });
  if (first?.id === undefined) throw new Error('The stream began without an id');
  return first.id;
}

/** The first message to a client that reconnects with this id. */
async function returned(
  { token }: Pick<Person, 'token'>,
  lastEventId: string,
  at: Pick<Calls, 'call'> = app,
): Promise<string | undefined> {
  const [first] = await listenTo(at, { token, lastEventId, enough: () => true });
  return first?.event;
}

test('a stream resumes only from an id that was issued to this user', async () => {
  const [ann, bob] = [await app.signUp(), await app.signUp()];
  const id = await idFor(ann);
  await giveOne(ann.userId);
  expect(await returned(ann, id)).toBe('fact');

  const parts = id.split('.');
  const [epoch, transaction, position, signature = ''] = parts;
  const changed = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
  const notIssued = {
    unsigned: `${epoch}.${transaction}.${position}`,
    'from the beginning': [epoch, '1', '1', signature].join('.'),
    'one transaction earlier': [
      epoch,
      String(BigInt(transaction ?? '') - 1n),
      position,
      signature,
    ].join('.'),
    'with another signature': [epoch, transaction, position, changed].join('.'),
    'cut short': id.slice(0, -1),
    'made longer': `${id}A`,
    'of another user': await idFor(bob),
  };
  const first = await Promise.all(
    Object.entries(notIssued).map(async ([what, one]) => [what, await returned(ann, one)]),
  );
  expect(first).toEqual(Object.keys(notIssued).map((what) => [what, 'snapshot']));

  await app.database.ownerPool.query(
    `update emt_messages set created = created - interval '25 hours' where stream_id = $1`,
    [creditStream(ann.userId)],
  );
  expect(await returned(ann, id)).toBe('snapshot');
});

test('a stream that resumes hears at once how far the log was read for it', async () => {
  const ann = await app.signUp();
  const lastEventId = await idFor(ann);
  await giveOne(newId('usr'));
  const [ping] = await listenTo(app, { token: ann.token, lastEventId, enough: () => true });
  expect(ping).toMatchObject({ event: 'ping', id: expect.any(String) });
  await giveOne(ann.userId);
  const [fact] = await listenTo(app, {
    token: ann.token,
    lastEventId: ping!.id!,
    enough: () => true,
  });
  expect(fact?.event).toBe('fact');
  // With the fact, it knows all that happened.
  const [after] = await listenTo(app, {
    token: ann.token,
    lastEventId: fact!.id!,
    enough: () => true,
    timeoutMs: 300,
  });
  expect(after).toBeUndefined();
});

test('an id works in every process and after a restart, until its key is removed', async () => {
  const ann = await app.signUp();
  const id = await idFor(ann);
  await giveOne(ann.userId);
  const newKey = randomBytes(32);
  expect(await returned(ann, id, await processWith([oldKey]))).toBe('fact');
  expect(await returned(ann, id, await processWith([newKey, oldKey]))).toBe('fact');
  const later = await processWith([newKey]);
  const { token } = await later.data<{ token: string }>('/auth/login', {
    body: { email: ann.email, password: testPassword },
  });
  expect(await returned({ token }, id, later)).toBe('snapshot');
});

test(
  'an id resumes over 2,000 events of all users, and over 2,001 it gets a snapshot',
  { tags: ['long'] },
  async () => {
    const ann = await app.signUp();
    const id = await idFor(ann);
    for (let user = 0; user < 20; user += 1) {
      const userId = newId('usr');
      const times = user === 0 ? 99 : 100;
      await Promise.all(Array.from({ length: times }, async () => giveOne(userId)));
    }
    await giveOne(ann.userId);
    expect(await returned(ann, id)).toBe('fact');
    await giveOne(newId('usr'));
    expect(await returned(ann, id)).toBe('snapshot');
  },
);
