import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestDatabase } from '#tests/support/database.ts';
import { startFaultProxy } from '#tests/support/processes/fault-proxy.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Settings } from '#tests/support/processes/processes.ts';
import {
  beginRun,
  expectVerified,
  expectWhole,
  isInTheMiddle,
} from '#tests/processes/support/check.ts';
import type { Watched } from '#tests/processes/support/check.ts';

const runCount = 12;
const unreachableMs = 12_000;

test(
  'twelve runs complete and are charged once each when no provider can be reached for 12 s, twice in their middle',
  { timeout: 600_000 },
  async () => {
    await using started = new AsyncDisposableStack();
    const database = await createTestDatabase();
    started.defer(async () => database.drop());
    const folder = temporaryFolder();
    started.defer(() => folder.remove());
    const pace = { SANDBOX_PROFILE: 'realistic', DATA_DIR: folder.path };
    const sandbox = started.use(await startProcess('sandbox/server.ts', pace));
    const sandboxUrl = String(sandbox.details['url']);
    const network = started.use(await startFaultProxy({ port: Number(new URL(sandboxUrl).port) }));
    const unreachable = async () => {
      await network.inject({ kind: 'refuse' });
      await sleep(unreachableMs);
      await network.heal();
    };
    const settings: Settings = {
      DATABASE_URL: database.appUrl,
      MIGRATE_DATABASE_URL: database.ownerUrl,
      DATA_DIR: folder.path,
      SANDBOX_URL: network.through(sandboxUrl),
      PORT: '0',
    };
    const api = started.use(await startProcess('api.ts', settings));
    const workers = await Promise.all([1, 2].map(async () => startProcess('worker.ts', settings)));
    for (const worker of workers) started.use(worker);
    const url = String(api.details['address']);
    const client = createClient(url, settings);

    const runs: Watched[] = await Promise.all(
      Array.from({ length: runCount }, async () => started.use(await beginRun(url, client))),
    );
    const stages = () => runs.map(({ follower }) => follower.run()?.stage);
    const inTheMiddle = () =>
      runs.every(({ follower }) => {
        const run = follower.run();
        return run !== null && isInTheMiddle(run);
      });
    await eventually('answers and open calls in every run', inTheMiddle);
    await unreachable();
    await eventually('the first draft', () => stages().includes('synthesis'));
    expect(stages()).not.toContain('closed');
    await unreachable();
    expect(network.counts().broken).toBeGreaterThan(runCount);

    for (const run of runs) await expectWhole(client, settings, run);
    for (const { follower } of runs)
      expect(follower.run()).toMatchObject({ missing: [], conclusion: { missing: 0 } });
    await expectVerified(settings);
  },
);
