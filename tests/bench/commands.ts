import { randomUUID } from 'node:crypto';
import { projections as emmettProjections } from '@event-driven-io/emmett';
import type { Event } from '@event-driven-io/emmett';
import { getPostgreSQLEventStore, postgreSQLProjection } from '@event-driven-io/emmett-postgresql';
import type { PostgresEventStore } from '@event-driven-io/emmett-postgresql';
import type pg from 'pg';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import { ledgerOf } from '#tests/credits/ledger.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { newId } from '#services/platform/ids.ts';
import type { Log } from '#services/platform/process/log.ts';
import {
  inTurns,
  loopFor,
  median,
  milliseconds,
  percentile,
  printTable,
  ratioByTurns,
  walFlushes,
} from './report.ts';

/**
 * `execute(reserve)` with all that it does (decision, chain, event, snapshot, three read models, job,
 * notification) beside emmett's bare append, emmett with four inline projections and a job, and a
 * bare INSERT as the limit. Reservations are released again in the same loop, as every other command,
 * so that an account's state stays small.
 */
export async function benchCommands(options: {
  pool: pg.Pool;
  ownerPool: pg.Pool;
  functionName: string;
  log: Log;
  durationMs: number;
  countFlushes: boolean;
}): Promise<void> {
  const { pool, ownerPool, durationMs } = options;
  await ownerPool.query(
    'create table bench_plain (id bigint generated always as identity, stream text, data jsonb)',
  );
  await ownerPool.query(
    'create table bench_balance (stream text, kind int, total bigint, primary key (stream, kind))',
  );
  const bare = emmettStore(ownerPool, false);
  const inline = emmettStore(ownerPool, true);
  const ours = await ourCommands(options);
  const plain = async (account: string) =>
    ownerPool.query('insert into bench_plain (stream, data) values ($1, $2)', [
      account,
      JSON.stringify(sample),
    ]);
  const variants = [
    { name: 'execute(reserve)', work: ours },
    { name: 'emmett append', work: emmettAppend(bare) },
    { name: 'emmett + inline + job', work: emmettAppend(inline) },
    { name: 'bare INSERT', work: plain },
  ];
  const rows: (string | number)[][] = [
    [
      'writers',
      'variant',
      'per second',
      'of emmett',
      'of INSERT',
      'p50 ms',
      'p99 ms',
      'fsyncs/command',
    ],
  ];
  for (const [label, writers, accounts] of [
    ['1', 1, 1],
    ['8', 8, 8],
    ['32', 32, 32],
    ['128', 128, 128],
    ['32 on one', 32, 1],
  ] as const) {
    const loops = variants.map(({ name, work }) => {
      const names = Array.from({ length: accounts }, () => newId('usr'));
      const run = async (ms: number) =>
        loopFor(ms, writers, async (writer, round) =>
          work(names[writer % accounts] ?? '', writer, round),
        );
      return { name, run };
    });
    const measured = await inTurns(loops, durationMs);
    const flushes = options.countFlushes ? await flushesOf(ownerPool, loops) : [];
    const peer = (wanted: string) => measured.find(({ name }) => name === wanted);
    for (const [index, one] of measured.entries())
      rows.push([
        label,
        one.name,
        Math.round(median(one.rates)),
        ratioByTurns(one, peer('emmett append')),
        ratioByTurns(one, peer('bare INSERT')),
        milliseconds(percentile(one.latencies, 0.5)),
        milliseconds(percentile(one.latencies, 0.99)),
        flushes[index] ?? '--',
      ]);
  }
  printTable('Commands', rows);
  await pool.query('select graphile_worker.remove_job(key) from graphile_worker.jobs');
}

/** WAL flushes a command, of one variant after the other. */
async function flushesOf(
  pool: pg.Pool,
  loops: readonly { run: (ms: number) => Promise<{ latencies: readonly number[] }> }[],
): Promise<string[]> {
  const each: string[] = [];
  let before = await walFlushes(pool);
  for (const { run } of loops) {
    const { latencies } = await run(1_000);
    const after = await walFlushes(pool);
    each.push(((after - before) / latencies.length).toFixed(2));
    before = after;
  }
  return each;
}

const sample = {
  runId: newId('opt'),
  credits: 1,
  allocations: [{ lotId: newId('lot'), credits: 1 }],
  bonusMonth: null,
  balance: {
    available: 1,
    held: 1,
    debt: 0,
    purchased: 0,
    bonus: 0,
    other: 2,
    consumed: 0,
    refundPending: 0,
    freezes: 0,
    refunded: 0,
    revoked: 0,
  },
};

async function ourCommands(options: {
  pool: pg.Pool;
  functionName: string;
  log: Log;
}): Promise<(account: string, writer: number, round: number) => Promise<unknown>> {
  const bus = createCommandBus({ ...options, clock: Date.now });
  const ledger = ledgerOf(options.pool, bus);
  const funded = new Map<string, Promise<unknown>>();
  const open = new Map<number, string>();
  return async (account, writer, round) => {
    const gift = funded.get(account) ?? fund(ledger, account);
    funded.set(account, gift);
    await gift;
    const held = open.get(writer);
    if (round % 2 === 1 && held !== undefined) {
      open.delete(writer);
      return ledger.settle({
        userId: account,
        runId: held,
        settlement: { kind: 'release' },
        actor: 'bench',
      });
    }
    const runId = newId('opt');
    open.set(writer, runId);
    return ledger.reserve({
      userId: account,
      runId,
      credits: 1,
      month: '2026-11',
      limit: -1,
      actor: 'bench',
    });
  };
}

async function fund(ledger: Ledger, userId: string): Promise<unknown> {
  return ledger.give({
    userId,
    credits: 1_000_000,
    source: 'other',
    reason: 'operator',
    actor: 'bench',
    commandId: randomUUID(),
  });
}

type Reserved = Event<'BenchReserved', typeof sample>;

function emmettStore(pool: pg.Pool, withProjections: boolean): PostgresEventStore {
  const handlers = [0, 1, 2, 3].map((kind) =>
    postgreSQLProjection<Reserved>({
      canHandle: ['BenchReserved'],
      handle: async (events, { connection }) => {
        await connection.client.query(
          `insert into bench_balance values ($1, $2, $3)
           on conflict (stream, kind) do update set total = bench_balance.total + excluded.total`,
          [events[0]?.metadata.streamName, kind, events.length],
        );
        if (kind === 0)
          await connection.client.query(
            `select graphile_worker.add_job('bench', '{}'::json, job_key := $1)`,
            [randomUUID()],
          );
      },
    }),
  );
  return getPostgreSQLEventStore('', {
    connectionOptions: { pool },
    schema: { autoMigration: 'None' },
    ...(withProjections ? { projections: emmettProjections.inline(handlers) } : {}),
  });
}

/** Appends with a version as every writer must; a late one reads it again and retries. */
function emmettAppend(store: PostgresEventStore) {
  const versions = new Map<string, bigint>();
  return async (account: string): Promise<unknown> => {
    const stream = `bench-${account}`;
    for (;;) {
      const expectedStreamVersion = versions.get(stream) ?? 0n;
      try {
        const result = await store.appendToStream<Reserved>(
          stream,
          [{ type: 'BenchReserved', data: sample }],
          { expectedStreamVersion },
        );
        const known = versions.get(stream) ?? 0n;
        if (result.nextExpectedStreamVersion > known)
          versions.set(stream, result.nextExpectedStreamVersion);
        return result;
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'ConcurrencyError') {
          if (!(error instanceof Error && 'errorCode' in error && error.errorCode === 412))
            throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      }
    }
  };
}
