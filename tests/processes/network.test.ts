import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { queuePool } from '#services/platform/jobs/queue-pool.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { startFaultProxy } from '#tests/support/processes/fault-proxy.ts';
import type { Fault, FaultProxy } from '#tests/support/processes/fault-proxy.ts';
import { eventually, startProcess, temporaryFolder } from '#tests/support/processes/processes.ts';

/** A broken network before the database; `npm run proof` breaks every connection in every way. */
const started = new AsyncDisposableStack();
let database: TestDatabase;
let network: FaultProxy;

beforeAll(async () => {
  database = await createTestDatabase();
  started.defer(async () => database.drop());
  network = started.use(await startFaultProxy({ port: Number(new URL(database.appUrl).port) }));
});
afterAll(async () => started.disposeAsync());

/** What a server that repeats every word answers through a proxy, and what became of the connection. */
async function heardThrough(fault: Fault): Promise<string[]> {
  await using stack = new AsyncDisposableStack();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  const { port } = server.address() as { port: number };
  const proxy = stack.use(await startFaultProxy({ port }));
  const heard: string[] = [];
  const open = (): Socket => {
    const socket = connect(proxy.port, '127.0.0.1');
    stack.defer(() => void socket.destroy());
    socket.on('data', (data) => heard.push(data.toString()));
    socket.on('error', (error) => heard.push('code' in error ? String(error.code) : 'error'));
    return socket;
  };
  const socket = open();
  socket.write('before');
  await eventually('an answer', () => heard.length === 1);
  await proxy.inject(fault);
  socket.write('during');
  if (fault.kind === 'silence') await eventually('silence', () => proxy.counts().deaf === 1);
  if (fault.kind === 'reset') await eventually('the reset', () => heard.length === 2);
  heard.push('|');
  await proxy.heal();
  socket.write('after');
  const isCarried = fault.kind === 'latency' || fault.kind === 'loss';
  if (isCarried) await eventually('both', () => heard.at(-1)?.endsWith('after') === true);
  open().write('again');
  await eventually('the answer to another', () => heard.at(-1) === 'again');
  return heard;
}

test.each<[string, Fault, string]>([
  ['latency delays', { kind: 'latency', ms: 1_000 }, 'before | during after again'],
  ['loss holds back', { kind: 'loss' }, 'before | during after again'],
  ['silence of the client loses', { kind: 'silence', of: 'client' }, 'before | again'],
  ['silence of the server loses', { kind: 'silence', of: 'server' }, 'before | again'],
  ['a reset ends', { kind: 'reset' }, 'before ECONNRESET | again'],
])('in tests, %s what is sent', async (_what, fault, expected) => {
  const heard = await heardThrough(fault);
  // Two words may arrive as one piece.
  expect(heard.join(' ').replace(/(?<=during)(?=after)/, ' ')).toBe(expected);
});

test('a statement on a connection that has fallen silent fails, and the pool opens another', async () => {
  const lost: Error[] = [];
  const pool = createPool(network.through(database.appUrl), {
    max: 1,
    applicationName: 'test',
    onError: (error) => lost.push(error),
    silenceMs: 500,
  });
  await pool.query('select 1');
  await network.inject({ kind: 'silence', of: 'server' });
  const began = performance.now();
  const work = inTransaction(pool, async (client) => client.query('select 1'));
  await expect(work).rejects.toThrow(/timeout/);
  // Its `rollback` would wait as long again.
  expect(performance.now() - began).toBeLessThan(900);
  await network.heal();
  expect((await pool.query('select 1')).rowCount).toBe(1);
  expect(network.counts().deaf).toBe(0);
  await pool.end();
});

test("the job queue's listening connection reports an error when it has fallen silent", async () => {
  const pool = createPool(network.through(database.appUrl), {
    max: 1,
    applicationName: 'test',
    onError: () => undefined,
  });
  const connected = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<Error>();
  queuePool(pool, { pingEveryMs: 50, answersWithinMs: 300 }).connect((_error, client, release) => {
    connected.resolve();
    client?.on('error', (error) => {
      release();
      lost.resolve(error);
    });
  });
  await connected.promise;
  await network.inject({ kind: 'silence', of: 'server' });
  expect(await lost.promise).toMatchObject({ message: expect.stringMatching(/timeout/) });
  await network.heal();
  expect((await pool.query('select 1')).rowCount).toBe(1);
  await pool.end();
});

test('an API process whose database is silent says within seconds that it is not ready, and is again afterward', async () => {
  await database.pool.query(
    `insert into process_heartbeat (process_id, kind, host, pid) values ('worker test', 'worker', 'test', 1)`,
  );
  const folder = temporaryFolder();
  started.defer(() => folder.remove());
  const api = started.use(
    await startProcess('api.ts', {
      DATABASE_URL: network.through(database.appUrl),
      DATA_DIR: folder.path,
      SANDBOX_URL: 'http://127.0.0.1:1',
      PORT: '0',
    }),
  );
  const ready = async () => {
    const began = performance.now();
    const response = await fetch(`${String(api.details['address'])}/api/ready`);
    await response.body?.cancel();
    return { status: response.status, ms: performance.now() - began };
  };
  await eventually('readiness', async () => (await ready()).status === 200);
  await network.inject({ kind: 'silence', of: 'server' });
  const answers = [await ready(), await ready()];
  for (const { status, ms } of answers) {
    expect(status).toBe(503);
    expect(ms).toBeLessThan(6_000);
  }
  await network.heal();
  await eventually('readiness', async () => (await ready()).status === 200);
});
