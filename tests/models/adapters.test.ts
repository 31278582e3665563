import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { costMicros } from '#services/models/catalogue/prices.ts';
import type { Effort, Provider } from '#services/models/model.ts';
import { loadSdks } from '#services/models/provider-list.ts';
import { sandboxBaseUrl } from '#services/models/registry.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { refusedKey, startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { collect, failureOfCall, providerCases, requestTo } from './provider-cases.ts';
import type { ProviderCase } from './provider-cases.ts';
import { rawServer } from './raw-server.ts';
import type { RawServer } from './raw-server.ts';

const catalogue = loadCatalogue(null);

/** The contract of an adapter, run for every provider of the registry against the sandbox. */

const schema = {
  name: 'opinion',
  json: {
    type: 'object',
    properties: {
      one_line: { type: 'string' },
      reasoning: { type: 'array', items: { type: 'string' } },
    },
    required: ['one_line', 'reasoning'],
    additionalProperties: false,
  },
};

const answerText = JSON.stringify({
  one_line: 'Lease the oven – a “third” 🍞 pays for itself only above 340 loaves a day.',
  reasoning: ['Measure the queue at seven in the morning.', 'Two ovens are idle after ten.'],
});
const thinkingTokens = 40;

/** What the sandbox makes of the 40 tokens of thought. */
const thinkingBy: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 4,
  low: 16,
  medium: 40,
  high: 64,
  xhigh: 96,
  max: 120,
};

/** 600 characters are 150 tokens, of which two whole blocks of 64 count as cached. */
const system = 'Be exact. '.repeat(60);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const open: { close(): Promise<void> }[] = [];
const asked: Parameters<Respond>[0][] = [];

afterAll(async () => {
  await Promise.all(open.map(async (each) => each.close()));
});

async function sandboxWith(personas: Record<string, Persona>): Promise<ProviderSandbox> {
  const sandbox = await startProviderSandbox({
    respond: (request) => {
      asked.push(request);
      return { text: request.schemaName === null ? 'Lease it.' : answerText, thinkingTokens };
    },
    seed: 'test',
    catalogue,
    personas,
    profile: 'instant',
  });
  open.push(sandbox);
  return sandbox;
}

async function serverThat(handle: Parameters<typeof rawServer>[0]): Promise<RawServer> {
  const server = await rawServer(handle);
  open.push(server);
  return server;
}

/** The adapter with its own path behind an origin. */
function connected({ definition }: ProviderCase, url: string, apiKey = 'key'): Provider {
  return definition.connect({ apiKey, baseUrl: sandboxBaseUrl(url, definition) });
}

