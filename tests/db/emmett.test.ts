import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { STREAM_DOES_NOT_EXIST, type Event } from '@event-driven-io/emmett';
import {
  getPostgreSQLEventStore,
  type PostgresEventStore,
} from '@event-driven-io/emmett-postgresql';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defaultPartition } from '#db/append-function.ts';
import { appendCommands, readStream } from '#db/streams.ts';
import { appendBatch, appendInto } from '#tests/support/append.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

/**
 * The behaviour of the installed emmett, faults included, because the store is built around them.
 * A test that fails here after an upgrade shows which part of `db/` to check.
 */
type Noted = Event<'Noted', { text: string }>;

let database: TestDatabase;
let store: PostgresEventStore;

beforeAll(async () => {
  database = await createTestDatabase();
  store = storeOf(database.ownerPool);
});
afterAll(() => database.drop());

test('the installed version is the pinned one', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>;
  };
  expect(dependencies).toMatchObject({
    '@event-driven-io/emmett': '0.42.0',
    '@event-driven-io/emmett-postgresql': '0.42.0',
  });
});

test('the append function has the arguments and results that the tests use', async () => {
  const { rows } = await database.ownerPool.query<{ args: string; result: string }>(
    `select pg_get_function_arguments(oid) as args, pg_get_function_result(oid) as result
       from pg_proc where proname = 'emt_append_to_stream'`,
  );
  expect(rows).toEqual([
    {
      args:
        'v_message_ids text[], v_messages_data jsonb[], v_messages_metadata jsonb[], ' +
        'v_message_schema_versions text[], v_message_types text[], v_message_kinds text[], ' +
        'v_stream_id text, v_stream_type text, ' +
        'v_expected_stream_position bigint DEFAULT NULL::bigint, ' +
        "v_partition text DEFAULT emt_sanitize_name('default_partition'::text)",
      result:
        'TABLE(success boolean, next_stream_position bigint, global_positions bigint[], ' +
        'transaction_id xid8)',
    },
  ]);
});

test("the append function's own default partition does not exist", async () => {
  const failed = database.ownerPool.query(
    `select emt_append_to_stream(array['m'], array['{}'::jsonb], array['{}'::jsonb], array['1'],
       array['T'], array['E'], 's-1', 's', 0)`,
  );
  const error: unknown = await failed.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: '23514' });
  expect((error as pg.DatabaseError).constraint).toBeUndefined();
});

test('the append does not enforce "stream does not exist", but it enforces a version', async () => {
  const loose = newStream();
  await store.appendToStream(loose, [noted('a')], { expectedStreamVersion: STREAM_DOES_NOT_EXIST });
  await store.appendToStream(loose, [noted('b')], { expectedStreamVersion: STREAM_DOES_NOT_EXIST });
  expect((await readStream(database.ownerPool, loose)).version).toBe(2);

  const strict = newStream();
  await store.appendToStream(strict, [noted('a')], { expectedStreamVersion: 0n });
  await expect(
    store.appendToStream(strict, [noted('b')], { expectedStreamVersion: 0n }),
  ).rejects.toMatchObject({ errorCode: 412 });
});

test('any broken unique key looks like a version conflict without the version', async () => {
  const streamId = newStream();
  const metadata = { messageId: randomUUID() };
  await store.appendToStream<Noted>(streamId, [{ ...noted('a'), metadata } as Noted]);
  await expect(
    store.appendToStream<Noted>(streamId, [{ ...noted('b'), metadata } as Noted], {
      expectedStreamVersion: 1n,
    }),
  ).rejects.toMatchObject({ errorCode: 412, current: '-1', expected: '1' });
});

test('every append claims that it created its stream', async () => {
  const streamId = newStream();
  await store.appendToStream(streamId, [noted('a')]);
  expect(await store.appendToStream(streamId, [noted('b')])).toMatchObject({
    createdNewStream: true,
  });
});

