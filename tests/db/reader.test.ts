import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool } from '#db/connect.ts';
import {
  compareCursors,
  type Cursor,
  endOfLog,
  lagSeconds,
  logStart,
  readAsOfOneMoment,
  readPage,
  readRange,
} from '#db/reader.ts';
import { tail } from '#db/tail.ts';
import { appendInto, credited, debited, startWriters } from '#tests/support/append.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase({ max: 40 });
});
afterAll(() => db.drop());

const silent = () => () => undefined;

async function openTransaction(): Promise<pg.PoolClient> {
  const client = await db.ownerPool.connect();
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  return client;
}

async function commit(client: pg.PoolClient): Promise<void> {
  await client.query('commit');
  client.release();
}

function idsOf(events: readonly RecordedEvent[]): string[] {
  return events.map(({ streamId, streamPosition }) => `${streamId}/${streamPosition}`);
}

/** Other tests share the server, and their transactions hide events of this one for a moment. */
function cursorOf({ transactionId, globalPosition }: Cursor): Cursor {
  return { transactionId, globalPosition };
}

async function readAll(cursor: Cursor, atLeast: number): Promise<RecordedEvent[]> {
  for (;;) {
    const { events } = await readPage(db.pool, cursor);
    if (events.length >= atLeast) return [...events];
    await sleep(5);
  }
}

describe('reading a page', () => {
  test('a page does not skip an event whose transaction is still open', async () => {
    const start = await endOfLog(db.pool);
    const slow = await openTransaction();
    const fast = await openTransaction();
    await appendInto(slow, { streamId: 'test-slow', expected: 0, events: [credited(1)] });
    await appendInto(fast, { streamId: 'test-fast', expected: 0, events: [credited(2)] });
    await commit(fast);

    const hidden = await readPage(db.pool, start);
    expect(hidden).toMatchObject({ events: [], unsafeInSight: true, caughtUp: true });

    await commit(slow);
    const events = await readAll(hidden.cursor, 2);
    expect(idsOf(events)).toEqual(['test-slow/1', 'test-fast/1']);
  });

  test('a page continues in the middle of a transaction', async () => {
    const start = await endOfLog(db.pool);
    const client = await openTransaction();
    const events = [1, 2, 3, 4, 5].map(credited);
    await appendInto(client, { streamId: 'test-pages', expected: 0, events });
    await commit(client);
    await readAll(start, 5);

    const seen: string[] = [];
    let cursor = start;
    for (const caughtUp of [false, false, true]) {
      const page = await readPage(db.pool, cursor, { limit: 2 });
      expect(page.caughtUp).toBe(caughtUp);
      seen.push(...idsOf(page.events));
      cursor = page.cursor;
    }
    expect(seen).toEqual([1, 2, 3, 4, 5].map((position) => `test-pages/${position}`));
  });

  test('a page holds the given types only, and its cursor skips the others', async () => {
    const start = await endOfLog(db.pool);
    const client = await openTransaction();
    await appendInto(client, {
      streamId: 'test-types',
      expected: 0,
      events: [credited(1), debited(1), credited(2)],
    });
    await commit(client);
    const all = await readAll(start, 3);

    const page = await readPage(db.pool, start, { types: ['TestDebited'] });
    expect(idsOf(page.events)).toEqual(['test-types/2']);
    expect(compareCursors(page.cursor, all[2]!)).toBe(0);
    expect(await readRange(db.pool, start, { types: ['TestCredited'] })).toMatchObject({
      count: 2,
    });
  });

  test('a range of rare types ends after its span of the log, and the next one continues', async () => {
    const start = await endOfLog(db.pool);
    const client = await openTransaction();
    const events = Array.from({ length: 10 }, (_, at) => (at === 6 ? debited(1) : credited(1)));
    await appendInto(client, { streamId: 'test-span', expected: 0, events });
    await commit(client);
    const all = await readAll(start, 10);
    const options = { types: ['TestDebited'], span: 4 };
    let cursor = start;
    const counts: number[] = [];
    for (const end of [all[3]!, all[7]!]) {
      const range = await readRange(db.pool, cursor, options);
      expect(range).toMatchObject({ caughtUp: false, cursor: cursorOf(end) });
      counts.push(range.count);
      cursor = range.cursor;
    }
    expect(counts).toEqual([0, 1]);
    expect(await readRange(db.pool, cursor, options)).toMatchObject({ count: 0, caughtUp: true });
  });

  test('a page holds the event as it was stored', async () => {
    const start = await endOfLog(db.pool);
    const client = await openTransaction();
    const event = { id: 'message-1', ...credited(7), metadata: { commandId: 'c' } };
    await appendInto(client, { streamId: 'test-shape', expected: 0, events: [event] });
    await commit(client);
    const [stored] = await readAll(start, 1);
    expect(stored).toEqual({
      streamId: 'test-shape',
      streamPosition: 1,
      transactionId: stored?.transactionId,
      globalPosition: stored?.globalPosition,
      messageId: 'message-1',
      type: 'TestCredited',
      data: { amount: 7 },
      metadata: { commandId: 'c' },
    });
    expect(stored?.transactionId).toMatch(/^\d+$/);
    expect(stored?.globalPosition).toMatch(/^\d+$/);
  });

  test('a long reading transaction hides nothing from other readers', async () => {
    await readAsOfOneMoment(db.pool, ['epoch'], async (client, moment) => {
      await readPage(client, logStart);
      const writer = await openTransaction();
      await appendInto(writer, { streamId: 'test-seen', expected: 0, events: [credited(1)] });
      await commit(writer);
      expect(idsOf(await readAll(moment, 1))).toEqual(['test-seen/1']);
      expect((await readPage(client, moment)).events).toEqual([]);
    });
  });
});

