import { fileURLToPath } from 'node:url';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAdvance } from '#projections/engine/advance.ts';
import { projectionStatus, readUntil } from '#projections/engine/checkpoint.ts';
import type { Projection } from '#projections/engine/define.ts';
import { projections as productProjections } from '#projections/index.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { retrySetAside } from '#projections/engine/retry.ts';
import { startProjectionRunner } from '#projections/engine/run.ts';
import { verify } from '#projections/engine/verify.ts';
import {
  appendBatch,
  appendInto,
  credited,
  debited,
  startWriters,
  testLine,
  testTotal,
} from '#tests/support/append.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

const projections: readonly Projection[] = [testTotal, testLine];

let db: TestDatabase;
let processes: ChildProcess[] = [];

beforeAll(async () => {
  db = await createTestDatabase({ projections, max: 12 });
});
beforeEach(async () => {
  await db.ownerPool.query(
    `truncate emt_messages, emt_streams, stream_snapshot, projection_checkpoint,
       projection_set_aside, test_line, test_total`,
  );
});
afterEach(() => {
  for (const child of processes) child.kill('SIGKILL');
  processes = [];
});
afterAll(() => db.drop());

/** No whole number, which the statements of these read models cast to. */
const bad = credited(1.5);
const deadlineMs = 60_000;

/** Eight streams whose events take turns in the log; three of them have a bad event among others. */
async function writeWorld(): Promise<void> {
  const streams = 'a b c d e f g h'.split(' ').map((letter) => `test-${letter}`);
  const badAt: Record<string, number> = { 'test-b': 0, 'test-e': 3, 'test-h': 5 };
  for (let round = 0; round < 6; round += 1) {
    const entries = streams.map((streamId) => ({
      streamId,
      expected: round,
      events: [badAt[streamId] === round ? bad : credited(round + 1)],
    }));
    await appendBatch(db, entries);
  }
}

/** Advances a read model until nothing is left to read. */
async function catchUp(projection: Projection, limit: number): Promise<void> {
  const advance = createAdvance({ projection, pool: db.pool, limit });
  for (const end = Date.now() + deadlineMs; Date.now() < end;) {
    const { caughtUp } = await advance();
    if (caughtUp && (await projectionStatus(db.pool, [projection]))[0]?.pending === 0) return;
  }
  throw new Error(`${projection.name} did not catch up`);
}

async function allCaughtUp(): Promise<void> {
  for (const end = Date.now() + deadlineMs; Date.now() < end; await sleep(5)) {
    const statuses = await projectionStatus(db.pool, projections);
    if (statuses.every(({ pending }) => pending === 0)) return;
  }
  throw new Error('The read models did not catch up');
}

/** The expected tables: of a stream with a bad event, only the events before it. */
const expectedLines = `select m.stream_id as account_id, m.stream_position as position
  from emt_messages m left join (
    select stream_id, min(stream_position) as position from emt_messages
    where message_data ->> 'amount' = '1.5' group by stream_id
  ) bad using (stream_id)
  where bad.position is null or m.stream_position < bad.position`;

async function differences(): Promise<{ lost: string; early: string; total: string }> {
  const lines = 'select account_id, position from test_line';
  const { rows } = await db.ownerPool.query<{ lost: string; early: string; total: string }>(
    `select (select count(*) from (${expectedLines} except ${lines})) as lost,
       (select count(*) from (${lines} except ${expectedLines})) as early,
       (select coalesce(sum(events), 0) from test_total) - (select count(*) from (${expectedLines}))
         as total`,
  );
  return rows[0]!;
}

const none = { lost: '0', early: '0', total: '0' };

test.each([1, 2, 3, 7, 50, 5000])(
  'in pages of %i events, a stream waits from its bad event on and every other event is applied once',
  async (limit) => {
    await writeWorld();
    for (const projection of projections) await catchUp(projection, limit);
    expect(await differences()).toEqual(none);
    const [status] = await projectionStatus(db.pool, [testLine]);
    expect(status?.setAside.total).toBe(3);
    expect(status?.setAside.streams).toMatchObject(
      [
        ['test-b', 1],
        ['test-e', 4],
        ['test-h', 6],
      ].map(([streamId, position]) => ({
        projection: 'test_line',
        streamId,
        event: { type: 'TestCredited', position },
        sqlstate: '22P02',
        error: 'invalid input syntax for type bigint: "1.5"',
      })),
    );
  },
);

