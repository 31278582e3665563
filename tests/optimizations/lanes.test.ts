import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { modelsOf } from '#services/models/strategies.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { createReadLanes, readLatencies } from '#services/optimizations/lanes.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';

/** An installation whose models all answer at one endpoint that takes four calls at a time. */
const models = modelsOf(loadCatalogue(null).strategyOf('balanced')!);
let app: TestApp;
let person: Person;

beforeAll(async () => {
  app = await createTestApp({
    env: { OPENAI_COMPATIBLE_ENDPOINTS: `lab|http://127.0.0.1:1|key|${models.join(',')}|4` },
  });
  person = await app.signUp();
  await give(app, person.userId, 100);
});
afterEach(async () => {
  await app.database.ownerPool.query(`delete from optimization_list where user_id = 'usr_past'`);
});
afterAll(async () => app.close());

type Calls = {
  /** Distinguishes the runs of a test. */
  name: string;
  runs: number;
  provider?: string;
  simulated?: boolean;
  daysAgo?: number;
  end?: 'CallSucceeded' | 'CallFailed';
  /** Milliseconds of each call. */
  latencyMs: number;
};

/** Runs of the past, each with ten calls of one provider: their rows in the list, and their events. */
async function past(calls: Calls): Promise<void> {
  const { name, runs, latencyMs } = calls;
  const { provider = 'lab', simulated = false, daysAgo = 1, end = 'CallSucceeded' } = calls;
  const startedAt = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  await app.database.ownerPool.query(
    `insert into optimization_list (run_id, user_id, status, stage, answered, missing_seats, strategy,
       challenge_type, price, unpriced_calls, seats, simulated_seats, title, challenge, created_at,
       started_at, renamed, hidden, version)
     select 'opt_' || $1 || number, 'usr_past', 'completed', 'closed', 7, 0, 'balanced', 'other', 14, 0,
       7, $3, '', '', $4, $4, false, false, 20
     from generate_series(1, $2) number`,
    [name, runs, simulated ? 7 : 0, startedAt],
  );
  await app.database.ownerPool.query(
    `insert into emt_messages (stream_id, stream_position, partition, message_data, message_metadata,
       message_schema_version, message_type, message_id, transaction_id)
     select 'optimization-opt_' || $1 || number, 2 * call + part, 'emt:default',
       case part when 1 then jsonb_build_object('slot', 'opinion.S' || call, 'attempt', 1,
         'provider', $3::text, 'simulated', $4::boolean)
       else jsonb_build_object('slot', 'opinion.S' || call, 'attempt', 1, 'latencyMs', $6::integer) end,
       '{}', '1', case part when 1 then 'CallStarted' else $5 end, gen_random_uuid()::text,
       pg_current_xact_id()
     from generate_series(1, $2) number, generate_series(1, 10) call, generate_series(1, 2) part`,
    [name, runs, provider, simulated, end, latencyMs],
  );
}

const ninetyDaysAgo = () => new Date(Date.now() - 90 * 86_400_000).toISOString();
const measured = async () => readLatencies(app.core.pool, 'lab', ninetyDaysAgo());

