import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OutcomeFigures } from '#services/optimizations/contract/outcomes.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';

let council: TestCouncil;
let person: Person;
let run: Optimization;

beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId,
    credits: 10,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(person.userId, 'figures'),
  });
  run = await council.ask(person, { challenge: 'Lease or buy the van?', strategy: 'fast' });
});
afterAll(async () => council.close());

type Said = { asked: 30 | 90; happened: string; daysAgo?: number };

/** A customer who shares and has said what came of a result, or what misses one of the conditions. */
async function addContributor({
  said = [{ asked: 30, happened: 'better' }],
  score = 85,
  shares = true,
  byBonus = false,
  simulated = 0,
}: {
  said?: readonly Said[];
  score?: number | null;
  shares?: boolean;
  byBonus?: boolean;
  simulated?: number;
} = {}): Promise<void> {
  const { ownerPool } = council.database;
  const [userId, runId] = [newId('usr'), newId('opt')];
  await ownerPool.query(
    `insert into users (id, email, name, shares_statistics_since)
     values ($1, $1 || '@example.com', 'A Person',
       case when $2 then now() - interval '30 days' end)`,
    [userId, shares],
  );
  await ownerPool.query(
    `insert into paid_lot (lot_id, user_id, purchase_id, payment_key, package_id, credits, paid_minor,
       currency, granted_at)
     values ($1, $1, $1, $1, 'opportunity-finder', 10, 500, 'usd', now() - interval '60 days')`,
    [userId],
  );
  await ownerPool.query(
    `insert into optimization_list
     select (jsonb_populate_record(run, jsonb_build_object('run_id', $2::text, 'user_id', $1::text,
       'agreement_score', $4::integer, 'simulated_seats', $5::integer))).*
     from optimization_list run where run.run_id = $3`,
    [userId, runId, run.id, score, simulated],
  );
  await ownerPool.query(
    `insert into run_usage (user_id, run_id, month, by_bonus, released)
     values ($1, $2, '2020-01', $3, false)`,
    [userId, runId, byBonus],
  );
  for (const { asked, happened, daysAgo = 10 } of said)
    await ownerPool.query(
      `insert into run_outcome (run_id, asked, happened, result_id, recorded_at)
       values ($1, $2, $3, $1, $4)`,
      [runId, asked, happened, new Date(Date.now() - daysAgo * 86_400_000).toISOString()],
    );
}

const times = async (count: number, of: Parameters<typeof addContributor>[0] = {}) => {
  for (let number = 0; number < count; number += 1) await addContributor(of);
};
const figures = async () =>
  council.data<OutcomeFigures>('/optimizations/outcomes', { token: person.token });
const newWeek = async () =>
  council.database.ownerPool.query(`update community_figures set week = '2020-01-06'`);
const strong = async () => (await figures()).bands.find(({ band }) => band === 'strong');

test('a band has a share and its interval from 30 outcomes of customers who share, once a week', async () => {
  const empty = await figures();
  expect(empty.least).toBe(30);
  expect(empty.bands).toEqual(
    ['strong', 'majority', 'contested', 'split', 'none'].map((band) => ({
      band,
      outcomes: 0,
      share: null,
      interval: null,
    })),
  );
  await times(26);
  await times(3, { said: [{ asked: 30, happened: 'worse' }] });
  // Within the week nothing moves.
  expect(await figures()).toEqual(empty);
  await newWeek();
  expect(await strong()).toEqual({ band: 'strong', outcomes: 20, share: null, interval: null });

  const misses: Parameters<typeof addContributor>[0][] = [
    { shares: false },
    { byBonus: true },
    { simulated: 1 },
    { said: [{ asked: 30, happened: 'too_early' }] },
    { said: [{ asked: 30, happened: 'better', daysAgo: 0 }] },
    { score: 70 },
  ];
  for (const miss of misses) await times(2, miss);
  await newWeek();
  expect(await strong()).toMatchObject({ outcomes: 20, share: null });

  await times(1, {
    said: [
      { asked: 30, happened: 'better', daysAgo: 70 },
      { asked: 90, happened: 'too_early' },
    ],
  });
  await newWeek();
  const full = await strong();
  expect(full).toMatchObject({ outcomes: 30, share: 0.9 });
  expect(full?.interval?.low).toBeCloseTo(0.7438, 4);
  expect(full?.interval?.high).toBeCloseTo(0.9654, 4);
}, 60_000);

test('of both days the later answer counts, unless it says nothing yet', async () => {
  await council.database.ownerPool.query('delete from run_outcome');
  await times(15, {
    said: [
      { asked: 30, happened: 'better', daysAgo: 70 },
      { asked: 90, happened: 'worse' },
    ],
  });
  await times(15, {
    said: [
      { asked: 30, happened: 'too_early', daysAgo: 70 },
      { asked: 90, happened: 'as_expected' },
    ],
  });
  await newWeek();
  expect(await strong()).toMatchObject({ outcomes: 30, share: 0.5 });
}, 60_000);
