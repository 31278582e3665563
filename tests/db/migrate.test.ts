import { randomUUID } from 'node:crypto';
import { Logger, runOnce } from 'graphile-worker';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { appendFunction } from '#db/append-function.ts';
import { checkAppConnection, createPool } from '#db/connect.ts';
import { appendCommands, readStream, type AppendEntry } from '#db/streams.ts';
import { migrate, MigrationError, type MigrateOptions } from '#db/migrate.ts';
import { defineProjection } from '#projections/engine/define.ts';
import { projections } from '#projections/index.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';
import { roleOf } from '#tests/support/postgres.ts';
import { tallyLines, tallyPoints } from '#tests/support/tally.ts';

let database: TestDatabase;
let auditor: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase({ projections: [tallyPoints, tallyLines] });
  auditor = createPool(database.auditorUrl, {
    max: 1,
    applicationName: 'auditor',
    onError: () => undefined,
  });
});
afterAll(async () => {
  await auditor.end();
  await database.drop();
});

// --- rights ---

const protectedTables = ['emt_messages', 'emt_streams', 'stream_snapshot', 'tally_points'];

test.each(protectedTables)('the application reads %s and cannot change it', async (table) => {
  await database.pool.query(`select from ${table} limit 1`);
  for (const statement of [
    `insert into ${table} default values`,
    `delete from ${table}`,
    `truncate ${table}`,
    `update ${table} set stream_id = stream_id`,
    `alter table ${table} add column more text`,
    `create trigger t before insert on ${table} execute function suppress_redundant_updates_trigger()`,
  ])
    expect(await refusal(database.pool, statement)).toBe('42501');
});

test('the partitions behind the events are closed to the application as well', async () => {
  const { rows } = await database.ownerPool.query<{ leaf: string }>(
    `select relid::regclass::text as leaf from pg_partition_tree('emt_messages') where isleaf
     union all
     select relid::regclass::text from pg_partition_tree('emt_streams') where isleaf`,
  );
  expect(rows).toHaveLength(4);
  for (const { leaf } of rows)
    expect(await refusal(database.pool, `delete from ${leaf}`)).toBe('42501');
});

test("emmett's own functions do not let the application write events", async () => {
  expect(
    await refusal(
      database.pool,
      `select emt_append_to_stream(array['m'], array['{}'::jsonb], array['{}'::jsonb], array['1'],
         array['T'], array['E'], 's-1', 's', 0, 'emt:default')`,
    ),
  ).toBe('42501');
});

test('the application inserts into append-only tables and cannot change their rows', async () => {
  await database.pool.query(
    "insert into audit_log (actor, action, subject) values ('usr_1', 'signed-in', 'usr_1')",
  );
  for (const statement of [
    'delete from audit_log',
    "update audit_log set actor = 'another'",
    'delete from erasure',
    // The mark of the mode belongs to the owner.
    "update database_mode set mode = 'production'",
    'delete from database_mode',
  ])
    expect(await refusal(database.pool, statement)).toBe('42501');
});

test('the auditor cannot append events, through the function or beside it', async () => {
  await expect(
    appendCommands(auditor, database.functionName, [entryOf(newStream())]),
  ).rejects.toMatchObject({ code: '42501' });
  expect(await refusal(auditor, 'insert into emt_streams default values')).toBe('42501');
  const [outcome] = await appendCommands(database.pool, database.functionName, [
    entryOf(newStream()),
  ]);
  expect(outcome).toMatchObject({ appended: true });
});

test('the application cannot slip a table of its own under the append function', async () => {
  const client = await database.pool.connect();
  try {
    await client.query('create temp table emt_streams (like emt_streams)');
    await client.query('set search_path = pg_temp, public');
    const streamId = newStream();
    await appendCommands(client, `public.${database.functionName}`, [entryOf(streamId)]);
    expect((await readStream(database.ownerPool, streamId)).version).toBe(1);
  } finally {
    client.release(true);
  }
});

