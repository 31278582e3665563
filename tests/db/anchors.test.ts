import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  anchorDaily,
  anchorNow,
  brokenLine,
  proveAnchored,
  readAnchors,
  verifyAnchors,
} from '#db/anchors.ts';
import { isProved, listRoot } from '#db/anchor-root.ts';
import { readStoredStream } from '#db/streams.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { chainHash, firstHash } from '#db/chain.ts';
import { createCommandBus, type CommandBus } from '#services/platform/command.ts';
import { createLog, type Log } from '#services/platform/process/log.ts';
import { appendInto, credited, debited, testDecider } from '#tests/support/append.ts';
import { allSafe, createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let db: TestDatabase;
let bus: CommandBus;
let log: Log;
let logged: string[];
let now: number;
const ann = 'credits-usr_ann';
const run = 'optimization-opt_1';

const dependencies = () => ({ pool: db.pool, clock: () => now, log });

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

beforeEach(async () => {
  now = Date.UTC(2026, 10, 20, 12);
  logged = [];
  log = createLog({
    level: 'info',
    process: 'test',
    destination: { write: (line) => void logged.push(line) },
  });
  bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: () => now,
    log: createLog({ level: 'silent', process: 'test' }),
  });
  await append(ann);
  await append(ann);
  await append(run);
});
afterEach(async () => {
  await bus.close();
  for (const table of [
    'chain_anchor_head',
    'chain_anchor',
    'emt_messages',
    'emt_streams',
    'stream_snapshot',
  ])
    await db.ownerPool.query(`delete from ${table}`);
});

/** And waits until it is anchored for sure. */
async function append(streamId: string): Promise<void> {
  await appendOnly(streamId);
  await allSafe(db.pool);
}

async function appendOnly(streamId: string): Promise<void> {
  await bus.execute(
    testDecider,
    {
      streamId,
      command: [credited(10), debited(4)],
      commandId: randomUUID(),
      actor: 'test',
      correlationId: 'test',
    },
    'job',
  );
}

/** As the owner, without the guards of the application. */
async function tamper(statement: string, values: unknown[] = []): Promise<void> {
  const { rowCount } = await db.ownerPool.query(statement, values);
  expect(rowCount).toBeGreaterThan(0);
}

/** Gives a stream another history from this version on, internally consistent, snapshot included. */
async function rewrite(streamId: string, from: number): Promise<void> {
  const { events } = await readStoredStream(db.pool, streamId);
  let hash = firstHash;
  for (const event of events) {
    const { hash: _, ...metadata } = event.metadata;
    const data = event.streamPosition === from ? { amount: 999 } : event.data;
    hash = chainHash(hash, {
      stream: streamId,
      version: event.streamPosition,
      messageId: event.messageId,
      type: event.type,
      data,
      metadata,
    });
    await tamper(
      `update emt_messages set message_data = $3,
         message_metadata = message_metadata || jsonb_build_object('hash', $4::text)
       where stream_id = $1 and stream_position = $2`,
      [streamId, event.streamPosition, JSON.stringify(data), hash],
    );
  }
  await tamper('update stream_snapshot set hash = $2 where stream_id = $1', [streamId, hash]);
}

test('an anchor keeps the head of every stream of credits and runs, and its root is logged', async () => {
  await append(`test-${randomUUID()}`);
  const made = await anchorNow(dependencies());
  expect(made).toMatchObject({ number: 1, day: null, heads: 2 });
  const { rows } = await db.pool.query('select stream_id, version::int from chain_anchor_head');
  expect(rows).toEqual([
    { stream_id: ann, version: 4 },
    { stream_id: run, version: 2 },
  ]);
  expect(JSON.parse(logged[0] ?? '')).toMatchObject({ level: 'info', root: made.root, count: 2 });
  expect(await verifyAnchors(db.pool)).toEqual({
    anchors: 1,
    heads: 2,
    last: made,
    broken: [],
    named: null,
    missing: [],
  });
});

test('a day gets one anchor from concurrent callers, and the next day gets its own', async () => {
  const made = await Promise.all(Array.from({ length: 8 }, () => anchorDaily(dependencies())));
  expect(made.filter((one) => one !== null)).toHaveLength(1);
  now = Date.UTC(2026, 10, 20, 23, 59, 59, 999);
  expect(await anchorDaily(dependencies())).toBeNull();
  now += 1;
  expect(await anchorDaily(dependencies())).toMatchObject({ number: 2, day: '2026-11-21' });
});

