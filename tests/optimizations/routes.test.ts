import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import type { Balance } from '#services/credits/contract.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { give } from '#tests/support/processes/service.ts';

let app: TestApp;
let ann: Person;

beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
});
afterAll(async () => app.close());

const question = {
  challenge: 'Should I raise my prices? My calendar is full.',
  strategy: 'balanced',
};

async function createRun(person: Person, body: object = question): Promise<Optimization> {
  return app.data<Optimization>('/optimizations', { token: person.token, body });
}

describe('strategies and estimates', () => {
  test('anyone may read the strategies with their prices', async () => {
    const { strategies } = await app.data<{ strategies: Strategy[] }>('/optimizations/strategies');
    expect(strategies.map(({ id, credits }) => [id, credits])).toEqual(
      loadCatalogue(null).strategies.map(({ id, credits }) => [id, credits]),
    );
    expect(strategies.every((one) => one.available && one.simulated)).toBe(true);
  });

  test('an estimate names credits, dollars and time, and that the seats are simulated', async () => {
    const { estimate } = await app.data<{ estimate: Record<string, unknown> }>(
      '/optimizations/estimate',
      {
        token: ann.token,
        body: {
          strategy: 'balanced',
          workflowType: 'business-optimization',
          challengeText: question.challenge,
        },
      },
    );
    expect(estimate).toMatchObject({ strategy: 'balanced', credits: 14, simulated: true });
    expect(estimate['cost']).toBeGreaterThan(0);
  });
});

test("the operator's file changes price, panel and names of a new run, and the version of its estimate", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sevenfold-operator-'));
  const file = join(folder, 'models.json');
  const changes = {
    models: [{ id: 'gpt-6-luna', displayName: 'Luna' }],
    strategies: [{ id: 'fast', credits: 9 }],
  };
  writeFileSync(file, JSON.stringify(changes));
  const other = await createTestApp({ env: { MODELS_FILE: file } });
  const { token } = await other.signUp();
  const run = await other.data<Optimization>('/optimizations', {
    token,
    body: { ...question, strategy: 'fast' },
  });
  expect(run.credits.price).toBe(9);
  expect(run.models.map(({ name }) => name)).toContain('Luna');
  const { estimate } = await other.data<{ estimate: Record<string, unknown> }>(
    '/optimizations/estimate',
    { token, body: { strategy: 'fast', challengeText: question.challenge } },
  );
  expect(estimate).toMatchObject({ credits: 9 });
  expect(estimate['catalogue_version']).toContain(loadCatalogue(file).version);
  await other.close();
  rmSync(folder, { recursive: true });
});

describe('creating a run', () => {
  test('a new run is pending, titled by its first sentence, and costs nothing yet', async () => {
    const run = await createRun(ann);
    expect(run).toMatchObject({
      status: 'pending',
      title: 'Should I raise my prices?',
      challenge: question.challenge,
      credits: { price: 14, reserved: 0, charged: null, settlement: 'none' },
      simulated: true,
      simulated_seats: 7,
      stand_in: { title: 'Should I raise my prices?', exact: false },
    });
    expect(run.stand_in?.question.challenge).toMatch(/^I sell monthly bookkeeping/);
    expect(run.council.standIn).toEqual(run.stand_in);
    expect(run.models).toHaveLength(7);
    expect(run.created_at).toBe(run.createdAt);
  });

  test.each([
    [{ strategy: 'balanced' }, 'challenge', 'What business challenge are you facing?'],
    [{ ...question, challenge: ' ' }, 'challenge', 'What business challenge are you facing?'],
    [{ ...question, strategy: 'best' }, 'strategy', 'Choose one of the listed strategies'],
    [
      { ...question, challenge: 'x'.repeat(4001) },
      'challenge',
      'The challenge can have up to 4000 characters',
    ],
    [
      { ...question, objectives: Array.from({ length: 21 }, (_, row) => `objective ${row}`) },
      'objectives',
      'Up to 20 objectives',
    ],
    [{ ...question, canary: 'secret-value' }, '', 'Unknown field.'],
  ])(
    'creating a run with a bad field names the field and does not repeat its value: %j',
    async (body, field, message) => {
      const response = await app.call('/optimizations', { token: ann.token, body });
      const text = await response.text();
      expect(response.status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ code: 'validation', errors: [{ field, message }] });
      expect(text).not.toContain('secret-value');
    },
  );

  test('a run at the prices of its estimate is created, and one at other prices is refused with the new price', async () => {
    const asked = { strategy: 'balanced', challengeText: question.challenge };
    const { estimate } = await app.data<{ estimate: { catalogue_version: string } }>(
      '/optimizations/estimate',
      { token: ann.token, body: asked },
    );
    const body = { ...question, catalogue_version: estimate.catalogue_version };
    expect((await createRun(ann, body)).credits.price).toBe(14);
    const late = { ...question, catalogue_version: '2026-01-01.00000000' };
    const response = await app.call('/optimizations', { token: ann.token, body: late });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({
      code: 'price-changed',
      price: 14,
      catalogue_version: estimate.catalogue_version,
    });
  });

  test('creating a run answers 401 without a token, 415 for another type than JSON, and 413 when too large', async () => {
    expect((await app.call('/optimizations', { body: question })).status).toBe(401);
    const plain = await app.call('/optimizations', {
      token: ann.token,
      body: question,
      headers: { 'content-type': 'text/plain' },
    });
    expect(plain.status).toBe(415);
    const large = await app.call('/optimizations', {
      token: ann.token,
      body: { ...question, context: 'x'.repeat(450_000) },
    });
    expect(large.status).toBe(413);
  });

  test('the same key creates one run, and with another body it is refused', async () => {
    const create = (challenge: string) =>
      app.call('/optimizations', {
        token: ann.token,
        key: 'one-run',
        body: { ...question, challenge },
      });
    const first = (await (await create('One?')).json()) as { data: Optimization };
    const again = (await (await create('One?')).json()) as { data: Optimization };
    expect(again).toEqual(first);
    const other = await create('Two?');
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({ code: 'idempotency-mismatch' });
  });
});

