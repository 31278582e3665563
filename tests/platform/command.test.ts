import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readStoredStream } from '#db/streams.ts';
import { NotCanonicalError, verifyChain } from '#db/chain.ts';
import {
  AppendError,
  createCommandBus,
  type CommandBus,
  type CommandLimits,
  type CommandOutcome,
  type Decider,
  type Patience,
} from '#services/platform/command.ts';
import { createLog } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';
import {
  tally,
  tallyLines,
  tallyPoints,
  type TallyCommand,
  type TallyEvent,
  type TallyState,
} from '#tests/support/tally.ts';

let database: TestDatabase;
let bus: CommandBus;
/** Buses beside the first stand for other processes: they share the database and nothing else. */
let others: CommandBus[];

beforeAll(async () => {
  database = await createTestDatabase({ projections: [tallyPoints, tallyLines], max: 12 });
});
afterAll(() => database.drop());
beforeEach(() => {
  bus = newBus();
  others = [];
});
afterEach(async () => {
  stopWatching();
  await Promise.all([bus, ...others].map((each) => each.close()));
});

// --- one command ---

test('a command appends its event, its read models, its snapshot and its job in one transaction', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'Add', points: 10 });
  const taken = await send(streamId, { type: 'Take', points: 4, by: 'a' });

  expect(taken).toMatchObject({
    events: [{ type: 'PointsTaken', data: { points: 4, by: 'a' } }],
    state: { points: 6 },
    version: 2,
    repeated: false,
  });
  expect(await rows('select points from tally_points where stream_id = $1', streamId)).toEqual([
    { points: '6' },
  ]);
  expect(await rows('select taken_by from tally_line where stream_id = $1', streamId)).toEqual([
    { taken_by: 'a' },
  ]);
  expect(
    await rows('select version, state from stream_snapshot where stream_id = $1', streamId),
  ).toEqual([{ version: '2', state: { points: 6, takers: ['a'], additions: 1 } }]);
  expect(await jobsOf(streamId)).toEqual([`${streamId}:a`]);
  const { events } = await readStoredStream(database.pool, streamId);
  expect(taken.lastPosition).toEqual({
    transactionId: events[1]!.transactionId,
    globalPosition: events[1]!.globalPosition,
  });
});

test('an event has its actor, time, cause and the hash of all earlier events', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  bus = newBus({ clock: () => Date.parse('2026-11-20T10:00:00.000Z') });
  await bus.execute(
    tally,
    {
      streamId,
      commandId,
      command: { type: 'Add', points: 1 },
      fingerprint: 'f',
      actor: 'usr_1',
      correlationId: 'request-1',
      causationId: 'job-1',
    },
    'http',
  );
  const { events } = await readStoredStream(database.pool, streamId);
  expect(events.map(({ metadata }) => metadata)).toEqual([
    {
      schemaVersion: 1,
      commandId,
      fingerprint: 'f',
      actor: 'usr_1',
      correlationId: 'request-1',
      causationId: 'job-1',
      occurredAt: '2026-11-20T10:00:00.000Z',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    },
  ]);
});

test('time in a stream does not run backwards when a clock does', async () => {
  const streamId = newStream();
  let now = Date.parse('2026-11-20T10:00:00.000Z');
  bus = newBus({ clock: () => now });
  await send(streamId, { type: 'Add', points: 1 });
  now -= 60_000;
  await send(streamId, { type: 'Add', points: 1 });
  await send(streamId, { type: 'Add', points: 1 }, { through: anotherProcess() });
  const { events } = await readStoredStream(database.pool, streamId);
  const times = events.map(({ metadata }) => String(metadata['occurredAt']));
  expect(times).toEqual(times.toSorted());
  expect(times[1]).toBe('2026-11-20T10:00:00.000Z');
});

test('the refusal of a decider is thrown and leaves nothing behind', async () => {
  const streamId = newStream();
  await expect(send(streamId, { type: 'Take', points: 1, by: 'a' })).rejects.toMatchObject({
    status: 402,
    code: 'insufficient-credits',
  });
  expect(await readStoredStream(database.pool, streamId)).toEqual({ events: [], version: 0 });
  expect(await rows('select from stream_snapshot where stream_id = $1', streamId)).toEqual([]);
});

