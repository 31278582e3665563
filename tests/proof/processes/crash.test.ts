import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '#db/connect.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#db/embedded/embedded.ts';
import { readStoredStream } from '#db/streams.ts';
import { migrate } from '#db/migrate.ts';
import { verifyChain } from '#db/chain.ts';
import { createCommandBus, type CommandBus } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { roleOf } from '#tests/support/postgres.ts';
import { tally, tallyLines, tallyPoints } from '#tests/support/tally.ts';

/**
 * A Postgres of this file's own, flushing as in production, that is killed while commands are under
 * way: what was acknowledged is stored, what is stored was sent, and nothing twice.
 */
let dataDir: string;
let server: EmbeddedPostgres;
let functionName: string;
let pool: pg.Pool;
let bus: CommandBus;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sevenfold-crash-'));
  chmodSync(dataDir, 0o755);
  server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  ({ functionName } = await migrate({
    ownerUrl: server.ownerUrl,
    appRole: roleOf(server.appUrl),
    auditorRole: roleOf(server.auditorUrl),
    projections: [tallyPoints, tallyLines],
    log: () => undefined,
  }));
  pool = createPool(server.appUrl, { max: 6, applicationName: 'test', onError: () => undefined });
  bus = createCommandBus({
    pool,
    functionName,
    clock: Date.now,
    log: createLog({ level: 'silent', process: 'test' }),
    // A busy machine may take long to recover.
    limits: { jobPatienceMs: 60_000 },
  });
});
afterAll(async () => {
  await bus.close();
  await pool.end();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

test('kill -9 of a backend, which restarts all of them, loses and doubles nothing', async () => {
  const { written, stored } = await writeThrough(async () => {
    const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    process.kill(rows[0]!.pid, 'SIGKILL');
  });
  expect(stored).toEqual(written);
});

test('kill -9 of Postgres, and a start on the same port, loses and doubles nothing', async () => {
  const { written, stored } = await writeThrough(async () => {
    const killed = server;
    process.kill(postmasterPid(), 'SIGKILL');
    await killed.exited;
    server = await startEmbeddedPostgres({ dataDir, port: killed.port, log: () => undefined });
  });
  expect(stored).toEqual(written);
});

type Contents = { streamId: string; commandIds: unknown[]; points: string; intact: boolean }[];

/**
 * Writes 60 commands to each of 8 streams, one after the other in each, so that some are under way
 * whenever it strikes, after the first 100. Commands retry as long as jobs do.
 */
async function writeThrough(
  crash: () => Promise<void>,
): Promise<{ written: Contents; stored: Contents }> {
  const streams = Array.from({ length: 8 }, () => `tally-${randomUUID()}`);
  const enough = Promise.withResolvers<void>();
  let acknowledged = 0;
  const writers = streams.map(async (streamId) => {
    const commandIds: string[] = [];
    for (let index = 0; index < 60; index += 1) {
      const commandId = uuidV5(streamId, index);
      const command = { type: 'Add', points: 1 } as const;
      const request = { streamId, commandId, command, actor: 'test', correlationId: 'test' };
      await bus.execute(tally, request, 'job');
      commandIds.push(commandId);
      acknowledged += 1;
      if (acknowledged === 100) enough.resolve();
    }
    return { streamId, commandIds, points: '60', intact: true };
  });
  const [written] = await Promise.all([Promise.all(writers), enough.promise.then(crash)]);
  return { written, stored: await Promise.all(streams.map(contentsOf)) };
}

async function contentsOf(streamId: string): Promise<Contents[number]> {
  const { events } = await readStoredStream(pool, streamId);
  const { rows } = await pool.query<{ points: string }>(
    'select points from tally_points where stream_id = $1',
    [streamId],
  );
  return {
    streamId,
    commandIds: events.map(({ metadata }) => metadata['commandId']),
    points: rows[0]?.points ?? '0',
    intact: verifyChain(events).intact,
  };
}

function postmasterPid(): number {
  const text = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
  return Number(text.split('\n')[0]);
}
