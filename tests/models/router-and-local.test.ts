import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Provider } from '#services/models/model.ts';
import { loadSdks } from '#services/models/provider-list.ts';
import { ollama } from '#services/models/providers/ollama.ts';
import { openrouter } from '#services/models/providers/openrouter.ts';
import { sandboxBaseUrl } from '#services/models/registry.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { collect, failureOfCall, requestTo } from './provider-cases.ts';
import { rawServer } from './raw-server.ts';

/** What only a router or a local server does. */
const open: { close(): Promise<void> }[] = [];
let sandbox: ProviderSandbox;
beforeAll(async () => {
  await loadSdks();
  sandbox = await startProviderSandbox({
    respond: () => ({ text: 'Lease it.', thinkingTokens: 40 }),
    catalogue: loadCatalogue(null),
    seed: 'test',
    personas: { 'claude-haiku-5-5': 'refusal' },
    profile: 'instant',
  });
  open.push(sandbox);
});
afterAll(async () => {
  await Promise.all(open.map(async (each) => each.close()));
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Handle = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function providerThat(definition: typeof ollama, handle: Handle): Promise<Provider> {
  const server = await rawServer(handle);
  open.push(server);
  return definition.connect({ apiKey: 'key', baseUrl: server.url });
}

const sends =
  (type: string, ...pieces: string[]): Handle =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(pieces.join(''));
  };

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, more: object = {}) =>
  event({ id: 'gen-1', choices: [{ index: 0, delta, finish_reason: null, ...more }] });

describe('OpenRouter', () => {
  const routed = requestTo('openai/gpt-6-luna');
  const connected = () =>
    openrouter.connect({ apiKey: 'key', baseUrl: sandboxBaseUrl(sandbox.url, openrouter) });

  test('a reply has the bill, also when the model refuses', async () => {
    const { reply } = await collect(connected(), routed);
    const input = (reply.usage.inputUncached ?? 0) + (reply.usage.inputCached ?? 0);
    const output = (reply.usage.outputVisible ?? 0) + (reply.usage.outputThinking ?? 0);
    expect(reply.billedCost).toBe(input + 4 * output);
    const refused = await failureOfCall(connected(), requestTo('anthropic/claude-haiku-5.5'));
    expect(refused.failure).toBe('refusal');
    expect(refused.billedCost).toBeGreaterThan(0);
  });

  test('a request carries the key and what it asks of the makers', async () => {
    const asked = Promise.withResolvers<[string | undefined, unknown]>();
    const provider = await providerThat(openrouter, ({ headers }, response, body) => {
      asked.resolve([headers.authorization, JSON.parse(body)]);
      response.end();
    });
    await failureOfCall(provider, routed);
    const [key, body] = await asked.promise;
    expect(key).toBe('Bearer key');
    expect(body).toMatchObject({ provider: { require_parameters: true, data_collection: 'deny' } });
  });

  const error = (status: number, metadata: object, more: object = {}) => ({
    error: { code: status, message: 'No.', metadata, ...more },
  });
  test.each([
    ['an empty account', 402, error(402, { limit_source: 'openrouter_credits' }), 'billing'],
    ['a spent key', 402, error(402, { limit_source: 'openrouter_key_limit' }), 'billing'],
    ['a spent key of today', 403, error(403, { limit_source: 'openrouter_key_limit' }), 'billing'],
    ['an account of before', 402, { error: { code: 402, message: 'No.' } }, 'billing'],
    [
      'credits that calls under way have set aside',
      402,
      error(402, { limit_source: 'openrouter_in_flight_budget' }),
      'rate_limited',
    ],
    ['a wrong key', 401, { error: { code: 401, message: 'User not found.' } }, 'auth'],
    ['moderation', 403, error(403, { reasons: ['violence'], flagged_input: 'x' }), 'refusal'],
    ['a guardrail', 403, error(403, { patterns: ['secret'] }), 'refusal'],
    [
      'an unknown model',
      400,
      error(400, {}, { availability: { code: 'model_not_found' } }),
      'unknown_model',
    ],
    [
      'an unknown model of before',
      400,
      { error: { code: 400, message: 'openai/gpt-0 is not a valid model ID' } },
      'unknown_model',
    ],
    [
      'a rule that leaves no maker',
      404,
      error(404, {}, { availability: { code: 'privacy_restricted' } }),
      'bad_request',
    ],
    [
      'a parameter that no maker takes',
      404,
      { error: { code: 404, message: 'No endpoints found that can handle the parameters' } },
      'bad_request',
    ],
    ['an overloaded maker', 503, error(503, { error_type: 'provider_overloaded' }), 'unavailable'],
    [
      'a maker that is down',
      502,
      error(502, { error_type: 'provider_unavailable' }),
      'unavailable',
    ],
    ['a limit', 429, error(429, { limit_source: 'upstream_provider_shared_pool' }), 'rate_limited'],
    ['a slow edge', 524, error(524, {}), 'unavailable'],
  ])('%s fails as expected: %i', async (_what, status, body, expected) => {
    const provider = await providerThat(openrouter, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '3' });
      response.end(JSON.stringify(body));
    });
    expect(await failureOfCall(provider, routed)).toMatchObject({
      failure: expected,
      retryAfterMs: 3000,
    });
  });

  test.each([
    [{ code: 429, metadata: { error_type: 'rate_limit_exceeded' } }, 'rate_limited'],
    [{ code: 502, metadata: { error_type: 'provider_unavailable' } }, 'unavailable'],
    [{ code: 500 }, 'unavailable'],
    [{ code: 'server_error' }, 'unavailable'],
    [{ code: 402 }, 'billing'],
    [{ code: 400, metadata: { error_type: 'refusal' } }, 'refusal'],
    [null, 'unavailable'],
  ])('an error in the middle of a stream, %j, fails as %s', async (broken, expected) => {
    const end = { index: 0, delta: { content: '' }, finish_reason: 'error' };
    const last = { id: 'gen-1', choices: [end], ...(broken ? { error: broken } : {}) };
    const provider = await providerThat(
      openrouter,
      sends('text/event-stream', chunk({ content: 'Lease' }), event(last)),
    );
    expect((await failureOfCall(provider, routed)).failure).toBe(expected);
  });

  test('comments keep a call alive that has not begun to answer', async () => {
    const provider = await providerThat(openrouter, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let comments = 0;
      const timer = setInterval(() => {
        comments += 1;
        response.write(': OPENROUTER PROCESSING\n\n');
        if (comments < 60) return;
        clearInterval(timer);
        response.end(
          chunk({ content: 'Lease it.' }, { finish_reason: 'stop' }) + 'data: [DONE]\n\n',
        );
      }, 20);
    });
    // Silence is bounded by half of this, which the comments outlast.
    const { reply } = await collect(provider, { ...routed, timeoutMs: 2000 });
    expect(reply).toMatchObject({ text: 'Lease it.', billedCost: null });
  });
});