test('a command with nothing to do returns the current state', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'AddOnce', points: 5 });
  const again = await send(streamId, { type: 'AddOnce', points: 5 });
  expect(again).toMatchObject({ events: [], state: { points: 5 }, version: 1, repeated: false });
});

// --- the same command again ---

test('a repeated command id gets the events of the first time and writes nothing', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  const first = await send(streamId, { type: 'Add', points: 3 }, { commandId });
  await send(streamId, { type: 'Add', points: 1 });
  for (const through of [bus, anotherProcess()]) {
    const again = await send(streamId, { type: 'Add', points: 3 }, { commandId, through });
    expect(again).toEqual({
      events: first.events,
      version: 1,
      lastPosition: expect.objectContaining(first.lastPosition!) as unknown,
      state: { points: 4, takers: [], additions: 2 },
      repeated: true,
    });
  }
  expect(await versionOf(streamId)).toBe(2);
});

test('a repeat that would be refused now still gets its first result', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  const take = { type: 'Take', points: 5, by: 'a' } as const;
  await send(streamId, { type: 'Add', points: 5 });
  const spending: Decider<TallyState, TallyCommand, TallyEvent> = {
    ...tally,
    // As if the account did not remember who has taken.
    decide: (command, state) => tally.decide(command, { ...state, takers: [] }),
  };
  const ask = (through: CommandBus) =>
    send(streamId, take, { commandId, decider: spending, through });
  const first = await ask(bus);
  expect(first).toMatchObject({ repeated: false, version: 2 });
  for (const through of [bus, anotherProcess()])
    expect(await ask(through)).toMatchObject({
      events: first.events,
      repeated: true,
      version: 2,
    });
});

test('a repeated command id with another fingerprint is refused with 409', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  await send(streamId, { type: 'Add', points: 3 }, { commandId, fingerprint: 'three' });
  for (const through of [bus, anotherProcess()])
    await expect(
      send(streamId, { type: 'Add', points: 4 }, { commandId, fingerprint: 'four', through }),
    ).rejects.toMatchObject({ status: 409, code: 'idempotency-mismatch' });
  expect(await versionOf(streamId)).toBe(1);
});

test('a refusal is not remembered: the same command id may succeed later', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  const take = { type: 'Take', points: 5, by: 'a' } as const;
  await expect(send(streamId, take, { commandId })).rejects.toThrow(Problem);
  await send(streamId, { type: 'Add', points: 5 });
  expect(await send(streamId, take, { commandId })).toMatchObject({ repeated: false });
});

test('one command sent 20 times at once, by four processes, happens once', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  const buses = [bus, anotherProcess(), anotherProcess(), anotherProcess()];
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      send(streamId, { type: 'Add', points: 7 }, { commandId, through: buses[index % 4]! }),
    ),
  );
  expect(outcomes.filter(({ repeated }) => !repeated)).toHaveLength(1);
  for (const outcome of outcomes) expect(outcome.events).toEqual(outcomes[0]!.events);
  expect(await versionOf(streamId)).toBe(1);
});

test('a command that is sent twice at once does not delay the next one', async () => {
  const streamId = newStream();
  const [commandId, next] = [randomUUID(), randomUUID()];
  const outcomes = await Promise.all(
    [commandId, commandId, next].map((id) =>
      send(streamId, { type: 'Add', points: 7 }, { commandId: id }),
    ),
  );
  expect(outcomes.map(({ repeated }) => repeated)).toEqual([false, true, false]);
  expect(await versionOf(streamId)).toBe(2);
});

// --- many at once ---

test('of 8 first commands on one stream at once, in as many processes, one has an effect', async () => {
  const streamId = newStream();
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () =>
      send(streamId, { type: 'AddOnce', points: 5 }, { through: anotherProcess() }),
    ),
  );
  expect(outcomes.flatMap(({ events }) => events)).toHaveLength(1);
  expect(await versionOf(streamId)).toBe(1);
});

test.each([1, 2])(
  'of 50 takings of 14 from 140 points at once, through %i process(es), 10 succeed and 40 are refused',
  async (processes) => {
    const streamId = newStream();
    await send(streamId, { type: 'Add', points: 140 });
    const buses = Array.from({ length: processes }, anotherProcess);
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        send(
          streamId,
          { type: 'Take', points: 14, by: `run-${index}` },
          { through: buses[index % processes]! },
        ),
      ),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(40);
    for (const { reason } of refused)
      expect(reason).toMatchObject({ code: 'insufficient-credits' });
    expect(await rows('select points from tally_points where stream_id = $1', streamId)).toEqual([
      { points: '0' },
    ]);
    expect(await versionOf(streamId)).toBe(11);
  },
);