describe('starting a run', () => {
  test('starting or cancelling a run takes no fields: a field is refused', async () => {
    const run = await createRun(ann);
    for (const path of [`/optimizations/${run.id}/process`, `/optimizations/${run.id}/cancel`]) {
      const response = await app.call(path, { token: ann.token, body: { credits: 0 } });
      expect([path, response.status]).toEqual([path, 400]);
    }
    const path = `/optimizations/${run.id}/cancel`;
    expect((await app.call(path, { token: ann.token, body: {} })).status).toBe(202);
  });

  test('starting a run without credits is refused with the figures, and nothing is held', async () => {
    const poor = await app.signUp();
    const run = await createRun(poor);
    const start = () =>
      app.call(`/optimizations/${run.id}/process`, {
        method: 'POST',
        token: poor.token,
        key: 'start',
      });
    const refused = await start();
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({
      code: 'insufficient-credits',
      message:
        "You need 14 credits to run this optimization, but you only have 0 credits available. You're short by 14 credits.",
      required_credits: 14,
      current_balance: 0,
      shortfall: 14,
    });
    await give(app, poor.userId, 50);
    const started = await start();
    expect(started.status).toBe(202);
    expect(((await started.json()) as { data: Optimization }).data.status).toBe('processing');
  });

  test('the price of a run is held once, however often it is started', async () => {
    const person = await app.signUp();
    await give(app, person.userId, 50);
    const run = await createRun(person);
    const starts = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        app.call(`/optimizations/${run.id}/process`, {
          method: 'POST',
          token: person.token,
          ...(index < 2 ? {} : { key: `start-${index}` }),
        }),
      ),
    );
    expect(starts.map((response) => response.status)).toEqual([202, 202, 202, 202, 202]);
    const balance = await app.data<Balance>('/credits/balance', { token: person.token });
    expect(balance).toMatchObject({ available_credits: 36, reserved_credits: 14 });
    const jobs = await app.core.pool.query<{ task: string }>(
      `select task_identifier as task from graphile_worker.jobs where key like $1 order by key`,
      [`${run.id}:%`],
    );
    expect(jobs.rows.map(({ task }) => task).toSorted()).toEqual([
      ...Array.from({ length: 7 }, () => 'call-model'),
      'run-deadline',
      'stage-deadline',
      'stage-deadline',
      'start-run',
    ]);
  });

  test('starting a run reads the state of the run once and its stream once', async () => {
    const person = await app.signUp();
    await give(app, person.userId, 50);
    const run = await createRun(person);
    const query = vi.spyOn(app.core.pool, 'query');
    await app.data(`/optimizations/${run.id}/process`, { method: 'POST', token: person.token });
    const asked = query.mock.calls.map((call) => JSON.stringify(call));
    query.mockRestore();
    const about = asked.filter((statement) => statement.includes(`optimization-${run.id}`));
    expect(about.filter((statement) => /from emt_messages/.test(statement))).toHaveLength(1);
    // The command bus still knows the run from its creation.
    expect(about.filter((statement) => /stream_snapshot/.test(statement))).toHaveLength(1);
  });

  test('of 50 simultaneous starts on 140 credits exactly 10 are accepted', async () => {
    const person = await app.signUp();
    for (let gift = 0; gift < 3; gift += 1) await give(app, person.userId, 50);
    const spare = await createRun(person, { ...question, strategy: 'economy' });
    const spare2 = await createRun(person, { ...question, strategy: 'economy' });
    for (const { id } of [spare, spare2])
      await app.data(`/optimizations/${id}/process`, { method: 'POST', token: person.token });
    // 150 less two holds of 5 leaves 140.
    const runs = await Promise.all(Array.from({ length: 50 }, () => createRun(person)));
    const statuses = await Promise.all(
      runs.map(async ({ id }) => {
        const response = await app.call(`/optimizations/${id}/process`, {
          method: 'POST',
          token: person.token,
        });
        return response.status;
      }),
    );
    expect(statuses.filter((status) => status === 202)).toHaveLength(10);
    expect(statuses.filter((status) => status === 402)).toHaveLength(40);
    const balance = await app.data<Balance>('/credits/balance', { token: person.token });
    expect(balance).toMatchObject({ available_credits: 0, reserved_credits: 150 });
  });

  test("starting another user's run gets the same 404 as a run that does not exist", async () => {
    const owner = await app.signUp();
    const stranger = await app.signUp();
    const run = await createRun(owner);
    const paths = [
      ['GET', `/optimizations/${run.id}`],
      ['POST', `/optimizations/${run.id}/process`],
      ['POST', `/optimizations/${run.id}/cancel`],
      ['GET', `/stream?optimization=${run.id}`],
    ] as const;
    for (const [method, path] of paths) {
      const foreign = await app.call(path, { method, token: stranger.token });
      const missing = await app.call(path.replace(run.id, 'opt_00000000000000000000000000'), {
        method,
        token: stranger.token,
      });
      const said = ({ request_id: _id, ...rest }: Record<string, unknown>) => rest;
      expect([path, foreign.status]).toEqual([path, 404]);
      expect(said((await foreign.json()) as Record<string, unknown>)).toEqual(
        said((await missing.json()) as Record<string, unknown>),
      );
    }
    const list = await app.call('/optimizations', { token: stranger.token });
    expect(await list.json()).toMatchObject({ data: [], pagination: { total: 0 } });
  });
});

