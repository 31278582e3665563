import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAsOfOneMoment } from '#db/reader.ts';
import { projectionStatus } from '#projections/engine/checkpoint.ts';
import type { Projection } from '#projections/engine/define.ts';
import { projections as productProjections } from '#projections/index.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { type Runner, startProjectionRunner } from '#projections/engine/run.ts';
import { verify } from '#projections/engine/verify.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { createLog } from '#services/platform/process/log.ts';
import {
  appendBatch,
  credited,
  debited,
  startWriters,
  testAccount,
  testDecider,
  type TestEvent,
  testLine,
  testTotal,
} from '#tests/support/append.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

const projections: readonly Projection[] = [testAccount, testTotal, testLine];

let db: TestDatabase;
let runner: Runner;

beforeAll(async () => {
  db = await createTestDatabase({ projections, max: 24 });
  // A view as an auditor's report would have it, which must survive its table.
  await db.ownerPool.query(
    `create view test_wealth with (security_invoker = true) as
       select count(*) as accounts, sum(balance) as balance from test_account`,
  );
  await db.ownerPool.query('grant select on test_wealth to public');
  startRunner();
});
afterAll(async () => {
  await runner.close();
  await db.drop();
  if (db.lost.length > 0) throw new AggregateError(db.lost, 'Connections were lost');
});

function startRunner(): void {
  runner = startProjectionRunner({
    pool: db.pool,
    url: db.appUrl,
    projections,
    wake: () => () => undefined,
    pollMs: 5,
    ownershipMs: 50,
  });
}

const truth = `select stream_id as account_id, max(stream_position) as version,
    sum(case message_type when 'TestCredited' then 1 else -1 end
      * (message_data ->> 'amount')::bigint) as balance
  from emt_messages group by stream_id`;

async function wrongAccounts(): Promise<number> {
  const { rows } = await db.ownerPool.query<{ count: string }>(
    `select count(*) from (${truth}) t full join test_account a using (account_id)
     where row(t.balance, t.version) is distinct from row(a.balance, a.version)`,
  );
  return Number(rows[0]!.count);
}

async function wrongLines(): Promise<number> {
  const { rows } = await db.ownerPool.query<{ count: string }>(
    `with lines as (
       select stream_id as account_id, stream_position as position,
         (message_data ->> 'amount')::bigint as amount
       from emt_messages
     )
     select (select count(*) from (table lines except table test_line))
       + (select count(*) from (table test_line except table lines)) as count`,
  );
  return Number(rows[0]!.count);
}

/** Long enough after its transaction began for a swap to happen in between. */
function countSlowly(): Promise<number> {
  return readAsOfOneMoment(db.pool, ['test_account'], async (client) => {
    await client.query('select pg_sleep(0.005)');
    const { rows } = await client.query<{ count: string }>('select count(*) from test_account');
    return Number(rows[0]!.count);
  });
}

async function caughtUp(): Promise<void> {
  for (;;) {
    const statuses = await projectionStatus(db.pool, projections);
    if (statuses.every(({ pending }) => pending === 0)) return;
    await sleep(5);
  }
}

/**
 * Runs `work` while writers append, each to a stream of its own and to one that is new each time, and
 * always ends them.
 */
async function whileWriting(work: () => Promise<void>): Promise<void> {
  const bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: Date.now,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  let written = 0;
  const append = async (streamId: string, command: TestEvent[]) => {
    await bus.execute(
      testDecider,
      { streamId, command, commandId: randomUUID(), actor: 'test', correlationId: 'test' },
      'job',
    );
    written += 1;
  };
  const run = randomUUID();
  const writers = startWriters(16, async (writer, round) => {
    await append(`test-${run}-${writer}`, [credited(5), debited(2)]);
    await append(`test-${run}-${writer}-${round}`, [credited(1)]);
    return 3;
  });
  try {
    await expect.poll(() => written).toBeGreaterThan(100);
    await work();
  } finally {
    await writers.stop();
    await bus.close();
  }
}