test('a command that breaks a CHECK in a batch of 32 fails alone, and 63 succeed', async () => {
  const streams = Array.from({ length: 64 }, newStream);
  const append = watchAppends();
  const results = await Promise.allSettled(
    streams.map((streamId, index) =>
      send(
        streamId,
        index === 40 ? { type: 'Overdraw', points: 1 } : { type: 'Add', points: index },
      ),
    ),
  );
  // Two halves, and then those of its own half alone.
  expect(
    append
      .sizes()
      .toSorted((one, other) => other - one)
      .slice(0, 3),
  ).toEqual([32, 32, 1]);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(63);
  expect(results[40]).toMatchObject({
    reason: expect.objectContaining({
      code: '23514',
      constraint: 'tally_points_points_check',
    }) as unknown,
  });
  const versions = await Promise.all(streams.map(versionOf));
  expect(versions.filter((version) => version === 1)).toHaveLength(63);
  expect(versions[40]).toBe(0);
  expect(await jobsOf(streams[40]!)).toEqual([]);
});

test('a command that breaks a CHECK does not fail others on the same stream', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'Add', points: 10 });
  const results = await Promise.allSettled(
    Array.from({ length: 9 }, (_, index) =>
      send(
        streamId,
        index === 4
          ? { type: 'Overdraw', points: 100 }
          : { type: 'Take', points: 1, by: `run-${index}` },
      ),
    ),
  );
  expect(results.map(({ status }) => status)).toEqual(
    Array.from({ length: 9 }, (_, index) => (index === 4 ? 'rejected' : 'fulfilled')),
  );
  expect(results[4]).toMatchObject({ reason: expect.any(AppendError) as unknown });
  expect(await versionOf(streamId)).toBe(9);
});

test('a read model that breaks its own unique key is an error and no conflict', async () => {
  const streamId = newStream();
  await database.ownerPool.query(
    "insert into tally_line (stream_id, stream_position, taken_by) values ($1, 2, 'ghost')",
    [streamId],
  );
  await send(streamId, { type: 'Add', points: 10 });
  const append = watchAppends();
  await expect(send(streamId, { type: 'Take', points: 1, by: 'a' })).rejects.toMatchObject({
    code: '23505',
    constraint: 'tally_line_pkey',
  });
  expect(append.sizes()).toEqual([1]);
});

test('text that the database cannot hold fails its own command and no other', async () => {
  const [good, bad] = [newStream(), newStream()];
  const withNul: Decider<TallyState, TallyCommand, TallyEvent> = {
    ...tally,
    decide: () => [{ type: 'PointsTaken', data: { points: 0, by: 'a\0b' } }],
  };
  const results = await Promise.allSettled([
    send(good, { type: 'Add', points: 1 }),
    send(bad, { type: 'Add', points: 1 }, { decider: withNul }),
  ]);
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: expect.any(NotCanonicalError) as unknown },
  ]);
});

test('of jobs with one key in a batch the last is kept, and a key that is too long fails its command alone', async () => {
  const [streamId, other] = [newStream(), newStream()];
  const key = `${streamId}:same`;
  const results = await Promise.allSettled([
    send(streamId, { type: 'Add', points: 1 }, { decider: withJob(key) }),
    send(streamId, { type: 'Add', points: 2 }, { decider: withJob(key) }),
    send(other, { type: 'Add', points: 3 }, { decider: withJob('k'.repeat(513)) }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect(
    await rows('select job.payload from graphile_worker._private_jobs job where job.key = $1', key),
  ).toEqual([{ payload: { points: 2 } }]);
  expect(await versionOf(other)).toBe(0);
});

// --- what memory says and what is true ---

test('a refusal from memory is decided again on events of another process', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'Add', points: 1 });
  await send(streamId, { type: 'Add', points: 9 }, { through: anotherProcess() });
  expect(await send(streamId, { type: 'Take', points: 10, by: 'a' })).toMatchObject({
    state: { points: 0 },
    version: 3,
  });
});

