import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projections } from '#projections/index.ts';
import {
  evolve as evolveAccount,
  initialState as noAccount,
} from '#services/credits/account/state.ts';
import { recordedCreditEvents, replay } from '#services/credits/audit/replay.ts';
import { metricOf } from '#services/optimizations/council/metric.ts';
import { countReviews } from '#services/optimizations/run/stages.ts';
import { evolve as evolveRun, initialState as noRun } from '#services/optimizations/run/state.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { applyPatch, beginView, patchOf } from '#services/optimizations/reading/view.ts';
import type { EventTexts, RunView } from '#services/optimizations/reading/view.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { verifyChain } from '#db/chain.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

type GoldenEvent = Omit<RecordedEvent, 'transactionId' | 'globalPosition'>;

/**
 * Streams as a release stored them, one event a line. An event is a file format: whatever the code
 * becomes, it reads these to the same end. `write.ts` writes a new set when events have gained a shape.
 */
const streams = new Map(
  globSync('*.jsonl', { cwd: import.meta.dirname })
    .toSorted()
    .map((file) => [
      file.replace('.jsonl', ''),
      readFileSync(join(import.meta.dirname, file), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as GoldenEvent),
    ]),
);
const files = [...streams.keys()];
const accounts = files.filter((name) => name.startsWith('credits-'));
const runs = files.filter((name) => name.startsWith('run-'));

function events(name: string): RecordedEvent[] {
  return (streams.get(name) ?? []).map((event, index) => ({
    ...event,
    transactionId: '1',
    globalPosition: String(index + 1),
  }));
}

test('every event type that a stream may hold stands in a golden file', () => {
  const held = new Set([...streams.values()].flat().map((event) => event.type));
  const known = new Set(projections.flatMap((projection) => Object.keys(projection.events)));
  expect([...known].filter((type) => !held.has(type))).toEqual([]);
});

test.each(files)('the hash chain of %s is whole', (name) => {
  expect(verifyChain(events(name))).toMatchObject({ intact: true });
});

test.each(accounts)('the account of %s ends as it did, each balance as recomputed', (name) => {
  const recorded = recordedCreditEvents(events(name));
  const state = recorded.reduce((before, { event }) => evolveAccount(before, event), noAccount());
  expect(replay('usr_golden', recorded).differences).toEqual([]);
  expect(JSON.stringify(state.balance)).toMatchSnapshot();
});

test('what API keys hold and have used is read from their events', () => {
  const recorded = recordedCreditEvents(events('credits-keys-2'));
  const state = recorded.reduce((before, { event }) => evolveAccount(before, event), noAccount());
  expect(state.keySpending).toEqual({
    month: '2026-11',
    credits: { key_first: 15 + 45, key_second: 20 },
  });
});

test.each(runs)('the run of %s ends as it did, and reads as it did', (name) => {
  const all = events(name).map(runEventOf);
  const state = all.reduce(evolveRun, noRun());
  const [first, ...rest] = all.map((event) => patchOf('opt_golden', event, {}, '2026-11-20'));
  const view = rest.reduce<RunView>(
    (before, patch, index) => applyPatch(before, patch, index + 2),
    beginView(first ?? {}),
  );
  const described = describeRun(view, 0);
  expect({
    stage: state.stage,
    status: described.status,
    credits: described.credits,
    cost: described.cost,
    costIsMinimum: described.cost_is_minimum,
    because: described.ended_because,
    agreement: described.evolution.bias?.agreement_score,
    consensus: view.scores?.consensus,
    order: view.scores?.order,
    seats: described.models.map(({ seat, status, reason }) => [seat, status, reason].join(' ')),
  }).toMatchSnapshot();
});

test('the outcomes of a stored run read as they did', () => {
  const [first, ...rest] = events('run-outcomes-1')
    .map(runEventOf)
    .map((event) => patchOf('opt_golden', event, textsSaying(event), '2026-11-20'));
  const view = rest.reduce<RunView>(
    (before, patch, index) => applyPatch(before, patch, index + 2),
    beginView(first ?? {}),
  );
  expect(describeRun(view, 0).outcomes).toMatchSnapshot();
});

