import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { trace } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newId, derivedId, uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { startOtlpTracing } from '#services/platform/telemetry/otlp.ts';
import { traceIdOf } from '#services/platform/telemetry/trace-ids.ts';
import type { SpanStart, Tracing } from '#services/platform/telemetry/tracing.ts';
import { variablesOf } from '#tests/support/variables.ts';
import { startCollector } from './support/collector.ts';
import type { Collector } from './support/collector.ts';

let collector: Collector;
let warnings: string[];

beforeEach(async () => {
  collector = await startCollector();
  warnings = [];
});
afterEach(async () => collector[Symbol.asyncDispose]());

function start(options: { url?: string; share?: number } = {}): Tracing {
  return startOtlpTracing({
    url: `${collector.url}/v1/traces`,
    headers: {},
    share: 1,
    process: 'test',
    version: '0',
    log: {
      info: () => undefined,
      warn: (_fields, message?: string) => void warnings.push(message!),
    },
    ...options,
  });
}

const span = (name: string, correlationId?: string): SpanStart => ({
  name,
  kind: 'INTERNAL',
  attributes: {},
  correlationId,
});

async function sentBy(tracing: Tracing) {
  await tracing.close();
  const spans = collector.spans();
  return Object.fromEntries(spans.map((sent) => [sent.name, sent]));
}

test('the id of a trace is the 128 bits of an id of ours or of a UUID, and nothing else', () => {
  expect(traceIdOf('opt_01h455vb4pex5vsknk084sn02q')).toBe('01890a5dac96774bbcceb302099a8057');
  for (const id of [newId('opt'), derivedId('opt', 'a'), uuidV5('a')])
    expect(traceIdOf(id)).toMatch(/^[0-9a-f]{32}$/);
  expect(traceIdOf(uuidV5('a'))).toBe(uuidV5('a').replaceAll('-', ''));
  for (const text of ['', 'evt_1', 'opt_', `opt_${'z'.repeat(26)}`, `opt_${'0'.repeat(26)}`])
    expect(traceIdOf(text)).toBeNull();
});

test('spans within a request belong to its span, and the first correlation decides its trace', async () => {
  const tracing = start();
  const runId = newId('opt');
  await tracing.inRequest({ headers: {} }, async () => {
    await tracing.inSpan(span('first', runId), async () => {
      tracing.begin(span('inner', newId('opt')))({ error: null });
    });
    await tracing.inSpan(span('second', newId('opt')), async () => undefined);
    return { name: 'GET /a', error: null };
  });
  await tracing.inSpan(span('job', runId), async () => undefined);
  const { 'GET /a': request, first, inner, second, job } = await sentBy(tracing);
  expect(request).toMatchObject({ traceId: traceIdOf(runId), parentSpanId: null, links: [] });
  expect([first, second].map((one) => one?.parentSpanId)).toEqual([
    request?.spanId,
    request?.spanId,
  ]);
  expect(inner?.parentSpanId).toBe(first?.spanId);
  expect(job).toMatchObject({ traceId: request?.traceId, parentSpanId: null });
});

test('a request without commands has a trace of its own, and only links to the trace of its caller', async () => {
  const tracing = start();
  const caller = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };
  const request = async (name: string, traceparent?: string) =>
    tracing.inRequest({ headers: { traceparent } }, async () => ({ name, error: '500' }));
  await request('linked', `00-${caller.traceId}-${caller.spanId}-01`);
  await request('broken', `00-${'0'.repeat(32)}-${caller.spanId}-01`);
  await request('other', 'canary');
  const { linked, broken, other } = await sentBy(tracing);
  expect(linked).toMatchObject({ status: 2, links: [expect.objectContaining(caller)] });
  expect(linked?.traceId).not.toBe(caller.traceId);
  expect([broken?.links, other?.links]).toEqual([[], []]);
});

test('a failed span has the name of its error and never the message, and a refusal is no error', async () => {
  const tracing = start();
  const fails = async (name: string, error: Error) =>
    tracing.inSpan(span(name), async () => Promise.reject(error)).catch(() => undefined);
  await fails('error', new TypeError('canary'));
  await fails('refusal', new Problem('not-found', 'canary'));
  await fails('busy', new Problem('busy', 'canary'));
  const { error, refusal, busy } = await sentBy(tracing);
  expect(error).toMatchObject({ status: 2, attributes: { 'error.type': 'TypeError' } });
  expect(refusal).toMatchObject({ status: 0, attributes: { 'sevenfold.refusal': 'not-found' } });
  expect(busy).toMatchObject({ status: 2, attributes: { 'error.type': 'busy' } });
  expect(collector.received()).not.toContain('canary');
});

test('all processes keep the same share of traces, by their id', async () => {
  const ids = Array.from({ length: 200 }, () => newId('opt'));
  for (let process = 0; process < 2; process += 1) {
    const tracing = start({ share: 0.5 });
    for (const id of ids) await tracing.inSpan(span(id, id), async () => undefined);
    await tracing.close();
  }
  const names = collector.spans().map(({ name }) => name);
  const kept = new Set(names);
  expect(names).toHaveLength(2 * kept.size);
  expect(kept.size).toBeGreaterThan(60);
  expect(kept.size).toBeLessThan(140);
});

test('a collector that does not answer is a warning, and work continues', async () => {
  const tracing = start({ url: 'http://127.0.0.1:1/v1/traces' });
  expect(await tracing.inSpan(span('work'), async () => 7)).toBe(7);
  await tracing.close();
  expect(warnings).toEqual(['Traces could not be sent']);
});

test('no provider of traces is registered, so that the SDKs of model providers add no texts to ours', async () => {
  const tracing = start();
  await tracing.inSpan(span('ours'), async () => {
    const theirs = trace.getTracer('an SDK').startSpan('theirs');
    expect(theirs.isRecording()).toBe(false);
    theirs.end();
  });
  expect(Object.keys(await sentBy(tracing))).toEqual(['ours']);
});

test('the tracing SDK is loaded only where traces are sent', async () => {
  const file = fileURLToPath(import.meta.resolve('./support/loading-process.ts'));
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env: variablesOf({}) });
  const [without, withEndpoint] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string[]);
  expect(without).toEqual([]);
  expect(withEndpoint).toContain('@opentelemetry/sdk-trace');
});
