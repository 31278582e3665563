import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '#db/migrate.ts';
import { appendCommands, readStream, type AppendEntry } from '#db/streams.ts';
import { projections } from '#projections/index.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';
import { roleOf } from '#tests/support/postgres.ts';
import { tallyPoints } from '#tests/support/tally.ts';

/** The next version is migrated to while this one serves: eight writers, and a transaction in the way. */
const writers = 8;
const holdMs = 3_000;

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase({ max: writers + 2 });
  folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  cpSync(join(import.meta.dirname, '../../db/migrations'), folder, { recursive: true });
  // A table that every append writes to.
  writeFileSync(
    join(folder, '9999-wider.sql'),
    'alter table stream_snapshot add column wider text;',
  );
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const migrateTo = async () =>
  migrate({
    ownerUrl: database.ownerUrl,
    appRole: roleOf(database.appUrl),
    auditorRole: null,
    projections: [...projections, tallyPoints],
    folder,
    log: () => undefined,
  });

test('a migration gives way to writers, waits for a long transaction, and keeps the function of the running version', async () => {
  const over = new AbortController();
  const appended = new Map<string, number>();
  let longestMs = 0;
  const write = async () => {
    const streamId = `tally-${randomUUID()}`;
    for (let version = 0; !over.signal.aborted; version += 1) {
      const begun = performance.now();
      const [outcome] = await appendCommands(database.pool, database.functionName, [
        entryAt(streamId, version),
      ]);
      expect(outcome).toMatchObject({ appended: true });
      appended.set(streamId, version + 1);
      longestMs = Math.max(longestMs, performance.now() - begun);
    }
  };
  const writing = Promise.all(Array.from({ length: writers }, write));
  const holder = await database.ownerPool.connect();
  await holder.query('begin');
  await holder.query('select from stream_snapshot limit 1');
  const migrating = migrateTo();
  await sleep(holdMs);
  const before = [...appended.values()].reduce((sum, count) => sum + count, 0);
  await holder.query('commit');
  holder.release();
  const { applied, functionName } = await migrating;
  await sleep(200);
  over.abort();
  await writing;

  expect(applied).toEqual(['9999-wider.sql']);
  expect(functionName).not.toBe(database.functionName);
  // Without the short waits no writer would append while the holder is open.
  expect(longestMs).toBeLessThan(holdMs / 2);
  expect(before).toBeGreaterThan(writers);
  for (const [streamId, version] of appended)
    expect((await readStream(database.ownerPool, streamId)).version).toBe(version);
  // The next start of the same version changes nothing.
  expect(await migrateTo()).toMatchObject({ applied: [], functionName });
});

function entryAt(streamId: string, expectedVersion: number): AppendEntry {
  const event = { id: randomUUID(), type: 'PointsAdded', data: { points: 1 }, metadata: {} };
  const snapshot = { decider: 'tally', deciderVersion: 1, hash: '', occurredAt: '', state: {} };
  return { streamId, expectedVersion, events: [event], snapshot, jobs: [] };
}