test('an anchor holds only what changed since the previous one, and follows from it', async () => {
  const first = await anchorNow(dependencies());
  await append(run);
  const second = await anchorNow(dependencies());
  const third = await anchorNow(dependencies());
  expect([first.heads, second.heads, third.heads]).toEqual([2, 1, 0]);
  expect(new Set([first.root, second.root, third.root]).size).toBe(3);
  expect(await readAnchors(db.pool)).toEqual([first, second, third]);
  expect(await verifyAnchors(db.pool)).toMatchObject({ anchors: 3, heads: 3, broken: [] });
});

test('events of an open transaction, and later ones, are left to the next anchor', async () => {
  await anchorNow(dependencies());
  const client = await db.ownerPool.connect();
  try {
    await client.query('begin');
    const late = { streamId: 'credits-usr_late', expected: 0 };
    await appendInto(client, {
      ...late,
      events: [{ ...credited(1), metadata: { hash: 'a'.repeat(64) } }],
    });
    await appendOnly(ann);
    expect(await anchorNow(dependencies())).toMatchObject({ heads: 0 });
    await client.query('commit');
  } finally {
    client.release();
  }
  await allSafe(db.pool);
  expect(await anchorNow(dependencies())).toMatchObject({ heads: 2 });
});

test('the check names a changed event and the anchor that shows it', async () => {
  const { number } = await anchorNow(dependencies());
  await tamper(
    `update emt_messages set message_data = '{"amount": 11}'
     where stream_id = '${ann}' and stream_position = 3`,
  );
  const { broken } = await verifyAnchors(db.pool);
  expect(broken).toMatchObject([
    { kind: 'event', anchor: number, streamId: ann, version: 3, found: expect.any(String) },
  ]);
});

test('a rewritten history that is consistent does not reach its first anchored head', async () => {
  await anchorNow(dependencies());
  await append(ann);
  const second = await anchorNow(dependencies());
  await append(ann);
  await anchorNow(dependencies());
  await rewrite(ann, 5);
  expect((await verifyEvents(db.pool)).faults).toEqual([]);
  const { broken } = await verifyAnchors(db.pool, { streamId: ann });
  expect(broken).toMatchObject([
    { kind: 'head', anchor: second.number, streamId: ann, version: 6, found: expect.any(String) },
  ]);
  const { anchored, found } = broken[0]!;
  expect(anchored).not.toBe(found);
  expect(brokenLine(broken[0]!)).toBe(
    `${ann} at version 6: anchor 2 has ${anchored}, there is ${found}`,
  );
  expect((await verifyAnchors(db.pool, { streamId: run })).broken).toEqual([]);
});

test('the check misses a removed last event, also when everything else was made to match', async () => {
  await anchorNow(dependencies());
  await tamper(`delete from emt_messages where stream_id = '${ann}' and stream_position = 4`);
  await tamper(`update emt_streams set stream_position = 3 where stream_id = '${ann}'`);
  await tamper(`delete from stream_snapshot where stream_id = '${ann}'`);
  expect((await verifyEvents(db.pool)).faults).toEqual([]);
  const { broken } = await verifyAnchors(db.pool);
  expect(broken).toMatchObject([{ kind: 'head', streamId: ann, version: 4, found: null }]);
  expect(brokenLine(broken[0]!)).toContain('there is no event');
});

test('anchors that were changed, added or removed no longer follow from each other', async () => {
  await anchorNow(dependencies());
  await append(ann);
  const { root } = await anchorNow(dependencies());
  await anchorNow(dependencies());
  const broken = async () =>
    (await verifyAnchors(db.pool)).broken.map(({ kind, anchor }) => [kind, anchor]);
  await rewrite(ann, 1);
  await tamper(
    `update chain_anchor_head h set hash = (select message_metadata ->> 'hash' from emt_messages m
       where m.stream_id = h.stream_id and m.stream_position = h.version)`,
  );
  expect(await broken()).toEqual([
    ['root', 1],
    ['root', 2],
  ]);
  await tamper(`delete from chain_anchor_head where number = 2`);
  await tamper(`delete from chain_anchor where number = 2`);
  expect(await broken()).toEqual([
    ['root', 1],
    ['root', 3],
  ]);
  const lines = (await verifyAnchors(db.pool)).broken.map(brokenLine);
  expect(lines[1]).toMatch(/^anchor 3: its root is [0-9a-f]{64}, from its heads follows /);
  expect(lines[1]).not.toContain(root);
});

