import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { costMicros } from '#services/models/catalogue/prices.ts';
import { modelsOf } from '#services/models/strategies.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent, Schedule } from '#services/optimizations/run/events.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import type { Person } from '#tests/support/app.ts';

const catalogue = loadCatalogue(null);
const { strategies } = catalogue;

/** Whole runs through the real SDKs, against the sandbox in this process. */
const question = {
  challenge: 'Should I sell my course as a subscription, or keep the one-time price?',
  objectives: ['A steadier income by next spring'],
  constraints: ['No more than five hours a week'],
  challenge_type: 'product',
};

async function rich(council: TestCouncil, credits = 1000): Promise<Person> {
  const person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId,
    credits,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(person.userId, 'rich'),
  });
  return person;
}

/** How the models behave in a test; models without an entry answer. */
const personas: Record<string, Persona> = {};
let council: TestCouncil;
let person: Person;

beforeAll(async () => {
  council = await createTestCouncil({ personas });
});
beforeEach(async () => {
  for (const model of Object.keys(personas)) delete personas[model];
  person = await rich(council);
});
afterAll(async () => council.close());

async function schedule(runId: string): Promise<Schedule> {
  const { events } = await council.core.readStream(streamOf(runId));
  const [created] = events.map(runEventOf);
  if (created?.type !== 'OptimizationCreated') throw new Error('There is no run');
  return created.data.schedule;
}

function startOf(events: readonly OptimizationEvent[], slot: string) {
  const start = events.find((event) => event.type === 'CallStarted' && event.data.slot === slot);
  if (start?.type !== 'CallStarted') throw new Error(`${slot} did not start`);
  return start.data;
}

/** Of a page with a checked draft; the seed decides which. */
const heading = /^(?:recommendation|no_majority|undecidable)$/;

describe('a run whose models answer', () => {
  test.each(strategies.map((strategy) => [strategy.id, strategy.credits] as const))(
    'a run of %s completes, is charged %d credits and owns a decision',
    async (strategy, credits) => {
      const run = await council.ask(person, { ...question, strategy });
      expect(run).toMatchObject({
        status: 'completed',
        progress: 100,
        simulated: true,
        credits: { charged: credits, refunded: 0, settlement: 'settled' },
        result: { heading: expect.stringMatching(heading), verified: 'two' },
        degraded: null,
      });
      expect(run.result?.decision.length).toBeGreaterThan(20);
      expect(run.models.every((model) => model.status === 'completed')).toBe(true);
      expect(run.models.every((model) => model.costCents !== null)).toBe(true);
      // Confidence rests on a seat's claims: one without a claim in the ledger has none.
      const authors = new Set(
        Object.values(run.council.ledger?.claims ?? {}).flatMap((claim) => claim.authors),
      );
      for (const { seat, confidence } of run.models)
        expect([seat, confidence !== null]).toEqual([seat, authors.has(seat)]);
      expect(run.evolution.bias?.agreement_score).not.toBeUndefined();
      expect(run.cost).toBeGreaterThan(0);
      const balance = await council.data<Balance>('/credits/balance', { token: person.token });
      expect(balance).toMatchObject({ reserved_credits: 0, available_credits: 1000 - credits });
      const { rows } = await council.core.pool.query<{ version: number; class: string }>(
        `select strategy_version as version, provider_class as class from optimization_list
         where run_id = $1`,
        [run.id],
      );
      expect(rows).toEqual([{ version: catalogue.strategyOf(strategy)?.version, class: 'vendor' }]);
    },
  );

  test.each([
    ['the prices that it stores', 2, "jsonb_set(message_data, '{schedule,prices}', $2)"],
    ['the catalogue when it is of v0.1', 1, "message_data #- '{schedule,prices}' #- $2"],
  ])('a run is priced by %s', async (_by, factor, changed) => {
    const body = { ...question, strategy: 'fast' };
    const { id } = await council.data<Optimization>('/optimizations', {
      token: person.token,
      body,
    });
    const given = await schedule(id);
    expect(new Set(Object.keys(given.prices ?? {}))).toEqual(
      new Set(modelsOf(catalogue.strategyOf('fast')!)),
    );
    expect(given.maxOutputTokens).toBe(8000);
    const doubled = Object.entries(given.prices ?? {}).map(([model, rows]) => [
      model,
      rows.map((row) => ({
        ...row,
        inputPerMTok: row.inputPerMTok * 2,
        cachedInputPerMTok: row.cachedInputPerMTok === null ? null : row.cachedInputPerMTok * 2,
        outputPerMTok: row.outputPerMTok * 2,
      })),
    ]);
    await council.database.ownerPool.query(
      `update emt_messages set message_data = ${changed}
       where stream_id = $1 and stream_position = 1`,
      [streamOf(id), factor === 1 ? '{schedule,maxOutputTokens}' : Object.fromEntries(doubled)],
    );
    await council.data(`/optimizations/${id}/process`, { method: 'POST', token: person.token });
    expect((await council.ended(person, id)).status).toBe('completed');
    const { events } = await council.core.readStream(streamOf(id));
    const calls = events.map(runEventOf).filter((event) => event.type === 'CallSucceeded');
    expect(calls.length).toBeGreaterThan(15);
    for (const { data } of calls) {
      const { model, startedAt } = startOf(events.map(runEventOf), data.slot);
      const single = costMicros(data.usage, catalogue.priceOf(model, startedAt)) ?? 0;
      expect(Math.abs((data.costMicros ?? 0) - single * factor)).toBeLessThanOrEqual(factor - 1);
    }
    const { out } = await runHere(council, optimizationCommands, ['optimizations', 'verify', id]);
    expect(out).toContain(
      factor === 1
        ? 'costs were not checked: prices not stored with this run'
        : 'ok   cost in micro-dollars',
    );
    const faults = out.split('\n').filter((line) => line.startsWith('NOT '));
    // The test itself broke the chain.
    expect(faults).toEqual([expect.stringContaining('hash chain')]);
  });

  test('the same question and strategy draw the same council', async () => {
    const one = await council.ask(person, { ...question, strategy: 'fast' });
    const other = await council.ask(person, { ...question, strategy: 'fast' });
    expect(one.result).toEqual(other.result);
    expect(one.evolution.bias).toEqual(other.evolution.bias);
  });
});