test('a reader beside 32 writers and a long foreign transaction gets every event once and in order', async () => {
  const start = await endOfLog(db.pool);
  const seen: RecordedEvent[] = [];
  const reading = new AbortController();
  const tailing = tail({
    pool: db.pool,
    cursor: start,
    wake: silent,
    pollMs: 5,
    limit: 50,
    signal: reading.signal,
    onPage: ({ events }) => void seen.push(...events),
  });

  const foreign = await openTransaction();
  const writers = startWriters(32, async (writer, round) => {
    const client = await openTransaction();
    const events = Array.from({ length: 1 + ((writer + round) % 3) }, () => credited(1));
    const expected = await versionOf(client, `test-w${writer}`);
    await appendInto(client, { streamId: `test-w${writer}`, expected, events });
    await sleep(Math.random() * 8);
    await commit(client);
    return events.length;
  });
  await expect.poll(() => writers.written()).toBeGreaterThan(200);
  expect(seen).toEqual([]);
  await commit(foreign);
  await expect.poll(() => writers.written()).toBeGreaterThan(500);
  const written = await writers.stop();
  while (seen.length < written) await sleep(5);
  await sleep(50);
  reading.abort();
  const end = await tailing;

  const { rows } = await db.ownerPool.query<{ id: string }>(
    `select stream_id || '/' || stream_position as id from emt_messages
     where (transaction_id, global_position) > ($1::xid8, $2)
     order by transaction_id, global_position`,
    [start.transactionId, start.globalPosition],
  );
  expect(idsOf(seen)).toEqual(rows.map(({ id }) => id));
  expect(inStreamOrder(seen)).toBe(true);
  expect(compareCursors(end, seen.at(-1)!)).toBeGreaterThanOrEqual(0);
});

