import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import * as v from 'valibot';
import { creditAnalytics, readAnalytics } from '#projections/credit-analytics.ts';
import { creditHistory } from '#projections/credit-history.ts';
import { creditAccountTable } from '#projections/credit-account.ts';
import { CreditAnalytics } from '#services/credits/contract.ts';
import { applyTo, pages, stored, useRolledBackClient } from '#tests/credits/tables.ts';
import type { StoredEvent } from '#tests/credits/tables.ts';
import { createBus } from '#tests/credits/ledger-model.ts';

let client: pg.PoolClient;
useRolledBackClient((given) => (client = given));

type Call =
  | { kind: 'answer' | 'failure' | 'late'; seat: number; slot: string; costMicros: number | null }
  | { kind: 'begun' | 'lost'; seat: number; slot: string };

type Run = {
  userId: string;
  runId: string;
  models: readonly string[];
  calls: readonly Call[];
  /** After how many of the calls' events the run was closed; later ones are priced after its end. */
  closedAfter: number;
  ended: {
    outcome: 'Completed' | 'Failed' | 'Cancelled';
    captured: number;
    refunded: number;
  } | null;
};

/** The events of a run that the projection uses, and a few that it does not. */
function eventsOf(run: Run): StoredEvent[] {
  const created = {
    type: 'OptimizationCreated',
    data: {
      userId: run.userId,
      seats: run.models.map((model, seat) => ({ seat: `S${seat + 1}`, model })),
    },
  };
  const end =
    run.ended === null
      ? []
      : [
          {
            type: `Optimization${run.ended.outcome}`,
            data: {
              captured: run.ended.captured,
              refunded: run.ended.refunded,
              creditsVersion: 9,
            },
          },
        ];
  const calls = run.calls.map(callEvent);
  const events = [
    created,
    { type: 'ProcessingStarted', data: {} },
    ...calls.slice(0, run.closedAfter),
    ...end,
    ...calls.slice(run.closedAfter),
  ];
  return events.map(({ type, data }, index) => ({
    stream_id: `optimization-${run.runId}`,
    stream_position: index + 1,
    message_id: `${run.runId}-${index}`,
    message_type: type,
    message_data: data,
    message_metadata: { occurredAt: '2026-11-20T08:00:00.000Z' },
  }));
}

function callEvent(call: Call): { type: string; data: Record<string, unknown> } {
  const slot = `${call.slot}.S${call.seat + 1}`;
  switch (call.kind) {
    case 'answer':
      return {
        type: 'CallSucceeded',
        data: {
          slot,
          attempt: 1,
          costMicros: call.costMicros,
          usage: { inputUncached: 90, inputCached: 10, outputVisible: 30, outputThinking: null },
        },
      };
    case 'failure':
      return { type: 'CallFailed', data: { slot, attempt: 1, costMicros: call.costMicros } };
    case 'late':
      return { type: 'CallCostRecorded', data: { slot, attempt: 1, costMicros: call.costMicros } };
    case 'begun':
      return { type: 'CallStarted', data: { slot, attempt: 1 } };
    case 'lost':
      return { type: 'CallLost', data: { slot, attempt: 1, final: false } };
  }
}

