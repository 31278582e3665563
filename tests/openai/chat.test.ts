import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  PermissionDeniedError,
} from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChatReply } from '#services/openai/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { recommendationMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import { createHttpServer, listen, stopListening } from '#services/platform/process/listen.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { newId } from '#services/platform/ids.ts';
import { claimSeconds } from '#services/programs/asked-runs.ts';
import { strategyIds } from '#services/models/strategy-list.ts';
import type { Person } from '#tests/support/app.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import * as v from 'valibot';

/** Whole runs by the official client of OpenAI, over a socket. */
let app: TestCouncil;
let slow: TestCouncil;
const servers: Server[] = [];
const addresses = new Map<TestCouncil, string>();

beforeAll(async () => {
  app = await createTestCouncil();
  // One model takes a while, so that a run can be joined, left and cut off.
  const [seat] = app.core.catalogue.strategyOf('fast')?.panel ?? [];
  slow = await createTestCouncil({ personas: { [seat?.model ?? '']: 'slow' } });
  for (const council of [app, slow]) {
    const server = createHttpServer(council.app.fetch);
    servers.push(server);
    addresses.set(council, await listen(server, { host: '127.0.0.1', port: 0 }));
  }
});
afterAll(async () => {
  await Promise.all(servers.map(stopListening));
  await app.close();
  await slow.close();
});

/** Keys are looked up twice a second (`liveLimits.sessionsEveryMs`); a busy machine may take longer. */
const withinMs = 5_000;

type Program = { person: Person; key: string; keyId: string; client: OpenAI };

async function program(
  council: TestCouncil = app,
  {
    scopes = ['run', 'read'],
    credits = 1_000,
    options = {},
    cap = 1_000,
  }: {
    scopes?: readonly KeyScope[];
    credits?: number;
    cap?: number;
    options?: ConstructorParameters<typeof OpenAI>[0];
  } = {},
): Promise<Program> {
  const person = await council.signUp();
  if (credits > 0) await give(council, person.userId, credits);
  const { id, key } = await council.data<{ id: string; key: string }>('/api-keys', {
    token: person.token,
    body: { name: 'A program', scopes, monthly_cap: cap },
  });
  const baseURL = `${addresses.get(council)}/v1`;
  return { person, key, keyId: id, client: new OpenAI({ apiKey: key, baseURL, ...options }) };
}

const messages = [
  { role: 'system' as const, content: 'I sell bread at two markets.' },
  { role: 'user' as const, content: 'Should I raise prices by 10%?' },
];
const asked = { model: 'fast', messages };

