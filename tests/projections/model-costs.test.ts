import fc from 'fast-check';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { modelCosts, readAnswerCosts } from '#projections/model-costs.ts';
import { applyTo, pages, useRolledBackClient } from '#tests/credits/tables.ts';
import type { StoredEvent } from '#tests/credits/tables.ts';

let client: pg.PoolClient;
useRolledBackClient((given) => (client = given));

const days = ['2026-11-20', '2026-11-21', '2026-11-22'] as const;
const models = ['model-a', 'model-b'] as const;
type End = 'open' | 'answered' | 'failed' | 'lost' | 'lost and priced';
type Call = {
  run: number;
  model: (typeof models)[number];
  simulated: boolean;
  day: (typeof days)[number];
  slot: 'opinion' | 'review';
  end: End;
  costMicros: number | null;
};

const anyCall: fc.Arbitrary<Call> = fc.record({
  run: fc.nat({ max: 2 }),
  model: fc.constantFrom(...models),
  simulated: fc.boolean(),
  day: fc.constantFrom(...days),
  slot: fc.constantFrom('opinion' as const, 'opinion' as const, 'review' as const),
  end: fc.constantFrom<End>('open', 'answered', 'answered', 'failed', 'lost', 'lost and priced'),
  costMicros: fc.option(fc.integer({ min: 0, max: 500 }), { nil: null, freq: 5 }),
});

/** The calls of each run: all begin, then each ends. A call's index is its seat. */
function eventsOf(calls: readonly Call[]): StoredEvent[] {
  return [0, 1, 2].flatMap((run) => {
    const own = calls.map((call, seat) => ({ ...call, seat })).filter((call) => call.run === run);
    const at = ({ slot, seat }: { slot: string; seat: number }) => ({
      slot: `${slot}.S${seat}`,
      attempt: 1,
    });
    const begun = own.map((call) => ({
      type: 'CallStarted',
      data: {
        ...at(call),
        model: call.model,
        simulated: call.simulated,
        startedAt: `${call.day}T23:59:59.999Z`,
      },
    }));
    const ended = own.flatMap((call): { type: string; data: Record<string, unknown> }[] => {
      const { end, costMicros } = call;
      if (end === 'open') return [];
      if (end === 'answered') return [{ type: 'CallSucceeded', data: { ...at(call), costMicros } }];
      if (end === 'failed') return [{ type: 'CallFailed', data: { ...at(call), costMicros } }];
      const lost = { type: 'CallLost', data: { ...at(call), final: true } };
      const priced = { type: 'CallCostRecorded', data: { ...at(call), costMicros, lost: true } };
      return end === 'lost' ? [lost] : [lost, priced];
    });
    return [...begun, ...ended].map(({ type, data }, index) => ({
      stream_id: `optimization-opt_${run}`,
      stream_position: index + 1,
      message_id: `${run}-${index}`,
      message_type: type,
      message_data: data,
      message_metadata: { occurredAt: '2026-11-23T00:00:00.000Z' },
    }));
  });
}

test('sums are of answers whose cost is known, per model and day of the call, however the log comes in pages', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCall, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat({ max: 40 }), { maxLength: 5 }),
      async (calls, cuts) => {
        await client.query('truncate model_costs');
        for (const page of pages(eventsOf(calls), cuts))
          await applyTo(client, modelCosts, 'model_costs', page);
        for (const since of days) {
          const counted = calls.filter(
            ({ slot, end, costMicros, day }) =>
              slot === 'opinion' && end === 'answered' && costMicros !== null && day >= since,
          );
          const expected = models.flatMap((model) =>
            [false, true].flatMap((simulated) => {
              const own = counted.filter(
                (call) => call.model === model && call.simulated === simulated,
              );
              const costMicros = own.reduce((sum, call) => sum + (call.costMicros ?? 0), 0);
              return own.length === 0
                ? []
                : [{ model, simulated, answers: own.length, costMicros }];
            }),
          );
          expect(await readAnswerCosts(client, since)).toEqual(expected);
        }
        const { rows } = await client.query<{ call: string }>(
          `select call from model_costs where call <> '' order by call`,
        );
        const open = calls.flatMap(({ slot, end, run }, seat) =>
          slot === 'opinion' && end === 'open' ? [`opt_${run} opinion.S${seat} 1`] : [],
        );
        expect(rows.map(({ call }) => call)).toEqual(open.toSorted());
      },
    ),
    { numRuns: 150 },
  );
});