describe('what was measured', () => {
  test('only answered calls of the provider, by real models, in the last 90 days count', async () => {
    await past({ name: 'counted', runs: 2, latencyMs: 600 });
    await past({ name: 'other', runs: 2, latencyMs: 1, provider: 'ollama' });
    await past({ name: 'simulated', runs: 2, latencyMs: 2, simulated: true });
    await past({ name: 'old', runs: 2, latencyMs: 3, daysAgo: 91 });
    await past({ name: 'failed', runs: 2, latencyMs: 4, end: 'CallFailed' });
    expect(await measured()).toEqual(Array.from({ length: 20 }, () => 600));
  });

  test('the calls of the latest runs are found by indexes, however many runs there were', async () => {
    await past({ name: 'many', runs: 3000, latencyMs: 5, daysAgo: 2 });
    await past({ name: 'latest', runs: 200, latencyMs: 6 });
    await app.database.ownerPool.query('analyze');
    expect(await measured()).toEqual(Array.from({ length: 2000 }, () => 6));
    const plans: string[] = [];
    const explaining = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await app.database.ownerPool.query<{ 'QUERY PLAN': string }>(
          `explain ${text}`,
          values,
        );
        plans.push(...rows.map((row) => row['QUERY PLAN']));
        return { rows: [] };
      },
    };
    await readLatencies(explaining as never, 'lab', ninetyDaysAgo());
    const plan = plans.join('\n');
    expect(plan).toContain('Index Scan Backward using optimization_list_started');
    expect(plan).toContain('Index Cond: (stream_id = run.stream_id)');
    expect(plan).not.toMatch(/Seq Scan on (emt_messages|optimization_list)/);
  });

  test('an endpoint keeps its own figures until twenty calls were measured', async () => {
    const { pool, clock } = app.core;
    const endpoints = [{ name: 'lab', baseUrl: 'https://lab.example/v1', concurrency: null }];
    const lanes = async () => createReadLanes({ pool, clock, endpoints })(['lab', 'openai']);
    await past({ name: 'first', runs: 1, latencyMs: 41_000 });
    expect(await lanes()).toEqual({ lab: { concurrency: 4, secondsPerCall: null } });
    await past({ name: 'second', runs: 1, latencyMs: 41_000 });
    expect(await lanes()).toEqual({ lab: { concurrency: 4, secondsPerCall: 41 } });
  });
});

describe('runs at a slow endpoint', () => {
  async function created(): Promise<string> {
    const run = await app.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge: 'Lease or buy the van?', strategy: 'balanced' },
    });
    return run.id;
  }
  const process = async (runId: string) =>
    app.call(`/optimizations/${runId}/process`, { method: 'POST', token: person.token });
  const stateOf = async (runId: string) => {
    const state = await app.core.readState(runId);
    if (!('schedule' in state)) throw new Error('The run does not exist');
    return state;
  };

  test('a run counts the earlier one in its deadlines, and a run that would wait too long is refused', async () => {
    await past({ name: 'slow', runs: 2, latencyMs: 500_000 });
    const [first, second, third] = [await created(), await created(), await created()];
    const { schedule } = await stateOf(first);
    // Two turns of four calls, 500 s each, and half as much again.
    expect(schedule).toMatchObject({
      lanes: { lab: { concurrency: 4, secondsPerCall: 500 } },
      deadlinesMs: { opinionsSoft: 1_500_000, opinionsHard: 1_500_000, run: 6_600_000 },
      typicalSeconds: 3300,
    });
    expect((await process(first)).status).toBe(202);
    expect(await stateOf(first)).toMatchObject({ waitMs: 0 });
    // Eighteen calls are five turns.
    expect((await process(second)).status).toBe(202);
    const waiting = await stateOf(second);
    if (!('startedAt' in waiting)) throw new Error('The second run has not begun');
    expect(waiting.waitMs).toBe(5 * 750_000);
    expect(Date.parse(waiting.hardAt) - Date.parse(waiting.startedAt)).toBe(3_750_000 + 1_500_000);
    const refused = await process(third);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      code: 'busy',
      detail:
        'Other runs may need the same models for 1 h 53 min. Start this one later; nothing was charged.',
    });
    expect((await stateOf(third)).stage).toBe('draft');
    const view = await app.data<Optimization>(`/optimizations/${second}`, { token: person.token });
    expect(view.evolution.estimated_completion).toBeGreaterThan(3300 + 1800);
    for (const run of [first, second])
      await app.data(`/optimizations/${run}/cancel`, { method: 'POST', token: person.token });
    expect((await process(third)).status).toBe(202);
    await app.data(`/optimizations/${third}/cancel`, { method: 'POST', token: person.token });
  });
});
