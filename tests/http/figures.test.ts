import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startListening } from '#db/listen.ts';
import { projections } from '#projections/index.ts';
import { startProjectionRunner } from '#projections/engine/run.ts';
import type { CreditAnalytics, ModelCosts } from '#services/credits/contract.ts';
import type { Profile } from '#services/identity/contract.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { DashboardStats, Usage } from '#services/optimizations/contract/panel.ts';
import { percentageOf } from '#services/optimizations/usage.ts';
import { newId } from '#services/platform/ids.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';

const { models, priceOf } = loadCatalogue(null);

const now = Date.parse('2026-11-22T12:00:00.000Z');
let app: TestApp;

beforeAll(async () => {
  app = await createTestApp({ clock: () => now });
});
afterAll(async () => app.close());

async function give(userId: string, source: 'bonus' | 'other', credits: number): Promise<void> {
  const commandId = crypto.randomUUID();
  const gift = { userId, credits, source, reason: 'operator', actor: 'test', commandId } as const;
  await app.core.ledger.give(gift);
}

async function hold(userId: string): Promise<string> {
  const runId = newId('opt');
  const { ledger } = app.core;
  await ledger.reserve({
    userId,
    runId,
    credits: 5,
    month: '2026-11',
    limit: 5,
    actor: userId,
  });
  return runId;
}

/** Runs the projections until they have caught up. */
async function catchUp(person: Person): Promise<void> {
  const listener = startListening({ url: app.database.appUrl });
  const { pool } = app.core;
  const wake = listener.onWake;
  const runner = startProjectionRunner({ url: app.database.appUrl, pool, projections, wake });
  const asked = await databaseTime();
  await expect
    .poll(async () => (await figuresOf(person)).usage.as_of >= asked, { timeout: 30_000 })
    .toBe(true);
  await runner.close();
  await listener.close();
}

async function databaseTime(): Promise<string> {
  const { rows } = await app.core.pool.query<{ at: Date }>('select clock_timestamp() as at');
  return rows[0]?.at.toISOString() ?? '';
}

async function figuresOf({ token }: Person) {
  const [usage, stats, profile] = await Promise.all([
    app.data<Usage>('/optimizations/usage', { token }),
    app.data<DashboardStats>('/users/me/stats', { token }),
    app.data<Profile>('/users/me', { token }),
  ]);
  return { usage, stats, profile };
}

describe('usage', () => {
  test('usage counts the month’s holds without the released ones, says what the limit blocks, and agrees with stats and profile', async () => {
    const person = await app.signUp();
    await give(person.userId, 'bonus', 5);
    await hold(person.userId);
    await give(person.userId, 'other', 10);
    await hold(person.userId);
    const released = await hold(person.userId);
    await app.core.ledger.settle({
      userId: person.userId,
      runId: released,
      settlement: { kind: 'release' },
      actor: person.userId,
    });
    await catchUp(person);
    const { usage, stats, profile } = await figuresOf(person);
    expect(usage).toEqual({
      current_month: 2,
      limit: 5,
      percentage: 20,
      month: '2026-11',
      resets_at: '2026-12-01T00:00:00.000Z',
      bonus_used: 1,
      can_block: false,
      as_of: usage.as_of,
    });
    for (const answer of [stats, profile])
      expect(answer).toMatchObject({
        optimizations_used: usage.current_month,
        optimizations_limit: usage.limit,
      });
  });

  test('the limit can block a run only where bonus credits would have to pay for it', async () => {
    const person = await app.signUp();
    const canBlock = async () => (await figuresOf(person)).usage.can_block;
    // Without credits the balance blocks, not the limit.
    expect(await canBlock()).toBe(false);
    await give(person.userId, 'bonus', 30);
    expect(await canBlock()).toBe(true);
    // More than the dearest run costs, whatever the bonus credits are.
    await give(person.userId, 'other', 200);
    expect(await canBlock()).toBe(false);

    const paid = await app.signUp();
    await give(paid.userId, 'other', 30);
    for (let run = 0; run < 5; run += 1) await hold(paid.userId);
    await catchUp(paid);
    expect((await figuresOf(paid)).usage).toMatchObject({
      current_month: 5,
      percentage: 0,
      can_block: false,
    });
  });

  test('usage says up to when it is complete, and claims nothing beyond that', async () => {
    const person = await app.signUp();
    const before = await databaseTime();
    await give(person.userId, 'other', 10);
    await hold(person.userId);
    const after = await databaseTime();
    const behind = await figuresOf(person);
    expect(behind.usage).toMatchObject({ current_month: 0, percentage: 0 });
    expect(behind.usage.as_of >= before && behind.usage.as_of <= after).toBe(true);
    expect(behind.stats.as_of).toBe(behind.usage.as_of);
    await catchUp(person);
    const current = await figuresOf(person);
    expect(current.usage).toMatchObject({ current_month: 1, percentage: 0 });
    expect(current.usage.as_of > after).toBe(true);
    const analytics = await app.data<CreditAnalytics>('/credits/analytics', person);
    expect(analytics.as_of > after).toBe(true);
  });

  test('the usage share is unknown without a limit, and never above 100 %', () => {
    expect([
      percentageOf(7, -1),
      percentageOf(0, 0),
      percentageOf(7, 5),
      percentageOf(999, 1000),
    ]).toEqual([null, 100, 100, 99]);
  });
});

