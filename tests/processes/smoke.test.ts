import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { freePort } from '#services/platform/process/listen.ts';
import {
  createClient,
  eventually,
  signal,
  startApplication,
  temporaryFolder,
  type Application,
  type Client,
  type Part,
  type Settings,
} from '#tests/support/processes/processes.ts';
import { beginRun, expectVerified, expectWhole, isInTheMiddle } from './support/check.ts';

/**
 * The whole application, started through npm, survives one kill of each part. `npm run proof` repeats it
 * for every part and many moments (`tests/proof/processes`). One seat answers slowly, so that each kill
 * finds answered and open calls.
 */
let folder: ReturnType<typeof temporaryFolder>;
let settings: Settings;
let app: Application;
let client: Client;

beforeAll(async () => {
  folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  settings = { DATA_DIR: dataDir };
  const slowSeat = {
    SANDBOX_PERSONAS: 'mistral-medium-2604=slow',
    REQUIRE_EMAIL_CONFIRMATION: 'false',
  };
  app = await startApplication({
    dataDir,
    port: await freePort(),
    settings: slowSeat,
    byNpm: true,
  });
  client = createClient(app.url, settings);
}, 300_000);

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  folder.remove();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.error(app.output());
});

const pidOf = async (part: Part) =>
  eventually(`a ${part}`, async () => (await app.pids(part))[0] ?? null);

test(
  'a run continues after a kill of the worker, of the API and of Postgres',
  { timeout: 300_000 },
  async () => {
    await using watched = await beginRun(app.url, client);
    const { follower } = watched;
    await follower.until('the middle of the run', isInTheMiddle);
    const [worker, api, postgres] = [
      await pidOf('worker'),
      await pidOf('api'),
      await pidOf('postgres'),
    ];
    signal(worker, 'SIGKILL');
    signal(api, 'SIGKILL');
    await eventually('the next API', async () =>
      (await app.pids('api')).some((pid) => pid !== api),
    );
    signal(postgres, 'SIGKILL');
    await follower.until('the end of the run', (run) => run.stage === 'closed', 180_000);
    expect(follower.connections()).toBeGreaterThan(1);
    expect(await app.pids('worker')).not.toContain(worker);
    expect(await app.pids('postgres')).not.toContain(postgres);
    await expectWhole(client, settings, watched);
    await expectVerified(settings);
  },
);

test('SIGTERM to npm alone ends every process', async () => {
  expect((await app.family()).length).toBeGreaterThan(6);
  signal(app.supervisor, 'SIGTERM');
  await eventually('the end of every process', async () => (await app.family()).length === 0);
});