test('an acceptance from memory is decided again after another process has appended', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'Add', points: 10 });
  await send(streamId, { type: 'Take', points: 10, by: 'b' }, { through: anotherProcess() });
  await expect(send(streamId, { type: 'Take', points: 10, by: 'a' })).rejects.toMatchObject({
    code: 'insufficient-credits',
  });
});

test('a stream with a snapshot of another format is folded again, and the chain continues', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'Add', points: 10 });
  await send(streamId, { type: 'Take', points: 4, by: 'a' });
  const doubled: Decider<TallyState, TallyCommand, TallyEvent> = {
    ...tally,
    version: 2,
    evolve: (state, event) => ({ ...tally.evolve(state, event), additions: -1 }),
  };
  const outcome = await send(streamId, { type: 'Add', points: 1 }, { decider: doubled });
  expect(outcome).toMatchObject({ state: { points: 7, additions: -1 }, version: 3 });
  expect(await chainOf(streamId)).toMatchObject({ intact: true, version: 3 });
});

test('a stream whose events cannot be folded fails its own commands and no others', async () => {
  const [broken, whole] = [newStream(), newStream()];
  await send(broken, { type: 'Add', points: 1 });
  const stumbling: Decider<TallyState, TallyCommand, TallyEvent> = {
    ...tally,
    version: 3,
    evolve(state, event) {
      if (state.additions < 1) throw new Error('An unknown shape');
      return tally.evolve(state, event);
    },
  };
  const results = await Promise.allSettled([
    send(broken, { type: 'Add', points: 1 }, { decider: stumbling }),
    send(whole, { type: 'Add', points: 1 }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});

test('a bus that caches one stream behaves like one that caches all', async () => {
  bus = newBus({ limits: { cachedStreams: 1 } });
  const streams = Array.from({ length: 5 }, newStream);
  for (let round = 1; round <= 3; round += 1)
    for (const streamId of streams)
      expect(await send(streamId, { type: 'Add', points: 1 })).toMatchObject({
        state: { points: round },
        version: round,
      });
});

// --- when things break ---

test('a command whose reply is lost after the commit happens once', async () => {
  const streamId = newStream();
  await send(streamId, { type: 'Add', points: 1 });
  onNextAppend(async (append) => {
    await append();
    throw new Error('Connection terminated unexpectedly');
  });
  const outcome = await send(streamId, { type: 'Add', points: 2 });
  expect(outcome).toMatchObject({
    events: [{ type: 'PointsAdded', data: { points: 2 } }],
    state: { points: 3 },
    version: 2,
  });
  expect(await versionOf(streamId)).toBe(2);
});

test('a command is tried again after its connection is lost before the append', async () => {
  const streamId = newStream();
  onNextAppend(() => Promise.reject(new Error('Connection terminated unexpectedly')));
  expect(await send(streamId, { type: 'Add', points: 2 })).toMatchObject({ version: 1 });
  expect(await versionOf(streamId)).toBe(1);
});

test('a user gets 503 after ten tries, and may send the same command again', async () => {
  const streamId = newStream();
  const commandId = randomUUID();
  const append = watchAppends(() => Promise.reject(new Error('Connection terminated')));
  await expect(send(streamId, { type: 'Add', points: 2 }, { commandId })).rejects.toMatchObject({
    status: 503,
    code: 'busy',
    extras: { retryAfterSeconds: 1 },
  });
  expect(append.sizes()).toHaveLength(10);
  append.restore();
  expect(await send(streamId, { type: 'Add', points: 2 }, { commandId })).toMatchObject({
    version: 1,
  });
});

test('a batch that fails as a whole is tried lane by lane, and only the cause fails', async () => {
  // Without a pause the lanes would meet again in every batch.
  bus = newBus({ limits: { batchesInFlight: 1, firstBackoffMs: 0, longestBackoffMs: 0 } });
  const streams = Array.from({ length: 5 }, newStream);
  const culprit = streams[2]!;
  watchAppends((append, values) =>
    JSON.stringify(values).includes(culprit) ? database.pool.query('select 1 / 0') : append(),
  );
  const results = await Promise.allSettled(
    streams.map((streamId) => send(streamId, { type: 'Add', points: 1 })),
  );
  expect(results.map(({ status }) => status)).toEqual(
    streams.map((streamId) => (streamId === culprit ? 'rejected' : 'fulfilled')),
  );
});

test('terminated backends under load lose no command and double none', async () => {
  bus = newBus({ limits: { jobPatienceMs: 60_000 } });
  const streams = Array.from({ length: 10 }, newStream);
  const killer = terminateBackends(20);
  const sent = streams.flatMap((streamId) =>
    Array.from({ length: 30 }, () =>
      send(streamId, { type: 'Add', points: 1 }, { patience: 'job' }),
    ),
  );
  const [results] = await Promise.all([Promise.allSettled(sent), killer]);

  expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  for (const streamId of streams) {
    expect(await chainOf(streamId)).toMatchObject({ intact: true, version: 30 });
    expect(await rows('select points from tally_points where stream_id = $1', streamId)).toEqual([
      { points: '30' },
    ]);
  }
});

// --- limits ---

test('waiting commands are bounded per stream and process, and the rest gets 503', async () => {
  const limits = { waitingPerStream: 3, waiting: 5 };
  bus = newBus({ limits });
  const streams = [newStream(), newStream()];
  const results = await Promise.allSettled(
    streams.flatMap((streamId) =>
      Array.from({ length: 4 }, () => send(streamId, { type: 'Add', points: 1 })),
    ),
  );
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
  ]);
  expect(results[3]).toMatchObject({ reason: { status: 503, extras: { retryAfterSeconds: 1 } } });
});

test('a batch is never larger than its limits, and every command is executed', async () => {
  bus = newBus({ limits: { streamsPerBatch: 4, commandsPerStreamAndBatch: 2 } });
  const streams = Array.from({ length: 10 }, newStream);
  const append = watchAppends();
  await Promise.all(
    streams.flatMap((streamId) =>
      Array.from({ length: 5 }, () => send(streamId, { type: 'Add', points: 1 })),
    ),
  );
  expect(Math.max(...append.sizes())).toBe(4);
  expect(await Promise.all(streams.map(versionOf))).toEqual(streams.map(() => 5));
});

test('a closing bus answers every accepted command and accepts no more', async () => {
  const streamId = newStream();
  const sent = Array.from({ length: 50 }, () => send(streamId, { type: 'Add', points: 1 }));
  const closing = bus.close();
  await expect(send(streamId, { type: 'Add', points: 1 })).rejects.toMatchObject({ status: 503 });
  await closing;
  expect(await Promise.all(sent)).toHaveLength(50);
  expect(await versionOf(streamId)).toBe(50);
});

// --- anything in any order ---

test(
  'each stream equals its events, its chain and its read model after random work of several processes',
  { tags: ['long'] },
  async () => {
    const commands = fc.array(
      fc.record({
        process: fc.nat({ max: 2 }),
        stream: fc.nat({ max: 2 }),
        command: fc.oneof(
          fc.record({ type: fc.constant('Add' as const), points: fc.integer({ min: 1, max: 20 }) }),
          fc.record({
            type: fc.constant('Take' as const),
            points: fc.integer({ min: 1, max: 20 }),
            by: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
          }),
        ),
        twice: fc.boolean(),
      }),
      { minLength: 1, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        const streams = Array.from({ length: 3 }, newStream);
        const buses = Array.from({ length: 3 }, anotherProcess);
        const results = await Promise.allSettled(
          list.flatMap(({ process, stream, command, twice }) => {
            const commandId = randomUUID();
            const ask = (shift: number) =>
              send(streams[stream]!, command, {
                commandId,
                through: buses[(process + shift) % 3]!,
                patience: 'job',
              });
            return twice ? [ask(0), ask(1)] : [ask(0)];
          }),
        );
        for (const result of results)
          expect(
            result.status === 'rejected' ? codeOf(result.reason) : 'insufficient-credits',
          ).toBe('insufficient-credits');
        for (const streamId of streams) await expectConsistent(streamId);
      }),
      { numRuns: 25 },
    );
  },
);