const textsSaying = ({ type }: OptimizationEvent): EventTexts =>
  type === 'OutcomeRecorded' ? { did: 'Raised the price.' } : {};

test('the scores of a stored run are counted again with the metric that it names', () => {
  const all = events('run-completed-1').map(runEventOf);
  const at = all.findIndex(({ type }) => type === 'ScoresComputed');
  const stored = all[at];
  const before = all.slice(0, at).reduce(evolveRun, noRun());
  if (stored?.type !== 'ScoresComputed' || before.stage !== 'reviews')
    throw new Error('The golden run has no scores');
  const { inputs, synthesisHardAt: _hardAt, ...scores } = stored.data;
  const metric = metricOf(scores.metricVersion);
  expect(metric?.version).toBe('agreement_v1');
  const counted = countReviews(before, metric ?? undefined);
  expect({ scores: counted.scores, inputs: counted.inputs }).toEqual({ scores, inputs });
  expect(countReviews(before).scores.metricVersion).toBe('agreement_v2');
});

test('the recommendation of a run of v0.1 reads as it did, its steps without dates', () => {
  const draft = {
    decision: 'Raise the price once.',
    option_id: 'o1',
    sections: [{ heading: 'Why', blocks: [{ text: 'It pays.', claim_ids: ['c1'] }] }],
    next_steps: [{ text: 'Announce it.', claim_ids: ['c1'] }],
    dissent: [],
    uncertainties: [],
  };
  const [first, ...rest] = events('run-completed-1')
    .map(runEventOf)
    .map((event) => patchOf('opt_golden', event, textsOf(event, draft), '2026-11-20'));
  const view = rest.reduce<RunView>(
    (before, patch, index) => applyPatch(before, patch, index + 2),
    beginView(first ?? {}),
  );
  const { option_id: option, flaws, options, tie_break, ...result } = describeRun(view, 0).result!;
  expect(result).toMatchObject({
    heading: 'recommendation',
    decision: 'Raise the price once.',
    next_steps: [{ action: 'Announce it.', owner: 'you', by_days: null, measure: '', stop_if: '' }],
    seat: null,
  });
  expect([flaws, options, tie_break]).toEqual([[], [], null]);
  expect(view.scores?.decision.votes[option ?? '']?.length).toBe(result.votes_for);
});

function textsOf(event: OptimizationEvent, draft: object): EventTexts {
  const isDraft = event.type === 'CallSucceeded' && event.data.outcome.kind === 'draft';
  return isDraft ? { reply: JSON.stringify(draft) } : {};
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => database.drop());

test.each(projections)(
  'every golden file runs through the statement of $name',
  async (projection) => {
    const used = Object.entries(projection.events).flatMap(([type, use]) =>
      use === 'used' ? [type] : [],
    );
    const stored = [...streams.values()].flat().filter((event) => used.includes(event.type));
    const client = await database.ownerPool.connect();
    try {
      await client.query(
        `create temp table golden_events as
       select "streamId" as stream_id, "streamPosition" as stream_position,
         "messageId" as message_id, type as message_type, data as message_data,
         metadata as message_metadata
       from jsonb_to_recordset($1::jsonb) as e("streamId" text, "streamPosition" bigint,
         "messageId" text, type text, data jsonb, metadata jsonb)`,
        [JSON.stringify(stored)],
      );
      await client.query(projection.apply(projection.name, 'golden_events'));
      await client.query('drop table golden_events');
      const { rows } = await client.query<Record<string, unknown>>(
        `select * from ${projection.name} order by ${projection.key.join(', ')}`,
      );
      expect(rows.map((row) => JSON.stringify(withoutText(row)))).toMatchSnapshot();
    } finally {
      client.release();
    }
  },
);

/** Sealed text says nothing here. */
function withoutText(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).filter(
      ([, value]) => !(typeof value === 'string' && /^v[12]\./.test(value)),
    ),
  );
}
