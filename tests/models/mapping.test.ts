import type { ChatRequest$Outbound as RouterRequest } from '@openrouter/sdk/models';
import * as fc from 'fast-check';
import type { ChatRequest as OllamaRequest } from 'ollama/browser';
import { describe, expect, it } from 'vitest';
import { systemWithSchema, usageFromTotals } from '#services/models/transport/guarded-call.ts';
import { unknownUsage } from '#services/models/model.ts';
import { messageParams, usageOfMessage } from '#services/models/providers/anthropic.ts';
import { contentParams, finishOf, usageOfContent } from '#services/models/providers/google.ts';
import { chatRequest, usageOfChat } from '#services/models/providers/mistral.ts';
import { chatRequest as ollamaRequest, usageOfLine } from '#services/models/providers/ollama.ts';
import { billedMicros, openrouterParams } from '#services/models/providers/openrouter.ts';
import { usageOfCompletion } from '#services/models/providers/chat-completions.ts';
import { endpointParams } from '#services/models/providers/openai-compatible.ts';
import {
  replyOfResponse,
  responsesParams,
  usageOfResponse,
} from '#services/models/providers/openai.ts';
import { retryAfterHeaderMs } from '#services/models/transport/guarded-fetch.ts';
import { requestTo } from './provider-cases.ts';

const json = { type: 'object', properties: {}, required: [], additionalProperties: false };
const asked = requestTo('model', { schema: { name: 'opinion', json }, effort: 'high' });
const plain = requestTo('model');
const signal = new AbortController().signal;

describe('a request for structured output at high effort', () => {
  it('a request for structured output becomes a text format and a reasoning effort for OpenAI, which stores nothing', () => {
    expect(responsesParams(asked)).toMatchObject({
      instructions: asked.system,
      input: asked.prompt,
      max_output_tokens: 4000,
      store: false,
      reasoning: { effort: 'high' },
      text: { format: { type: 'json_schema', name: 'opinion', schema: json, strict: true } },
    });
  });

  it('a request for structured output becomes an output format and an effort for Anthropic, and never a forced tool', () => {
    const params = messageParams(asked);
    expect(params).toMatchObject({
      max_tokens: 4000,
      output_config: {
        effort: 'high',
        format: { type: 'json_schema', schema: { ...json, title: 'opinion' } },
      },
    });
    expect(params).not.toHaveProperty('tools');
    expect(params).not.toHaveProperty('thinking');
  });

  it('a request at effort none turns thinking off for Anthropic and names no effort', () => {
    const params = messageParams({ ...plain, effort: 'none' });
    expect(params).toMatchObject({ thinking: { type: 'disabled' } });
    expect(params).not.toHaveProperty('output_config');
  });

  it('a request for structured output becomes a MIME type, a schema and a thinking level for Google', () => {
    expect(contentParams(asked, signal).config).toMatchObject({
      systemInstruction: asked.system,
      maxOutputTokens: 4000,
      responseMimeType: 'application/json',
      responseJsonSchema: { ...json, title: 'opinion' },
      httpOptions: {
        extraBody: { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } },
      },
    });
  });

  it('a request can use the Google thinking level that the SDK does not name yet', () => {
    expect(contentParams({ ...asked, effort: 'xhigh' }, signal).config).toMatchObject({
      httpOptions: {
        extraBody: { generationConfig: { thinkingConfig: { thinkingLevel: 'XHIGH' } } },
      },
    });
  });

  it('a request for structured output becomes a response format and a reasoning effort for Mistral', () => {
    expect(chatRequest(asked)).toMatchObject({
      maxTokens: 4000,
      reasoningEffort: 'high',
      responseFormat: {
        type: 'json_schema',
        jsonSchema: { name: 'opinion', schemaDefinition: json, strict: true },
      },
    });
  });

  it('a request for structured output becomes a response format with usage in the stream for compatible endpoints', () => {
    expect(endpointParams(asked)).toMatchObject({
      max_tokens: 4000,
      reasoning_effort: 'high',
      stream_options: { include_usage: true },
      response_format: { type: 'json_schema', json_schema: { name: 'opinion', schema: json } },
    });
  });

  it('a request for structured output becomes exactly the body that OpenRouter documents', () => {
    const routed = { ...asked, model: 'openai/gpt-6-luna' };
    expect(openrouterParams(routed, 'deny') satisfies RouterRequest).toEqual({
      model: 'openai/gpt-6-luna',
      messages: [
        { role: 'system', content: asked.system },
        { role: 'user', content: asked.prompt },
      ],
      max_tokens: 4000,
      stream: true,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'opinion', strict: true, schema: json },
      },
      provider: { require_parameters: true, data_collection: 'deny' },
      reasoning: { effort: 'high' },
    });
    expect(openrouterParams(routed, 'allow').provider.data_collection).toBe('allow');
    expect(openrouterParams({ ...plain, model: 'openai/x' }, 'deny')).not.toHaveProperty(
      'reasoning',
    );
  });

  it('a request for structured output becomes exactly the body that Ollama documents', () => {
    const local = { ...asked, model: 'qwen3:8b', effort: 'none' as const, numCtx: 12_288 };
    const { truncate, shift, ...documented } = ollamaRequest(local);
    expect([truncate, shift]).toEqual([false, false]);
    expect(documented satisfies OllamaRequest).toEqual({
      model: 'qwen3:8b',
      messages: [
        { role: 'system', content: systemWithSchema(asked) },
        { role: 'user', content: asked.prompt },
      ],
      stream: true,
      format: { ...json, title: 'opinion' },
      keep_alive: '15m',
      think: false,
      options: { num_ctx: 12_288, num_predict: 4000 },
    });
  });

  it.each([
    [null, undefined],
    ['none', false],
    ['low', 'low'],
    ['medium', true],
    ['high', 'high'],
    ['max', 'high'],
  ] as const)('a request of effort %s to Ollama thinks: %s', (effort, think) => {
    expect(ollamaRequest({ ...plain, effort }).think).toBe(think);
  });

  it('a request to a model that knows only JSON, or only its prompt, spells the schema out', () => {
    const spelt = systemWithSchema(asked);
    expect(spelt).toContain(JSON.stringify(json));
    const bodies = (structuredOutput: 'json' | 'prompt') => {
      const request = { ...asked, structuredOutput, model: 'openai/gpt-6-luna' };
      return [openrouterParams(request, 'deny'), endpointParams(request), ollamaRequest(request)];
    };
    for (const body of [...bodies('json'), ...bodies('prompt')])
      expect(body.messages?.[0]).toEqual({ role: 'system', content: spelt });
    expect(bodies('json').map(formatOf)).toEqual([
      { type: 'json_object' },
      { type: 'json_object' },
      'json',
    ]);
    expect(bodies('prompt').map(formatOf)).toEqual([undefined, undefined, undefined]);
    // The schema of an open model may only constrain its output: there it is spelt out, too.
    const open = openrouterParams({ ...asked, model: 'qwen/qwen3-32b' }, 'deny');
    expect(open.messages[0]).toEqual({ role: 'system', content: spelt });
    expect(formatOf(open)).toMatchObject({ type: 'json_schema' });
  });

  const formatOf = (body: object): unknown =>
    'response_format' in body ? body.response_format : 'format' in body ? body.format : undefined;

  it.each([
    ['OpenAI', responsesParams(plain)],
    ['Anthropic', messageParams(plain)],
    ['Google', contentParams(plain, signal).config ?? {}],
    ['Mistral', chatRequest(plain)],
    ['a compatible endpoint', endpointParams(plain)],
    ['OpenRouter', openrouterParams(plain, 'deny')],
    ['Ollama', ollamaRequest(plain)],
  ])('a request without settings leaves every default to %s', (_vendor, params) => {
    const settings = [
      'temperature',
      'reasoning',
      'reasoning_effort',
      'reasoningEffort',
      'thinking',
      'thinkingConfig',
      'output_config',
      'text',
      'response_format',
      'responseFormat',
      'responseJsonSchema',
      'tools',
      'think',
      'format',
      'usage',
    ];
    expect(Object.keys(params).filter((key) => settings.includes(key))).toEqual([]);
  });
});

