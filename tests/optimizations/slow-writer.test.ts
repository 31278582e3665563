import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { addJob } from '#services/optimizations/tasks.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

/** A whole run in which one model has begun to write when the soft deadline comes. */
const slowModel = 'mistral-medium-2604';
let council: TestCouncil;
let sandboxUrl = '';
const goOn = Promise.withResolvers<void>();
const proxy = createServer((request, response) => void passOn(request, response));

/** Of the slow model's answer the second half waits for `goOn`. */
async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  const asked = body.toString();
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    typeof value === 'string' && !connectionHeaders.has(name) ? [[name, value] as const] : [],
  );
  const reply = await fetch(`${sandboxUrl}${request.url ?? ''}`, {
    method: request.method ?? 'GET',
    headers: Object.fromEntries(headers),
    ...(body.length === 0 ? {} : { body }),
  });
  const text = await reply.text();
  const isSlow = asked.includes(slowModel) && asked.includes('"name":"opinion"');
  const half = text.indexOf('\n\n', text.length / 2);
  response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
  response.write(text.slice(0, half));
  if (isSlow) await goOn.promise;
  response.end(text.slice(half));
}

const connectionHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);

beforeAll(async () => {
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  council = await createTestCouncil({
    env: (url) => {
      sandboxUrl = url;
      return { SANDBOX_URL: `http://127.0.0.1:${address.port}` };
    },
  });
});
afterAll(async () => {
  await council.close();
  proxy.closeAllConnections();
  proxy.close();
});

test('a model in the middle of its answer at the soft deadline is waited for', async () => {
  const person = await council.signUp();
  await give(council, person.userId, 14);
  const body = { challenge: 'Lease or buy the van?', strategy: 'balanced' };
  const { id } = await council.start(person, body);
  const { pool } = council.core;
  const answered = async () =>
    (await council.data<Optimization>(`/optimizations/${id}`, person)).evolution.models_completed;
  await expect.poll(answered).toBe(6);
  const written = async () =>
    (await pool.query<{ slot: string }>('select slot from live_text where run_id = $1', [id])).rows;
  await expect.poll(written).toEqual([{ slot: 'opinion.R1' }]);

  const key = `${id}:opinions:soft`;
  const dueAt = new Date().toISOString();
  const payload = { runId: id, stage: 'opinions', kind: 'soft', dueAt, rearmed: false };
  await addJob(pool, { task: 'stage-deadline', key, payload, runAt: dueAt });
  const nextDueAt = async () => {
    const { rows } = await council.database.ownerPool.query<{ dueAt: string }>(
      `select payload ->> 'dueAt' as "dueAt" from graphile_worker._private_jobs where key = $1`,
      [key],
    );
    return Date.parse(rows[0]?.dueAt ?? '');
  };
  await expect.poll(nextDueAt).toBeGreaterThanOrEqual(Date.parse(dueAt) + 10_000);
  goOn.resolve();
  expect((await council.ended(person, id)).status).toBe('completed');
  const { events } = await council.core.readStream(streamOf(id));
  expect(events.map(runEventOf).find(({ type }) => type === 'OpinionsClosed')?.data).toMatchObject({
    reason: 'all',
    missing: [],
  });
});
