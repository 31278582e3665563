import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  alreadyAppended,
  appendCommands,
  findMessages,
  readHeads,
  readStoredStream,
  readStream,
  type AppendEntry,
  type AppendOutcome,
} from '#db/streams.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a stream can be read whole or in part, in order', async () => {
  const streamId = newStream();
  await append(entryOf(streamId, 0, ['a', 'b', 'c', 'd']));
  const notes = async (range: { from?: number; to?: number }) => {
    const { events, version } = await readStream(database.pool, streamId, range);
    return { notes: events.map(({ data }) => data['note']), version };
  };
  expect(await notes({})).toEqual({ notes: ['a', 'b', 'c', 'd'], version: 4 });
  expect(await notes({ from: 3 })).toEqual({ notes: ['c', 'd'], version: 4 });
  expect(await notes({ from: 2, to: 3 })).toEqual({ notes: ['b', 'c'], version: 3 });
  expect(await notes({ from: 5 })).toEqual({ notes: [], version: 0 });
  expect(await readStream(database.pool, newStream())).toEqual({ events: [], version: 0 });
});

test('an event is read as it was written, with all digits', async () => {
  const streamId = newStream();
  const entry = entryOf(streamId, 0, ['12345678901234567890']);
  await append(entry);
  const { events } = await readStoredStream(database.pool, streamId);
  expect(events).toEqual([
    {
      streamId,
      streamPosition: 1,
      globalPosition: expect.stringMatching(/^\d+$/) as unknown,
      transactionId: expect.stringMatching(/^\d+$/) as unknown,
      messageId: entry.events[0]!.id,
      type: 'Noted',
      data: { note: '12345678901234567890' },
      metadata: { commandId: 'c' },
    },
  ]);
});

test('a stream that is not at its expected version is left out of a call, and its jobs too', async () => {
  const [taken, free, missing] = [newStream(), newStream(), newStream()];
  await append(entryOf(taken, 0, ['a']));
  const job = { runAt: '2026-11-28T00:00:00Z' };
  const outcomes = await append(
    entryOf(taken, 7, ['late'], job),
    entryOf(free, 0, ['a', 'b'], job),
    entryOf(taken, 0, ['as if new'], job),
    entryOf(missing, 3, ['without a beginning'], job),
  );
  expect(outcomes).toEqual([
    { appended: false },
    { appended: true, positions: [position, position] },
    { appended: false },
    { appended: false },
  ]);
  expect((await readStream(database.pool, taken)).version).toBe(1);
  expect(await readHeads(database.pool, [taken])).toMatchObject([{ snapshot: { version: 1 } }]);
  const { rows } = await database.pool.query(
    'select key from graphile_worker.jobs where key = any ($1)',
    [[taken, free, missing]],
  );
  expect(rows).toEqual([{ key: free }]);
});

test('an entry that the database refuses undoes the whole call', async () => {
  const [sound, doubled] = [newStream(), newStream()];
  const first = entryOf(doubled, 0, ['a']);
  await append(first);
  const repeated = { ...entryOf(doubled, 1, ['b']), events: first.events };
  const refusalOf = async (entry: AppendEntry) => {
    const refused = append(entryOf(sound, 0, ['a']), entry);
    const error: unknown = await refused.catch((reason: unknown) => reason);
    return error as pg.DatabaseError;
  };
  const repeat = await refusalOf(repeated);
  const badJob = await refusalOf(entryOf(newStream(), 0, ['a'], { runAt: 'never' }));
  expect([repeat.code, badJob.code]).toEqual(['23505', '22007']);
  expect([alreadyAppended(repeat), alreadyAppended(badJob)]).toEqual([true, false]);
  expect((await readStream(database.pool, sound)).version).toBe(0);
});

test('heads come in the given order, for existing and missing streams', async () => {
  const [known, unknown] = [newStream(), newStream()];
  await append(entryOf(known, 0, ['a', 'b']));
  expect(await readHeads(database.pool, [unknown, known])).toEqual([
    { streamId: unknown, version: 0, snapshot: null },
    {
      streamId: known,
      version: 2,
      snapshot: {
        version: 2,
        decider: 'notes',
        deciderVersion: 1,
        hash: 'h',
        occurredAt: 't',
        state: { count: 2 },
      },
    },
  ]);
});

test('messages are found by stream and id', async () => {
  const [one, other] = [newStream(), newStream()];
  const entry = entryOf(one, 0, ['a', 'b', 'c']);
  await append(entry, entryOf(other, 0, ['x']));
  const ids = entry.events.map(({ id }) => id);
  const found = await findMessages(database.pool, [
    { streamId: one, messageIds: [ids[2]!, ids[0]!, randomUUID()] },
    { streamId: other, messageIds: [ids[1]!] },
  ]);
  expect(found.map(({ data }) => data['note'])).toEqual(['a', 'c']);
});

test('a batch wakes the readers once, and a batch that wrote nothing does not', async () => {
  const client = await database.ownerPool.connect();
  const heard: (string | undefined)[] = [];
  client.on('notification', ({ channel, payload }) => heard.push(`${channel}:${payload ?? ''}`));
  try {
    await client.query('listen events');
    await append(entryOf(newStream(), 5, ['refused']));
    await append(...Array.from({ length: 10 }, () => entryOf(newStream(), 0, ['a'])));
    await client.query('select 1');
    await expect.poll(() => heard).toEqual(['events:']);
  } finally {
    client.release(true);
  }
});

// --- support ---

const position = {
  transactionId: expect.stringMatching(/^\d+$/) as unknown,
  globalPosition: expect.stringMatching(/^\d+$/) as unknown,
};

function newStream(): string {
  return `notes-${randomUUID()}`;
}

function append(...entries: AppendEntry[]): Promise<AppendOutcome[]> {
  return appendCommands(database.pool, database.functionName, entries);
}

function entryOf(
  streamId: string,
  expectedVersion: number,
  notes: string[],
  job?: { runAt: string },
): AppendEntry {
  return {
    streamId,
    expectedVersion,
    events: notes.map((note) => ({
      id: randomUUID(),
      type: 'Noted',
      data: { note },
      metadata: { commandId: 'c' },
    })),
    snapshot: {
      decider: 'notes',
      deciderVersion: 1,
      hash: 'h',
      occurredAt: 't',
      state: { count: notes.length },
    },
    jobs: job === undefined ? [] : [{ task: 'note', payload: {}, key: streamId, ...job }],
  };
}
