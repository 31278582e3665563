import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { freePort } from '#services/platform/process/listen.ts';
import { traceIdOf } from '#services/platform/telemetry/trace-ids.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import type { Person } from '#tests/support/app.ts';
import { operate } from '#tests/support/processes/operator.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { startCollector } from './support/collector.ts';
import type { Collector } from './support/collector.ts';
import { readPage } from './support/page.ts';

/** An API process and a worker that show their metrics and send their traces, over one database. */
const secret = 'canary-of-the-collector';
const question = 'Canary: rent or buy the workshop?';

let database: TestDatabase;
let folder: ReturnType<typeof temporaryFolder>;
let collector: Collector;
let processes: OwnProcess[];
let apiPort: number;
let workerPort: number;
let address: string;
let client: Client;
let settings: Settings;
let person: Person;

beforeAll(async () => {
  [database, collector] = await Promise.all([createTestDatabase(), startCollector()]);
  folder = temporaryFolder();
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    PUBLIC_URL: 'http://127.0.0.1:3000',
    PORT: '0',
  };
  const sandboxUrl = `http://127.0.0.1:${await freePort()}`;
  const seen = {
    ...settings,
    SANDBOX_URL: sandboxUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secret}`,
  };
  [apiPort, workerPort] = [await freePort(), await freePort()];
  processes = await Promise.all([
    startProcess('sandbox/server.ts', { ...settings, SANDBOX_URL: sandboxUrl }),
    startProcess('api.ts', { ...seen, METRICS_PORT: String(apiPort) }),
    startProcess('worker.ts', { ...seen, METRICS_PORT: String(workerPort) }),
  ]);
  address = String(processes[1]!.details['address']);
  client = createClient(address, settings);
  person = await client.signUp();
}, 300_000);

afterAll(async () => {
  for (const one of processes) await one[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
  await database.drop();
  folder.remove();
});

async function completeRun(
  { token }: Person = person,
  headers: Record<string, string> = {},
): Promise<string> {
  const { id } = await client.data<Optimization>('/optimizations', {
    token,
    headers,
    body: { challenge: question, strategy: 'fast' },
  });
  await client.data(`/optimizations/${id}/process`, { method: 'POST', token, headers });
  await eventually('the end of the run', async () => {
    const { status } = await client.data<Optimization>(`/optimizations/${id}`, { token });
    return status === 'completed';
  });
  return id;
}

test('one trace holds the requests, commands, jobs and model calls of a run, in both processes and without its texts', async () => {
  const caller = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;
  const runId = await completeRun(person, { traceparent });
  const spans = await eventually('the spans of the run', () => {
    const found = collector.spans().filter(({ traceId }) => traceId === traceIdOf(runId));
    return found.some(({ name }) => name === 'job settle-run') && found;
  });
  const named = (name: string) => {
    const found = spans.find((span) => span.name === name);
    if (found === undefined)
      throw new Error(`${name} is not in ${spans.map((span) => span.name).join(', ')}`);
    return found;
  };
  const request = named('POST /api/optimizations/:id/process');
  const reserve = named('credits Reserve');
  const call = spans.find(({ name }) => name.startsWith('chat '))!;
  const job = spans.find(({ spanId }) => spanId === call.parentSpanId)!;
  expect(request).toMatchObject({ service: 'sevenfold-api', parentSpanId: null, kind: 2 });
  expect(named('POST /api/optimizations').links).toEqual([expect.objectContaining(caller)]);
  expect(reserve).toMatchObject({ service: 'sevenfold-api', parentSpanId: request.spanId });
  expect(job).toMatchObject({ service: 'sevenfold-worker', name: 'job call-model', status: 0 });
  expect(call.attributes).toMatchObject({
    'gen_ai.provider.name': 'sandbox',
    'sevenfold.outcome': 'answered',
  });
  expect(named('optimization EndCall').parentSpanId).not.toBeNull();

  expect(collector.headers().authorization).toBe(`Bearer ${secret}`);
  for (const text of [question, 'workshop', person.email, person.token, secret])
    expect(collector.received()).not.toContain(text);
});

test('the metrics of both processes show what a run did', async () => {
  const before = await readPage(workerPort);
  await completeRun();
  await client.call('/auth/login', { body: { email: person.email, password: 'wrong password' } });
  const [api, worker] = await Promise.all([readPage(apiPort), readPage(workerPort)]);
  const calls = { outcome: 'answered', provider: 'sandbox' };
  const ended = worker.value('sevenfold_model_calls_total', calls)!;
  expect(ended - (before.value('sevenfold_model_calls_total', calls) ?? 0)).toBeGreaterThan(14);
  expect(worker.value('sevenfold_model_call_seconds_count')).toBe(ended);
  expect(worker.value('sevenfold_model_call_cost_usd_total')).toBeGreaterThan(0);
  expect(worker.value('sevenfold_job_runs_total', { task: 'call-model' })).toBeGreaterThan(14);
  const accepted = { decider: 'optimization', outcome: 'accepted' };
  expect(worker.value('sevenfold_commands_total', accepted)).toBeGreaterThan(28);
  expect(worker.value('sevenfold_batch_commands_count')).toBeGreaterThan(0);
  expect(api.value('sevenfold_commands_total', { decider: 'credits' })).toBeGreaterThan(0);
  expect(api.value('sevenfold_reader_lag_seconds')).toBeLessThan(30);
  const refused = { method: 'password', outcome: 'refused' };
  expect(api.value('sevenfold_sign_ins_total', refused)).toBe(1);
  const processed = { route: '/api/optimizations/:id/process', method: 'POST', status: '2xx' };
  expect(api.value('sevenfold_http_request_seconds_count', processed)).toBe(2);
  // Figures of the database are the workers', and no zero of an API process hides them.
  expect(
    worker.value('sevenfold_projection_lag_events', { projection: 'run_usage' }),
  ).not.toBeNull();
  expect([...api.names].filter((name) => /holds|mail|jobs|webhook|set_aside/.test(name))).toEqual(
    [],
  );
  expect(await client.call('/metrics')).toMatchObject({ status: 404 });
  expect(await fetch(`${address}/metrics`)).toMatchObject({ status: 404 });
});

test('open streams are counted while they are open', async () => {
  const closing = new AbortController();
  const { token } = person;
  const stream = await client.call('/stream', { token, signal: closing.signal });
  await stream.body?.getReader().read();
  expect((await readPage(apiPort)).value('sevenfold_streams_open')).toBe(1);
  closing.abort();
  await eventually('the end of the stream', async () => {
    return (await readPage(apiPort)).value('sevenfold_streams_open') === 0;
  });
});

test('the metrics name the read model of a set-aside stream until a retry succeeds, and other streams continue', async () => {
  const setAside = async (count: number) =>
    eventually(`${count} streams that are set aside`, async () => {
      const page = await readPage(workerPort);
      const found = page.value('sevenfold_set_aside_streams', { projection: 'credit_analytics' });
      const others = page.value('sevenfold_set_aside_streams');
      return found === count && others === count;
    });
  const entered = async (runId: string) => {
    const { rowCount } = await database.pool.query(
      'select from credit_analytics where run_id = $1 and charged is not null',
      [runId],
    );
    return (rowCount ?? 0) > 0;
  };
  await setAside(0);
  // The read model cannot take in what this person does; nothing of an earlier run is still to be taken in.
  const refused = await client.signUp();
  await database.ownerPool.query(
    `alter table credit_analytics add constraint broken check (user_id <> '${refused.userId}') not valid`,
  );
  const broken = await completeRun(refused);
  await setAside(1);
  const other = await completeRun(await client.signUp());
  await eventually('the run of another person', async () => entered(other));
  expect(await entered(broken)).toBe(false);

  await database.ownerPool.query('alter table credit_analytics drop constraint broken');
  const retried = await operate(settings, 'projections', 'retry', '--all');
  expect(retried).toMatchObject({ code: 0 });
  await setAside(0);
  expect(await entered(broken)).toBe(true);
  const verified = await operate(settings, 'projections', 'verify', 'credit_analytics');
  expect(verified).toMatchObject({ code: 0 });
});