test('processes that are killed while they set streams aside apply every other event once', async () => {
  const start = () => {
    const child = fork(
      fileURLToPath(import.meta.resolve('#tests/support/processes/runner-process.ts')),
      [db.appUrl],
    );
    processes.push(child);
    return child;
  };
  const writers = startWriters(2, async (writer, round) => {
    await sleep(30);
    const events = [credited(3), round % 40 === 4 ? bad : debited(1)];
    const streamId = `test-${writer}-${Math.floor(round / 10)}`;
    await appendBatch(db, [{ streamId, expected: (round % 10) * 2, events }]);
    return 2;
  });
  start();
  for (let round = 0; round < 2; round += 1) {
    const next = start();
    await once(next, 'message');
    await sleep(60);
    const working = processes.shift()!;
    working.kill('SIGKILL');
    await once(working, 'exit');
  }
  await writers.stop();
  await allCaughtUp();
  expect(await differences()).toEqual(none);
});

test('a statement that fails without events, too, is retried and blames no stream', async () => {
  await writeWorld();
  const broken: Projection = { ...testLine, apply: () => 'select 1 / 0' };
  const errors: unknown[] = [];
  const advance = createAdvance({
    projection: broken,
    pool: db.pool,
    limit: 4,
    onError: (error) => errors.push(error),
  });
  // Other databases of the server may hide the events for a while.
  const delays = [];
  for (const end = Date.now() + deadlineMs; delays.length < 4 && Date.now() < end;) {
    const { retryInMs } = await advance();
    if (errors.length > delays.length) delays.push(retryInMs);
  }
  expect(delays.map((delay) => (delay ?? 0) > 0)).toEqual([true, true, true, true]);
  const divided = expect.objectContaining({ code: '22012' });
  expect(errors).toEqual([divided, divided, divided, divided]);
  expect(await projectionStatus(db.pool, [testLine])).toMatchObject([
    { pending: 48, setAside: { total: 0, streams: [] } },
  ]);
});

/** The fixed statement: it accepts the bad event. */
function repaired(projection: Projection): Projection {
  return {
    ...projection,
    apply: (table, events) =>
      projection.apply(table, events).replaceAll('::bigint', '::numeric::bigint'),
  };
}

const asideNames = (list: { streams: readonly { streamId: string }[] }) =>
  list.streams.map(({ streamId }) => streamId);

test('a retry before the fix applies nothing, and after it the table equals a rebuild', async () => {
  await writeWorld();
  for (const projection of projections) await catchUp(projection, 5);
  const failed = await retrySetAside(db.pool, testLine);
  expect(failed).toMatchObject(
    ['test-b', 'test-e', 'test-h'].map((streamId) => ({ streamId, sqlstate: '22P02' })),
  );
  expect(await differences()).toEqual(none);

  for (const projection of projections) {
    const fixed = repaired(projection);
    expect(await retrySetAside(db.pool, fixed)).toMatchObject([
      { streamId: 'test-b', error: null },
      { streamId: 'test-e', error: null },
      { streamId: 'test-h', error: null },
    ]);
    // Events that arrived during the wait are in the table too, and later ones follow as before.
    await appendBatch(db, [
      { streamId: 'test-b', expected: projection === testTotal ? 6 : 7, events: [credited(9)] },
    ]);
    await catchUp(fixed, 5);
    expect(await verify(db.ownerPool, fixed)).toMatchObject({
      differences: [],
      setAside: { total: 0, streams: [] },
    });
  }
  expect(await retrySetAside(db.pool, testLine)).toEqual([]);
});

