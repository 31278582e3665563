import process from 'node:process';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createPool } from '#db/connect.ts';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { migrate } from '#db/migrate.ts';
import { endOfLog, logStart, readPage, readRange } from '#db/reader.ts';
import { projections, views } from '#projections/index.ts';
import { appendInto, credited } from '#tests/support/append.ts';
import { roleOf } from '#tests/support/postgres.ts';
import { eventually, temporaryFolder } from '#tests/support/processes/processes.ts';

const folder = temporaryFolder();
const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
  folder.remove();
});

async function startMigrated(): Promise<string> {
  const server = await startEmbeddedPostgres({
    dataDir: folder.path,
    // The end of a transaction that wrote nothing stays in memory for longer than the test takes.
    settings: ['wal_writer_delay=10s'],
    log: () => undefined,
  });
  stack.defer(async () => server.stop());
  const { ownerUrl, appUrl, auditorUrl } = server;
  await migrate({
    ownerUrl,
    appRole: roleOf(appUrl),
    auditorRole: roleOf(auditorUrl),
    projections,
    views,
    log: () => undefined,
  });
  return ownerUrl;
}

/**
 * One backend is killed, and Postgres takes everybody's connection and recovers. Until it has taken
 * the pool's own, that one still answers.
 */
async function crash(url: string, pool: pg.Pool): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const taken = new Promise((resolve) => {
    pool.once('remove', resolve);
  });
  process.kill(rows[0]!.pid, 'SIGKILL');
  await taken;
}

const nextId = 'select pg_snapshot_xmax(pg_current_snapshot())::text as id';

test('a reader misses no event after a crash, in which Postgres gives out transaction ids again', async () => {
  const url = await startMigrated();
  const pool = createPool(url, {
    max: 1,
    applicationName: 'test',
    onError: () => undefined,
  });
  stack.defer(async () => pool.end());
  const append = async (expected: number) =>
    appendInto(pool, { streamId: 'test-crash', expected, events: [credited(1)] });
  await append(0);
  const recovered = async () =>
    eventually('Postgres after the crash', async () =>
      pool.query<{ id: string }>(nextId).catch(() => null),
    );
  // The ten seconds of the process that writes the log begin here.
  await crash(url, pool);
  await recovered();
  for (let count = 0; count < 50; count += 1)
    await pool.query('begin; select pg_current_xact_id(); rollback');
  const { cursor } = await readPage(pool, logStart);
  const range = await readRange(pool, logStart);
  const end = await endOfLog(pool);
  const before = await pool.query<{ id: string }>(nextId);

  await crash(url, pool);
  const after = await recovered();
  expect(Number(after.rows[0]?.id)).toBeLessThan(Number(before.rows[0]?.id));

  await append(1);
  for (const place of [cursor, range.cursor, end])
    expect((await readPage(pool, place)).events).toMatchObject([{ streamPosition: 2 }]);
});
