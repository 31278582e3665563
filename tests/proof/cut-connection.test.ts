import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpServer, listen, stopListening } from '#services/platform/process/listen.ts';
import { cuttingProxy } from '#tests/openai/cutting-proxy.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

/** Models that take as long as real ones, behind a proxy that gives up after 20 seconds. */
let app: TestCouncil;

beforeAll(async () => {
  app = await createTestCouncil({ profile: 'realistic' });
});
afterAll(async () => app.close());

test('a client with its usual retries, cut off after 20 s, gets the one run that it is charged for', async () => {
  const server = createHttpServer(app.app.fetch);
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  const proxy = await cuttingProxy(url, { cuts: 2, afterMs: 20_000, isHeld: true });
  const { token, userId } = await app.signUp();
  await give(app, userId, 100);
  const body = { name: 'A program', scopes: ['run'], monthly_cap: 100 };
  const { key } = await app.data<{ key: string }>('/api-keys', { token, body });
  const client = new OpenAI({ apiKey: key, baseURL: `${proxy.url}/v1` });
  const answer = await client.chat.completions.create({
    model: 'balanced',
    messages: [{ role: 'user', content: 'Should I rent a third stall?' }],
  });
  expect(answer.choices[0]?.message.content).toMatch(/simulated/i);
  expect(proxy.requests()).toBeGreaterThan(1);
  const { rows } = await app.database.ownerPool.query<{ type: string; count: number }>(
    `select message_type as type, count(*)::integer as count from emt_messages
     where stream_id = $1 group by 1 order by 1`,
    [`credits-${userId}`],
  );
  expect(rows.filter(({ type }) => /Reserved|Captured/.test(type))).toEqual([
    { type: 'CreditsCaptured', count: 1 },
    { type: 'CreditsReserved', count: 1 },
  ]);
  await proxy.close();
  await stopListening(server);
});