/** 1,000 in of which 640 cached and 100 written, 700 out of which 500 thought. */
const counted = {
  inputUncached: 260,
  inputCached: 640,
  cacheWrite: 100,
  outputVisible: 200,
  outputThinking: 500,
  source: 'provider',
};

describe('usage', () => {
  it('the input of OpenAI usage includes cached and written tokens, and its output includes thoughts', () => {
    expect(
      usageOfResponse({
        input_tokens: 1000,
        input_tokens_details: { cached_tokens: 640, cache_write_tokens: 100 },
        output_tokens: 700,
        output_tokens_details: { reasoning_tokens: 500 },
        total_tokens: 1700,
      }),
    ).toEqual(counted);
  });

  it('the usage of Chat Completions includes cached tokens and thoughts, too', () => {
    expect(
      usageOfCompletion({
        prompt_tokens: 1000,
        completion_tokens: 700,
        total_tokens: 1700,
        prompt_tokens_details: { cached_tokens: 640, cache_write_tokens: 100 },
        completion_tokens_details: { reasoning_tokens: 500 },
      }),
    ).toEqual(counted);
  });

  it('the usage of Anthropic excludes cached and written tokens, and includes thoughts', () => {
    const last = {
      input_tokens: 260,
      cache_read_input_tokens: 640,
      cache_creation_input_tokens: 100,
      output_tokens: 700,
      output_tokens_details: { thinking_tokens: 500 },
      server_tool_use: null,
    };
    expect(usageOfMessage(null, last)).toEqual(counted);
    const start = {
      ...last,
      output_tokens: 1,
      cache_creation: null,
      inference_geo: null,
      service_tier: null,
      speed: null,
    };
    const older = {
      ...last,
      input_tokens: null,
      cache_read_input_tokens: null,
      cache_creation_input_tokens: null,
    };
    expect(usageOfMessage(start, older)).toEqual(counted);
  });

  it('the usage of Google includes cached tokens and excludes thoughts', () => {
    expect(
      usageOfContent({
        promptTokenCount: 1000,
        cachedContentTokenCount: 640,
        candidatesTokenCount: 200,
        thoughtsTokenCount: 500,
      }),
    ).toEqual({ ...counted, inputUncached: 360, cacheWrite: null });
  });

  it('the usage of Google counts thoughts that left no room for an answer', () => {
    expect(usageOfContent({ promptTokenCount: 1000, thoughtsTokenCount: 500 })).toMatchObject({
      outputVisible: 0,
      outputThinking: 500,
    });
  });

  it('the usage of Mistral includes cached tokens and thoughts where the reply reports them', () => {
    expect(
      usageOfChat({
        promptTokens: 1000,
        completionTokens: 700,
        prompt_tokens_details: { cached_tokens: 640 },
        completion_tokens_details: { reasoning_tokens: 500 },
      }),
    ).toEqual({ ...counted, inputUncached: 360, cacheWrite: null });
    expect(usageOfChat({ promptTokens: 1000, completionTokens: 700 })).toEqual({
      inputUncached: 1000,
      inputCached: null,
      cacheWrite: null,
      outputVisible: 700,
      outputThinking: null,
      source: 'provider',
    });
  });

  it('the usage of Ollama counts thoughts with the output, and is unknown without a count of the prompt', () => {
    expect(usageOfLine({ prompt_eval_count: 1000, eval_count: 700 })).toEqual({
      inputUncached: 1000,
      inputCached: null,
      cacheWrite: null,
      outputVisible: 700,
      outputThinking: null,
      source: 'provider',
    });
    expect(usageOfLine({ eval_count: 700 })).toEqual(unknownUsage);
  });

  const counts = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  it.each([
    ['what it says', { cost: 0.001234 }, 1234],
    ['nothing for a free model', { cost: 0 }, 0],
    ['a part of a micro-dollar, rounded', { cost: 0.0000126 }, 13],
    [
      'its fee and the bill of the maker',
      { cost: 0.001, is_byok: true, cost_details: { upstream_inference_cost: 0.02 } },
      21_000,
    ],
    ['no sum while the bill of the maker is unknown', { cost: 0.001, is_byok: true }, null],
    ['no sum that makes no sense', { cost: -1 }, null],
    ['no sum when it says none', {}, null],
  ])('OpenRouter bills %s', (_what, charged, micros) => {
    expect(billedMicros({ ...counts, ...charged })).toBe(micros);
  });

  it('the usage is unknown, and never 0, when a provider reports none', () => {
    expect(usageOfResponse(null)).toEqual(unknownUsage);
    expect(usageOfMessage(null, null)).toEqual(unknownUsage);
    expect(usageOfContent({})).toEqual(unknownUsage);
    expect(usageOfChat({})).toEqual(unknownUsage);
  });

  it('the usage adds up to what the provider counted, whatever the parts', () => {
    const tokens = fc.nat(2_000_000);
    fc.assert(
      fc.property(
        tokens,
        tokens,
        tokens,
        tokens,
        tokens,
        (uncached, cached, written, visible, thought) => {
          const usage = usageFromTotals({
            input: uncached + cached + written,
            cached,
            cacheWrite: written,
            output: visible + thought,
            thinking: thought,
          });
          expect(usage).toEqual({
            inputUncached: uncached,
            inputCached: cached,
            cacheWrite: written,
            outputVisible: visible,
            outputThinking: thought,
            source: 'provider',
          });
        },
      ),
    );
  });
});