test('a job that a command caused runs as the role of the application', async () => {
  const streamId = newStream();
  await appendCommands(database.pool, database.functionName, [
    { ...entryOf(streamId), jobs: [{ task: 'greet', payload: { streamId }, key: streamId }] },
  ]);
  const seen: unknown[] = [];
  await runOnce({
    pgPool: database.pool,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
    taskList: {
      async greet(payload, { withPgClient }) {
        const { rows } = await withPgClient((client) => client.query('select current_user'));
        seen.push(payload, rows);
      },
    },
  });
  expect(seen).toEqual([{ streamId }, [{ current_user: roleOf(database.appUrl) }]]);
  const left = async () => {
    const sql = 'select key from graphile_worker.jobs where key = $1';
    return (await database.pool.query<{ key: string }>(sql, [streamId])).rows;
  };
  await expect.poll(left).toEqual([]);
});

test('the check accepts the application, and warns of the owner', async () => {
  expect(await checkAppConnection(database.appUrl)).toEqual([]);
  expect(await checkAppConnection(database.ownerUrl)).toEqual([
    expect.stringContaining(roleOf(database.ownerUrl)),
  ]);
});

// --- the schema ---

test('every leaf of the events has the indexes of the readers and unique message ids', async () => {
  const { rows } = await database.ownerPool.query<{ definition: string }>(
    `select indexdef as definition from pg_indexes
       where tablename in (select relid::regclass::text
         from pg_partition_tree('emt_messages') where isleaf)`,
  );
  const count = (text: string) => rows.filter(({ definition }) => definition.includes(text)).length;
  expect(count('(transaction_id, global_position)')).toBe(2);
  expect(count('btree (global_position)')).toBe(2);
  expect(
    rows.filter(({ definition }) => /UNIQUE.*\(stream_id, message_id\)/.test(definition)),
  ).toHaveLength(2);
});

test('a migration beside events builds an index again that an interrupted build left behind', async () => {
  const leaf = 'emt_messages_emt_default_active';
  const { pool, ownerPool, functionName } = database;
  await appendCommands(pool, functionName, [entryOf(newStream()), entryOf(newStream())]);
  await ownerPool.query(`drop index ${leaf}_of_money`);
  await expect(
    ownerPool.query(`create unique index concurrently ${leaf}_of_money on ${leaf} (partition)`),
  ).rejects.toThrow('could not create unique index');
  await migrate(options());
  const { rows } = await ownerPool.query(
    `select indisvalid as valid, indisunique as "isUnique" from pg_index
     where indexrelid = '${leaf}_of_money'::regclass`,
  );
  expect(rows).toEqual([{ valid: true, isUnique: false }]);
});

test('no table is open to every role', async () => {
  const { rows } = await database.ownerPool.query(
    `select relname from pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) acl
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and acl.grantee = 0`,
  );
  expect(rows).toEqual([]);
});

