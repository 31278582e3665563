import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type EventFault, verifyEvents } from '#db/verify-events.ts';
import { createCommandBus, type CommandBus } from '#services/platform/command.ts';
import { createLog } from '#services/platform/process/log.ts';
import { credited, debited, testDecider } from '#tests/support/append.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let db: TestDatabase;
let bus: CommandBus;
let streamId: string;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

beforeEach(async () => {
  bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: Date.now,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  streamId = `test-${randomUUID()}`;
  for (let round = 0; round < 5; round += 1) await append();
});
afterEach(async () => {
  await bus.close();
  // Otherwise the next test would find the damage of this one.
  for (const table of ['emt_messages', 'emt_streams', 'stream_snapshot'])
    await db.ownerPool.query(`delete from ${table}`);
});

async function append(): Promise<void> {
  const command = [credited(10), debited(4)];
  await bus.execute(
    testDecider,
    { streamId, command, commandId: randomUUID(), actor: 'test', correlationId: 'test' },
    'job',
  );
}

/** As the owner, without the guards of the application. */
async function tamper(statement: string): Promise<void> {
  const { rowCount } = await db.ownerPool.query(statement, [streamId]);
  expect(rowCount).toBeGreaterThan(0);
}

async function faults(): Promise<Pick<EventFault, 'kind' | 'streamPosition'>[]> {
  const found = await verifyEvents(db.pool);
  return found.faults.map(({ kind, streamPosition }) => ({ kind, streamPosition }));
}

test('the application and the auditor find appended streams intact', async () => {
  expect(await verifyEvents(db.pool)).toMatchObject({ streams: 1, events: 10, faults: [] });
  const only = await verifyEvents(db.pool, { streamId: 'test-another' });
  expect(only).toMatchObject({ streams: 0, events: 0, faults: [] });
});

test('the check finds a flipped byte at its event', async () => {
  await tamper(
    `update emt_messages set message_data = jsonb_set(message_data, '{amount}', '11')
     where stream_id = $1 and stream_position = 3`,
  );
  const { faults: found } = await verifyEvents(db.pool);
  expect(found).toMatchObject([{ streamId, streamPosition: 3, kind: 'chain' }]);
  expect(found[0]?.messageId).toMatch(/^[0-9a-f-]{36}$/);
});

test('the check finds a changed time, type or id at its event', async () => {
  for (const [position, change] of [
    [8, `message_metadata = message_metadata || '{"occurredAt":"2020-01-01T00:00:00.000Z"}'`],
    [6, `message_type = 'TestNoted'`],
    [4, `message_id = message_id || 'x'`],
  ] as const) {
    await tamper(
      `update emt_messages set ${change} where stream_id = $1 and stream_position = ${position}`,
    );
    expect(await faults()).toEqual([{ kind: 'chain', streamPosition: position }]);
  }
});

test('the check finds a missing event at its successor', async () => {
  await tamper('delete from emt_messages where stream_id = $1 and stream_position = 4');
  expect(await faults()).toEqual([{ kind: 'chain', streamPosition: 5 }]);
});

test('the check finds a missing last event, also when the row of the stream matches', async () => {
  await tamper('delete from emt_messages where stream_id = $1 and stream_position = 10');
  const cutOff = [
    { kind: 'head', streamPosition: 9 },
    { kind: 'snapshot', streamPosition: 9 },
  ];
  expect(await faults()).toEqual(cutOff);
  await tamper('update emt_streams set stream_position = 9 where stream_id = $1');
  expect(await faults()).toEqual(cutOff.slice(1));
});

test('the check finds a stream without events', async () => {
  await tamper('delete from emt_messages where stream_id = $1');
  expect(await faults()).toEqual([{ kind: 'head', streamPosition: 0 }]);
});

test('the check finds a snapshot of another history', async () => {
  await tamper(`update stream_snapshot set hash = repeat('a', 64) where stream_id = $1`);
  expect(await faults()).toEqual([{ kind: 'snapshot', streamPosition: 10 }]);
});

test('the check finds events that readers would get in another order', async () => {
  await tamper(
    `update emt_messages set transaction_id = '3' where stream_id = $1 and stream_position = 7`,
  );
  expect(await faults()).toEqual([{ kind: 'order', streamPosition: 7 }]);
});

test('the check follows streams over several pages', async () => {
  const command = Array.from({ length: 30 }, () => credited(1));
  const long = `test-${randomUUID()}`;
  for (let round = 0; round < 80; round += 1)
    await bus.execute(
      testDecider,
      {
        streamId: long,
        command,
        commandId: randomUUID(),
        actor: 'test',
        correlationId: 'test',
      },
      'job',
    );
  const pages: number[] = [];
  const whole = await verifyEvents(db.pool, { onProgress: (events) => pages.push(events) });
  expect(whole).toMatchObject({ streams: 2, events: 2410, faults: [] });
  expect(pages).toEqual([2000, 2410]);
  expect(await verifyEvents(db.pool, { streamId })).toMatchObject({ streams: 1, events: 10 });
});
