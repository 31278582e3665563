import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { appendFunction } from '#db/append-function.ts';
import { projections } from '#projections/index.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { Log } from '#services/platform/process/log.ts';
import { ledgerOf } from '#tests/credits/ledger.ts';
import { testPassword } from '#tests/support/password.ts';
import { createClient, startProcess } from '#tests/support/processes/processes.ts';
import type { Client } from '#tests/support/processes/processes.ts';
import { milliseconds, percentile, printTable, ratio } from './report.ts';
import type { Plan, Report } from './streams-clients-process.ts';
import type { PeerSaid } from './streams-peer-process.ts';

/**
 * Many watchers of a few runs at one API process, with their clients in another: the delay and cost of a
 * fact sent to every watcher of its user, beside a bare server that writes the same facts and beside
 * socket.io alone. Then the memory of idle watchers. The use of each process is read from Linux's `/proc`.
 */
export async function benchStreams(options: {
  appUrl: string;
  dataDir: string;
  pool: pg.Pool;
  log: Log;
  /** A multiple of `runs`. */
  watchers: number;
  runs: number;
  /** Events of each run. */
  rounds: number;
  idle: number;
}): Promise<void> {
  const { runs, watchers, rounds } = options;
  const settings = {
    DATABASE_URL: options.appUrl,
    DATA_DIR: options.dataDir,
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: '0',
    LOG_LEVEL: 'error',
  };
  await using api = await startProcess('api.ts', settings);
  const address = String(api.details['address']);
  const client = createClient(address, settings);
  const owners: Owner[] = [];
  for (let run = 0; run < runs; run += 1) owners.push(await ownerOfRun(client));
  await using bus = commandBus(options);
  const ledger = ledgerOf(options.pool, bus);
  const write = async (run: number) => {
    await ledger.give({
      userId: owners[run]?.userId ?? '',
      credits: 1,
      source: 'other',
      reason: 'operator',
      actor: 'bench',
      commandId: randomUUID(),
    });
  };
  const each = { watchers, runs, rounds };
  const ours = await watch({
    ...each,
    kind: 'sse',
    pid: api.pid,
    target: (run) => ({
      url: `${address}/api/stream?optimization=${owners[run]?.id}`,
      token: owners[run]?.token ?? '',
    }),
    write,
  });
  const peers: [string, Figures][] = [];
  for (const kind of ['sse', 'socket.io'] as const) {
    const peer = child('streams-peer-process.ts', kind);
    const { port } = await hear<PeerSaid>(peer);
    const query = kind === 'sse' ? '/' : '/?group=';
    const figures = await watch({
      ...each,
      kind,
      pid: peer.pid ?? 0,
      target: (run) => ({ url: `http://127.0.0.1:${port}${query}${run}`, token: 'none' }),
      // As long and as often as a fact of ours.
      write: async (group) => {
        peer.send({ group, fact });
        await sleep(ours.writeMs);
      },
    });
    peers.push([kind === 'sse' ? 'bare node:http' : 'socket.io alone', figures]);
    peer.kill();
  }
  const bare = peers[0]?.[1] ?? ours;
  printTable(`${watchers} watchers of ${runs} runs, one server process; clients in another`, [
    ['', 'facts', 'p50 ms', 'p99 ms', 'kB/watcher', 'server ms/1000', 'of bare', 'clients'],
    ...[['the stream', ours] as const, ...peers].map(([name, figures]) => [
      name,
      figures.facts,
      milliseconds(figures.p50),
      milliseconds(figures.p99),
      figures.kilobytes.toFixed(1),
      milliseconds(figures.serverMs),
      ratio(figures.serverMs, bare.serverMs),
      milliseconds(figures.clientsMs),
    ]),
  ]);
  await holdIdle(options.idle, api.pid, {
    url: `${address}/api/stream`,
    token: owners[0]?.token ?? '',
  });
}

type Owner = { token: string; userId: string; id: string };
type Target = Plan['targets'][number];

/** As large as a fact of an account, for servers without accounts. */
const fact = {
  type: 'CreditsGranted',
  stream: 'credits-usr_00000000000000000000000000',
  version: 7,
  entity: { kind: 'account', id: 'usr_00000000000000000000000000' },
  patch: {
    available_credits: 1,
    reserved_credits: 0,
    debt_credits: 0,
    spending_frozen: false,
    total_purchased: 0,
    total_consumed: 0,
    total_credits: 1,
    used_credits: 0,
  },
} as const;

