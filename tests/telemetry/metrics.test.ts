import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projections } from '#projections/index.ts';
import { catalogueWith } from '#services/models/catalogue.ts';
import { createLog } from '#services/platform/process/log.ts';
import { freePort } from '#services/platform/process/listen.ts';
import { mergedMetrics } from '#services/platform/telemetry/merge.ts';
import { createReadings } from '#services/platform/telemetry/readings.ts';
import { createMetrics } from '#services/platform/telemetry/registry.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import { serveMetrics } from '#services/platform/telemetry/server.ts';
import { noTracing } from '#services/platform/telemetry/tracing.ts';
import { callMetrics, observedCalls } from '#services/telemetry/calls.ts';
import { logReading } from '#services/telemetry/process.ts';
import { databaseReadings } from '#services/telemetry/database.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { parsePage } from './support/page.ts';

const silent = { warn: () => undefined, error: () => undefined };
const pageOf = async ({ registry }: Metrics) => parsePage(await registry.metrics());

test('lines that a process logs as errors are counted, and no others', async () => {
  const metrics = createMetrics();
  const refresh = createReadings(metrics, [logReading(metrics)], silent, {
    keptMs: 0,
    withinMs: 1_000,
  });
  const counted = async () => {
    await refresh();
    return (await pageOf(metrics)).value('sevenfold_logged_errors_total') ?? 0;
  };
  const log = createLog({ level: 'info', process: 'test', destination: { write: () => {} } });
  const before = await counted();
  log.warn('It retries');
  log.error('It gave up');
  log.child({ run_id: 'opt_1' }).error('It gave up');
  expect((await counted()) - before).toBe(2);
});

describe('figures that are read when they are asked for', () => {
  function createReading(limits = { keptMs: 0, withinMs: 1_000 }) {
    const metrics = createMetrics();
    const plain = metrics.gauge({ name: 'sevenfold_plain', help: 'Test' });
    const labeled = metrics.gauge({ name: 'sevenfold_labeled', help: 'Test', labels: ['of'] });
    const reading = { name: 'test', gauges: [plain, labeled], read: async () => () => {} };
    const refresh = createReadings(metrics, [reading], silent, limits);
    const shown = async () => {
      await refresh();
      const page = await pageOf(metrics);
      const labels = { reading: 'test' };
      return {
        plain: page.value('sevenfold_plain'),
        a: page.value('sevenfold_labeled', { of: 'a' }),
        b: page.value('sevenfold_labeled', { of: 'b' }),
        up: page.value('sevenfold_scrape_up', labels),
        errors: page.value('sevenfold_scrape_errors_total', labels),
      };
    };
    return { metrics, plain, labeled, reading, shown };
  }

  test('a figure that cannot be read is absent and never an old value or 0', async () => {
    const { plain, labeled, reading, shown, metrics } = createReading();
    const before = await pageOf(metrics);
    expect([before.value('sevenfold_plain'), before.value('sevenfold_labeled')]).toEqual([
      null,
      null,
    ]);
    reading.read = async () => () => {
      plain.set(3);
      labeled.set({ of: 'a' }, 1);
    };
    expect(await shown()).toEqual({ plain: 3, a: 1, b: null, up: 1, errors: 0 });
    reading.read = async () => Promise.reject(new Error('unavailable'));
    expect(await shown()).toEqual({ plain: null, a: null, b: null, up: 0, errors: 1 });
    reading.read = async () => () => labeled.set({ of: 'b' }, 2);
    expect(await shown()).toEqual({ plain: null, a: null, b: 2, up: 1, errors: 1 });
  });

  test('a reading that takes too long counts as failed', async () => {
    const { reading, shown } = createReading({ keptMs: 0, withinMs: 20 });
    reading.read = async () => new Promise(() => {});
    expect(await shown()).toMatchObject({ plain: null, up: 0, errors: 1 });
  });

  test('scrapes shortly after each other share one reading', async () => {
    const { reading, shown } = createReading({ keptMs: 60_000, withinMs: 1_000 });
    let read = 0;
    reading.read = async () => {
      read += 1;
      return () => {};
    };
    await Promise.all([shown(), shown()]);
    await shown();
    expect(read).toBe(1);
  });
});