describe('Ollama', () => {
  const local = requestTo('qwen3:8b');
  const connected = () =>
    ollama.connect({ apiKey: '', baseUrl: sandboxBaseUrl(sandbox.url, ollama) });
  const line = (content: string, more: object = {}) =>
    `${JSON.stringify({ model: 'qwen3:8b', message: { role: 'assistant', content }, done: false, ...more })}\n`;
  const end = line('', { done: true, done_reason: 'stop', prompt_eval_count: 9, eval_count: 4 });
  const lines = (...pieces: string[]) => sends('application/x-ndjson', ...pieces);

  test('a prompt that is longer than the context is refused, never cut', async () => {
    const long = { ...local, prompt: 'An oven. '.repeat(3000) };
    expect((await failureOfCall(connected(), { ...long, numCtx: 4096 })).failure).toBe(
      'bad_request',
    );
    expect((await collect(connected(), { ...long, numCtx: 8192 })).reply.text).toBe('Lease it.');
  });

  test('a model that cannot think is not asked to', async () => {
    const gemma = requestTo('gemma3:12b');
    expect((await collect(connected(), gemma)).reply.text).toBe('Lease it.');
    expect((await collect(connected(), { ...gemma, effort: 'none' })).reply.text).toBe('Lease it.');
    expect((await failureOfCall(connected(), { ...gemma, effort: 'high' })).failure).toBe(
      'bad_request',
    );
  });

  test('a call carries no key and asks to keep the model', async () => {
    const asked: [string | undefined, unknown][] = [];
    const handle: Handle = ({ headers }, response, body) => {
      asked.push([headers.authorization, JSON.parse(body)]);
      response.end(end);
    };
    const server = await rawServer(handle);
    open.push(server);
    await failureOfCall(ollama.connect({ apiKey: 'key', baseUrl: server.url }), local);
    expect(asked.map(([key]) => key)).toEqual([undefined]);
    expect(asked[0]?.[1]).toMatchObject({ keep_alive: '15m', truncate: false, shift: false });
  });

  test('thinking stays out of the text', async () => {
    const thinking = `${JSON.stringify({ model: 'x', message: { role: 'assistant', content: '', thinking: 'Hm.' }, done: false })}\n`;
    const provider = await providerThat(ollama, lines(thinking, line('Lease it.'), end));
    const { texts, reply } = await collect(provider, local);
    expect(texts.join('')).toBe('Lease it.');
    expect(reply).toMatchObject({ text: 'Lease it.', usage: { outputVisible: 4 } });
  });

  test.each([
    [
      'an error in the middle',
      [line('Lease'), '{"error":"model runner has stopped"}\n'],
      'unavailable',
    ],
    ['a line that cannot be read', [line('Lease'), 'secret words\n', end], 'malformed'],
    ['a last line that cannot be read', [line('Lease'), 'secret words'], 'malformed'],
    ['a line that is no object', [line('Lease'), '7\n', end], 'malformed'],
    ['a line without a message', ['{"done":false}\n', end], 'malformed'],
    ['no last line', [line('Lease')], 'connection'],
    ['a line without end', ['{"a":"', 'x'.repeat(1_200_000)], 'malformed'],
    ['a reply without text', [end], 'malformed'],
  ])('a stream with %s fails, and nothing of it is printed', async (_what, pieces, expected) => {
    const printed = (['log', 'warn', 'error'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => undefined),
    );
    const provider = await providerThat(ollama, lines(...pieces));
    expect((await failureOfCall(provider, local)).failure).toBe(expected);
    for (const print of printed) expect(print).not.toHaveBeenCalled();
  });

  test('a stream that continues behind its last line is closed', async () => {
    const closed = Promise.withResolvers<void>();
    const provider = await providerThat(ollama, (_request, response) => {
      response.writeHead(200);
      response.write(line('Lease it.') + end);
      response.on('close', () => closed.resolve());
    });
    expect((await collect(provider, local)).reply.text).toBe('Lease it.');
    await closed.promise;
  });

  test.each([
    [404, `{"error":"model 'qwen3:8b' not found"}`, 'unknown_model'],
    [500, '{"error":"model requires more system memory"}', 'unavailable'],
    [503, '{"error":"server busy, please try again."}', 'unavailable'],
  ])('an answer of %i fails as expected', async (status, body, expected) => {
    const provider = await providerThat(ollama, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body);
    });
    expect((await failureOfCall(provider, local)).failure).toBe(expected);
  });
});