test('our append function writes the same rows as emmett', async () => {
  const [ours, theirs] = [newStream(), newStream()];
  for (const [version, text] of ['a', 'b'].entries()) {
    const event = { id: randomUUID(), type: 'Noted', data: { text }, metadata: { by: text } };
    await appendBatch(database, [{ streamId: ours, expected: version, events: [event] }]);
    await appendInto(database.ownerPool, { streamId: theirs, expected: version, events: [event] });
  }
  const rowsOf = async (streamId: string) => {
    const { rows } = await database.ownerPool.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(m) - array['stream_id', 'global_position', 'transaction_id', 'created'] as row
       from emt_messages m where stream_id = $1
       union all
       select to_jsonb(s) - array['stream_id', 'stream_type', 'log_position'] from emt_streams s
       where stream_id = $1`,
      [streamId],
    );
    return rows.map(({ row }) => row);
  };
  expect(await rowsOf(ours)).toEqual(await rowsOf(theirs));
  expect(await rowsOf(ours)).toHaveLength(3);
});

test('emmett reads the same events as we do, without the id of their transaction', async () => {
  const streamId = newStream();
  await appendCommands(database.pool, database.functionName, [
    {
      streamId,
      expectedVersion: 0,
      events: ['a', 'b'].map((text) => ({
        id: randomUUID(),
        type: 'Noted',
        data: { text },
        metadata: { commandId: text },
      })),
      snapshot: { decider: 'note', deciderVersion: 1, hash: '', occurredAt: '', state: {} },
      jobs: [],
    },
  ]);
  const ours = await readStream(database.ownerPool, streamId);
  const theirs = await store.readStream<Noted>(streamId);
  expect(
    theirs.events.map(({ type, data, metadata }) => ({
      type,
      data,
      messageId: metadata.messageId,
      streamPosition: Number(metadata.streamPosition),
      globalPosition: String(metadata.globalPosition),
    })),
  ).toEqual(
    ours.events.map(({ type, data, messageId, streamPosition, globalPosition }) => ({
      type,
      data,
      messageId,
      streamPosition,
      globalPosition,
    })),
  );
  expect(theirs.events[0]!.metadata).not.toHaveProperty('transactionId');
});

test('the schema version of a message is always 1, so ours stands in the metadata', async () => {
  const { rows } = await database.ownerPool.query(
    'select distinct message_schema_version as version from emt_messages',
  );
  expect(rows).toEqual([{ version: '1' }]);
});

test('a store on a client inside a transaction commits that transaction', async () => {
  const streamId = newStream();
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  try {
    await client.query('begin');
    const inside = getPostgreSQLEventStore(database.ownerUrl, {
      connectionOptions: { pooled: false, client },
      schema: { autoMigration: 'None' },
    });
    await inside.appendToStream(streamId, [noted('a')]);
    await client.query('rollback');
  } finally {
    await client.end();
  }
  expect((await readStream(database.ownerPool, streamId)).version).toBe(1);
});

test('its consumer loses an event whose transaction began and committed later', async () => {
  const seen: string[] = [];
  const [early, late] = [
    new pg.Client({ connectionString: database.ownerUrl }),
    new pg.Client({ connectionString: database.ownerUrl }),
  ];
  await early.connect();
  await late.connect();
  const consumer = store.consumer<Noted>({ pulling: { pullingFrequencyInMs: 10 } });
  consumer.reactor<Noted>({
    processorId: randomUUID(),
    eachMessage: ({ data }) => {
      seen.push(data.text);
    },
  });
  try {
    await early.query('begin');
    await early.query('select pg_current_xact_id()');
    await late.query('begin');
    // Takes the lower position and the higher transaction id, and stays open.
    await append(late, 'skipped');
    await append(early, 'before');
    await early.query('commit');
    const running = consumer.start();
    await expect.poll(() => seen, { timeout: 30_000 }).toContain('before');
    await late.query('commit');
    await append(early, 'after');
    await expect.poll(() => seen, { timeout: 30_000 }).toContain('after');
    expect(seen).not.toContain('skipped');
    await consumer.stop();
    await running;
  } finally {
    await consumer.close();
    await early.end();
    await late.end();
  }
});

test("it changes the driver's parsers for everyone, except for pools like ours", async () => {
  const parse = pg.types.getTypeParser(pg.types.builtins.INT8) as (text: string) => unknown;
  expect(parse('7')).toBe(7n);
  const { rows } = await database.pool.query(
    `select 7::bigint as number, '{"n": "12345678901234567890"}'::jsonb as json`,
  );
  expect(rows).toEqual([{ number: '7', json: { n: '12345678901234567890' } }]);
});

test('the declared command line is not shipped', () => {
  expect(() =>
    createRequire(import.meta.url).resolve('@event-driven-io/emmett-postgresql/cli'),
  ).toThrow(/Cannot find module/);
});

// --- support ---

function storeOf(pool: pg.Pool): PostgresEventStore {
  return getPostgreSQLEventStore(database.ownerUrl, {
    connectionOptions: { pool },
    schema: { autoMigration: 'None' },
  });
}

function newStream(): string {
  return `note-${randomUUID()}`;
}

function noted(text: string): Noted {
  return { type: 'Noted', data: { text } };
}

async function append(client: pg.Client, text: string): Promise<void> {
  await client.query(
    `select emt_append_to_stream(array[$1], array[$2::jsonb], array['{}'::jsonb], array['1'],
       array['Noted'], array['E'], $3, 'note', 0, $4)`,
    [randomUUID(), JSON.stringify({ text }), newStream(), defaultPartition],
  );
}