test('a tail delivers events soon after the transaction that hid them ends, without a notice', async () => {
  const start = await endOfLog(db.pool);
  const seen: RecordedEvent[] = [];
  const reading = new AbortController();
  const bell = new EventTarget();
  const foreign = await openTransaction();
  const tailing = tail({
    pool: db.pool,
    cursor: start,
    wake: (callback) => {
      bell.addEventListener('ring', callback);
      return () => bell.removeEventListener('ring', callback);
    },
    pollMs: 3_600_000,
    signal: reading.signal,
    onPage: ({ events }) => void seen.push(...events),
  });
  const client = await openTransaction();
  await appendInto(client, { streamId: 'test-masked', expected: 0, events: [credited(1)] });
  await commit(client);
  bell.dispatchEvent(new Event('ring'));
  await expect.poll(() => lagSeconds(db.pool, start)).toBeGreaterThan(0.05);
  expect(seen).toEqual([]);
  await commit(foreign);
  await expect.poll(() => idsOf(seen)).toEqual(['test-masked/1']);
  reading.abort();
  expect(await lagSeconds(db.pool, await tailing)).toBe(0);
});

test('a tail continues where it was after each cut of its connections', async () => {
  const pool = createPool(db.appUrl, { max: 2, applicationName: 'cut', onError: () => undefined });
  const start = await endOfLog(db.pool);
  const seen: RecordedEvent[] = [];
  const errors: unknown[] = [];
  const reading = new AbortController();
  const tailing = tail({
    pool,
    cursor: start,
    wake: silent,
    pollMs: 1,
    limit: 3,
    signal: reading.signal,
    onPage: ({ events }) => void seen.push(...events),
    onError: (error) => errors.push(error),
  });
  for (let round = 0; round < 10; round += 1) {
    const client = await openTransaction();
    await appendInto(client, {
      streamId: 'test-cut',
      expected: round * 4,
      events: [1, 2, 3, 4].map(credited),
    });
    await commit(client);
    await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cut'
         and datname = current_database()`,
    );
  }
  while (seen.length < 40) await sleep(5);
  reading.abort();
  await tailing;
  await pool.end();
  expect(seen.map(({ streamPosition }) => streamPosition)).toEqual(
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
});

test('a tail ends with the error of its page handler and delivers nothing more', async () => {
  const start = await endOfLog(db.pool);
  const client = await openTransaction();
  await appendInto(client, { streamId: 'test-refused', expected: 0, events: [credited(1)] });
  await commit(client);
  const refused = tail({
    pool: db.pool,
    cursor: start,
    wake: silent,
    pollMs: 1,
    signal: new AbortController().signal,
    onPage: () => {
      throw new Error('no');
    },
  });
  await expect(refused).rejects.toThrow('no');
});

test('the cost of a page depends on its events, not on the log or its statistics', async () => {
  await db.ownerPool.query(
    `insert into emt_messages (stream_id, stream_position, transaction_id, message_schema_version,
       message_id, message_type, message_data, message_metadata)
     select 'test-many', n, pg_current_xact_id(), '1', n::text, 'TestCredited', '{"amount":1}', '{}'
     from generate_series(1, 60000) n`,
  );
  const client = await db.pool.connect();
  try {
    const scanned = () => rowsScanned(client);
    const before = await scanned();
    const { cursor } = await readPage(client, logStart, { limit: 100 });
    await readPage(client, cursor, { limit: 100, types: ['TestCredited'] });
    await readRange(client, cursor, { limit: 100 });
    expect(await scanned()).toBe(before);
  } finally {
    client.release();
  }
});

async function rowsScanned(client: pg.ClientBase): Promise<number> {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query<{ rows: string }>(
    `select sum(seq_tup_read) as rows from pg_stat_user_tables where relname like 'emt_messages%'`,
  );
  return Number(rows[0]!.rows);
}

async function versionOf(client: pg.ClientBase, streamId: string): Promise<number> {
  const { rows } = await client.query<{ stream_position: string }>(
    'select stream_position from emt_streams where stream_id = $1',
    [streamId],
  );
  return Number(rows[0]?.stream_position ?? 0);
}

function inStreamOrder(events: readonly RecordedEvent[]): boolean {
  const versions = new Map<string, number>();
  return events.every(({ streamId, streamPosition }) => {
    const follows = streamPosition === (versions.get(streamId) ?? 0) + 1;
    versions.set(streamId, streamPosition);
    return follows;
  });
}
