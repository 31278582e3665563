import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAdvance } from '#projections/engine/advance.ts';
import { projections } from '#projections/index.ts';
import { verify } from '#projections/engine/verify.ts';
import { ownerOfRun, readChain, readRunPage } from '#projections/optimization-list.ts';
import type { RunRow } from '#projections/optimization-list.ts';
import { readStream } from '#db/streams.ts';
import { isOpenStatus } from '#services/optimizations/contract/summary.ts';
import { statusOf, summarize } from '#services/optimizations/reading/describe.ts';
import { erased } from '#services/optimizations/reading/texts.ts';
import { summaryOf } from '#services/optimizations/reading/list.ts';
import { foldRun, occurredAt, runEventOf } from '#services/optimizations/reading/read-run.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';
import { anyLimit, anySteps, logOf } from '#tests/credits/ledger-model.ts';
import { live } from '#tests/optimizations/run/world.ts';
import type { Append } from '#tests/optimizations/run/world.ts';
import { randomOf } from '#tests/support/chance.ts';
import { appendBatch } from '#tests/support/append.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { creditStream } from '#services/credits/account/events.ts';

/**
 * Feeds real output of the deciders, in every order that crashes, cancels, races and late answers cause,
 * through every read model on a real Postgres: appended by the product's own function and read in pages of
 * random size. A statement that cannot handle an event fails here first.
 */

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

type Random = () => number;

/** Share of the appends after which the rows of the list are compared with their streams. */
const rowsCompared = 0.2;

const asynchronous = projections.filter(({ kind }) => kind === 'async');

/** Worlds share a database, so each has its own users, runs, lots and payments. */
function apart(log: readonly Append[], world: number): Append[] {
  const text = JSON.stringify(log);
  return JSON.parse(
    text.replaceAll(/(?<=usr_|opt_|lot_|pur_|ref_|pi:)(?=\d)/g, `${world}x`),
  ) as Append[];
}

/** A run's row in the list agrees with the run's own stream. */
async function expectRowsOfStreams(streamIds: readonly string[]): Promise<void> {
  for (const streamId of streamIds.filter((id) => id.startsWith('optimization-'))) {
    const { events } = await readStream(db.pool, streamId);
    const run = foldRun(
      runIdOf(streamId),
      events.map((recorded) => ({
        event: runEventOf(recorded),
        position: recorded.streamPosition,
        at: occurredAt(recorded),
        texts: {},
      })),
    );
    const row = (await rowsBeside(run!.view)).find((one) => one.run_id === run!.view.id);
    if (run!.view.hidden || isGivenUp(run!.view)) expect(row).toBeUndefined();
    else {
      const texts = { title: erased, challenge: erased };
      const { cost_is_minimum: isMinimum, ...listed } = summaryOf(row!, texts);
      const { cost_is_minimum: isMinimumNow, ...expected } = summarize(run!.view);
      expect(listed).toEqual(expected);
      // While a run is under way, its row does not know which of its calls are.
      if (run!.view.conclusion !== null) expect(isMinimum).toBe(isMinimumNow);
    }
  }
}

/** A refinement that ended before it started. */
function isGivenUp(view: RunView): boolean {
  return view.refines !== null && view.startedAt === null && !isOpenStatus(statusOf(view));
}

/** The page of a run's person; of a refinement, which is on no page, the refinements of its root. */
async function rowsBeside({ id, refines }: RunView): Promise<readonly RunRow[]> {
  const userId = (await ownerOfRun(db.pool, id)) ?? '';
  const all = { status: null, strategy: null, sort: 'newest', offset: 0, limit: 100 } as const;
  const { rows } = await readRunPage(db.pool, userId, all);
  if (refines === null) return rows;
  expect(rows.map((row) => row.run_id)).not.toContain(id);
  return (await readChain(db.pool, refines.root))?.refinements ?? [];
}

async function bringThrough(log: readonly Append[], random: Random): Promise<void> {
  const versions = new Map<string, number>();
  const upTo = (most: number) => 1 + Math.floor(random() * most);
  for (let at = 0; at < log.length;) {
    const batch = log.slice(at, (at += upTo(12)));
    await append(batch, versions, at);
    if (random() < rowsCompared)
      await expectRowsOfStreams([...new Set(batch.map((one) => one.streamId))]);
    if (random() < 0.5) {
      const projection = asynchronous[upTo(asynchronous.length) - 1]!;
      await advanceOnce(projection, upTo(40));
    }
  }
  for (const projection of asynchronous) {
    while (!(await advanceOnce(projection, upTo(40))).caughtUp);
  }
}

async function append(
  batch: readonly Append[],
  versions: Map<string, number>,
  at: number,
): Promise<void> {
  const entries = [...Map.groupBy(batch, ({ streamId }) => streamId)].map(([streamId, appends]) => {
    const events = appends.flatMap((each) => each.events);
    const expected = versions.get(streamId) ?? 0;
    versions.set(streamId, expected + events.length);
    const metadata = {
      occurredAt: new Date(Date.UTC(2026, 10, 20) + at * 1000).toISOString(),
    };
    return {
      streamId,
      expected,
      events: events.map((event) => ({ ...event, metadata })),
    };
  });
  await appendBatch(db, entries);
}

async function advanceOnce(projection: (typeof projections)[number], limit: number) {
  const errors: unknown[] = [];
  const step = await createAdvance({
    projection,
    pool: db.pool,
    limit,
    onSetAside: (setAside) => errors.push(setAside),
    onError: (error) => errors.push(error),
  })();
  expect({ [projection.name]: errors }).toEqual({ [projection.name]: [] });
  return step;
}

async function expectEqualToRebuild(): Promise<void> {
  for (const projection of projections)
    expect(await verify(db.ownerPool, projection)).toMatchObject({
      name: projection.name,
      differences: [],
    });
}

/** A part of the runs that every property gets. */
const share = (part: number) => Math.ceil((fc.readConfigureGlobal().numRuns ?? 100) * part);
const seeds = fc.noShrink(fc.integer({ min: 0, max: 2 ** 31 - 1 }));

test('every read model takes in every event of runs that crash, are cancelled or end late, and equals its rebuild', async () => {
  let world = 0;
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      world += 1;
      await bringThrough(apart(live({ seed }).log, world), randomOf(seed));
    }),
    { numRuns: share(0.15) },
  );
  await expectEqualToRebuild();
}, 300_000);

test('every read model takes in every event of an account that pays, spends, refunds and owes, and equals its rebuild', async () => {
  let person = 1000;
  await fc.assert(
    fc.asyncProperty(anySteps, anyLimit, seeds, async (steps, limit, seed) => {
      person += 1;
      const streamId = creditStream(`usr_${person}`);
      const log = logOf(steps, limit, person).map((event) => ({ streamId, events: [event] }));
      await bringThrough(log, randomOf(seed));
    }),
    { numRuns: share(0.4) },
  );
  await expectEqualToRebuild();
}, 300_000);
