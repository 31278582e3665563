import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anchorNow, readAnchors } from '#db/anchors.ts';
import { chainHash, firstHash } from '#db/chain.ts';
import { exportEvents } from '#db/log-file/export.ts';
import type { Selection } from '#db/log-file/format.ts';
import { signedJson } from '#db/log-file/lines.ts';
import { longestLine } from '#db/log-file/split.ts';
import { verifyLogFile } from '#db/log-file/verify.ts';
import { createMerkleRoot, merkleRoot } from '#db/merkle.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { createLog } from '#services/platform/process/log.ts';
import { credited, testDecider } from '#tests/support/append.ts';
import { allSafe, createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';

let db: TestDatabase;
let roots: string[];
const log = createLog({ level: 'silent', process: 'test' });
const day = 86_400_000;
const begin = Date.UTC(2026, 10, 20, 12);
const [ann, ben, run, late] = [
  'credits-usr_ann',
  'credits-usr_ben',
  'optimization-opt_1',
  'optimization-opt_2',
] as const;

/** Three days, an anchor at the end of each of the first two, and a stream that has none. */
beforeAll(async () => {
  db = await createTestDatabase();
  let now = begin;
  const bus = createCommandBus({
    pool: db.pool,
    functionName: db.functionName,
    clock: () => now,
    log,
  });
  const append = async (streamId: string, count: number) => {
    for (let at = 0; at < count; at += 1)
      await bus.execute(
        testDecider,
        {
          streamId,
          command: [credited(at + 1)],
          commandId: uuidV5(streamId, String(now), String(at)),
          actor: 'test',
          correlationId: 'test',
        },
        'job',
      );
  };
  const anchor = async () => {
    await allSafe(db.pool);
    await anchorNow({ pool: db.pool, clock: () => now, log });
  };
  await append(ann, 3);
  await append(run, 2);
  await anchor();
  now += day;
  await append(ann, 2);
  await append(ben, 1_500);
  await anchor();
  now += day;
  await append(ann, 1);
  await append(late, 1);
  await bus.close();
  roots = (await readAnchors(db.pool)).map(({ root }) => root);
});
afterAll(async () => db.drop());

const all: Selection = { scope: 'all', of: null, since: null, until: null, streams: null };
const making = { product: 'Test', software: '0', exportedAt: '2026-12-01T00:00:00.000Z' };

async function exported(selection: Partial<Selection> = {}): Promise<string[]> {
  const texts: string[] = [];
  await exportEvents(db.pool, {
    selection: { ...all, ...selection },
    making,
    write: async (text) => void texts.push(text),
  });
  return texts.join('').trimEnd().split('\n');
}

const verified = async (lines: readonly string[], given: readonly string[] | null = null) =>
  verifyLogFile(Readable.from([Buffer.from(`${lines.join('\n')}\n`)]), given);

type Line = Record<string, unknown> & { kind: string };
const parsed = (line: string) => JSON.parse(line) as Line;
const find = (lines: readonly string[], wanted: Partial<Line>) => {
  const at = lines.findIndex((line) =>
    Object.entries(wanted).every(([key, value]) => parsed(line)[key] === value),
  );
  if (at < 0) throw new Error(`There is no line ${JSON.stringify(wanted)}`);
  return at;
};

/** The line with another content and the right digest, as a forger writes it. */
function forged(line: string, change: object): string {
  const { sha256: _old, ...rest } = { ...parsed(line), ...change } as Line & { sha256?: string };
  return rest.kind === 'event' ? JSON.stringify(rest) : signedJson(rest);
}

test('an export of the whole log verifies, and a root proves what was anchored', async () => {
  const lines = await exported();
  const found = await verified(lines);
  expect(found).toMatchObject({
    header: { product: 'Test', scope: 'all', anchors: 2 },
    streams: 4,
    events: 1_509,
    lines: lines.length,
    newest: { number: 2, root: roots[1] },
    provedEvents: 1_507,
    faults: [],
  });
  expect(parsed(lines.at(-1)!)).toMatchObject({ kind: 'end', root: roots[1] });
  expect(await verified(lines, [roots[1]!])).toMatchObject({
    provedEvents: 1_507,
    unknownRoots: [],
  });
  expect(await verified(lines, [roots[0]!])).toMatchObject({ provedEvents: 5 });
  const other = 'f'.repeat(64);
  expect(await verified(lines, [other])).toMatchObject({ provedEvents: 0, unknownRoots: [other] });
});

test('an export waits for each of its writes, which are small', async () => {
  let writing = 0;
  const sizes: number[] = [];
  await exportEvents(db.pool, {
    selection: all,
    making,
    async write(text) {
      expect((writing += 1)).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      writing -= 1;
      sizes.push(text.split('\n').length - 1);
    },
  });
  // The header with its anchors, two pages of events and what ends them, the end.
  expect(sizes.length).toBeGreaterThanOrEqual(4);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_010);
});

