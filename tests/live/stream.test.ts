import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { applyPatch } from '#services/optimizations/reading/view.ts';
import type { RunPatch, RunView } from '#services/optimizations/reading/view.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { listenTo, nowListeningTo } from './client.ts';
import type { Heard } from './client.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

async function give(userId: string, times: number, from = 0): Promise<void> {
  for (let number = from; number < from + times; number += 1)
    await app.core.ledger.give({
      userId,
      credits: 1,
      source: 'other',
      reason: 'operator',
      actor: 'test',
      commandId: uuidV5(userId, 'stream-test', number),
    });
}

/** Timers that keep a process alive, such as those of open streams. */
function openTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

async function signUpWithCookie(): Promise<{ token: string; cookie: string }> {
  const response = await app.call('/auth/signup', {
    body: {
      name: 'A Person',
      email: `${uuidV5(String(Date.now()))}@example.com`,
      password: testPassword,
    },
  });
  const { data } = (await response.json()) as { data: { token: string } };
  const cookies = response.headers.getSetCookie().map((one) => one.split(';')[0]);
  return { token: data.token, cookie: cookies.join('; ') };
}

const isFact = (heard: Heard) => heard.event === 'fact';
const versionOf = (heard: Heard) => Number(heard.data['version']);

describe('the stream', () => {
  test('the stream begins with a snapshot and continues with absolute facts', async () => {
    const person = await app.signUp();
    await give(person.userId, 2);
    const { hearing } = await nowListeningTo(app, {
      token: person.token,
      enough: (heard) => isFact(heard) && versionOf(heard) === 4,
    });
    await give(person.userId, 2, 2);
    const [snapshot, ...facts] = await hearing;
    expect(snapshot).toMatchObject({
      event: 'snapshot',
      data: { balance: { available_credits: 2 }, runs: [] },
    });
    // If an open transaction hid them from the reader, the first two come once more.
    const later = facts.filter((fact) => versionOf(fact) > 2);
    expect(later.map((fact) => fact.data)).toMatchObject([
      {
        type: 'CreditsGranted',
        version: 3,
        entity: { kind: 'account' },
        patch: { available_credits: 3 },
      },
      { type: 'CreditsGranted', version: 4, patch: { available_credits: 4 } },
    ]);
  });

  test('a client that drops its connection ten times under 32 writers loses and doubles nothing', async () => {
    const person = await app.signUp();
    const others = await Promise.all(Array.from({ length: 7 }, () => app.signUp()));
    const each = 40;
    const total = 4 * each;
    // A foreign open write transaction hides everything that is committed after it.
    const foreign = await app.database.ownerPool.connect();
    await foreign.query('begin; select pg_current_xact_id()');
    const free = async () => {
      await sleep(100);
      await foreign.query('commit');
      foreign.release();
    };
    const freed = free();

    const heardAll: Heard[] = [];
    let lastEventId: string | undefined;
    let drops = 0;
    const connected = Promise.withResolvers<void>();
    const client = (async () => {
      while (heardAll.filter(isFact).length < total) {
        let left = drops < 10 ? 1 + ((drops * 7) % 13) : Number.POSITIVE_INFINITY;
        const heard = await listenTo(app, {
          token: person.token,
          lastEventId,
          timeoutMs: 20_000,
          enough: (message) => {
            connected.resolve();
            if (isFact(message)) left -= 1;
            return left <= 0 || versionOf(message) === total;
          },
        });
        heardAll.push(...heard);
        lastEventId = heard.findLast((message) => message.id !== undefined)?.id ?? lastEventId;
        drops += 1;
      }
    })();
    await Promise.race([connected.promise, client]);
    await Promise.all([
      ...Array.from({ length: 4 }, (_, writer) => give(person.userId, each, writer * each)),
      ...Array.from({ length: 28 }, (_, writer) =>
        give(others[writer % 7]?.userId ?? '', 20, writer * 20),
      ),
    ]);
    await Promise.all([client, freed]);

    expect(drops).toBeGreaterThan(10);
    const versions = heardAll.filter(isFact).map(versionOf);
    expect(versions).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    expect(heardAll.filter((heard) => heard.event === 'snapshot')).toHaveLength(1);
    // A ping may name a place, too: the end of what its stream caught up with.
    const ids = heardAll.flatMap((heard) => (heard.event === 'ping' ? [] : (heard.id ?? [])));
    expect(new Set(ids).size).toBe(total + 1);
    expect(heardAll.findLast(isFact)?.data['patch']).toMatchObject({ available_credits: total });
  });

  test.each([
    ['an id of another epoch', 'ffffffffffff.10.10'],
    ['an id from the future', 'FUTURE'],
    ['no id at all', 'hello'],
  ])('%s gets a snapshot from the stream', async (_what, id) => {
    const person = await app.signUp();
    const [first] = await listenTo(app, { token: person.token, enough: () => true });
    const epoch = first?.id?.split('.')[0] ?? '';
    const lastEventId = id === 'FUTURE' ? `${epoch}.999999999999.1` : id;
    const [again] = await listenTo(app, {
      token: person.token,
      lastEventId,
      enough: () => true,
    });
    expect(again?.event).toBe('snapshot');
  });

  test('the stream ends with a message when its session ends, and frees its resources', async () => {
    const { token, cookie } = await signUpWithCookie();
    const { hearing } = await nowListeningTo(app, { token, enough: () => false });
    const timers = openTimers();
    await app.call('/auth/logout', { method: 'POST', headers: { cookie } });
    const heard = await hearing;
    expect(heard.at(-1)).toMatchObject({ event: 'bye', data: { reason: 'session' } });
    await expect.poll(openTimers).toBeLessThanOrEqual(timers - 2);
  });

  test('a stream without a reader, as in a response to HEAD, holds no resources', async () => {
    const person = await app.signUp();
    const run = await app.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
    });
    const timers = openTimers();
    for (let call = 0; call < 20; call += 1) {
      const response = await app.call(`/stream?optimization=${run.id}`, {
        method: 'HEAD',
        token: person.token,
      });
      expect(response.status).toBe(200);
    }
    expect(openTimers()).toBeLessThan(timers + 20);
  });

  test('a client that disconnects causes no error', async () => {
    const person = await app.signUp();
    const before = app.logged.length;
    for (let time = 0; time < 5; time += 1)
      await listenTo(app, { token: person.token, enough: () => true });
    await sleep(50);
    expect(app.logged.slice(before).join()).not.toContain('A stream failed');
  });

  test('an error during the stream is logged, and the client sees the stream end without details', async () => {
    const person = await app.signUp();
    await app.database.ownerPool.query('alter table credit_account rename to away');
    try {
      const before = app.logged.length;
      const heard = await listenTo(app, { token: person.token, enough: () => false });
      expect(heard).toEqual([]);
      expect(app.logged.slice(before).join()).toContain('A stream failed');
    } finally {
      await app.database.ownerPool.query('alter table away rename to credit_account');
    }
  });

  test('the stream carries nothing about other users', async () => {
    const [ann, bob] = await Promise.all([app.signUp(), app.signUp()]);
    const { hearing } = await nowListeningTo(app, {
      token: ann.token,
      enough: (heard) => isFact(heard),
    });
    await give(bob.userId, 5);
    await give(ann.userId, 1);
    const facts = (await hearing).filter(isFact);
    expect(facts.map((fact) => fact.data['stream'])).toEqual([`credits-${ann.userId}`]);
  });
});