test('the check misses removed anchors by a given root, and without one once events are old', async () => {
  const { root } = await anchorNow(dependencies());
  expect((await verifyAnchors(db.pool, { root })).missing).toEqual([]);
  await tamper(`delete from emt_messages where stream_id = '${ann}' and stream_position = 4`);
  await tamper(`update emt_streams set stream_position = 3 where stream_id = '${ann}'`);
  await tamper(`delete from stream_snapshot where stream_id = '${ann}'`);
  await tamper('delete from chain_anchor_head');
  await tamper('delete from chain_anchor');
  expect(await verifyAnchors(db.pool, { root })).toMatchObject({ broken: [], missing: ['root'] });
  const age = async (interval: string) =>
    tamper(`update emt_messages set created = now() - interval '${interval}'
      where stream_id = '${ann}' and stream_position = 1`);
  await age('47 hours');
  expect((await verifyAnchors(db.pool)).missing).toEqual([]);
  await age('49 hours');
  expect((await verifyAnchors(db.pool)).missing).toEqual(['anchors']);
  expect((await verifyAnchors(db.pool, { streamId: run, root })).missing).toEqual([
    'anchors',
    'root',
  ]);
  // A new anchor follows from none of the old ones.
  await anchorNow(dependencies());
  expect((await verifyAnchors(db.pool)).missing).toEqual([]);
  expect((await verifyAnchors(db.pool, { root })).missing).toEqual(['root']);
});

test('the check misses a removed newest anchor by its root', async () => {
  const first = await anchorNow(dependencies());
  await append(ann);
  const second = await anchorNow(dependencies());
  await tamper('delete from chain_anchor_head where number = 2');
  await tamper('delete from chain_anchor where number = 2');
  const missing = async (root: string) => (await verifyAnchors(db.pool, { root })).missing;
  expect([await missing(first.root), await missing(second.root)]).toEqual([[], ['root']]);
});

test('the application adds anchors and changes none; an auditor reads them', async () => {
  await anchorNow(dependencies());
  for (const statement of [
    'update chain_anchor set heads = 0',
    'delete from chain_anchor',
    `update chain_anchor_head set hash = repeat('0', 64)`,
    'delete from chain_anchor_head',
    'truncate chain_anchor_head',
  ])
    await expect(db.pool.query(statement)).rejects.toMatchObject({ code: '42501' });
  const auditor = new pg.Client({ connectionString: db.auditorUrl });
  await auditor.connect();
  try {
    expect(await readAnchors(auditor)).toHaveLength(1);
  } finally {
    await auditor.end();
  }
});

test('a path proves the head of one stream under the root, and shows no other stream', async () => {
  const others = Array.from({ length: 9 }, (_, index) => `credits-usr_${index}`);
  for (const other of others) await append(other);
  const { number, root } = await anchorNow(dependencies());
  for (const streamId of [run, ann, ...others]) {
    const proof = await proveAnchored(db.pool, streamId);
    expect(proof).toMatchObject({ number, root, head: { streamId } });
    expect(isProved(proof!)).toBe(true);
    const { head, path } = proof!;
    expect(JSON.stringify(path)).not.toContain('usr_');
    const changed = [
      { ...proof!, head: { ...head, version: head.version + 1 } },
      {
        ...proof!,
        head: { ...head, hash: head.hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) },
      },
      { ...proof!, head: { ...head, streamId: `${streamId}2` } },
      { ...proof!, path: path.slice(1) },
      { ...proof!, path: path.map(({ hash }) => ({ hash, side: 'left' as const })).toReversed() },
      { ...proof!, previousRoot: root },
    ];
    for (const forged of changed) expect(isProved(forged)).toBe(false);
  }
  expect(await proveAnchored(db.pool, 'credits-usr_nobody')).toBeNull();
});

test('the newest anchor of a stream proves it, also when later ones leave it out', async () => {
  await anchorNow(dependencies());
  await append(run);
  const second = await anchorNow(dependencies());
  await append(ann);
  await anchorNow(dependencies());
  const proof = await proveAnchored(db.pool, run);
  expect(proof).toMatchObject({ number: second.number, head: { version: 4 } });
  expect(isProved(proof!)).toBe(true);
});

test('an anchor of 0.1 still holds, and proves no stream alone', async () => {
  await anchorNow(dependencies());
  const { rows } = await db.pool.query<{ stream_id: string; version: number; hash: string }>(
    'select stream_id, version::int, hash from chain_anchor_head order by stream_id collate "C"',
  );
  const heads = rows.map(({ stream_id: streamId, ...head }) => ({ streamId, ...head }));
  await tamper('update chain_anchor set root = $1', [listRoot(firstHash, heads)]);
  await append(run);
  const second = await anchorNow(dependencies());
  expect(await verifyAnchors(db.pool)).toMatchObject({ anchors: 2, broken: [] });
  expect(await proveAnchored(db.pool, ann)).toBeNull();
  expect(await proveAnchored(db.pool, run)).toMatchObject({ number: second.number });
});