test('a retry applies what waits of a stream together or not at all', async () => {
  await writeWorld();
  await catchUp(testLine, 5);
  const before = await differences();
  // Test-b waits from its first event on, and another one fails now.
  const half: Projection = {
    ...repaired(testLine),
    apply: (table, events) =>
      repaired(testLine)
        .apply(table, events)
        .replace('stream_position,', 'stream_position + 0 / (4 - stream_position),'),
  };
  expect(await retrySetAside(db.pool, half)).toMatchObject([
    { streamId: 'test-b', sqlstate: '22012' },
    { streamId: 'test-e', sqlstate: '22012' },
    { streamId: 'test-h', error: null },
  ]);
  const [status] = await projectionStatus(db.pool, [testLine]);
  expect(status?.setAside.streams).toMatchObject([
    { streamId: 'test-b', event: { position: 1 }, error: 'division by zero' },
    { streamId: 'test-e', event: { position: 4 }, error: 'division by zero' },
  ]);
  expect(await differences()).toEqual({ ...before, early: '1' });
});

test('retries beside a runner and writers lose no event and apply none twice', async () => {
  const runner = startProjectionRunner({
    pool: db.pool,
    url: db.appUrl,
    projections,
    wake: () => () => undefined,
    pollMs: 1,
    ownershipMs: 20,
    limit: 7,
  });
  const writers = startWriters(2, async (writer, round) => {
    await sleep(10);
    const events = [credited(3), round % 5 === 4 ? bad : debited(1)];
    await appendBatch(db, [{ streamId: `test-${writer}`, expected: round * 2, events }]);
    return 2;
  });
  try {
    // The runner's statement fails again at each later bad event.
    for (let retried = 0; retried < 6; await sleep(20))
      for (const projection of projections)
        retried += (await retrySetAside(db.pool, repaired(projection))).length;
  } finally {
    await writers.stop();
    await allCaughtUp();
    await runner.close();
  }
  for (const projection of projections) {
    await retrySetAside(db.pool, repaired(projection));
    const found = await verify(db.ownerPool, repaired(projection));
    expect(found).toMatchObject({ differences: [], setAside: { total: 0 } });
  }
});

test('verify names what is set aside although the rest is equal, and what it would set aside itself', async () => {
  await writeWorld();
  await catchUp(testLine, 5);
  const found = await verify(db.ownerPool, testLine);
  expect(found.differences).toEqual([]);
  expect(asideNames(found.setAside)).toEqual(['test-b', 'test-e', 'test-h']);
  // After the fix its rows are missing too; the table in use still has them set aside.
  const fixed = await verify(db.ownerPool, repaired(testLine));
  expect(fixed.differences).toHaveLength(6 + 3 + 1);
  expect(asideNames(fixed.setAside)).toEqual(['test-b', 'test-e', 'test-h']);
  // A table that the repaired statement filled, and a statement that fails at its events.
  await rebuild(db.ownerPool, repaired(testLine));
  const worse = await verify(db.ownerPool, testLine);
  expect(asideNames(worse.setAside)).toEqual(['test-b', 'test-e', 'test-h']);
  const left = `select from projection_set_aside`;
  expect((await db.ownerPool.query(left)).rowCount).toBe(0);
});

test('a rebuild sets failing streams aside, continues with the others, and clears those that succeed', async () => {
  await writeWorld();
  // A transaction that is open elsewhere hides events from a rebuild for a moment.
  for (const projection of projections) await catchUp(projection, 5);
  for (const projection of projections) {
    const rebuilt = await rebuild(db.ownerPool, projection);
    expect(asideNames(rebuilt.setAside)).toEqual(['test-b', 'test-e', 'test-h']);
  }
  expect(await differences()).toEqual(none);
  // The runner continues from the rebuilt table, and leaves the same streams out.
  await appendBatch(db, [
    { streamId: 'test-a', expected: 6, events: [credited(9)] },
    { streamId: 'test-b', expected: 6, events: [credited(9)] },
  ]);
  for (const projection of projections) await catchUp(projection, 5);
  expect(await differences()).toEqual(none);
  const rebuilt = await rebuild(db.ownerPool, repaired(testLine));
  expect(rebuilt.setAside).toEqual({ total: 0, streams: [] });
  expect(await projectionStatus(db.pool, [testLine])).toMatchObject([{ setAside: { total: 0 } }]);
  expect((await verify(db.ownerPool, repaired(testLine))).differences).toEqual([]);
});