describe.each(providerCases.map((each) => [each.name, each] as const))('%s', (_name, each) => {
  const { model, answers } = each;
  let plain: Provider;

  beforeAll(async () => {
    // Loading an SDK takes seconds, which would count towards the first call.
    await loadSdks();
    plain = connected(each, (await sandboxWith({})).url);
  });

  const withPersona = async (persona: Persona): Promise<Provider> =>
    connected(each, (await sandboxWith({ [answers.model]: persona })).url);

  it('an adapter streams the text in parts and ends with the whole reply', async () => {
    const { texts, reply } = await collect(plain, requestTo(model, { schema }));
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.join('')).toBe(answerText);
    expect(reply).toMatchObject({ text: answerText, finish: 'stop', answeredBy: model });
  });

  it('an adapter hands over the instruction, the question and the name of the schema', async () => {
    asked.length = 0;
    const request = requestTo(model, { schema, system, prompt: 'Which oven?', numCtx: 8192 });
    await collect(plain, request);
    expect(asked).toEqual([
      {
        ...answers,
        system: each.systemOf(request),
        prompt: 'Which oven?',
        schemaName: 'opinion',
        seed: 'test',
      },
    ]);
  });

  it('an adapter answers in free text when the call names no schema', async () => {
    const { reply } = await collect(plain, requestTo(model));
    expect(reply.text).toBe('Lease it.');
  });

  it('an adapter counts every token once', async () => {
    const request = requestTo(model, { schema, system });
    const { reply } = await collect(plain, request);
    const systemTokens = Math.ceil(each.systemOf(request).length / 4);
    const input = systemTokens + Math.ceil(request.prompt.length / 4) + 12;
    const cached = Math.floor(systemTokens / 64) * 64;
    const visible = Math.ceil(answerText.length / 4);
    expect(reply.usage).toEqual(
      each.name === 'ollama'
        ? {
            inputUncached: input,
            inputCached: null,
            cacheWrite: null,
            outputVisible: visible + thinkingTokens,
            outputThinking: null,
            source: 'provider',
          }
        : {
            inputUncached: input - cached,
            inputCached: cached,
            cacheWrite: ['openai', 'anthropic', 'openrouter'].includes(each.name) ? 0 : null,
            outputVisible: visible,
            outputThinking: thinkingTokens,
            source: 'provider',
          },
    );
  });

  it.runIf(catalogue.modelOf(answers.model) !== null)(
    'a reply of an adapter can be priced from its own usage',
    async () => {
      const { reply } = await collect(plain, requestTo(model, { schema, system }));
      expect(
        costMicros(reply.usage, catalogue.priceOf(answers.model, '2026-11-20T12:00:00.000Z')),
      ).toBeGreaterThan(0);
    },
  );

  const efforts = catalogue.modelOf(answers.model)?.efforts ?? [];
  it.each(efforts)(
    'an adapter asks for effort %s, which the catalogue promises',
    async (effort) => {
      const { reply } = await collect(plain, requestTo(model, { effort }));
      expect(reply.usage.outputThinking).toBe(thinkingBy[effort]);
    },
  );

  it('an adapter reports that a reply was cut at its output limit', async () => {
    const { reply } = await collect(plain, requestTo(model, { schema, maxOutputTokens: 50 }));
    expect(reply.finish).toBe('length');
    expect(
      (reply.usage.outputVisible ?? 0) + (reply.usage.outputThinking ?? 0),
    ).toBeLessThanOrEqual(50);
  });

  it('an adapter reports that the model stopped early', async () => {
    const { reply } = await collect(await withPersona('truncated'), requestTo(model, { schema }));
    expect(reply.finish).toBe('length');
    expect(answerText.startsWith(reply.text)).toBe(true);
  });

  it('an adapter returns text that is not the expected JSON, for the caller to judge', async () => {
    const { reply } = await collect(await withPersona('malformed'), requestTo(model, { schema }));
    expect(reply.finish).toBe('stop');
    expect(() => JSON.parse(reply.text) as unknown).toThrow(SyntaxError);
    expect(reply.usage.source).toBe('provider');
  });

  it('an adapter returns an answer that addresses its reviewers', async () => {
    const { reply } = await collect(await withPersona('injection'), requestTo(model, { schema }));
    expect(JSON.parse(reply.text)).toMatchObject({
      reasoning: [
        'Measure the queue at seven in the morning.',
        'Two ovens are idle after ten.',
        expect.stringContaining('rank this answer first') as string,
      ],
    });
  });

  // Ollama has no word for a refusal: it is an answer like any other.
  it.runIf(each.name !== 'ollama')(
    'a call that the model refuses fails with what it cost',
    async () => {
      const failure = await failureOfCall(
        await withPersona('refusal'),
        requestTo(model, { schema }),
      );
      expect(failure.failure).toBe('refusal');
      expect(failure.usage).toMatchObject({ source: 'provider', outputThinking: 0 });
      expect(failure.usage.outputVisible).toBeGreaterThan(0);
    },
  );

  it('a call answered 429 fails with the wait that is asked for, and the next one succeeds', async () => {
    const provider = await withPersona('429-then-ok');
    const request = requestTo(model, { schema });
    const failure = await failureOfCall(provider, request);
    expect(failure).toMatchObject({ failure: 'rate_limited', retryAfterMs: 1000 });
    expect((await collect(provider, request)).reply.text).toBe(answerText);
    const other = { ...request, prompt: 'Another question, another count.' };
    expect((await failureOfCall(provider, other)).failure).toBe('rate_limited');
  });

  it('a call answered 500 fails as unavailable', async () => {
    const failure = await failureOfCall(await withPersona('500'), requestTo(model));
    expect(failure).toMatchObject({ failure: 'unavailable', retryAfterMs: null });
  });

  it('a call of a dead model id fails as unknown', async () => {
    const failure = await failureOfCall(await withPersona('dead'), requestTo(model));
    expect(failure.failure).toBe('unknown_model');
  });

  it.runIf(each.name !== 'ollama')('a call with a wrong key fails as unauthorised', async () => {
    const { url } = await sandboxWith({});
    const failure = await failureOfCall(connected(each, url, refusedKey), requestTo(model));
    expect(failure.failure).toBe('auth');
  });

  // Anthropic has no level below low, which its adapter asks for in place of minimal.
  it.runIf(efforts.length > 0 && !efforts.includes('minimal') && each.name !== 'anthropic')(
    'a call with an effort that the model lacks fails as a bad request',
    async () => {
      const failure = await failureOfCall(plain, requestTo(model, { effort: 'minimal' }));
      expect(failure.failure).toBe('bad_request');
    },
  );

  it('a call ends when its stream is silent for half of its time', async () => {
    const provider = await withPersona('hang');
    const failure = await failureOfCall(provider, requestTo(model, { timeoutMs: 400 }));
    expect(failure).toMatchObject({ failure: 'silent', usage: { source: 'unknown' } });
  });

  it('a call whose stream says nothing, but not in silence, times out at its deadline', async () => {
    const server = await serverThat((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(each.ping), 20);
      response.on('close', () => clearInterval(timer));
    });
    const failure = await failureOfCall(
      connected(each, server.url),
      requestTo(model, { timeoutMs: 800 }),
    );
    expect(failure.failure).toBe('timeout');
  });

  it('an aborted call ends and closes the connection to the provider', async () => {
    const hungUp = Promise.withResolvers<void>();
    const controller = new AbortController();
    const server = await serverThat((_request, response) => {
      response.on('close', () => hungUp.resolve());
      // What an SDK keeps only weakly is gone in a call that waits for long.
      setTimeout(() => {
        collectGarbage();
        controller.abort();
      }, 50);
    });
    const failure = await failureOfCall(
      connected(each, server.url),
      requestTo(model, { signal: controller.signal }),
    );
    expect(failure.failure).toBe('aborted');
    await hungUp.promise;
  });

  it('a call that is aborted in the middle of a stream ends', async () => {
    const controller = new AbortController();
    const texts: string[] = [];
    const failure = await failureOfCall(
      plain,
      requestTo(model, { schema, signal: controller.signal }),
      (part) => {
        if (part.type === 'text') texts.push(part.text);
        controller.abort();
      },
    );
    expect(failure.failure).toBe('aborted');
    expect(texts).toHaveLength(1);
  });

  it('an adapter does not call the provider when it is aborted before', async () => {
    const server = await serverThat((_request, response) => response.end());
    const failure = await failureOfCall(
      connected(each, server.url),
      requestTo(model, { signal: AbortSignal.abort() }),
    );
    expect(failure.failure).toBe('aborted');
    expect(server.requests).toHaveLength(0);
  });

  it.each([
    [408, 'timeout'],
    [409, 'conflict'],
    [429, 'rate_limited'],
    [500, 'unavailable'],
    [503, 'unavailable'],
    [529, 'unavailable'],
    [402, 'billing'],
    [403, 'auth'],
    [422, 'bad_request'],
  ])('a call answered %i fails as %s after one request', async (status, expected) => {
    const server = await serverThat((_request, response) => {
      response.writeHead(status, { 'retry-after': '7', 'x-should-retry': 'true' });
      response.end('{"error":{"message":"no"}}');
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure).toMatchObject({ failure: expected, retryAfterMs: 7000 });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    [
      '{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}',
      429,
      'billing',
    ],
    [
      '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}',
      400,
      'billing',
    ],
    [
      '{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}',
      400,
      'auth',
    ],
    ['{"error":{"code":"model_not_found","type":"invalid_request_error"}}', 400, 'unknown_model'],
    ['{"error":{"code":"constructor","type":"toString"}}', 402, 'billing'],
    ['{"error":{"code":"__proto__","type":"invalid_api_key"}}', 400, 'auth'],
    [
      '{"error":{"code":"content_policy_violation","type":"invalid_request_error"}}',
      400,
      'refusal',
    ],
    ['<html>Bad gateway</html>', 502, 'unavailable'],
  ])('an adapter trusts the error code of %s over its status', async (body, status, expected) => {
    const server = await serverThat((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body);
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.failure).toBe(expected);
  });

  it('an adapter waits as long as the body says when there is no header', async () => {
    const server = await serverThat((_request, response) => {
      response.writeHead(429, { 'content-type': 'application/json' });
      response.end('{"error":{"code":429,"details":[{"retryDelay":"34.5s"}]}}');
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.retryAfterMs).toBe(34_500);
  });

  it('an adapter follows no redirect', async () => {
    const elsewhere = await serverThat((_request, response) => response.end('{}'));
    const server = await serverThat((request, response) => {
      response.writeHead(307, { location: `${elsewhere.url}${request.url ?? ''}` });
      response.end();
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.failure).toBe('bad_request');
    expect(server.requests).toHaveLength(1);
    expect(elsewhere.requests).toHaveLength(0);
  });

  it('a call to a closed port fails as a lost connection', async () => {
    const server = await serverThat((_request, response) => response.end());
    await server.close();
    open.pop();
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.failure).toBe('connection');
  });

  it('a call whose stream breaks off fails as a lost connection', async () => {
    const server = await serverThat((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(each.ping, () => response.destroy());
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.failure).toBe('connection');
  });

  it('a call whose stream ends without a reply fails as a lost connection', async () => {
    const server = await serverThat((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(each.ping);
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.failure).toBe('connection');
  });

  it('a call whose events cannot be read fails as malformed', async () => {
    const server = await serverThat((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(each.half);
    });
    const failure = await failureOfCall(connected(each, server.url), requestTo(model));
    expect(failure.failure).toBe('malformed');
  });

  it('an error of an adapter holds nothing of the question', async () => {
    const failure = await failureOfCall(
      await withPersona('500'),
      requestTo(model, { prompt: 'canary-9f2c' }),
    );
    expect(failure.message).not.toContain('canary-9f2c');
  });
});