describe('cancelling a run', () => {
  test('cancelling a run before it starts holds nothing, and the run can never start again', async () => {
    const person = await app.signUp();
    await give(app, person.userId, 50);
    const run = await createRun(person);
    for (const key of ['a', 'b']) {
      const cancelled = await app.call(`/optimizations/${run.id}/cancel`, {
        method: 'POST',
        token: person.token,
        key,
      });
      expect(cancelled.status).toBe(202);
    }
    const expected = {
      status: 'cancelled',
      ended_at: expect.any(String) as string,
      credits: { price: 14, reserved: 0, charged: 0, refunded: 0, settlement: 'none' },
    };
    const read = await app.data<Optimization>(`/optimizations/${run.id}`, { token: person.token });
    expect(read).toMatchObject({
      ...expected,
      evolution: { current_step: 'completed', step_details: 'Canceled', can_cancel: false },
    });
    expect(read.models.map(({ status }) => status)).toEqual(read.models.map(() => 'not_called'));
    const list = await app.call('/optimizations', { token: person.token });
    expect(await list.json()).toMatchObject({ data: [expected] });
    const start = await app.call(`/optimizations/${run.id}/process`, {
      method: 'POST',
      token: person.token,
    });
    expect(start.status).toBe(409);
    expect(await start.json()).toMatchObject({ code: 'concluded', outcome: 'cancelled' });
    const balance = await app.data<Balance>('/credits/balance', { token: person.token });
    expect(balance).toMatchObject({ available_credits: 50, reserved_credits: 0 });
  });
});

test('a run with damaged text says so in the list, and affects no other run', async () => {
  const person = await app.signUp();
  await give(app, person.userId, 50);
  const good = await createRun(person);
  const bad = await createRun(person);
  const running = await createRun(person);
  await app.data(`/optimizations/${running.id}/process`, { method: 'POST', token: person.token });
  await app.database.ownerPool.query(
    `update optimization_list set title = 'damaged' where run_id = any ($1)`,
    [[bad.id, running.id]],
  );
  await app.database.ownerPool.query(
    `update emt_messages set message_data = jsonb_set(message_data, '{sealed,title}', '"damaged"')
     where stream_id = $1 and stream_position = 1`,
    [`optimization-${running.id}`],
  );
  const response = await app.call('/optimizations', { token: person.token });
  const { data } = (await response.json()) as { data: OptimizationSummary[] };
  expect(data.map(({ id, title, status }) => [id, title, status])).toEqual([
    [running.id, 'Unreadable', 'processing'],
    [bad.id, 'Unreadable', 'pending'],
    [good.id, good.title, 'pending'],
  ]);
});