async function expectConsistent(streamId: string): Promise<void> {
  const { events, version } = await readStoredStream(database.pool, streamId);
  expect(verifyChain(events)).toMatchObject({ intact: true, version });
  expect(new Set(events.map(({ messageId }) => messageId)).size).toBe(events.length);
  const state = events.reduce(
    (before, { type, data }) => tally.evolve(before, { type, data } as TallyEvent),
    tally.initialState(),
  );
  expect(new Set(state.takers).size).toBe(state.takers.length);
  const [snapshot] = await rows('select state from stream_snapshot where stream_id = $1', streamId);
  expect(snapshot ?? { state: tally.initialState() }).toEqual({ state });
  const [line] = await rows('select points from tally_points where stream_id = $1', streamId);
  expect(line ?? { points: '0' }).toEqual({ points: String(state.points) });
}

// --- support ---

/** Ends connections of the application, whatever they are doing, until so many were ended. */
async function terminateBackends(count: number): Promise<void> {
  for (let ended = 0; ended < count;) {
    const { rowCount } = await database.ownerPool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and usename <> current_user`,
    );
    ended += rowCount ?? 0;
  }
}

function withJob(key: string): Decider<TallyState, TallyCommand, TallyEvent> {
  return {
    ...tally,
    reactions: (event) => [{ task: 'note', payload: { points: event.data.points }, key }],
  };
}

type BusOptions = { clock?: () => number; limits?: Partial<CommandLimits> };

function newBus(options: BusOptions = {}): CommandBus {
  return createCommandBus({
    pool: database.pool,
    functionName: database.functionName,
    clock: options.clock ?? Date.now,
    log: createLog({ level: 'silent', process: 'test' }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
}

function anotherProcess(): CommandBus {
  const other = newBus();
  others.push(other);
  return other;
}

function newStream(): string {
  return `tally-${randomUUID()}`;
}

type SendOptions = {
  commandId?: string;
  fingerprint?: string;
  through?: CommandBus;
  patience?: Patience;
  decider?: Decider<TallyState, TallyCommand, TallyEvent>;
};

function send(
  streamId: string,
  command: TallyCommand,
  options: SendOptions = {},
): Promise<CommandOutcome<TallyState, TallyEvent>> {
  return (options.through ?? bus).execute(
    options.decider ?? tally,
    {
      streamId,
      command,
      commandId: options.commandId ?? randomUUID(),
      actor: 'test',
      correlationId: 'test',
      ...(options.fingerprint === undefined ? {} : { fingerprint: options.fingerprint }),
    },
    options.patience ?? 'http',
  );
}

type AppendCall = { name: string; values: [string[], string[]] };
type Intercept = (append: () => Promise<unknown>, values: unknown) => Promise<unknown>;

/** Sees every call of the append function, and may stand in for it, until the test is over. */
function watchAppends(intercept: Intercept = (append) => append()) {
  const { pool } = database;
  const query = pool.query.bind(pool) as (config: unknown, values?: unknown) => Promise<unknown>;
  const sizes: number[] = [];
  const watched = (config: unknown, values?: unknown): Promise<unknown> => {
    if (!isAppend(config)) return query(config, values);
    sizes.push(config.values[0].length);
    return intercept(() => query(config), config.values);
  };
  Object.defineProperty(pool, 'query', { value: watched, configurable: true });
  return { sizes: () => sizes, restore: stopWatching };
}

/** The pool's own method is on its prototype. */
function stopWatching(): void {
  Reflect.deleteProperty(database.pool, 'query');
}

function isAppend(config: unknown): config is AppendCall {
  return typeof config === 'object' && config !== null && 'name' in config;
}

function onNextAppend(intercept: Intercept): void {
  let done = false;
  watchAppends((append, values) => {
    if (done) return append();
    done = true;
    return intercept(append, values);
  });
}

async function rows(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  return (await database.ownerPool.query<Record<string, unknown>>(text, values)).rows;
}

async function versionOf(streamId: string): Promise<number> {
  return (await readStoredStream(database.ownerPool, streamId)).version;
}

async function chainOf(streamId: string) {
  return verifyChain((await readStoredStream(database.ownerPool, streamId)).events);
}

async function jobsOf(streamId: string): Promise<string[]> {
  const { rows: jobs } = await database.ownerPool.query<{ key: string }>(
    `select key from graphile_worker.jobs where key like $1 || ':%' order by key`,
    [streamId],
  );
  return jobs.map(({ key }) => key);
}

function codeOf(reason: unknown): unknown {
  return reason instanceof Problem ? reason.code : reason;
}