async function runsOf(council: TestCouncil, { token }: Person): Promise<string[]> {
  const response = await council.call('/optimizations', { token });
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

/** `expect.poll` finds no test of its own among tests that run at once. */
async function begunRun(council: TestCouncil, person: Person): Promise<void> {
  const status = async () =>
    (await council.data<{ status: string }[]>('/optimizations', { token: person.token }))[0]
      ?.status;
  while ((await status()) !== 'processing') await sleep(50);
}

async function askedRows({ userId }: Person): Promise<number> {
  const { rows } = await app.database.ownerPool.query<{ count: number }>(
    `select count(*)::integer as count from asked_run
     where api_key_id in (select id from api_key where user_id = $1)`,
    [userId],
  );
  return rows[0]?.count ?? 0;
}

async function chargesOf(council: TestCouncil, { userId }: Person): Promise<number> {
  const { rows } = await council.database.ownerPool.query<{ count: number }>(
    `select count(*)::integer as count from emt_messages
     where stream_id = $1 and message_type = 'CreditsCaptured'`,
    [`credits-${userId}`],
  );
  return rows[0]?.count ?? 0;
}

test('the models are the strategies, with their prices', async () => {
  const { client } = await program();
  const found = [];
  for await (const model of client.models.list()) found.push(model);
  expect(found.map(({ id }) => id)).toEqual(strategyIds);
  expect(await client.models.retrieve('fast')).toMatchObject({ object: 'model', available: true });
  await expect(client.models.retrieve('gpt-4')).rejects.toMatchObject({ status: 404 });
});

test('a chat completion is a whole run, and its answer the recommendation', async () => {
  const { client, person } = await program();
  const { data, response } = await client.chat.completions.create(asked).withResponse();
  expect(v.parse(ChatReply, data)).toEqual(data);
  const runId = response.headers.get('x-run-id') ?? '';
  const run = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
  expect(run).toMatchObject({
    status: 'completed',
    challenge: 'Should I raise prices by 10%?',
    context: 'I sell bread at two markets.',
  });
  expect(data.choices[0]?.message.content).toBe(recommendationMarkdown(run));
  expect(data.choices[0]?.message.content).toMatch(/^> .*simulated/i);
  expect(data.usage).toMatchObject({ credits: run.credits.charged, calls_without_usage: 0 });
  expect(data.usage?.total_tokens).toBeGreaterThan(1_000);
  expect(await chargesOf(app, person)).toBe(1);
});

test('a streamed completion has the same text, then its usage, and its progress is not part of it', async () => {
  const { client, person, key } = await program();
  const stream = await client.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  const [runId = ''] = await runsOf(app, person);
  const run = await app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
  expect(text).toBe(recommendationMarkdown(run));
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { credits: run.credits.charged } });
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');

  const raw = await fetch(`${addresses.get(app)}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, messages: [messages[1]], stream: true }),
  });
  const lines = (await raw.text()).split('\n');
  expect(lines.filter((line) => /^: \d+% /.test(line)).length).toBeGreaterThan(0);
  expect(lines.filter((line) => line.startsWith('data: ')).at(-1)).toBe('data: [DONE]');
});

describe('a refusal reaches the client as the error that OpenAI’s client names', () => {
  test('an unknown key', async () => {
    const { client } = await program(app, { options: { apiKey: 'sk_nothing' } });
    const error = await client.chat.completions.create(asked).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ code: 'authentication-required' });
  });

  test('a key without the scope, and a user in person', async () => {
    const { client, person } = await program(app, { scopes: ['read'] });
    await expect(client.chat.completions.create(asked)).rejects.toBeInstanceOf(
      PermissionDeniedError,
    );
    const inPerson = new OpenAI({ apiKey: person.token, baseURL: `${addresses.get(app)}/v1` });
    await expect(inPerson.models.list()).rejects.toMatchObject({
      status: 403,
      code: 'api-key-required',
    });
  });

  test('too few credits, a cap, and the same request after a purchase', async () => {
    const { client, person } = await program(app, { credits: 0 });
    await expect(client.chat.completions.create(asked)).rejects.toMatchObject({
      status: 402,
      code: 'insufficient-credits',
      type: 'insufficient_quota',
    });
    expect(await runsOf(app, person)).toEqual([]);
    expect(await askedRows(person)).toBe(0);
    await give(app, person.userId, 50);
    const answer = await client.chat.completions.create(asked);
    expect(answer.choices[0]?.message.content).not.toBeNull();
    expect(await runsOf(app, person)).toHaveLength(1);
    const capped = await program(app, { cap: 1 });
    await expect(capped.client.chat.completions.create(asked)).rejects.toMatchObject({
      status: 403,
      code: 'monthly-cap-reached',
    });
    expect(await runsOf(app, capped.person)).toEqual([]);
  });

  test('an address that is too long', async () => {
    const { client } = await program();
    await expect(client.get(`/models?${'a'.repeat(5_000)}`)).rejects.toMatchObject({
      status: 414,
      code: 'address-too-long',
    });
  });

  test('a body of very many values, at once and in a few words', async () => {
    const { key } = await program();
    const send = async (path: string, body: object) => {
      const response = await fetch(`${addresses.get(app)}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(400);
      expect((await response.text()).length).toBeLessThan(4_000);
    };
    const many = Array.from({ length: 130_000 }, () => ({}));
    const some = many.slice(0, 2_000);
    for (const parts of [many, some]) {
      await send('/v1/chat/completions', {
        model: 'fast',
        messages: [{ role: 'user', content: parts }],
      });
      await send('/api/optimizations', { challenge: 'x', strategy: 'fast', files: parts });
    }
  });

  test.each([
    ['an unknown model', { model: 'gpt-4' }, 'model'],
    ['no question', { messages: [] }, 'messages'],
    ['an answer last', { messages: [{ role: 'assistant', content: 'x' }] }, 'messages'],
    ['an empty question', { messages: [{ role: 'user', content: ' ' }] }, 'messages'],
    ['a long question', { messages: [{ role: 'user', content: 'x'.repeat(4001) }] }, 'messages'],
    ['two answers', { n: 2 }, 'n'],
    [
      'a picture',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      'messages.0.content',
    ],
    ['tools', { tools: [] }, 'tools'],
    ['a field that OpenAI does not have', { answers: 1 }, null],
  ])('%s', async (_what, fault, param) => {
    const { client, person } = await program();
    // The client's types refuse most of these.
    const error = await client
      .post('/chat/completions', { body: { ...asked, ...fault } })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param, code: 'validation' });
    expect(await runsOf(app, person)).toEqual([]);
  });

  test('a cookie, another path, another method; and nothing is said about other origins', async () => {
    const { key } = await program();
    const ask = async (
      path: string,
      init: { method?: string; headers?: Record<string, string> } = {},
    ) =>
      fetch(`${addresses.get(app)}/v1${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, origin: 'https://example.org', ...init.headers },
      });
    const ok = await ask('/models');
    expect(ok.headers.get('access-control-allow-origin')).toBeNull();
    const refused = await ask('/models', { headers: { cookie: 'a=b' } });
    expect([refused.status, ((await refused.json()) as { error: object }).error]).toEqual([
      400,
      expect.objectContaining({ code: 'cookies-refused' }),
    ]);
    expect((await ask('/completions', { method: 'POST' })).status).toBe(404);
    const deleted = await ask('/models', { method: 'DELETE' });
    expect([deleted.status, deleted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const preflight = await ask('/chat/completions', { method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('one question, one run', () => {
  test('equal requests at once, and one after the end, are one run and one charge', async () => {
    const { client, person } = await program();
    const all = await Promise.all(
      Array.from({ length: 5 }, async () => client.chat.completions.create(asked)),
    );
    const later = await client.chat.completions.create(asked);
    expect(new Set([...all, later].map(({ id }) => id)).size).toBe(1);
    expect(later.choices).toEqual(all[0]?.choices);
    expect(await runsOf(app, person)).toHaveLength(1);
    expect(await chargesOf(app, person)).toBe(1);
    const other = { ...asked, messages: [{ role: 'user' as const, content: 'And by 20%?' }] };
    await client.chat.completions.create(other);
    expect(await runsOf(app, person)).toHaveLength(2);
  });

  test(
    'each Idempotency-Key has its run, and no other request takes it over',
    { tags: ['long'] },
    async () => {
      const { client, person } = await program();
      const ask = async (idempotencyKey: string, content = 'Should I rent a third stall?') =>
        client.chat.completions.create(
          { model: 'fast', messages: [{ role: 'user', content }] },
          { headers: { 'Idempotency-Key': idempotencyKey } },
        );
      const [first, again, second] = [await ask('a'), await ask('a'), await ask('b')];
      expect(again.id).toBe(first.id);
      expect(second.id).not.toBe(first.id);
      await expect(ask('a', 'Should I close a stall?')).rejects.toBeInstanceOf(ConflictError);
      expect(await runsOf(app, person)).toHaveLength(2);
      // An expired row would start another run.
      await app.database.ownerPool.query(
        `update asked_run set expires_at = expires_at - interval '30 days'`,
      );
      expect((await ask('a')).id).toBe(first.id);
    },
  );

  test(
    'of different questions with one Idempotency-Key at once, one is asked',
    { tags: ['long'] },
    async () => {
      const { client, person } = await program();
      const ask = async (content: string) =>
        client.chat.completions.create(
          { model: 'fast', messages: [{ role: 'user', content }] },
          { headers: { 'Idempotency-Key': 'one' } },
        );
      const questions = ['Rent?', 'Buy?', 'Lease?', 'Wait?'];
      const all = await Promise.allSettled(questions.map(ask));
      const won = all.findIndex(({ status }) => status === 'fulfilled');
      expect(
        all.flatMap((one) => (one.status === 'rejected' ? [(one.reason as APIError).code] : [])),
      ).toEqual(Array.from({ length: 3 }, () => 'idempotency-mismatch'));
      await ask(questions[won]!);
      expect(await runsOf(app, person)).toHaveLength(1);
      expect(await chargesOf(app, person)).toBe(1);
    },
  );

  test(
    'of different questions at once, those that cannot be paid are over, and bind nothing',
    { tags: ['long'] },
    async () => {
      const { credits } = loadCatalogue(null).strategyOf('fast')!;
      const { client, person } = await program(app, { credits });
      const contents = ['Rent?', 'Buy?', 'Lease?', 'Wait?'];
      const ask = async (content: string) =>
        client.chat.completions.create(
          { model: 'fast', messages: [{ role: 'user', content }] },
          { headers: { 'Idempotency-Key': content } },
        );
      const all = await Promise.allSettled(contents.map(ask));
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const listed = await app.data<{ status: string }[]>('/optimizations', {
        token: person.token,
      });
      expect(listed.map(({ status }) => status)).not.toContain('pending');
      const refused = contents[all.findIndex(({ status }) => status === 'rejected')]!;
      await give(app, person.userId, credits);
      // Another question under the key of a refused one.
      const other = await client.chat.completions.create(
        { model: 'fast', messages: [{ role: 'user', content: 'Sell?' }] },
        { headers: { 'Idempotency-Key': refused } },
      );
      expect(other).toMatchObject({ run: { joined: false } });
      expect(await chargesOf(app, person)).toBe(2);
    },
  );

  test('a request that crashed while it began is continued, and meanwhile waited for', async () => {
    const { client, person, keyId } = await program();
    const options = { headers: { 'Idempotency-Key': 'crashed' } };
    await client.chat.completions.create(asked, options);
    const [runId] = await runsOf(app, person);
    const next = newId('opt');
    await app.database.ownerPool.query(
      `update asked_run set run_id = $2, claimed_at = now() - make_interval(secs => $3)
       where api_key_id = $1`,
      [keyId, next, claimSeconds - 1],
    );
    const continued = await client.chat.completions.create(asked, options);
    expect(continued).toMatchObject({ id: `chatcmpl-${next}`, run: { joined: false } });
    expect(await runsOf(app, person)).toEqual([next, runId]);
  });

  test('a refused request leaves its Idempotency-Key free, and a deleted run keeps its own', async () => {
    const { client, person, keyId } = await program();
    const ask = async (content: string) =>
      client.chat.completions.create(
        { model: 'fast', messages: [{ role: 'user', content }] },
        { headers: { 'Idempotency-Key': 'k' } },
      );
    const refusing = await program(app, { credits: 0 });
    const refused = { headers: { 'Idempotency-Key': 'k' } };
    await expect(refusing.client.chat.completions.create(asked, refused)).rejects.toMatchObject({
      status: 402,
    });
    await give(app, refusing.person.userId, 50);
    const other = [{ role: 'user' as const, content: 'Another question?' }];
    const first = await refusing.client.chat.completions.create(
      { model: 'fast', messages: other },
      refused,
    );
    expect(first.choices[0]?.message.content).not.toBeNull();

    const begun = await ask('Should I rent a third stall?');
    await app.database.ownerPool.query(
      `update asked_run set expires_at = now() - interval '1 day'
       where api_key_id = $1 and expires_at is not null`,
      [keyId],
    );
    await app.data(`/optimizations/${begun.id.replace('chatcmpl-', '')}`, {
      token: person.token,
      method: 'DELETE',
    });
    await expect(ask('Should I rent a third stall?')).rejects.toMatchObject({ status: 404 });
    expect(await chargesOf(app, person)).toBe(1);
  });

  test(
    'an equal request 15 minutes later, or after the run was deleted, starts another',
    { tags: ['long'] },
    async () => {
      const { client, person } = await program();
      const first = await client.chat.completions.create(asked);
      await app.database.ownerPool.query(
        `update asked_run set expires_at = expires_at - interval '15 minutes'`,
      );
      const second = await client.chat.completions.create(asked);
      expect(second.id).not.toBe(first.id);
      await app.data(`/optimizations/${second.id.replace('chatcmpl-', '')}`, {
        token: person.token,
        method: 'DELETE',
      });
      const third = await client.chat.completions.create(asked);
      expect([first.id, second.id]).not.toContain(third.id);
    },
  );

  test.concurrent('a client that goes away leaves the run running, and the next equal request joins it', async () => {
    const { client, person } = await program(slow);
    const stop = new AbortController();
    const leaving = client.chat.completions.create(asked, { signal: stop.signal });
    await begunRun(slow, person);
    stop.abort();
    await expect(leaving).rejects.toThrow('aborted');
    const [runId = ''] = await runsOf(slow, person);
    const answer = await client.chat.completions.create(asked);
    expect(answer.id).toBe(`chatcmpl-${runId}`);
    expect(await chargesOf(slow, person)).toBe(1);
  });

  test.concurrent.for([
    ['before a proxy passes a response on', true] as const,
    ['while the response waits', false] as const,
  ])('a connection that is cut off %s makes one run and one charge', async ([_when, isHeld]) => {
    const proxy = await cuttingProxy(addresses.get(slow) ?? '', {
      cuts: 2,
      afterMs: 700,
      isHeld,
    });
    const { client, person } = await program(slow, { options: { baseURL: `${proxy.url}/v1` } });
    const ask = async () => client.chat.completions.create(asked);
    let answer = await ask().catch((error: unknown) => error);
    // With the headers received, the client does not retry automatically.
    for (let tries = 0; tries < 2 && answer instanceof Error; tries += 1)
      answer = await ask().catch((error: unknown) => error);
    expect(answer).toMatchObject({ object: 'chat.completion' });
    expect(proxy.requests()).toBe(3);
    expect(await runsOf(slow, person)).toHaveLength(1);
    expect(await chargesOf(slow, person)).toBe(1);
    await proxy.close();
  });
});

describe('the end of a wait', () => {
  test.concurrent('a revoked key ends both kinds of response within a second, and the run continues', async () => {
    const { client, person, keyId } = await program(slow);
    const whole = client.chat.completions.create(asked);
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    const heard = (async () => {
      for await (const _ of stream);
    })().catch((error: unknown) => error);
    await begunRun(slow, person);
    const revokedAt = performance.now();
    await slow.data(`/api-keys/${keyId}`, { token: person.token, method: 'DELETE' });
    expect(await heard).toBeInstanceOf(APIError);
    expect(await whole).toMatchObject({ error: { code: 'authentication-required' } });
    expect(performance.now() - revokedAt).toBeLessThan(withinMs);
    const [runId = ''] = await runsOf(slow, person);
    expect((await slow.ended(person, runId)).status).toBe('completed');
  });

  test.concurrent('a run that was canceled is a refusal, and an error for a request that joins it', async () => {
    const { client, person } = await program(slow);
    const whole = client.chat.completions.create(asked);
    await begunRun(slow, person);
    const [runId = ''] = await runsOf(slow, person);
    await slow.data(`/optimizations/${runId}/cancel`, { token: person.token, method: 'POST' });
    const { message } = (await whole).choices[0] ?? {};
    expect(message?.content).toBeNull();
    expect(message?.refusal).toMatch(/^The run was canceled\./);
    const joining = await client.chat.completions.create(asked).catch((error: unknown) => error);
    expect(joining).toMatchObject({ status: 409, code: 'run-failed' });
  });

  test.concurrent('white space comes at once, so that the client knows that its request has arrived', async () => {
    const { key, person } = await program(slow);
    const response = await fetch(`${addresses.get(slow)}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    const reader = response.body?.getReader();
    const first = (await reader?.read())?.value as Uint8Array | undefined;
    expect(Buffer.from(first ?? []).toString()).toBe(' ');
    const [runId = ''] = await runsOf(slow, person);
    const run = await slow.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
    expect(run.status).toBe('processing');
    await reader?.cancel();
  });
});
