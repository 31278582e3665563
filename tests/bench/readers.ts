import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { logStart, readPage } from '#db/reader.ts';
import { tail } from '#db/tail.ts';
import { creditAccountTable } from '#projections/credit-account.ts';
import { creditHistory } from '#projections/credit-history.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { verify } from '#projections/engine/verify.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { newId } from '#services/platform/ids.ts';
import type { Log } from '#services/platform/process/log.ts';
import { ledgerOf } from '#tests/credits/ledger.ts';
import { loopFor, milliseconds, percentile, printTable, ratio } from './report.ts';

/**
 * How fast events are read again: the reader's catch-up and the rebuild of read models, beside a
 * cursor that only reads; and what a rebuild does to writers and to a live reader's lag.
 */
export async function benchReaders(options: {
  pool: pg.Pool;
  ownerPool: pg.Pool;
  functionName: string;
  log: Log;
  events: number;
}): Promise<void> {
  const { pool, ownerPool, events } = options;
  await fillLog(ownerPool, events);
  const total = await countEvents(ownerPool);
  const cursor = await timed(async () => readByCursor(ownerPool));
  const reader = await timed(async () => readEverything(pool));
  const account = await timed(async () => rebuild(ownerPool, creditAccountTable));
  const history = await timed(async () => rebuild(ownerPool, creditHistory));
  const verified = await timed(async () => verify(ownerPool, creditAccountTable));
  const limit = total / cursor;
  printTable(`Reading ${total} events again`, [
    ['what', 'seconds', 'events/s', 'of the cursor'],
    ...(
      [
        ['cursor that only reads', cursor],
        ['reader, caught up from zero', reader],
        ['rebuild credit_account', account],
        ['rebuild credit_history', history],
        ['verify credit_account', verified],
      ] as const
    ).map(([what, seconds]) => [
      what,
      seconds.toFixed(2),
      Math.round(total / seconds),
      ratio(total / seconds, limit),
    ]),
  ]);
  await underLoad(options);
}

/** Gifts of one credit to 1,000 people, as they would be stored, written past the append function. */
async function fillLog(pool: pg.Pool, events: number): Promise<void> {
  const perStream = Math.ceil(events / 1000);
  await pool.query(
    `with people as (
       select 'credits-usr_' || lpad(number::text, 26, '0') as stream
       from generate_series(1, 1000) as number
     ), streams as (
       insert into emt_streams
         (stream_id, stream_position, partition, stream_type, stream_metadata)
       select stream, $1, 'emt:default', 'bench', '{}' from people
     )
     insert into emt_messages (stream_id, stream_position, partition, message_kind, message_data,
       message_metadata, message_schema_version, message_type, message_id, transaction_id)
     select stream, position, 'emt:default', 'E',
       jsonb_build_object('lotId', 'lot_' || position, 'credits', 1, 'source', 'other',
         'paidMinor', null, 'currency', null, 'paymentKey', null,
         'grantedAt', '2026-11-01T00:00:00.000Z', 'reason', 'operator',
         'balance', jsonb_build_object('available', position, 'held', 0, 'debt', 0,
           'purchased', 0, 'bonus', 0, 'other', position, 'consumed', 0, 'revoked', 0)),
       jsonb_build_object('occurredAt', '2026-11-01T00:00:00.000Z', 'hash', repeat('0', 64)),
       '1', 'CreditsGranted', gen_random_uuid()::text, pg_current_xact_id()
     from people, generate_series(1, $1) as position`,
    [perStream],
  );
  await pool.query('analyze emt_messages');
}

async function countEvents(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ events: number }>(
    'select count(*)::float8 as events from emt_messages',
  );
  return rows[0]?.events ?? 0;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
}

async function readByCursor(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin read only');
    await client.query('declare everything no scroll cursor for select * from emt_messages');
    for (;;) {
      const { rowCount } = await client.query('fetch 5000 from everything');
      if (!rowCount) break;
    }
    await client.query('commit');
  } finally {
    client.release();
  }
}

async function readEverything(pool: pg.Pool): Promise<void> {
  let cursor = logStart;
  for (;;) {
    const page = await readPage(pool, cursor);
    if (page.caughtUp) return;
    cursor = page.cursor;
  }
}

/** Latency of 16 writers and the lag of a live reader, without and during a rebuild. */
async function underLoad(options: {
  pool: pg.Pool;
  ownerPool: pg.Pool;
  functionName: string;
  log: Log;
}): Promise<void> {
  const { pool, ownerPool } = options;
  const bus = createCommandBus({ ...options, clock: Date.now });
  const ledger = ledgerOf(pool, bus);
  const people = Array.from({ length: 16 }, () => newId('usr'));
  const gift = async (writer: number) =>
    ledger.give({
      userId: people[writer] ?? '',
      credits: 1,
      source: 'other',
      reason: 'operator',
      actor: 'bench',
      commandId: randomUUID(),
    });
  const rows: (string | number)[][] = [
    ['16 writers', 'commands/s', 'p50 ms', 'p99 ms', 'max ms', 'reader lag p99 ms'],
  ];
  for (const during of ['alone', 'during a rebuild'] as const) {
    const lags: number[] = [];
    const stop = new AbortController();
    const { rows: end } = await pool.query<{ xid: string }>(
      'select pg_snapshot_xmin(pg_current_snapshot())::text as xid',
    );
    const reading = tail({
      pool,
      cursor: { transactionId: end[0]?.xid ?? '0', globalPosition: '0' },
      wake: () => () => {},
      pollMs: 20,
      signal: stop.signal,
      onPage: ({ events }) => {
        for (const event of events)
          lags.push(Date.now() - Date.parse(String(event.metadata['occurredAt'])));
      },
    });
    const rebuilding =
      during === 'alone' ? Promise.resolve(null) : rebuild(ownerPool, creditHistory);
    const { latencies, seconds } = await loopFor(4000, 16, gift);
    await rebuilding;
    stop.abort();
    await reading;
    rows.push([
      during,
      Math.round(latencies.length / seconds),
      milliseconds(percentile(latencies, 0.5)),
      milliseconds(percentile(latencies, 0.99)),
      milliseconds(Math.max(...latencies)),
      milliseconds(percentile(lags, 0.99)),
    ]);
  }
  printTable('What a rebuild of credit_history does to writers and to a live reader', rows);
}
