import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { withSchedule } from '#tests/support/slow/council.ts';

/** Whole runs with a soft deadline of 3 s, in which one model writes for longer or says nothing. */
const slowModel = 'mistral-medium-2604';
let council: TestCouncil;
let sandboxUrl = '';
const proxy = createServer((request, response) => void passOn(request, response));

/** The slow model's answer comes in pieces, unless it says nothing. */
async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  const asked = body.toString();
  const isSlow = asked.includes(slowModel) && asked.includes('"name":"opinion"');
  if (isSlow && asked.includes('say nothing')) return;
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    typeof value === 'string' && !connectionHeaders.has(name) ? [[name, value] as const] : [],
  );
  const reply = await fetch(`${sandboxUrl}${request.url ?? ''}`, {
    method: request.method ?? 'GET',
    headers: Object.fromEntries(headers),
    ...(body.length === 0 ? {} : { body }),
  });
  const text = await reply.text();
  response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
  for (const part of text.split(/(?<=\n\n)/)) {
    if (isSlow) await sleep(600);
    response.write(part);
  }
  response.end();
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
    replace: ({ bus }) => ({
      bus: withSchedule(bus, (schedule) => ({
        ...schedule,
        deadlinesMs: { ...schedule.deadlinesMs, opinionsSoft: 3000 },
      })),
    }),
  });
});
afterAll(async () => {
  await council.close();
  proxy.closeAllConnections();
  proxy.close();
});

test('at the soft deadline a model that is still writing is waited for, and one that says nothing is not', async () => {
  const person = await council.signUp();
  await give(council, person.userId, 28);
  const closingOf = async (challenge: string) => {
    const run = await council.ask(person, { challenge, strategy: 'balanced' });
    expect(run.status).toBe('completed');
    const { events } = await council.core.readStream(streamOf(run.id));
    return events.map(runEventOf).find(({ type }) => type === 'OpinionsClosed')?.data;
  };
  const [writing, saysNothing] = await Promise.all([
    closingOf('Lease or buy the van?'),
    closingOf('Lease or buy the van, or say nothing?'),
  ]);
  expect(writing).toMatchObject({ reason: 'all', missing: [] });
  expect(saysNothing).toMatchObject({ reason: 'soft', missing: [{ seat: 'R1', why: 'late' }] });
});