describe('while 16 writers append', () => {
  test('an inline projection is rebuilt repeatedly while writers append, and is right each time', async () => {
    await whileWriting(async () => {
      let read = 0;
      // An open transaction of another test hides later events for a moment.
      for (let round = 0; round < 4 || read === 0; round += 1) {
        read += (await rebuild(db.ownerPool, testAccount)).events;
        await sleep(50);
      }
    });
    expect(await wrongAccounts()).toBe(0);
  });

  test(
    'asynchronous projections are rebuilt while writers append, and their runner continues',
    { tags: ['long'] },
    async () => {
      await whileWriting(async () => {
        for (let round = 0; round < 2; round += 1) {
          await rebuild(db.ownerPool, testLine);
          await rebuild(db.ownerPool, testTotal);
        }
      });
      await caughtUp();
      expect(await wrongLines()).toBe(0);
      expect((await verify(db.ownerPool, testTotal)).differences).toEqual([]);
    },
  );

  test('verify finds nothing wrong in tables that are right', () =>
    whileWriting(async () => {
      for (const projection of projections) {
        const verification = await verify(db.ownerPool, projection);
        expect(verification).toMatchObject({ differences: [], more: false });
        expect(verification.events).toBeGreaterThan(0);
      }
    }));

  test('verify finds one corrupted row, one that is missing and one too many', () =>
    whileWriting(async () => {
      await appendBatch(db, [
        { streamId: 'test-corrupt1', expected: 0, events: [credited(10)] },
        { streamId: 'test-corrupt2', expected: 0, events: [credited(20)] },
      ]);
      await db.ownerPool.query(
        `update test_account set balance = 11 where account_id = 'test-corrupt1'`,
      );
      await db.ownerPool.query(`delete from test_account where account_id = 'test-corrupt2'`);
      await db.ownerPool.query(
        `insert into test_account (account_id, balance, version) values ('test-corrupt3', 1, 1)`,
      );
      const { differences } = await verify(db.ownerPool, testAccount);
      expect(differences.toSorted((a, b) => a.key[0]!.localeCompare(b.key[0]!))).toEqual([
        {
          key: ['test-corrupt1'],
          kind: 'different',
          columns: [{ column: 'balance', stored: 11, rebuilt: 10 }],
        },
        expect.objectContaining({ key: ['test-corrupt2'], kind: 'missing' }),
        expect.objectContaining({ key: ['test-corrupt3'], kind: 'unexpected' }),
      ]);
      await rebuild(db.ownerPool, testAccount);
      expect((await verify(db.ownerPool, testAccount)).differences).toEqual([]);
    }));

  test('readers of one moment never see a swapped table empty', () =>
    whileWriting(async () => {
      const counts: number[] = [];
      const rebuilding = new AbortController();
      const reading = (async () => {
        while (!rebuilding.signal.aborted) counts.push(await countSlowly());
      })();
      for (let round = 0; round < 3; round += 1) await rebuild(db.ownerPool, testAccount);
      rebuilding.abort();
      await reading;
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      expect(counts[0]).toBeGreaterThan(0);
    }));
});

async function withForeignTransaction(work: () => Promise<void>): Promise<void> {
  const foreign = await db.ownerPool.connect();
  try {
    await foreign.query('begin');
    await foreign.query('select pg_current_xact_id()');
    await work();
    await foreign.query('commit');
  } finally {
    foreign.release();
  }
}

describe('while a foreign transaction hides all new events from readers', () => {
  test('a rebuilt inline table holds them all the same', () =>
    withForeignTransaction(async () => {
      await appendBatch(db, [
        { streamId: 'test-hidden1', expected: 0, events: [credited(7), debited(3)] },
      ]);
      await rebuild(db.ownerPool, testAccount);
      expect(await wrongAccounts()).toBe(0);
    }));

  test('a rebuilt asynchronous table takes each of them once, when they are shown', async () => {
    await withForeignTransaction(async () => {
      await appendBatch(db, [{ streamId: 'test-hidden2', expected: 0, events: [credited(1)] }]);
      await rebuild(db.ownerPool, testLine);
    });
    await caughtUp();
    expect(await wrongLines()).toBe(0);
  });

  test('verify finds a row that never got its latest event, though an older state equals it', async () => {
    await appendBatch(db, [{ streamId: 'test-stale', expected: 0, events: [credited(7)] }]);
    await withForeignTransaction(async () => {
      await appendBatch(db, [{ streamId: 'test-stale', expected: 1, events: [credited(7)] }]);
      expect((await verify(db.ownerPool, testAccount)).differences).toEqual([]);
      await db.ownerPool.query(
        `update test_account set balance = 7, version = 1 where account_id = 'test-stale'`,
      );
      const { differences } = await verify(db.ownerPool, testAccount);
      expect(differences.map(({ key }) => key)).toEqual([['test-stale']]);
    });
    await rebuild(db.ownerPool, testAccount);
  });
});

test('a swap waits for a writer who has not committed, and its events are in the new table', async () => {
  const writer = await db.pool.connect();
  await writer.query('begin');
  await appendBatch({ pool: writer, functionName: db.functionName }, [
    { streamId: 'test-uncommitted', expected: 0, events: [credited(9)] },
  ]);
  let swapped = false;
  const rebuilding = (async () => {
    await rebuild(db.ownerPool, testAccount);
    swapped = true;
  })();
  await sleep(300);
  // Others are let through between its attempts to lock the table.
  await appendBatch(db, [{ streamId: 'test-let-through', expected: 0, events: [credited(1)] }]);
  expect(swapped).toBe(false);
  await writer.query('commit');
  writer.release();
  await rebuilding;
  expect(await wrongAccounts()).toBe(0);
});

