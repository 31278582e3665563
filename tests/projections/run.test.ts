import { fileURLToPath } from 'node:url';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createAdvance } from '#projections/engine/advance.ts';
import {
  projectionLags,
  projectionStatus,
  readCheckpoint,
} from '#projections/engine/checkpoint.ts';
import type { Projection } from '#projections/engine/define.ts';
import { type Runner, startProjectionRunner } from '#projections/engine/run.ts';
import {
  appendBatch,
  credited,
  debited,
  startWriters,
  testAccount,
  testLine,
  testTotal,
} from '#tests/support/append.ts';
import { allSafe, createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

const projections: readonly Projection[] = [testAccount, testTotal, testLine];

let db: TestDatabase;
let runners: Runner[] = [];
let processes: ChildProcess[] = [];

beforeAll(async () => {
  db = await createTestDatabase({ projections, max: 20 });
});
afterEach(async () => {
  await Promise.all(runners.map((runner) => runner.close()));
  for (const child of processes) child.kill('SIGKILL');
  runners = [];
  processes = [];
});
afterAll(() => db.drop());

const neverRings = () => () => undefined;

function startRunner(options: Partial<Parameters<typeof startProjectionRunner>[0]> = {}): Runner {
  const runner = startProjectionRunner({
    pool: db.pool,
    url: db.appUrl,
    projections,
    wake: neverRings,
    pollMs: 5,
    restMs: 0,
    ownershipMs: 20,
    ...options,
  });
  runners.push(runner);
  return runner;
}

/** Runs the projections in a process of its own, which can be killed. */
function startProcess(): ChildProcess {
  const child = fork(
    fileURLToPath(import.meta.resolve('#tests/support/processes/runner-process.ts')),
    [db.appUrl],
  );
  processes.push(child);
  return child;
}

async function caughtUp(): Promise<void> {
  for (;;) {
    const statuses = await projectionStatus(db.pool, projections);
    if (statuses.every(({ pending }) => pending === 0)) return;
    await sleep(5);
  }
}

const lines = `select stream_id as account_id, stream_position as position,
    (message_data ->> 'amount')::bigint as amount
  from emt_messages where message_type in ('TestCredited', 'TestDebited')`;

/** The differences between log and table, in both directions. */
async function differences(): Promise<{ lost: string; doubled: string; total: string }> {
  const { rows } = await db.ownerPool.query<{ lost: string; doubled: string; total: string }>(
    `select (select count(*) from (${lines} except table test_line)) as lost,
       (select count(*) from (table test_line except ${lines})) as doubled,
       (select coalesce(sum(events), 0) from test_total) - (select count(*) from (${lines})) as total`,
  );
  return rows[0]!;
}

function writeForAWhile(writers: number, prefix: string) {
  return startWriters(writers, async (writer, round) => {
    const events = [credited(3), debited(1)];
    const streamId = `test-${prefix}${writer}`;
    await appendBatch(db, [{ streamId, expected: round * 2, events }]);
    return 2;
  });
}

test('asynchronous projections follow the writers and end up with every event once', async () => {
  startRunner({ limit: 7 });
  const writers = writeForAWhile(8, 'follow');
  await expect.poll(() => writers.written()).toBeGreaterThan(16);
  await writers.stop();
  await caughtUp();
  expect(await differences()).toEqual({ lost: '0', doubled: '0', total: '0' });
});

test('two processes, one killed in the middle of pages again and again: every event counts once', async () => {
  const writers = writeForAWhile(4, 'kill');
  startProcess();
  for (let round = 0; round < 3; round += 1) {
    const victim = startProcess();
    await once(victim, 'message');
    await sleep(60);
    // The older one works while the younger waits, so that each kill hands the work over.
    const working = processes.shift()!;
    working.kill('SIGKILL');
    await once(working, 'exit');
  }
  await writers.stop();
  await caughtUp();
  expect(await differences()).toEqual({ lost: '0', doubled: '0', total: '0' });
});

test('a foreign transaction that stays open holds the projections back, is seen as their lag, and costs no event', async () => {
  startRunner();
  const foreign = await db.ownerPool.connect();
  await foreign.query('begin');
  await foreign.query('select pg_current_xact_id()');
  await appendBatch(db, [{ streamId: 'test-held', expected: 0, events: [credited(1)] }]);
  const held = async () => (await projectionStatus(db.pool, [testLine]))[0]?.lagSeconds;
  await expect.poll(held).toBeGreaterThan(0.1);
  await foreign.query('commit');
  foreign.release();
  await caughtUp();
  expect(await differences()).toEqual({ lost: '0', doubled: '0', total: '0' });
});

test('a session that holds the locks and is cut makes its runner give way and come back', async () => {
  const errors: unknown[] = [];
  startRunner({ onError: (error) => errors.push(error) });
  const writers = writeForAWhile(4, 'cut');
  for (let round = 0; round < 5; round += 1) {
    await sleep(60);
    await db.ownerPool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'sevenfold projections' and datname = current_database()`,
    );
  }
  await writers.stop();
  await caughtUp();
  expect(errors.length).toBeGreaterThan(0);
  expect(await differences()).toEqual({ lost: '0', doubled: '0', total: '0' });
});

test('two runners that each believe they own a projection still count each event once', async () => {
  // Without the election, as after a lost lock that no process has noticed yet. Of a table of sums,
  // which no key protects from counting twice.
  const advances = [1, 2, 3].map(() =>
    createAdvance({ projection: testTotal, pool: db.pool, limit: 5, passEveryMs: 0 }),
  );
  const writers = writeForAWhile(4, 'believe');
  const until = Date.now() + 400;
  await Promise.all(
    advances.map(async (advance) => {
      while (Date.now() < until) await advance();
    }),
  );
  await writers.stop();
  startRunner();
  await caughtUp();
  expect(await differences()).toEqual({ lost: '0', doubled: '0', total: '0' });
});

test('a checkpoint moves past ignored events, so that a read model which only ignores events costs no more each time', async () => {
  const lag = async () => (await projectionLags(db.pool, [testTotal]))[0];
  const noted = { type: 'TestNoted', data: { amount: 0 } } as const;
  const advance = createAdvance({
    projection: testTotal,
    pool: db.pool,
    limit: 50,
    passEveryMs: 0,
  });
  const advanced = async () => {
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(5)) {
      const { caughtUp: isDone, unsafeInSight } = await advance();
      if (isDone && !unsafeInSight) return readCheckpoint(db.pool, 'test_total');
    }
    throw new Error('The read model did not catch up');
  };
  await advanced();
  await appendBatch(db, [{ streamId: 'test-ignored', expected: 0, events: [noted, noted] }]);
  await allSafe(db.pool);
  const passed = await advanced();
  const { rows } = await db.ownerPool.query(
    `select from emt_messages where stream_id = 'test-ignored'
       and (transaction_id, global_position) > ($1::xid8, $2::bigint)`,
    [passed.transactionId, passed.globalPosition],
  );
  expect(rows).toEqual([]);
  expect(await lag()).toMatchObject({ pending: 0, lagSeconds: 0 });
  await appendBatch(db, [{ streamId: 'test-ignored', expected: 2, events: [noted, credited(1)] }]);
  expect(await lag()).toMatchObject({ pending: 1, lagSeconds: expect.any(Number) });
  await advanced();
  expect(await lag()).toMatchObject({ pending: 0 });
  expect(await differences()).toMatchObject({ total: '0' });
});

test('an event that breaks a CHECK sets its stream aside in that projection only, and is reported once', async () => {
  const reported: unknown[] = [];
  startRunner({ onSetAside: (setAside) => reported.push(setAside) });
  const id = 'too-much';
  const around = Array.from({ length: 20 }, () => credited(1));
  await appendBatch(db, [{ streamId: 'test-check1', expected: 0, events: around }]);
  await appendBatch(db, [
    { streamId: 'test-check2', expected: 0, events: [{ ...credited(2_000_000_000), id }] },
  ]);
  await appendBatch(db, [{ streamId: 'test-check3', expected: 0, events: around }]);
  await caughtUp();
  expect(await differences()).toEqual({ lost: '0', doubled: '0', total: '-1' });

  const event = { id, type: 'TestCredited', position: 1 };
  const setAside = { streamId: 'test-check2', event, sqlstate: '23514' };
  expect(reported).toEqual([expect.objectContaining(setAside)]);
  expect(await projectionStatus(db.pool, projections)).toMatchObject([
    { name: 'test_account', pending: 0, lagSeconds: 0, setAside: { total: 0 } },
    { name: 'test_total', pending: 0, setAside: { total: 1, streams: [setAside] } },
    { name: 'test_line', pending: 0, setAside: { total: 0 } },
  ]);
});
