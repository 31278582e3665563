import fc from 'fast-check';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { readMonthUsage, runUsage } from '#projections/run-usage.ts';
import { applyTo, pages, useRolledBackClient } from '#tests/credits/tables.ts';
import type { StoredEvent } from '#tests/credits/tables.ts';

let client: pg.PoolClient;
useRolledBackClient((given) => (client = given));

const people = ['usr_1', 'usr_2'] as const;
const months = ['2026-10', '2026-11'] as const;
type Run = {
  userId: (typeof people)[number];
  month: (typeof months)[number];
  byBonus: boolean;
  end: 'open' | 'captured' | 'released';
};

const anyRun: fc.Arbitrary<Run> = fc.record({
  userId: fc.constantFrom(...people),
  month: fc.constantFrom(...months),
  byBonus: fc.boolean(),
  end: fc.constantFrom('open' as const, 'captured' as const, 'released' as const),
});

/** Each person's stream: all holds first, then all ends, the ends in the month after. */
function eventsOf(runs: readonly Run[]): StoredEvent[] {
  return people.flatMap((userId) => {
    const own = runs.map((run, index) => ({ ...run, runId: `opt_${index}` }));
    const theirs = own.filter((run) => run.userId === userId);
    const holds = theirs.map(({ runId, month, byBonus }) => ({
      type: 'CreditsReserved',
      data: { runId, credits: 14, allocations: [], bonusMonth: byBonus ? month : null },
      occurredAt: `${month}-30T23:59:59.999Z`,
    }));
    const ends = theirs
      .filter(({ end }) => end !== 'open')
      .map(({ runId, end }) => ({
        type: end === 'released' ? 'CreditsReleased' : 'CreditsCaptured',
        data: { runId, credits: 14, byLot: [] },
        occurredAt: '2026-12-01T00:00:00.000Z',
      }));
    return [...holds, ...ends].map(({ type, data, occurredAt }, index) => ({
      stream_id: `credits-${userId}`,
      stream_position: index + 1,
      message_id: `${userId}-${index}`,
      message_type: type,
      message_data: data,
      message_metadata: { occurredAt },
    }));
  });
}

test('a run counts in the month of its hold until it is released, however the log comes in pages', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRun, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat({ max: 40 }), { maxLength: 5 }),
      async (runs, cuts) => {
        await client.query('truncate run_usage');
        for (const page of pages(eventsOf(runs), cuts))
          await applyTo(client, runUsage, 'run_usage', page);
        for (const userId of people)
          for (const month of [...months, '2026-12']) {
            const counted = runs.filter(
              (run) => run.userId === userId && run.month === month && run.end !== 'released',
            );
            expect(await readMonthUsage(client, userId, month)).toEqual({
              runs: counted.length,
              byBonus: counted.filter((run) => run.byBonus).length,
            });
          }
      },
    ),
    { numRuns: 150 },
  );
});

test('the month of a bonus is the one that the limit was counted in', async () => {
  const [event] = eventsOf([{ userId: 'usr_1', month: '2026-10', byBonus: true, end: 'open' }]);
  if (!event) throw new Error('There is a hold');
  // The account's time never runs backwards: a decision of one month may be written in the next.
  const late = { ...event, message_metadata: { occurredAt: '2026-11-01T00:00:00.000Z' } };
  await applyTo(client, runUsage, 'run_usage', [late]);
  expect(await readMonthUsage(client, 'usr_1', '2026-10')).toEqual({ runs: 1, byBonus: 1 });
  expect(await readMonthUsage(client, 'usr_1', '2026-11')).toEqual({ runs: 0, byBonus: 0 });
});