describe('the figures of the database', () => {
  let database: TestDatabase;
  let metrics: Metrics;
  let shown: () => Promise<Awaited<ReturnType<typeof pageOf>>>;

  beforeAll(async () => {
    database = await createTestDatabase();
    metrics = createMetrics();
    const readings = databaseReadings(metrics, database.pool, projections);
    const refresh = createReadings(metrics, readings, silent, { keptMs: 0, withinMs: 60_000 });
    shown = async () => {
      await refresh();
      return pageOf(metrics);
    };
  });
  afterAll(() => database.drop());

  test('jobs are counted by task and state, with the age of the oldest that is due', async () => {
    await database.ownerPool.query(`
      select graphile_worker.add_job('call-model', run_at := now() - interval '90 seconds');
      select graphile_worker.add_job('call-model', run_at := now() + interval '1 hour');
      select graphile_worker.add_job('call-model', queue_name := 'calls ollama 1');
      select graphile_worker.add_job('send-mail', job_key := 'failed');
      update graphile_worker._private_jobs set attempts = max_attempts where key = 'failed'`);
    const page = await shown();
    const jobs = (task: string, state: string) => page.value('sevenfold_jobs', { task, state });
    const states = ['due', 'queued', 'running', 'scheduled', 'failed'];
    expect(states.map((state) => jobs('call-model', state))).toEqual([1, 1, 0, 1, 0]);
    expect(states.map((state) => jobs('send-mail', state))).toEqual([0, 0, 0, 0, 1]);
    const oldest = page.value('sevenfold_oldest_due_job_seconds', { task: 'call-model' });
    expect(oldest).toBeGreaterThanOrEqual(90);
    expect(oldest).toBeLessThan(600);
  });

  test('waiting emails, webhook events and holds are counted, with the age of the oldest', async () => {
    await database.ownerPool.query(`
      insert into mail (id, user_id, kind, status, created_at) values
        ('mai_1', 'usr_1', 'test', 'queued', now() - interval '20 minutes'),
        ('mai_2', 'usr_1', 'test', 'queued', now()), ('mai_3', 'usr_1', 'test', 'sent', now());
      insert into stripe_event (id, type, created_at, received_at, processed_at) values
        ('evt_1', 'test', now(), now() - interval '11 minutes', null), ('evt_2', 'test', now(), now(), now());
      insert into optimization_list (run_id, user_id, status, stage, answered, missing_seats, strategy,
        challenge_type, price, unpriced_calls, seats, simulated_seats, title, renamed, challenge, created_at,
        started_at, hidden, version)
      select run_id, 'usr_1', status, 'opinions', 0, 0, 'fast', 'test', price, 0, 7, 7, '', false, '', '',
        to_char(now() at time zone 'utc' - interval '5 hours', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), false, 1
      from (values ('opt_1', 'processing', 5), ('opt_2', 'pending', 5), ('opt_3', 'processing', 0),
        ('opt_4', 'completed', 5)) as run (run_id, status, price)`);
    const page = await shown();
    expect(page.value('sevenfold_mails_queued')).toBe(2);
    expect(page.value('sevenfold_oldest_mail_seconds')).toBeGreaterThanOrEqual(1_200);
    expect(page.value('sevenfold_webhook_events_waiting')).toBe(1);
    expect(page.value('sevenfold_oldest_webhook_event_seconds')).toBeGreaterThanOrEqual(660);
    expect(page.value('sevenfold_holds_open')).toBe(1);
    expect(page.value('sevenfold_oldest_hold_seconds')).toBeGreaterThanOrEqual(18_000);
    expect(page.value('sevenfold_oldest_hold_seconds')).toBeLessThan(18_600);
  });

  test('the age of the newest anchor is shown, and 0 without one', async () => {
    expect((await shown()).value('sevenfold_anchor_age_seconds')).toBe(0);
    await database.ownerPool.query(
      `insert into chain_anchor (number, made_at, transaction_id, global_position, heads, previous_root, root)
       values (1, now() - interval '27 hours', '1', 1, 0, repeat('0', 64), repeat('a', 64))`,
    );
    expect((await shown()).value('sevenfold_anchor_age_seconds')).toBeGreaterThanOrEqual(97_200);
  });

  test('a transaction that stays open shows as the age of xmin', async () => {
    const holder = await database.pool.connect();
    await holder.query('begin; select pg_current_xact_id()');
    try {
      await shown();
      await database.pool.query('select pg_current_xact_id()');
      await expect
        .poll(async () => (await shown()).value('sevenfold_xmin_age_seconds'))
        .toBeGreaterThan(0);
      const page = await shown();
      expect(page.value('sevenfold_xmin_age_transactions')).toBeGreaterThan(0);
      expect(page.value('sevenfold_oldest_transaction_seconds')).toBeGreaterThan(0);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });

  test('each asynchronous read model has a lag, and no other one has', async () => {
    const page = await shown();
    const lags = projections.map(({ name }) =>
      page.value('sevenfold_projection_lag_seconds', { projection: name }),
    );
    expect(lags).toEqual(projections.map(({ kind }) => (kind === 'async' ? 0 : null)));
  });
});

test('a call of a model outside the catalogue is counted as another one, and a simulated one for the sandbox', async () => {
  const metrics = createMetrics();
  const begin = observedCalls(callMetrics(metrics), noTracing, catalogueWith([]));
  const known = catalogueWith([]).models[0]!.id;
  const ended = { outcome: 'answered', costMicros: 250_000, durationMs: 1_500 };
  begin({ provider: 'ollama', model: 'canary:7b', simulated: false })(ended);
  begin({ provider: 'openai', model: known, simulated: true })({ ...ended, costMicros: null });
  const page = await pageOf(metrics);
  const other = { provider: 'ollama', model: 'other' };
  const simulated = { provider: 'sandbox', model: known };
  expect(page.value('sevenfold_model_calls_total', { ...other, outcome: 'answered' })).toBe(1);
  expect(page.value('sevenfold_model_call_cost_usd_total', other)).toBe(0.25);
  expect(page.value('sevenfold_model_call_seconds_sum', other)).toBe(1.5);
  expect(page.value('sevenfold_model_calls_total', simulated)).toBe(1);
  expect(page.value('sevenfold_model_call_cost_usd_total', simulated)).toBeNull();
  expect(page.value('sevenfold_model_calls_unpriced_total', simulated)).toBe(1);
  expect(await metrics.registry.metrics()).not.toContain('canary');
});

test('a supervisor shows the metrics of all its processes under their names, and which are down', async () => {
  const metrics = createMetrics();
  metrics.counter({ name: 'sevenfold_events', help: 'Test' }).inc(4);
  const { registry } = metrics;
  const port = await freePort();
  const page = {
    contentType: registry.contentType,
    text: async () => registry.metrics(),
    json: async () => registry.getMetricsAsJSON(),
  };
  const server = await serveMetrics(page, { host: '127.0.0.1', port }, silent);
  try {
    const dead = { name: 'worker 1', port: await freePort() };
    const names = ['api 1', 'api 2'];
    const merged = mergedMetrics([...names.map((name) => ({ name, port })), dead]);
    const found = parsePage(await merged.text());
    for (const process of names) {
      expect(found.value('sevenfold_events', { process })).toBe(4);
      expect(found.value('process_resident_memory_bytes', { process })).toBeGreaterThan(1e6);
      expect(found.value('sevenfold_process_up', { process })).toBe(1);
    }
    expect(found.value('sevenfold_process_up', { process: 'worker 1' })).toBe(0);
    expect(await fetch(`${server.address}/`)).toMatchObject({ status: 404 });
    expect(await fetch(`${server.address}/metrics`, { method: 'POST' })).toMatchObject({
      status: 404,
    });
  } finally {
    await server.close();
  }
});