describe('a run whose models fail', () => {
  test('providers that are unavailable for a moment cost a run no seat and no credit', async () => {
    const [run] = await Promise.all([
      council.ask(person, { ...question, strategy: 'balanced' }),
      council.outage(1_500),
    ]);
    expect(run).toMatchObject({
      status: 'completed',
      credits: { charged: 14, refunded: 0 },
      result: { heading: expect.stringMatching(heading), verified: 'two' },
    });
    expect(run.models.map((model) => model.status)).toEqual(run.models.map(() => 'completed'));
  });

  test('a dead model is named, its share comes back, and the run completes without it', async () => {
    Object.assign(personas, { 'gemini-3.8-flash': 'dead', 'gpt-6-luna': '429-then-ok' });
    // A model is rate limited on its first call.
    const challenge = 'Should I sell my course to companies, too?';
    const run = await council.ask(person, { ...question, challenge, strategy: 'balanced' });
    expect(run.status).toBe('completed');
    expect(run.models.find((model) => model.name === 'Gemini 3.8 Flash')).toMatchObject({
      status: 'failed',
      reason: "The provider doesn't offer this model",
    });
    // 14 × 1 / 7, rounded in the user's favour.
    expect(run.credits).toMatchObject({ charged: 12, refunded: 2 });
    expect(run.degraded).toEqual({
      answered: 6,
      paid_for: 7,
      missing: [
        { seat: 'I1', name: 'Gemini 3.8 Flash', why: "The provider doesn't offer this model" },
      ],
      declined: 0,
      strongest_missing: false,
      refunded: 2,
    });
    expect(run.council.calls['opinion.I2']?.attempts['1']).toMatchObject({
      status: 'failed',
      failure: 'rate_limited',
      final: false,
    });
    expect(run.evolution.bias?.uncertainty_factors.map((factor) => factor.text)).toContain(
      'Not every model answered.',
    );
  });

  test('a run with too few answers fails, returns half of the price, and says why', async () => {
    Object.assign(personas, {
      'gpt-6.1-terra': 'dead',
      'claude-sonnet-5-5': 'refusal',
      'gemini-4-hydrogen': 'malformed',
    });
    const run = await council.ask(person, { ...question, strategy: 'balanced' });
    expect(run).toMatchObject({
      status: 'failed',
      result: null,
      ended_because: 'Too few models gave an answer that could be used.',
      credits: { charged: 7, refunded: 7 },
    });
  });

  test('a run whose written answers cannot be used returns half of the price', async () => {
    const models = (strategies.find((one) => one.id === 'balanced')?.panel ?? []).map(
      ({ model }, index) => [model, index % 2 === 0 ? 'malformed' : 'truncated'] as const,
    );
    Object.assign(personas, Object.fromEntries(models));
    const run = await council.ask(person, { ...question, strategy: 'balanced' });
    expect(run).toMatchObject({
      status: 'failed',
      ended_because: 'No model gave an answer that could be used.',
      credits: { charged: 7, refunded: 7 },
    });
    expect(Math.max(...run.models.map(({ attempt }) => attempt))).toBe(2);
  });

  test('a run without any answer returns everything', async () => {
    const dead = Object.fromEntries(
      (strategies.find((one) => one.id === 'balanced')?.panel ?? []).map((seat) => [
        seat.model,
        'dead' as const,
      ]),
    );
    Object.assign(personas, dead);
    const poor = await rich(council, 14);
    const run = await council.ask(poor, { ...question, strategy: 'balanced' });
    expect(run).toMatchObject({ status: 'failed', credits: { charged: 0, refunded: 0 } });
    const balance = await council.data<Balance>('/credits/balance', { token: poor.token });
    expect(balance).toMatchObject({ available_credits: 14, total_consumed: 0 });
  });

  test('an answer that instructs its reviewers is left out of the vote, and named', async () => {
    Object.assign(personas, { 'claude-haiku-5-5': 'injection' });
    const run = await council.ask(person, { ...question, strategy: 'balanced' });
    expect(run.status).toBe('completed');
    expect(run.models.find((model) => model.seat === 'R2')).toMatchObject({
      status: 'excluded',
      reason: expect.stringContaining('tried to instruct the reviewers') as string,
    });
    expect(run.credits.refunded).toBe(0);
  });

  test('without extractors the council votes on unmerged claims and is not scored', async () => {
    Object.assign(personas, { 'gpt-5.6-luna': 'dead', 'gemini-3.1-flash-lite': 'malformed' });
    const run = await council.ask(person, { ...question, strategy: 'balanced' });
    expect(run.status).toBe('completed');
    expect(run.evolution.bias).toMatchObject({
      agreement_score: null,
      agreement_note: "No score: the claims couldn't be collected",
    });
    expect(Object.values(run.council.ledger?.claims ?? {}).length).toBeGreaterThan(0);
  });
});