describe('a watched run', () => {
  async function created(person: Person): Promise<Optimization> {
    return app.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
    });
  }

  test('facts merged into the snapshot equal the run as it is read afterwards', async () => {
    const person = await app.signUp();
    await give(person.userId, 50);
    const run = await created(person);
    const { hearing } = await nowListeningTo(app, {
      token: person.token,
      watching: run.id,
      enough: (heard) => heard.data['type'] === 'RunConcluded',
    });
    await app.data(`/optimizations/${run.id}/process`, { method: 'POST', token: person.token });
    await app.data(`/optimizations/${run.id}/cancel`, { method: 'POST', token: person.token });
    const heard = await hearing;
    const snapshot = heard[0]?.data as { run: Optimization };
    // That the run was created is in the snapshot, and may come once more.
    const facts = heard.filter(
      (one) =>
        isFact(one) &&
        (one.data['entity'] as { kind: string }).kind === 'run' &&
        versionOf(one) > 1,
    );
    const view = facts.reduce<RunView>(
      (before, fact) => applyPatch(before, fact.data['patch'] as RunPatch, versionOf(fact)),
      snapshot.run.council,
    );
    const read = await app.data<Optimization>(`/optimizations/${run.id}`, { token: person.token });
    const now = 0;
    expect(describeRun(view, now)).toEqual(describeRun(read.council, now));
    expect(facts.map((fact) => fact.data['type'])).toEqual(['ProcessingStarted', 'RunConcluded']);
  });

  test('a cancelled draft reaches lists as cancelled at once, with nothing held', async () => {
    const person = await app.signUp();
    const run = await created(person);
    const { hearing } = await nowListeningTo(app, {
      token: person.token,
      enough: (heard) => heard.data['type'] === 'OptimizationCancelled',
    });
    await app.data(`/optimizations/${run.id}/cancel`, { method: 'POST', token: person.token });
    expect((await hearing).at(-1)?.data).toMatchObject({
      entity: { kind: 'run_row', id: run.id },
      patch: { status: 'cancelled' },
    });
    const list = await app.call('/optimizations', { token: person.token });
    expect(await list.json()).toMatchObject({
      data: [
        {
          status: 'cancelled',
          credits: { reserved: 0, charged: 0, refunded: 0, settlement: 'none' },
        },
      ],
    });
  });

  test('a stream that does not watch the run gets only its row', async () => {
    const person = await app.signUp();
    const { hearing } = await nowListeningTo(app, { token: person.token, enough: isFact });
    const run = await created(person);
    const [, fact] = await hearing;
    expect(fact?.data).toMatchObject({
      type: 'OptimizationCreated',
      entity: { kind: 'run_row', id: run.id },
      patch: { status: 'pending' },
    });
  });
});