test('a bad event that arrives while a rebuild swaps the tables is set aside, too', async () => {
  await writeWorld();
  await catchUp(testLine, 5);
  // Hidden from the copy until the swap has begun to wait for the lock of the checkpoint.
  const holder = await db.ownerPool.connect();
  await holder.query('begin');
  await holder.query(`select from projection_checkpoint where name = 'test_line' for update`);
  const rebuilding = rebuild(db.ownerPool, testLine);
  await sleep(200);
  await appendBatch(db, [{ streamId: 'test-c', expected: 6, events: [bad] }]);
  await holder.query('commit');
  holder.release();
  await rebuilding;
  // By the swap, or, if another database hid the event from it, by the runner.
  await catchUp(testLine, 5);
  const [status] = await projectionStatus(db.pool, [testLine]);
  expect(asideNames(status!.setAside)).toContain('test-c');
  expect((await differences()).early).toBe('0');
});

/** Fails at every event of one stream from a position on, as a bug of the statement might. */
function failingAt(projection: Projection, streamId: string, position: number): Projection {
  const isBad = `x.stream_id = '${streamId}' and x.stream_position >= ${position}`;
  return {
    ...projection,
    apply: (table, events) =>
      projection.apply(
        table,
        `(select x.* from ${events} x where 1 / (case when ${isBad} then 0 else 1 end) = 1)`,
      ),
  };
}

type GoldenEvent = { messageId: string; type: string; data: object; metadata: object };

/** The recorded streams, twice under other names, so that sums go over several of each kind. */
async function writeProductEvents(): Promise<void> {
  const client = await db.ownerPool.connect();
  try {
    for (const name of ['credits-spending-1', 'run-completed-1', 'run-cancelled-1'])
      for (const copy of ['a', 'b']) {
        const path = join(import.meta.dirname, `../golden/${name}.jsonl`);
        const lines = readFileSync(path, 'utf8').trim().split('\n');
        const golden = lines.map((line) => JSON.parse(line) as GoldenEvent);
        const streamId = `${name.startsWith('c') ? 'credits-usr' : 'optimization-opt'}_${name}-${copy}`;
        const events = golden.map(({ messageId, ...event }) => ({ id: messageId, ...event }));
        await appendInto(client, { streamId, expected: 0, events: events as never });
      }
  } finally {
    client.release();
  }
}

test.each([
  ['credit_analytics', 'optimization-opt_run-completed-1-a'],
  ['model_costs', 'optimization-opt_run-completed-1-a'],
  ['run_usage', 'credits-usr_credits-spending-1-a'],
])('%s equals a rebuild when a stream is applied late', async (name, streamId) => {
  const projection = productProjections.find((one) => one.name === name)!;
  await db.ownerPool.query(`truncate ${name}`);
  await writeProductEvents();
  await catchUp(failingAt(projection, streamId, 5), 7);
  const before = await verify(db.ownerPool, projection);
  expect(asideNames(before.setAside)).toEqual([streamId]);
  expect(before.differences.length).toBeGreaterThan(0);
  expect(await retrySetAside(db.pool, projection)).toMatchObject([{ streamId, error: null }]);
  expect(await verify(db.ownerPool, projection)).toMatchObject({
    differences: [],
    setAside: { total: 0 },
  });
});

test('figures are complete up to the first waiting event, for the person whose stream waits and for sums over all people', async () => {
  const named = (name: string) => productProjections.find((one) => one.name === name)!;
  const [usage, costs] = [named('run_usage'), named('model_costs')];
  const account = 'credits-usr_credits-spending-1-a';
  const runStream = 'optimization-opt_run-completed-1-a';
  await db.ownerPool.query('truncate run_usage, model_costs');
  await writeProductEvents();
  await db.ownerPool.query(`update emt_messages set created = '2020-01-01T00:00:00Z'`);
  await catchUp(failingAt(usage, account, 1), 50);
  await catchUp(failingAt(costs, runStream, 1), 50);
  const until = async (projection: Projection, userId: string | null) =>
    (await readUntil(db.pool, [projection], userId)).getFullYear();
  const now = new Date().getFullYear();
  expect(await until(usage, 'usr_credits-spending-1-a')).toBe(2020);
  expect(await until(usage, 'usr_credits-spending-1-b')).toBe(now);
  expect(await until(costs, null)).toBe(2020);
  await rebuild(db.ownerPool, named('optimization_list'));
  expect(await until(costs, 'usr_2')).toBe(2020);
  expect(await until(costs, 'usr_credits-spending-1-b')).toBe(now);
});