test('the list is newest first, in pages, and reads what was written', async () => {
  const person = await app.signUp();
  for (const number of [1, 2, 3])
    await createRun(person, { ...question, challenge: `Question ${number}?` });
  const response = await app.call('/optimizations?page=1&limit=2', { token: person.token });
  const list = (await response.json()) as {
    data: OptimizationSummary[];
    pagination: Record<string, number>;
  };
  expect(list.data.map((run) => run.title)).toEqual(['Question 3?', 'Question 2?']);
  expect(list.pagination).toEqual({ page: 1, limit: 2, total: 3, total_pages: 2 });
  expect((await app.call('/optimizations?limit=0', { token: person.token })).status).toBe(400);
});

test('a question is sealed in every table, and reads "Deleted" once its key is gone', async () => {
  const person = await app.signUp();
  const run = await createRun(person, { ...question, challenge: 'Canary question about llamas?' });
  const { rows } = await app.database.ownerPool.query<{ found: number }>(
    `select (select count(*) from emt_messages where message_data::text like '%llamas%')
       + (select count(*) from optimization_list where title like '%llamas%'
            or challenge like '%llamas%')
       + (select count(*) from stream_snapshot where state::text like '%llamas%') as found`,
  );
  expect(Number(rows[0]?.found)).toBe(0);
  expect(app.logged.join('')).not.toContain('llamas');
  await app.core.sealer.eraseKey(run.id);
  const read = await app.data<Optimization>(`/optimizations/${run.id}`, { token: person.token });
  expect(read).toMatchObject({ title: 'Deleted', challenge: 'Deleted', credits: { price: 14 } });
});

test('once the models of a day have cost the daily limit, no run starts until the next', async () => {
  const paused = await createTestApp({ env: { DAILY_COST_LIMIT_USD: '1' } });
  try {
    const person = await paused.signUp();
    await give(paused, person.userId, 50);
    const run = await paused.data<Optimization>('/optimizations', {
      token: person.token,
      body: question,
    });
    await paused.database.ownerPool.query(
      `insert into optimization_list
       select (jsonb_populate_record(l, jsonb_build_object('run_id', 'opt_real', 'user_id', 'usr_x',
         'simulated_seats', 0, 'cost_micros', 1000000, 'status', 'completed',
         'started_at', $1::text))).*
       from optimization_list l limit 1`,
      [new Date().toISOString()],
    );
    const response = await paused.call(`/optimizations/${run.id}/process`, {
      method: 'POST',
      token: person.token,
    });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ code: 'paused' });
    const balance = await paused.data<Balance>('/credits/balance', { token: person.token });
    expect(balance.reserved_credits).toBe(0);
  } finally {
    await paused.close();
  }
});

test('characters that turn the direction of reading are removed from a question, a title and a recipe', async () => {
  const turned = (text: string) => `\u202e${text}\u2069`;
  const run = await createRun(ann, {
    challenge: turned('Open on Sundays?'),
    context: turned('A bakery.'),
    objectives: [turned('More bread')],
    constraints: [turned('No loans'), turned('')],
    strategy: 'balanced',
  });
  expect(run).toMatchObject({
    title: 'Open on Sundays?',
    challenge: 'Open on Sundays?',
    context: 'A bakery.',
    objectives: ['More bread'],
    constraints: ['No loans'],
  });
  const path = `/optimizations/${run.id}`;
  const rename = { method: 'PATCH', token: ann.token } as const;
  const { title } = await app.data<Optimization>(path, {
    ...rename,
    body: { title: turned('Sundays') },
  });
  expect(title).toBe('Sundays');
  expect((await app.call(path, { ...rename, body: { title: turned('') } })).status).toBe(400);
  const recipe = { category: 'sales', strategy: 'balanced', summary: turned('Or not.') };
  expect(
    await app.data('/recipes', {
      token: ann.token,
      body: { ...recipe, title: turned('Sundays'), challenge: turned('Open in {town}?') },
    }),
  ).toMatchObject({ title: 'Sundays', summary: 'Or not.', challenge: 'Open in {town}?' });
});
