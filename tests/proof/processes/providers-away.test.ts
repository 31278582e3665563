import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestDatabase } from '#tests/support/database.ts';
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

type Network = AsyncDisposable & {
  url: string;
  /** Breaks every connection and refuses new ones for so long. */
  unreachable(milliseconds: number): Promise<void>;
  /** Connections that were broken. */
  broken(): number;
};

/** The way to all providers. */
async function startNetwork(target: URL): Promise<Network> {
  const open = new Set<Socket>();
  let broken = 0;
  const server = createServer((socket) => {
    const further = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [socket, further],
      [further, socket],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('No port');
    return address.port;
  };
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    broken: () => broken,
    async unreachable(milliseconds) {
      broken += open.size / 2;
      await close();
      await sleep(milliseconds);
      await listen(port);
    },
    [Symbol.asyncDispose]: close,
  };
}

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
    const network = started.use(await startNetwork(new URL(String(sandbox.details['url']))));
    const settings: Settings = {
      DATABASE_URL: database.appUrl,
      MIGRATE_DATABASE_URL: database.ownerUrl,
      DATA_DIR: folder.path,
      SANDBOX_URL: network.url,
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
    await network.unreachable(unreachableMs);
    await eventually('the first draft', () => stages().includes('synthesis'));
    expect(stages()).not.toContain('closed');
    await network.unreachable(unreachableMs);
    expect(network.broken()).toBeGreaterThan(runCount);

    for (const run of runs) await expectWhole(client, settings, run);
    for (const { follower } of runs)
      expect(follower.run()).toMatchObject({ missing: [], conclusion: { missing: 0 } });
    await expectVerified(settings);
  },
);
