import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  freePort,
  signal,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';

/** `npm start` as service managers and containers stop it: by a signal to npm alone. */
let folder: ReturnType<typeof temporaryFolder>;

beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => folder.remove());

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a %s to npm alone ends every process that npm start started',
  async (name) => {
    const dataDir = join(folder.path, 'data');
    await using app = await startApplication({ dataDir, port: await freePort(), byNpm: true });
    expect((await app.family()).length).toBeGreaterThan(6);
    signal(app.supervisor, name);
    await eventually(
      'the end of every process',
      async () => (await app.family()).length === 0,
      60_000,
    );
  },
);