test('a change of any line is found in that line', async () => {
  const lines = await exported();
  for (const [wanted, change, faults] of [
    // Without the right digest.
    [{ kind: 'header' }, (line: string) => line.replace('"Test"', '"Best"'), [null]],
    [
      { kind: 'anchor', number: 2 },
      (line: string) => line.replace('"heads":2', '"heads":3'),
      [null],
    ],
    // The amount of an event, without and with a new hash of its own.
    [
      { kind: 'event', stream: ben, version: 700 },
      (line: string) => line.replace('"amount":700', '"amount":701'),
      ['metadata.hash'],
    ],
    [
      { kind: 'event', stream: ann, version: 2 },
      (line: string) => line.replace('"type":', '"more":1,"type":'),
      ['more', 'version'],
    ],
    [
      { kind: 'head', anchor: 1, stream: run },
      (line: string) => forged(line, { anchor: 7 }),
      ['anchor'],
    ],
    [
      { kind: 'head', anchor: 1, stream: run },
      (line: string) => forged(line, { hash: 'a'.repeat(64) }),
      ['hash'],
    ],
    [{ kind: 'end' }, (line: string) => forged(line, { events: 1 }), ['events']],
  ] as const) {
    const at = find(lines, wanted);
    const changed = lines.with(at, change(lines[at]!));
    const found = await verified(changed);
    const places = found.faults.filter(({ line }) => line === at + 1 || line === at + 2);
    expect([wanted, places.map(({ field }) => field)]).toEqual([wanted, [...faults]]);
  }
});

test('a missing, added or moved line is found', async () => {
  const lines = await exported();
  const event = find(lines, { kind: 'event', stream: ben, version: 700 });
  const { faults: gap } = await verified(lines.toSpliced(event, 1));
  expect(gap[0]).toEqual({ line: event + 1, field: 'version', problem: 'event 700 is missing' });
  const { faults: twice } = await verified(lines.toSpliced(event, 0, lines[event]!));
  expect(twice[0]).toMatchObject({ line: event + 2, field: 'version' });
  const { faults: cut } = await verified(lines.slice(0, -1));
  expect(cut.at(-1)?.problem).toContain('without its end line');
  const { faults: more } = await verified([...lines, lines.at(-1)!]);
  expect(more).toContainEqual({
    line: lines.length + 1,
    field: 'kind',
    problem: 'it stands after the end',
  });
});

test('a stream that is left out with its heads, and a rewritten one, contradict the anchors', async () => {
  const lines = await exported();
  const found = await verified(without(lines, (line) => line['stream'] !== run));
  expect(found.faults).toEqual([
    { line: 2, field: 'heads', problem: 'anchor 1 has 2 heads, the file 1 of them' },
  ]);

  // A consistent history with another amount, its chain and its head computed again.
  let hash = firstHash;
  const rewritten = lines.map((text) => {
    const line = parsed(text);
    if (line['stream'] !== run) return text;
    if (line.kind === 'head') return forged(text, { hash });
    const {
      kind: _kind,
      metadata,
      ...event
    } = line as unknown as {
      kind: string;
      metadata: Record<string, unknown>;
      stream: string;
      version: number;
      messageId: string;
      type: string;
      data: object;
    };
    const { hash: _old, ...rest } = metadata;
    const changed = { ...event, data: { amount: 1_000 }, metadata: rest };
    hash = chainHash(hash, changed);
    return JSON.stringify({ kind: 'event', ...changed, metadata: { hash, ...rest } });
  });
  const { faults } = await verified(rewritten.map((line) => sortedAs(line)));
  expect(faults).toEqual([
    {
      line: 2,
      field: 'root',
      problem: 'it does not follow from the heads of anchor 1 in this file',
    },
  ]);
});

/** The lines that `keep` leaves, with right counts and digests, as a forger writes them. */
function without(
  lines: readonly string[],
  keep: (line: Line) => boolean,
  header: object = {},
): string[] {
  const left = lines.filter((line) => keep(parsed(line)));
  const events = left.map(parsed).filter(({ kind }) => kind === 'event');
  const counts = {
    streams: new Set(events.map(({ stream }) => stream)).size,
    events: events.length,
    heads: left.filter((line) => parsed(line).kind === 'head').length,
    lines: left.length,
  };
  return left.with(0, forged(left[0]!, header)).with(left.length - 1, forged(left.at(-1)!, counts));
}