test('a corrupted asynchronous row is found at the checkpoint of its table', async () => {
  await appendBatch(db, [{ streamId: 'test-line', expected: 0, events: [credited(7)] }]);
  await caughtUp();
  await db.ownerPool.query(`update test_line set amount = 8 where account_id = 'test-line'`);
  const { differences } = await verify(db.ownerPool, testLine);
  expect(differences).toEqual([
    {
      key: ['test-line', '1'],
      kind: 'different',
      columns: [{ column: 'amount', stored: 8, rebuilt: 7 }],
    },
  ]);
  await rebuild(db.ownerPool, testLine);
  expect(await wrongLines()).toBe(0);
});

test('a rebuilt table keeps its rights, views, and the names of its indexes and constraints', async () => {
  const shape = async () => {
    const { rows } = await db.ownerPool.query<Record<string, unknown>>(
      `select
         (select reloptions::text from pg_class where oid = 'test_wealth'::regclass) as view_options,
         (select relacl::text from pg_class where oid = 'test_wealth'::regclass) as view_rights,
         (select array_agg(relname::text) from pg_class where relname like 'test\\_account\\_%\\_touched'
           or relname in ('test_account_next', 'test_account_check', 'test_account_old')) as leftovers,
         (select count(*) from projection_checkpoint where name like 'test\\_account%') as checkpoints`,
    );
    return { ...rows[0], ...(await namesAndRights('test_account')) };
  };
  const before = await shape();
  expect(before).toMatchObject({ leftovers: null, checkpoints: '0' });
  await rebuild(db.ownerPool, testAccount);
  await verify(db.ownerPool, testAccount);
  expect(await shape()).toEqual(before);
  const { rows } = await db.pool.query<{ same: boolean }>(
    'select balance = (select sum(balance) from test_account) as same from test_wealth',
  );
  expect(rows).toEqual([{ same: true }]);
  await expect(db.pool.query('update test_account set balance = 0')).rejects.toThrow('permission');
});

test.each(productProjections)(
  '$name of the product can be rebuilt and verified, and keeps every name and right',
  async (projection) => {
    const before = await namesAndRights(projection.name);
    await rebuild(db.ownerPool, projection);
    expect(await namesAndRights(projection.name)).toEqual(before);
    expect(await verify(db.ownerPool, projection)).toMatchObject({ differences: [] });
  },
);

async function namesAndRights(table: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await db.ownerPool.query<Record<string, unknown>>(
    `select
       array(select unnest(relacl)::text from pg_class where oid = $1::regclass order by 1) as rights,
       (select array_agg(conname::text order by conname) from pg_constraint
        where conrelid = $1::regclass) as constraints,
       (select array_agg(indexrelid::regclass::text order by indexrelid::regclass::text) from pg_index
        where indrelid = $1::regclass) as indexes`,
    [table],
  );
  return rows[0];
}

test('a table whose columns are not those of its definition is not compared but named', async () => {
  const widened: Projection = {
    ...testTotal,
    create: (table) => testTotal.create(table).replace('amount bigint', 'amount numeric'),
  };
  await expect(verify(db.ownerPool, widened)).rejects.toThrow(/rebuild it/);
});

test('a statement that fails leaves the table in use alone, and nothing of the copy', async () => {
  const broken: Projection = { ...testAccount, apply: () => 'select 1 / 0' };
  const before = await wrongAccounts();
  await expect(rebuild(db.ownerPool, broken)).rejects.toThrow('division by zero');
  expect(await wrongAccounts()).toBe(before);
  const { rows } = await db.ownerPool.query(`select to_regclass('test_account_next') as copy`);
  expect(rows).toEqual([{ copy: null }]);
});

test('a read model whose checkpoint is the horizon, as 0.1 stored it, is rebuilt and continues', async () => {
  const append = async (expected: number) =>
    appendBatch(db, [{ streamId: 'test-old-checkpoint', expected, events: [credited(1)] }]);
  await append(0);
  await caughtUp();
  await runner.close();
  await db.ownerPool.query(
    `update projection_checkpoint set global_position = 9223372036854775807,
       transaction_id = (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8
     where name = 'test_total'`,
  );
  await rebuild(db.ownerPool, testTotal);
  startRunner();
  await append(1);
  await caughtUp();
  expect(await verify(db.ownerPool, testTotal)).toMatchObject({ differences: [] });
});

test('only one process at a time rebuilds or verifies a projection', async () => {
  const outcomes = await Promise.allSettled([
    rebuild(db.ownerPool, testLine),
    verify(db.ownerPool, testLine),
    rebuild(db.ownerPool, testTotal),
  ]);
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(1);
  expect(String((refused[0] as PromiseRejectedResult).reason)).toContain('by another process');
});
