import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#services/platform/process/listen.ts';
import {
  eventually,
  signal,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => folder.remove());

test('a SIGKILL to npm alone ends every process that npm start started', async () => {
  const dataDir = join(folder.path, 'data');
  await using app = await startApplication({ dataDir, port: await freePort(), byNpm: true });
  expect((await app.family()).length).toBeGreaterThan(6);
  signal(app.supervisor, 'SIGKILL');
  await eventually('the end of every process', async () => (await app.family()).length === 0);
});