function commandBus({ pool, log }: { pool: pg.Pool; log: Log }) {
  const functionName = appendFunction(projections).name;
  const bus = createCommandBus({ pool, functionName, clock: Date.now, log });
  return Object.assign(bus, { [Symbol.asyncDispose]: async () => bus.close() });
}

async function ownerOfRun(client: Client): Promise<Owner> {
  const email = `bench-${randomUUID()}@example.com`;
  const { token, user } = await client.data<{ token: string; user: { id: string } }>(
    '/auth/signup',
    {
      body: { name: 'Bench', email, password: testPassword },
    },
  );
  const { id } = await client.data<Optimization>('/optimizations', {
    token,
    body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
  });
  return { token, userId: user.id, id };
}

type Figures = {
  facts: number;
  p50: number;
  p99: number;
  kilobytes: number;
  /** Processor milliseconds for 1,000 facts that arrived. */
  serverMs: number;
  clientsMs: number;
  /** How long one write took. */
  writeMs: number;
};

async function watch(options: {
  kind: Plan['kind'];
  pid: number;
  watchers: number;
  runs: number;
  rounds: number;
  target: (run: number) => Target;
  write: (run: number) => Promise<void>;
}): Promise<Figures> {
  const { kind, pid, watchers, runs, rounds, target, write } = options;
  const clients = child('streams-clients-process.ts');
  const before = usageOf(pid);
  clients.send({
    kind,
    targets: Array.from({ length: watchers }, (_, number) => target(number % runs)),
  } satisfies Plan);
  await hear<Report>(clients);
  const opened = usageOf(pid);
  clients.send('begin');
  const begun = performance.now();
  for (let round = 0; round < rounds; round += 1)
    for (let run = 0; run < runs; run += 1) await write(run);
  const writeMs = (performance.now() - begun) / (rounds * runs);
  // The last ones are on their way.
  await sleep(1000);
  clients.send('end');
  const report = await hear<Report>(clients);
  const after = usageOf(pid);
  clients.kill();
  if (report.kind !== 'delays') throw new Error('The clients reported nothing');
  const { delays, cpuMs } = report;
  return {
    facts: delays.length,
    p50: percentile(delays, 0.5),
    p99: percentile(delays, 0.99),
    kilobytes: (opened.kilobytes - before.kilobytes) / watchers,
    serverMs: ((after.cpuMs - opened.cpuMs) / delays.length) * 1000,
    clientsMs: (cpuMs / delays.length) * 1000,
    writeMs,
  };
}

async function holdIdle(idle: number, pid: number, target: Target): Promise<void> {
  const clients = child('streams-clients-process.ts');
  const before = usageOf(pid);
  clients.send({ kind: 'sse', targets: Array<Target>(idle).fill(target) } satisfies Plan);
  await hear<Report>(clients);
  const opened = usageOf(pid);
  const seconds = 5;
  await sleep(seconds * 1000);
  const after = usageOf(pid);
  clients.kill();
  printTable('Watchers without events', [
    ['watchers', 'kB/watcher', '% of one processor'],
    [
      idle,
      ((opened.kilobytes - before.kilobytes) / idle).toFixed(1),
      ((after.cpuMs - opened.cpuMs) / (seconds * 10)).toFixed(1),
    ],
  ]);
}

function child(file: string, ...args: string[]): ChildProcess {
  return fork(join(import.meta.dirname, file), args, { execArgv: [] });
}

async function hear<Said>(from: ChildProcess): Promise<Said> {
  const first = await Promise.race([
    once(from, 'message') as Promise<[Said]>,
    once(from, 'exit').then(() => null),
  ]);
  if (first === null) throw new Error('A process of the benchmark ended');
  return first[0];
}

/** Memory that is resident, and processor time so far. Linux counts the latter in hundredths. */
function usageOf(pid: number): { kilobytes: number; cpuMs: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  // The name in brackets may hold blanks; user and system time are the 12th and 13th after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return { kilobytes, cpuMs: (Number(fields[11]) + Number(fields[12])) * 10 };
}
