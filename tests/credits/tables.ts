import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Projection } from '#projections/engine/define.ts';
import { usedEventTypes } from '#projections/engine/define.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';

/** Bringing events into a projection's table by its own statement, as rebuild does. */
export type StoredEvent = {
  stream_id: string;
  stream_position: number;
  message_id: string;
  message_type: string;
  message_data: unknown;
  message_metadata: { occurredAt: string };
};

/** Gives the file one connection as the owner, to a database of its own; each test is rolled back. */
export function useRolledBackClient(use: (client: pg.PoolClient) => void): void {
  let database: TestDatabase;
  let client: pg.PoolClient;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = await database.ownerPool.connect();
    use(client);
  });
  beforeEach(() => client.query('begin'));
  afterEach(() => client.query('rollback'));
  afterAll(async () => {
    client.release();
    await database.drop();
  });
}

/** One person's log as it would be stored, a minute apart. */
export function stored(userId: string, log: readonly CreditEvent[]): StoredEvent[] {
  const begin = Date.UTC(2026, 10, 20);
  return log.map(({ type, data }, index) => ({
    stream_id: creditStream(userId),
    stream_position: index + 1,
    message_id: uuidV5(userId, index),
    message_type: type,
    message_data: data,
    message_metadata: { occurredAt: new Date(begin + index * 60_000).toISOString() },
  }));
}

/** Runs the statement over these events, of which it sees only the types that it uses. */
export async function applyTo(
  client: pg.ClientBase | pg.Pool,
  projection: Projection,
  table: string,
  events: readonly StoredEvent[],
): Promise<void> {
  const used = new Set(usedEventTypes(projection));
  const relevant = events.filter((event) => used.has(event.message_type));
  if (relevant.length === 0) return;
  // The statement takes no parameters, so the events stand in a table.
  await client.query('create temporary table if not exists given_events (body jsonb)');
  await client.query('truncate given_events');
  await client.query('insert into given_events select jsonb_array_elements($1::jsonb)', [
    JSON.stringify(relevant),
  ]);
  await client.query(
    projection.apply(
      table,
      `(select r.* from given_events g cross join lateral jsonb_to_record(g.body) as r (
         stream_id text, stream_position bigint, message_id text, message_type text,
         message_data jsonb, message_metadata jsonb))`,
    ),
  );
}

/** Cuts a log at these places, taken modulo its length: pages of a rebuild. */
export function pages<Item>(items: readonly Item[], cuts: readonly number[]): Item[][] {
  const places = [...new Set(cuts.map((cut) => (items.length === 0 ? 0 : cut % items.length)))];
  const edges = [0, ...places.toSorted((left, right) => left - right), items.length];
  return edges.slice(1).map((end, index) => items.slice(edges[index], end));
}
