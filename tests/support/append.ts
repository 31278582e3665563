import { randomUUID } from 'node:crypto';
import type { Queryable } from '#db/connect.ts';
import { appendCommands, type AppendEntry } from '#db/streams.ts';
import { defineProjection } from '#projections/engine/define.ts';
import type { Decider } from '#services/platform/command.ts';
import type { TestDatabase } from './database.ts';

/** Appends events without deciders, for tests of readers. */
export type TestEvent = {
  id?: string;
  type: 'TestCredited' | 'TestDebited' | 'TestNoted';
  data: { amount: number };
  metadata?: Record<string, unknown>;
};

/** Any event, as the append function takes it. */
type AnyEvent = Omit<TestEvent, 'type' | 'data'> & { type: string; data: unknown };
type AnyEntry = { streamId: string; expected: number; events: readonly AnyEvent[] };

export function credited(amount: number): TestEvent {
  return { type: 'TestCredited', data: { amount } };
}

export function debited(amount: number): TestEvent {
  return { type: 'TestDebited', data: { amount } };
}

/** emmett's own function, as the owner and inside the caller's transaction: no inline projection. */
export async function appendInto(client: Queryable, entry: AnyEntry): Promise<void> {
  const { streamId, expected, events } = entry;
  const { rows } = await client.query<{ success: boolean }>(
    `select success from emt_append_to_stream($1::text[], $2::jsonb[], $3::jsonb[], $4::text[],
       $5::text[], $6::text[], $7, 'test', $8::bigint, v_partition => 'emt:default')`,
    [
      events.map(({ id }) => id ?? randomUUID()),
      events.map(({ data }) => JSON.stringify(data)),
      events.map(({ metadata }) => JSON.stringify(metadata ?? {})),
      events.map(() => '1'),
      events.map(({ type }) => type),
      events.map(() => 'E'),
      streamId,
      expected,
    ],
  );
  if (!rows[0]?.success) throw new Error(`${streamId} is not at ${expected}`);
}

/** The product's append function, as the application: with the inline projections. */
export async function appendBatch(
  { pool, functionName }: { pool: Queryable; functionName: string },
  entries: readonly AnyEntry[],
): Promise<void> {
  const outcomes = await appendCommands(pool, functionName, entries.map(entryOf));
  if (!outcomes.every(({ appended }) => appended))
    throw new Error('A stream is not at its expected version');
}

function entryOf({ streamId, expected, events }: AnyEntry): AppendEntry {
  return {
    streamId,
    expectedVersion: expected,
    events: events.map(({ id, type, data, metadata }) => ({
      id: id ?? randomUUID(),
      type,
      data: data as AppendEntry['events'][number]['data'],
      metadata: metadata ?? {},
    })),
    snapshot: { decider: 'test', deciderVersion: 1, hash: '', occurredAt: '', state: {} },
    jobs: [],
  };
}

/** Appends given events through the command path of the product. */
export const testDecider: Decider<Record<string, never>, readonly TestEvent[], TestEvent> = {
  name: 'test',
  version: 1,
  initialState: () => ({}),
  decide: (events) => events,
  evolve: (state) => state,
  reactions: () => [],
};

type TestEventType = TestEvent['type'];

/** The value of an account, shaped like the credit account, with its CHECK. */
export const testAccount = defineProjection<TestEventType>({
  name: 'test_account',
  kind: 'inline',
  events: { TestCredited: 'used', TestDebited: 'used', TestNoted: 'ignored' },
  key: ['account_id'],
  create: (table) => `create table ${table} (
    account_id text primary key,
    balance bigint not null constraint ${table}_balance_check check (balance >= 0),
    version bigint not null
  );
  create index ${table}_balance on ${table} (balance)`,
  apply: (table, events) => `merge into ${table} account
    using (
      select stream_id as account_id, max(stream_position) as version,
        sum(case message_type when 'TestCredited' then 1 else -1 end
          * (message_data ->> 'amount')::bigint)::bigint as amount
      from ${events} e group by stream_id
    ) change on account.account_id = change.account_id
    when matched then update set balance = account.balance + change.amount,
      version = change.version
    when not matched then insert (account_id, balance, version)
      values (change.account_id, change.amount, change.version)`,
});

/** Sums over all accounts, which only an asynchronous projection may hold. */
export const testTotal = defineProjection<TestEventType>({
  name: 'test_total',
  kind: 'async',
  events: { TestCredited: 'used', TestDebited: 'used', TestNoted: 'ignored' },
  key: ['message_type'],
  create: (table) => `create table ${table} (
    message_type text primary key,
    events bigint not null,
    amount bigint not null constraint ${table}_amount_check check (amount < 1000000000)
  )`,
  apply: (table, events) => `insert into ${table} as total (message_type, events, amount)
    select message_type, count(*), sum((message_data ->> 'amount')::bigint)
    from ${events} e group by message_type
    on conflict (message_type) do update set events = total.events + excluded.events,
      amount = total.amount + excluded.amount`,
});

/** One row per event, so that a lost or doubled event shows. */
export const testLine = defineProjection<TestEventType>({
  name: 'test_line',
  kind: 'async',
  events: { TestCredited: 'used', TestDebited: 'used', TestNoted: 'ignored' },
  key: ['account_id', 'position'],
  create: (table) => `create table ${table} (
    account_id text not null,
    position bigint not null,
    amount bigint not null,
    primary key (account_id, position)
  )`,
  apply: (table, events) => `insert into ${table} (account_id, position, amount)
    select stream_id, stream_position, (message_data ->> 'amount')::bigint from ${events} e`,
});

/** Writers on streams of their own, until `stop`; resolves with the events written. */
export function startWriters(
  count: number,
  write: (writer: number, round: number) => Promise<number>,
): { written: () => number; stop: () => Promise<number> } {
  const stopping = new AbortController();
  let written = 0;
  const writers = Array.from({ length: count }, async (_, writer) => {
    for (let round = 0; !stopping.signal.aborted; round += 1) {
      const events = await write(writer, round);
      written += events;
    }
  });
  // A writer that fails is reported by stop; until then the others continue.
  for (const writer of writers) writer.catch(() => undefined);
  return {
    written: () => written,
    stop: async () => {
      stopping.abort();
      await Promise.all(writers);
      return written;
    },
  };
}

/** An event that no command would write: its cost is not a number. */
export async function appendBadCall(
  { ownerPool }: TestDatabase,
  streamId = 'optimization-opt_bad',
): Promise<{ streamId: string; messageId: string }> {
  const messageId = randomUUID();
  const data = { slot: 'opinion.first', attempt: 1, costMicros: 'much' };
  const client = await ownerPool.connect();
  try {
    const event = { id: messageId, type: 'CallSucceeded', data } as never;
    await appendInto(client, { streamId, expected: 0, events: [event] });
  } finally {
    client.release();
  }
  return { streamId, messageId };
}

/** Stands in for a corrected statement, because a test cannot change the code. */
export async function repairBadCall({ ownerPool }: TestDatabase): Promise<void> {
  await ownerPool.query(
    `update emt_messages set message_data = message_data || '{"costMicros": 7}'
     where message_data ->> 'costMicros' = 'much'`,
  );
}