test('a stream whose last anchor is left out is missed in the whole log', async () => {
  const lines = await exported();
  const cut = without(
    lines,
    (line) => line['anchor'] !== 1 && line['number'] !== 1 && line['stream'] !== run,
    { anchors: 1 },
  );
  expect((await verified(cut, [roots[1]!])).faults).toEqual([
    { line: 2, field: 'previousRoot', problem: 'the anchors before it are missing' },
  ]);
});

test('a file that claims to be of a range is not complete, and has no event outside of it', async () => {
  const lines = await exported();
  const cut = without(
    lines,
    (line) => line.kind !== 'event' || line['stream'] !== ben || Number(line['version']) <= 10,
    { until: '2099-01-01T00:00:00.000Z' },
  );
  expect(await verified(lines, roots)).toMatchObject({ complete: true, faults: [] });
  expect(await verified(cut, roots)).toMatchObject({ complete: false, faults: [] });
  const range = without(lines, () => true, { until: new Date(begin + 1).toISOString() });
  expect((await verified(range, roots)).faults[0]).toMatchObject({ field: 'metadata.occurredAt' });
  const some = await exported({ scope: 'account', of: 'usr_ann', streams: [ann] });
  expect(await verified(some, roots)).toMatchObject({ complete: false, faults: [] });
});

/** With the keys of the metadata in the order of the format: by length, then by name. */
function sortedAs(text: string): string {
  const line = parsed(text);
  if (line.kind !== 'event') return text;
  const metadata = Object.entries(line['metadata'] as object).toSorted(
    ([one], [other]) => one.length - other.length || (one < other ? -1 : 1),
  );
  return JSON.stringify({ ...line, metadata: Object.fromEntries(metadata) });
}

test('a range of time continues the chains of its streams and has the anchors that cover it', async () => {
  const since = new Date(begin + day).toISOString();
  const until = new Date(begin + 2 * day).toISOString();
  const lines = await exported({ since, until });
  expect(parsed(lines[find(lines, { kind: 'base' })]!)).toMatchObject({ stream: ann, version: 3 });
  expect(await verified(lines, [roots[1]!])).toMatchObject({
    streams: 2,
    events: 1_502,
    anchors: 1,
    provedEvents: 1_502,
    faults: [],
  });
  expect(await verified(await exported({ since: until }))).toMatchObject({
    streams: 2,
    events: 2,
    anchors: 0,
    faults: [],
  });
  expect(await verified(await exported({ until: since }))).toMatchObject({
    events: 5,
    anchors: 2,
    provedEvents: 5,
    faults: [],
  });
});

test('an export of some streams proves each by a path, to the roots of their days', async () => {
  const lines = await exported({ scope: 'account', of: 'usr_ann', streams: [ann, run, late] });
  expect(lines.join('\n')).not.toContain('usr_ben');
  expect(await verified(lines)).toMatchObject({
    streams: 3,
    events: 9,
    anchors: 2,
    provedEvents: 7,
    unprovedStreams: [],
    faults: [],
  });
  expect(await verified(lines, roots)).toMatchObject({ unprovedStreams: [late], provedEvents: 7 });
  expect(await verified(lines, [roots[0]!])).toMatchObject({ unprovedStreams: [ann, late] });
  const head = find(lines, { kind: 'head', stream: ann });
  const { path } = parsed(lines[head]!) as unknown as { path: { side: string; hash: string }[] };
  const other = path.map((step) => ({ ...step, hash: 'a'.repeat(64) }));
  const { faults } = await verified(lines.with(head, forged(lines[head]!, { path: other })));
  expect(faults).toMatchObject([{ line: head + 1, field: 'path' }]);
});

test('a file of another kind is refused in its first line, however long that is', async () => {
  const { faults: none } = await verifyLogFile(Readable.from([]), null);
  expect(none).toEqual([{ line: 1, field: null, problem: 'the file is empty' }]);
  const evidence = JSON.stringify({ kind: 'manifest', format: 'evidence of a run' });
  expect((await verified([evidence])).faults).toMatchObject([{ line: 1 }]);
  expect((await verified(['not JSON'])).faults).toMatchObject([
    { line: 1, problem: 'it is not JSON' },
  ]);
  async function* endless() {
    for (;;) yield Buffer.alloc(1_000_000, 'x');
  }
  const { faults } = await verifyLogFile(endless(), null);
  expect(faults).toMatchObject([{ problem: `it is longer than ${longestLine} bytes` }]);
});

test('the root of lines that come one by one is the root of their list', () => {
  for (let count = 0; count < 70; count += 1) {
    const lines = Array.from({ length: count }, (_, at) => `line ${at}`);
    const tree = createMerkleRoot();
    for (const line of lines) tree.add(line);
    expect(tree.root()).toBe(merkleRoot(lines));
  }
});