test('the success rate is a share of completed and failed runs, and unknown before the first', async () => {
  const person = await app.signUp();
  const unknown = await app.data<DashboardStats>('/users/me/stats', person);
  expect(unknown).toMatchObject({ success_rate: null, average_cost_per_optimization: null });
  await app.database.ownerPool.query(
    `insert into credit_analytics
       (user_id, run_id, seat, model, simulated, calls, answers, input_tokens, output_tokens,
        cost_micros, unpriced_calls, unpriced_answers, refinement, outcome, charged, millicredits)
     select $1, run_id, seat, model, false, 1, 1, 0, 0, 0, 0, 0, false, outcome, charged, 0
     from (values ('opt_1', 'completed', 14), ('opt_2', 'completed', 7), ('opt_3', 'failed', 7),
       ('opt_4', 'cancelled', 0), ('opt_5', null, null)) run (run_id, outcome, charged)
     cross join (values ('S1', 'model-a'), ('R1', 'model-b')) seat (seat, model)`,
    [person.userId],
  );
  expect(await app.data<DashboardStats>('/users/me/stats', person)).toMatchObject({
    success_rate: 2 / 3,
    completed_optimizations: 2,
    failed_optimizations: 1,
    average_cost_per_optimization: 10.5,
  });
});

test('the cost of answers is shown from 20 answers in 90 days, with simulated ones apart', async () => {
  const [few, enough, played] = models;
  if (!few || !enough || !played) throw new Error('The catalogue has three models');
  await app.database.ownerPool.query(
    `insert into model_costs (model, simulated, day, call, answers, cost_micros) values
       ($1, false, '2026-11-22', '', 19, 1900),
       ($1, false, '2026-08-23', '', 500, 999999),
       ($2, false, '2026-08-24', '', 19, 1900),
       ($2, false, '2026-11-22', '', 1, 300),
       ($3, true, '2026-11-22', '', 40, 80),
       ($3, false, '2026-11-22', 'opt_1 opinion.S1 1', 0, 0)`,
    [few.id, enough.id, played.id],
  );
  const costs = await app.data<ModelCosts>('/credits/model-costs');
  expect(costs.models.map(({ id }) => id)).toEqual(models.map(({ id }) => id));
  const price = priceOf(enough.id, new Date(now).toISOString());
  const none = { answers: null, average_cost: null };
  expect(costs.models.slice(0, 3)).toMatchObject([
    { id: few.id, ...none, simulated: none },
    {
      id: enough.id,
      name: enough.displayName,
      provider: enough.provider,
      input_price: price?.inputPerMTok,
      output_price: price?.outputPerMTok,
      answers: 20,
      average_cost: 0.00011,
      simulated: none,
    },
    { id: played.id, ...none, simulated: { answers: 40, average_cost: 0.000002 } },
  ]);
});