/** The thousandths of a credit that the run's seats should have, computed another way. */
function sharesOf(run: Run): (number | null)[] {
  if (run.ended === null) return run.models.map(() => null);
  const seats = run.models.map((_, seat) => {
    const calls = run.calls.filter(
      (call) => call.seat === seat && ['opinion', 'review'].includes(call.slot),
    );
    const costs = calls.map((call) => ('costMicros' in call ? (call.costMicros ?? 0) : 0));
    const answers = calls.filter(({ kind }) => kind === 'answer');
    return {
      called: calls.some(({ kind }) => kind === 'begun'),
      answered: answers.length > 0,
      unpriced: answers.some((call) => 'costMicros' in call && call.costMicros === null),
      cost: costs.reduce((sum, each) => sum + each, 0),
    };
  });
  const groups = [seats.filter((seat) => seat.answered), seats.filter((seat) => seat.called)];
  const sharing = groups.find((group) => group.length > 0) ?? seats;
  const isByCost =
    !seats.some((seat) => seat.unpriced) && sharing.reduce((sum, seat) => sum + seat.cost, 0) > 0;
  const weights = seats.map((seat) => (!sharing.includes(seat) ? 0 : isByCost ? seat.cost : 1));
  const charge = (run.ended.captured - run.ended.refunded) * 1000;
  // Rounded down, then the rest by the largest remainders.
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const shares = weights.map((weight) => Math.floor((charge * weight) / sum));
  const rest = charge - shares.reduce((all, share) => all + share, 0);
  const order = weights
    .map((weight, index) => ({ index, left: (charge * weight) % sum }))
    .toSorted((left, right) => right.left - left.left || left.index - right.index);
  for (const { index } of order.slice(0, rest)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}

const answered = (at: { seat: number; slot: string; costMicros: number }): Call[] => [
  { kind: 'begun', seat: at.seat, slot: at.slot },
  { kind: 'answer', ...at },
];

const cost = fc.option(fc.integer({ min: 0, max: 500 }), { nil: null, freq: 12 });
const slot = fc.constantFrom('opinion', 'opinion', 'review', 'draft', 'clawbacks');
const anyCall = (seats: number): fc.Arbitrary<readonly Call[]> => {
  const seat = fc.integer({ min: 0, max: seats - 1 });
  const end = fc.record({
    kind: fc.constantFrom('answer' as const, 'failure' as const, 'late' as const),
    costMicros: cost,
  });
  return fc
    .record({ seat, slot, lost: fc.boolean(), end: fc.option(end, { freq: 8 }) })
    .map(({ lost, end: ended, ...at }) => [
      { kind: 'begun', ...at },
      ...(lost ? [{ kind: 'lost' as const, ...at }] : []),
      ...(ended ? [{ ...ended, ...at }] : []),
    ]);
};

const anyRun: fc.Arbitrary<Omit<Run, 'runId'>> = fc.integer({ min: 1, max: 4 }).chain((seats) =>
  fc.record({
    userId: fc.constantFrom('usr_1', 'usr_2'),
    models: fc.array(fc.constantFrom('model-a', 'model-b', 'model-c'), {
      minLength: seats,
      maxLength: seats,
    }),
    calls: fc.array(anyCall(seats), { maxLength: 8 }).map((calls) => calls.flat()),
    closedAfter: fc.nat({ max: 8 }),
    ended: fc.option(
      fc
        .record({
          outcome: fc.constantFrom('Completed' as const, 'Failed' as const, 'Cancelled' as const),
          captured: fc.nat({ max: 40 }),
          part: fc.integer({ min: 0, max: 100 }),
        })
        .map(({ outcome, captured, part }) => ({
          outcome,
          captured,
          refunded: Math.floor((captured * part) / 100),
        })),
    ),
  }),
);

describe('the shares of a run', () => {
  test('the shares of a run follow the seats’ costs, sum to the charge, and do not depend on pages', async () => {
    await client.query(creditAnalytics.create('analytics_of_test'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRun, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat({ max: 60 }), { maxLength: 5 }),
        async (drawn, cuts) => {
          const runs = drawn.map((run, index) => ({ ...run, runId: `opt_${index}` }));
          await client.query('truncate analytics_of_test');
          for (const page of pages(runs.flatMap(eventsOf), cuts))
            await applyTo(client, creditAnalytics, 'analytics_of_test', page);
          const { rows } = await client.query<{ run_id: string; credits: (number | null)[] }>(
            `select run_id, json_agg(millicredits order by seat) as credits
             from analytics_of_test group by run_id order by run_id`,
          );
          expect(rows).toEqual(runs.map((run) => ({ run_id: run.runId, credits: sharesOf(run) })));
          const sums = await client.query<{ wrong: number }>(
            `select count(*)::integer as wrong from (
               select from analytics_of_test where charged is not null
               group by run_id, charged having sum(millicredits) <> charged * 1000) unequal`,
          );
          expect(sums.rows[0]?.wrong).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('the shares of a run are by cost: a seat that cost twice as much has twice the credits', async () => {
    await client.query(creditAnalytics.create('analytics_of_test'));
    const run: Run = {
      userId: 'usr_1',
      runId: 'opt_1',
      models: ['model-a', 'model-b', 'model-c'],
      calls: [
        ...answered({ seat: 0, slot: 'opinion', costMicros: 100 }),
        ...answered({ seat: 0, slot: 'review', costMicros: 100 }),
        ...answered({ seat: 1, slot: 'opinion', costMicros: 100 }),
        ...answered({ seat: 2, slot: 'draft', costMicros: 5000 }),
      ],
      closedAfter: 8,
      ended: { outcome: 'Completed', captured: 14, refunded: 2 },
    };
    await applyTo(client, creditAnalytics, 'analytics_of_test', eventsOf(run));
    const { rows } = await client.query(
      'select model, millicredits::integer from analytics_of_test',
    );
    expect(rows).toEqual([
      { model: 'model-a', millicredits: 8000 },
      { model: 'model-b', millicredits: 4000 },
      { model: 'model-c', millicredits: 0 },
    ]);
  });

  test('a cheap run leaves no model that answered without a share, and a dead seat has none', async () => {
    await client.query(creditAnalytics.create('analytics_of_test'));
    const alive = [0, 1, 2, 3, 4].flatMap((seat) =>
      answered({ seat, slot: 'opinion', costMicros: 100 }),
    );
    const run: Run = {
      userId: 'usr_1',
      runId: 'opt_1',
      models: ['a', 'b', 'c', 'd', 'e', 'dead'].map((name) => `model-${name}`),
      calls: [
        ...alive,
        { kind: 'begun', seat: 5, slot: 'opinion' },
        { kind: 'failure', seat: 5, slot: 'opinion', costMicros: null },
      ],
      closedAfter: 99,
      ended: { outcome: 'Completed', captured: 2, refunded: 0 },
    };
    await applyTo(client, creditAnalytics, 'analytics_of_test', eventsOf(run));
    const { rows } = await client.query<{ millicredits: number }>(
      'select millicredits::integer from analytics_of_test order by seat',
    );
    expect(rows.map(({ millicredits }) => millicredits)).toEqual([400, 400, 400, 400, 400, 0]);
  });
});

const namesOf = (model: string) =>
  model === 'model-a' ? { name: 'Model A', maker: 'A Maker' } : { name: model, maker: null };

const closedRun = (runId: string, outcome: 'Completed' | 'Failed', refunded: number): Run => ({
  userId: 'usr_1',
  runId,
  models: ['model-a', 'model-b'],
  calls: [
    ...answered({ seat: 0, slot: 'opinion', costMicros: 300 }),
    ...answered({ seat: 1, slot: 'opinion', costMicros: 100 }),
  ],
  closedAfter: 4,
  ended: { outcome, captured: 14, refunded },
});

describe('analytics', () => {
  test('analytics show the months, the models and what a completed run costs', async () => {
    const runs = [
      closedRun('opt_1', 'Completed', 0),
      closedRun('opt_2', 'Completed', 7),
      closedRun('opt_3', 'Failed', 7),
    ];
    for (const each of runs)
      await applyTo(client, creditAnalytics, 'credit_analytics', eventsOf(each));

    const bus = createBus();
    bus.send('grant', {
      type: 'Grant',
      lotId: 'lot_1',
      credits: 100,
      source: 'other',
      paidMinor: null,
      currency: null,
      paymentKey: null,
      grantedAt: '2026-09-01T00:00:00.000Z',
      reason: 'operator',
    });
    for (const { runId, ended } of runs) {
      bus.send(`reserve ${runId}`, {
        type: 'Reserve',
        runId,
        credits: 14,
        month: '2026-11',
        limit: -1,
      });
      bus.send(`settle ${runId}`, {
        type: 'Settle',
        runId,
        settlement: { kind: 'capture', capture: 14, refund: ended?.refunded ?? 0 },
      });
    }
    // The last moment of a month, the first of the next, and the present one.
    const times = [
      '2026-08-31T23:59:59.999Z',
      '2026-09-01T00:00:00.000Z',
      '2026-11-20T08:00:00.000Z',
    ];
    const settled = stored('usr_1', bus.log).map((event) => {
      const { runId } = event.message_data as { runId?: string };
      const which = runs.findIndex((each) => each.runId === runId);
      return { ...event, message_metadata: { occurredAt: times[which] ?? times[0] ?? '' } };
    });
    await applyTo(client, creditAccountTable, 'credit_account', settled);
    await applyTo(client, creditHistory, 'credit_history', settled);

    const now = new Date('2026-11-20T12:00:00.000Z');
    const analytics = await readAnalytics(client, 'usr_1', now, namesOf);
    expect(v.parse(v.omit(CreditAnalytics, ['as_of']), analytics)).toEqual(analytics);
    expect(analytics).toMatchObject({
      monthly_consumption: 7,
      average_cost_per_optimization: 10.5,
      completed_optimizations: 2,
      total_consumed: 28,
      most_used_models: [
        { model: 'model-a', name: 'Model A', total_credits: 21, millicredits: 21_000 },
        { model: 'model-b', name: 'model-b', total_credits: 7, millicredits: 7000 },
      ],
    });
    expect(analytics.models[0]).toEqual({
      model: 'model-a',
      name: 'Model A',
      maker: 'A Maker',
      simulated: false,
      calls: 3,
      answers: 3,
      input_tokens: 300,
      output_tokens: 90,
      cost: 0.0009,
      cost_is_minimum: false,
      millicredits: 21_000,
    });
    expect(analytics.consumption_by_day).toHaveLength(90);
    expect(analytics.consumption_by_day.at(-1)).toEqual({ day: '2026-11-20', credits: 7 });
    expect(analytics.consumption_by_day.at(-2)).toEqual({ day: '2026-11-19', credits: 0 });
    expect(analytics.consumption_by_month).toHaveLength(12);
    expect(analytics.consumption_by_month[0]).toEqual({ month: '2025-12', credits: 0 });
    expect(analytics.consumption_by_month.slice(-4)).toEqual([
      { month: '2026-08', credits: 14 },
      { month: '2026-09', credits: 7 },
      { month: '2026-10', credits: 0 },
      { month: '2026-11', credits: 7 },
    ]);
  });

  test('analytics of a user without runs are null where nothing is known', async () => {
    expect(
      await readAnalytics(client, 'usr_nobody', new Date('2026-01-31T12:00:00Z'), namesOf),
    ).toMatchObject({
      monthly_consumption: 0,
      average_cost_per_optimization: null,
      completed_optimizations: 0,
      total_consumed: 0,
      most_used_models: [],
      models: [],
    });
  });
});
