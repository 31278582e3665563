import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAdvance } from '#projections/advance.ts';
import { projectionStatus } from '#projections/checkpoint.ts';
import type { Projection } from '#projections/define.ts';
import {
  appendBatch,
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
    `truncate emt_messages, emt_streams, stream_snapshot, projection_checkpoint, test_line, test_total`,
  );
  await db.ownerPool.query(`do $$ begin
    if to_regclass('projection_set_aside') is not null then truncate projection_set_aside; end if;
  end $$`);
});
afterEach(() => {
  for (const child of processes) child.kill('SIGKILL');
  processes = [];
});
afterAll(() => db.drop());

/** No whole number, which the statements of these read models cast to. */
const bad = credited(1.5);
const deadlineMs = 20_000;

/** Eight streams whose events take turns in the log; three of them have a bad event among others. */
async function writeWorld(): Promise<void> {
  const streams = [...'abcdefgh'].map((letter) => `test-${letter}`);
  const badAt: Record<string, number> = { 'test-b': 0, 'test-e': 3, 'test-h': 5 };
  for (let round = 0; round < 6; round += 1) {
    const entries = streams.map((streamId) => ({
      streamId,
      expected: round,
      events: [badAt[streamId] === round ? bad : credited(round + 1)],
    }));
    expect(await appendBatch(db, entries)).toEqual(streams.map(() => ({ sqlstate: null })));
  }
}

/** Advances a read model by itself until nothing is left to read. */
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

/** What the tables should hold: of a stream with a bad event, only what came before it. */
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
    const child = fork(join(import.meta.dirname, '../support/runner-process.ts'), [db.appUrl]);
    processes.push(child);
    return child;
  };
  const writers = startWriters(2, async (writer, round) => {
    await sleep(10);
    const events = [credited(3), round % 5 === 4 ? bad : debited(1)];
    const streamId = `test-${writer}-${Math.floor(round / 10)}`;
    await appendBatch(db, [{ streamId, expected: (round % 10) * 2, events }]);
    return 2;
  });
  start();
  for (let round = 0; round < 3; round += 1) {
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
  for (let step = 0; step < 4; step += 1) expect((await advance()).retryInMs).toBeGreaterThan(0);
  const divided = expect.objectContaining({ code: '22012' });
  expect(errors).toEqual([divided, divided, divided, divided]);
  expect(await projectionStatus(db.pool, [testLine])).toMatchObject([
    { pending: 48, setAside: { total: 0, streams: [] } },
  ]);
});