test('a view has the rights of its reader', async () => {
  const { rows } = await database.ownerPool.query(
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'v'
       and not coalesce('security_invoker=true' = any (reloptions), false)`,
  );
  expect(rows).toEqual([]);
});

// --- repeats ---

test('a second run changes nothing', async () => {
  const before = await catalogue();
  const result = await migrate(options());
  expect(result).toEqual({ functionName: database.functionName, applied: [], toRebuild: [] });
  expect(await catalogue()).toEqual(before);
});

test('concurrent migrations of an empty database take turns', async () => {
  const name = `${new URL(database.ownerUrl).pathname.slice(1)}_empty`;
  await database.ownerPool.query(`create database ${name} template template0`);
  try {
    const ownerUrl = new URL(database.ownerUrl);
    ownerUrl.pathname = name;
    const results = await Promise.all(
      Array.from({ length: 4 }, () => migrate({ ...options(), ownerUrl: ownerUrl.href })),
    );
    expect(results.flatMap(({ applied }) => applied)).toEqual([
      ...new Set(results.flatMap(({ applied }) => applied)),
    ]);
    expect(results.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
  } finally {
    await database.ownerPool.query(`drop database ${name} with (force)`);
  }
});

test('a migration that was edited after it had been applied is refused', async () => {
  const { ownerPool } = database;
  const { rows } = await ownerPool.query<{ name: string; hash: string }>('select * from migration');
  const first = rows[0]!;
  await ownerPool.query("update migration set hash = 'another' where name = $1", [first.name]);
  await expect(migrate(options())).rejects.toThrow(MigrationError);
  await expect(migrate(options())).rejects.toThrow(first.name);
  await ownerPool.query('update migration set hash = $2 where name = $1', [first.name, first.hash]);
});

test('a database that began with another migration is refused before anything changes', async () => {
  const { ownerPool } = database;
  const rename = async (from: string, to: string) =>
    ownerPool.query('update migration set name = $2 where name = $1', [from, to]);
  await rename('0001-sevenfold.sql', '0001-foundation.sql');
  const before = await catalogue();
  const refused = migrate(options());
  await expect(refused).rejects.toThrow(MigrationError);
  await expect(refused).rejects.toThrow(/DATA_DIR to a new folder.* npm run cli -- data reset$/);
  expect(await catalogue()).toEqual(before);
  await rename('0001-foundation.sql', '0001-sevenfold.sql');
});

test('a database of a later version is logged and left as it is', async () => {
  await database.ownerPool.query("insert into migration values ('9999-later.sql', 'x')");
  const lines: string[] = [];
  await migrate({ ...options(), log: (line) => lines.push(line) });
  expect(lines).toEqual([expect.stringContaining('9999-later.sql')]);
  await database.ownerPool.query("delete from migration where name = '9999-later.sql'");
});

test('a new inline read model beside old events, and a changed one, need a rebuild', async () => {
  await appendCommands(database.pool, database.functionName, [entryOf(newStream())]);
  const late = defineProjection<'PointsAdded'>({ ...tallyPoints, name: 'tally_late' });
  const changed = {
    ...tallyLines,
    apply: (table: string, events: string) => `${tallyLines.apply(table, events)} where true`,
  };
  const list = [...projections, tallyPoints, changed, late];
  const { toRebuild, functionName } = await migrate({ ...options(), projections: list });
  expect(toRebuild.toSorted()).toEqual(['tally_late', 'tally_line']);
  // Processes of the previous version keep their function.
  expect(functionName).not.toBe(database.functionName);
  const streamId = newStream();
  const outcomes = [
    ...(await appendCommands(database.pool, database.functionName, [entryOf(streamId)])),
    ...(await appendCommands(database.pool, functionName, [entryOf(streamId, 1)])),
  ];
  expect(outcomes).toMatchObject([{ appended: true }, { appended: true }]);
});

test('the name of the append function follows its text', () => {
  const names = [[], [tallyPoints], [tallyPoints, tallyLines], [tallyLines, tallyPoints]].map(
    (list) => appendFunction(list).name,
  );
  expect(new Set(names).size).toBe(4);
  expect(appendFunction([tallyPoints]).name).toBe(names[1]);
  expect(appendFunction([tallyPoints, { ...tallyLines, kind: 'async' }]).name).toBe(names[1]);
});

// --- support ---

function options(): MigrateOptions {
  return {
    ownerUrl: database.ownerUrl,
    appRole: roleOf(database.appUrl),
    auditorRole: roleOf(database.auditorUrl),
    projections: [...projections, tallyPoints, tallyLines],
    log: () => undefined,
  };
}

function newStream(): string {
  return `tally-${randomUUID()}`;
}

function entryOf(streamId: string, expectedVersion = 0): AppendEntry {
  const event = { id: randomUUID(), type: 'PointsAdded', data: { points: 1 }, metadata: {} };
  const snapshot = { decider: 'tally', deciderVersion: 1, hash: '', occurredAt: '', state: {} };
  return { streamId, expectedVersion, events: [event], snapshot, jobs: [] };
}

/** The SQLSTATE with which a statement is refused; in a transaction that is rolled back. */
async function refusal(pool: pg.Pool, statement: string): Promise<string | undefined> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(statement);
    return undefined;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error.code;
    throw error;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Everything that a migration can change, as the system's tables have it. */
async function catalogue(): Promise<unknown> {
  const { rows } = await database.ownerPool.query(
    `select oid::text, relname as name, relacl::text as acl, relfilenode::text as node, xmin::text
       from pg_class where relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
     union all
     select oid::text, proname, proacl::text, md5(prosrc), xmin::text
       from pg_proc where pronamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
     union all
     select oid::text, polname, polroles::text, polrelid::text, xmin::text from pg_policy
     order by 2, 1`,
  );
  return rows;
}