describe('a response of OpenAI', () => {
  const response = {
    id: 'resp_1',
    object: 'response' as const,
    created_at: 0,
    model: 'gpt-6-luna',
    output: [],
    output_text: '',
    access_programs: null,
    error: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto' as const,
    tools: [],
    top_p: null,
  };

  it('a filtered response of OpenAI is a refusal, not a truncation', () => {
    expect(() =>
      replyOfResponse({
        ...response,
        status: 'incomplete',
        incomplete_details: { reason: 'content_filter' },
      }),
    ).toThrow('refused');
  });
});

describe('the end of a reply of Google', () => {
  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'refusal'],
    ['RECITATION', 'refusal'],
    ['PROHIBITED_CONTENT', 'refusal'],
    ['SPII', 'refusal'],
    ['BLOCKLIST', 'refusal'],
    ['OTHER', 'malformed'],
    ['LANGUAGE', 'malformed'],
    ['MALFORMED_FUNCTION_CALL', 'malformed'],
    ['UNEXPECTED_TOOL_CALL', 'malformed'],
    ['FINISH_REASON_UNSPECIFIED', 'malformed'],
  ] as const)('%s is %s', (reason, end) => {
    expect(finishOf(reason)).toBe(end);
  });
});

describe('the wait that a provider asks for', () => {
  const at = Date.parse('2026-11-20T12:00:00.000Z');
  it.each([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 11:59:00 GMT' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('the wait that a provider asks for in %o is %s ms', (headers, expected) => {
    expect(retryAfterHeaderMs(new Headers(Object.entries(headers)), at)).toBe(expected);
  });
});
