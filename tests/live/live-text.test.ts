import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLiveTextWriter, tailPlace } from '#services/live/live-text.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createSealer } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
let sealer: Sealer;
const logged: string[] = [];
const log = createLog({
  level: 'warn',
  process: 'test',
  destination: { write: (line) => void logged.push(line) },
});

beforeAll(async () => {
  database = await createTestDatabase();
  sealer = createSealer({ dataKeys: [randomBytes(32)], pool: database.pool });
  for (const run of ['opt_a', 'opt_b', 'opt_c']) await sealer.createDataKey('run', run, 'usr_1');
});
afterAll(async () => database.drop());
beforeEach(async () => {
  logged.splice(0);
  await database.ownerPool.query('truncate live_text');
});

async function stored(): Promise<{ run_id: string; tail: string; chars: number }[]> {
  const { rows } = await database.pool.query<{ run_id: string; tail: string; chars: number }>(
    'select run_id, tail, chars from live_text order by run_id',
  );
  return rows;
}

const callOf = (runId: string) => ({ runId, slot: 'opinion.S1', attempt: 1, userId: 'usr_1' });

test('only the end of a text is kept, sealed, until its call ends', async () => {
  const writer = createLiveTextWriter({ pool: database.pool, sealer, log });
  const call = writer.begin(callOf('opt_a'), 'opt_a');
  call.push(`Canary ${'words '.repeat(200)}`, 50);
  await expect.poll(stored).toHaveLength(1);
  const [row] = await stored();
  expect(row?.tail).not.toContain('words');
  const opened = await sealer.open(row?.tail ?? '', tailPlace(callOf('opt_a')));
  expect('text' in opened && opened.text.length).toBe(600);
  call.end();
  await expect.poll(stored).toEqual([]);
  await writer.close();
});

test('a run whose key was erased does not affect the text of others', async () => {
  const writer = createLiveTextWriter({ pool: database.pool, sealer, log });
  const [gone, there, done] = ['opt_a', 'opt_b', 'opt_c'].map((run) =>
    writer.begin(callOf(run), run),
  );
  done?.push('It ends before the next look.', 1);
  await expect.poll(stored).toHaveLength(1);
  await sealer.eraseKey('opt_a');
  gone?.push('What must not be kept.', 1);
  there?.push('What is shown to a user.', 1);
  done?.end();
  await expect.poll(async () => (await stored()).map((row) => row.run_id)).toEqual(['opt_b']);
  expect(logged).toEqual([]);
  await writer.close();
});

test('text that a lost connection did not write is written by the next flush', async () => {
  const writer = createLiveTextWriter({ pool: database.pool, sealer, log });
  const call = writer.begin(callOf('opt_c'), 'opt_c');
  await database.ownerPool.query('alter table live_text rename to away');
  call.push('Said once.', 1);
  await expect.poll(() => logged.length).toBeGreaterThan(0);
  await database.ownerPool.query('alter table away rename to live_text');
  await expect.poll(stored).toMatchObject([{ run_id: 'opt_c', chars: 10 }]);
  call.end();
  await writer.close();
  expect(await stored()).toEqual([]);
});
