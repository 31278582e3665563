import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createErasureLog, readErasureLog } from '#services/platform/process/erasure-log.ts';
import { temporaryFolder } from '#tests/support/processes/processes.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const erasures = (writer: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    key_id: `opt_${String(writer * 100_000 + index).padStart(26, '0')}`,
    kind: 'run' as const,
    user_id: `usr_${'0'.repeat(26)}`,
    erased_at: '2026-11-28T00:00:00.000Z',
  }));

test('lists that are written at the same moment do not mix, however long they are', async () => {
  const path = join(folder.path, 'several.ndjson');
  // A megabyte each.
  const writers = [1, 2, 3, 4].map((writer) => erasures(writer, 7_000));
  await Promise.all(writers.map(async (list) => createErasureLog(path).append(list)));
  expect(await readErasureLog(path)).toHaveLength(28_000);
});

test('a line that was cut is left out, and the next one begins a line of its own', async () => {
  const path = join(folder.path, 'cut.ndjson');
  const log = createErasureLog(path);
  await log.append(erasures(1, 1));
  appendFileSync(path, '{"key_id":"opt_000');
  await log.append(erasures(2, 1));
  expect(await readErasureLog(path)).toEqual([...erasures(1, 1), ...erasures(2, 1)]);
});
