import type Anthropic from '@anthropic-ai/sdk';
import type {
  MessageCreateParamsStreaming,
  MessageDeltaUsage,
  StopReason,
  Usage,
} from '@anthropic-ai/sdk/resources/messages';
import {
  refusal,
  sdkProvider,
  sdkTimeoutMs,
  tokenCount,
  usageFromTotals,
} from '#services/models/guarded-call.ts';
import type { OpenCall } from '#services/models/guarded-call.ts';
import type { Effort, ModelPart, ModelRequest, UsageRecord } from '#services/models/model.ts';
import { priceRowOf } from '#services/models/provider.ts';
import type { ModelEntry, ProviderDefinition } from '#services/models/provider.ts';

const sdk = async () => import('@anthropic-ai/sdk');

/** Anthropic by its Messages API. */
export const anthropic: ProviderDefinition = {
  name: 'anthropic',
  displayName: 'Anthropic',
  recognised: { makers: ['anthropic'], models: ['claude', 'sonnet', 'opus', 'haiku'] },
  keyVariable: 'ANTHROPIC_API_KEY',
  sandboxPath: '/anthropic',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('anthropic', sdk, ({ Anthropic: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          authToken: null,
          baseURL: baseUrl ?? 'https://api.anthropic.com',
          maxRetries: 0,
          fetch: call.fetch,
          logLevel: 'off',
        }),
        call,
      ),
    ),
  models: [
    {
      id: 'claude-haiku-5-5',
      displayName: 'Claude Haiku 5.5',
      family: 'anthropic',
      // Thinking can be off here, which is what `none` means.
      capabilities: capabilities(),
      prices: [
        priceRowOf({
          inputPerMTok: 0.1,
          cachedInputPerMTok: 0.01,
          cacheWritePerMTok: 0.125,
          outputPerMTok: 0.5,
          longContext: {
            aboveInputTokens: 100_000,
            inputPerMTok: 0.5,
            cachedInputPerMTok: 0.05,
            cacheWritePerMTok: 0.625,
            outputPerMTok: 2.5,
          },
          source: 'https://platform.claude.com/docs/en/models/haiku-5-5/overview',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'claude-sonnet-5-5',
      displayName: 'Claude Sonnet 5.5',
      family: 'anthropic',
      capabilities: capabilities(['low', 'medium', 'high', 'xhigh', 'max']),
      prices: [
        priceRowOf({
          inputPerMTok: 2,
          cachedInputPerMTok: 0.2,
          cacheWritePerMTok: 2.5,
          outputPerMTok: 10,
          source: 'https://platform.claude.com/docs/en/models/sonnet-5-5/overview',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'claude-opus-5-5',
      displayName: 'Claude Opus 5.5',
      family: 'anthropic',
      capabilities: capabilities(['low', 'medium', 'high', 'xhigh', 'max']),
      prices: [
        priceRowOf({
          inputPerMTok: 4,
          cachedInputPerMTok: 0.2,
          cacheWritePerMTok: 5,
          outputPerMTok: 20,
          source: 'https://platform.claude.com/docs/en/models/opus-5-5/overview',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'claude-fable-5-1',
      displayName: 'Claude Fable 5.1',
      family: 'anthropic',
      capabilities: capabilities(['low', 'medium', 'high', 'xhigh', 'max']),
      prices: [
        priceRowOf({
          inputPerMTok: 10,
          cachedInputPerMTok: null,
          outputPerMTok: 50,
          source: 'https://platform.claude.com/docs/about-claude/models/whats-new-opus-5',
        }),
      ],
      deprecatedAfter: null,
    },
  ],
};

async function* partsOf(
  client: Anthropic,
  { request, signal }: OpenCall,
): AsyncIterable<ModelPart> {
  const events = await client.messages.create(messageParams(request), {
    signal,
    timeout: sdkTimeoutMs(request),
  });
  let text = '';
  let answeredBy = request.model;
  let start: Usage | null = null;
  let last: MessageDeltaUsage | null = null;
  let reason: StopReason | null = null;
  for await (const event of events) {
    if (event.type === 'message_start') {
      answeredBy = event.message.model;
      start = event.message.usage;
    } else if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
      // The type says which blocks are text: the first one may be thinking.
      text += event.delta.text;
      yield { type: 'text', text: event.delta.text };
    } else if (event.type === 'message_delta') {
      last = event.usage;
      reason = event.delta.stop_reason ?? reason;
    }
  }
  if (reason === null) return;
  const usage = usageOfMessage(start, last);
  if (reason === 'refusal') throw refusal('anthropic', { usage });
  const finish = finishOf(reason);
  yield { type: 'reply', reply: { text, usage, billedCost: null, finish, answeredBy } };
}

export function messageParams(request: ModelRequest): MessageCreateParamsStreaming {
  const effort = request.effort === 'minimal' ? 'low' : request.effort;
  const outputConfig = {
    ...(effort === null || effort === 'none' ? {} : { effort }),
    ...(request.schema === null
      ? {}
      : {
          format: {
            type: 'json_schema' as const,
            schema: { ...request.schema.json, title: request.schema.name },
          },
        }),
  };
  return {
    model: request.model,
    system: request.system,
    messages: [{ role: 'user', content: request.prompt }],
    max_tokens: request.maxOutputTokens,
    stream: true,
    ...(effort === 'none' ? { thinking: { type: 'disabled' } } : {}),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
  } satisfies MessageCreateParamsStreaming;
}

function finishOf(reason: StopReason): 'stop' | 'length' {
  return reason === 'max_tokens' || reason === 'model_context_window_exceeded' ? 'length' : 'stop';
}

/**
 * Anthropic's input excludes what was cached or written, so the total is their sum. The start names
 * the input, the last delta the whole output and, on newer models, the input again.
 */
export function usageOfMessage(start: Usage | null, last: MessageDeltaUsage | null): UsageRecord {
  const input = tokenCount(last?.input_tokens ?? start?.input_tokens);
  const cached = tokenCount(last?.cache_read_input_tokens ?? start?.cache_read_input_tokens);
  const cacheWrite = tokenCount(
    last?.cache_creation_input_tokens ?? start?.cache_creation_input_tokens,
  );
  return usageFromTotals({
    input: input === null ? null : input + (cached ?? 0) + (cacheWrite ?? 0),
    cached,
    cacheWrite,
    output: last?.output_tokens ?? null,
    thinking: last?.output_tokens_details?.thinking_tokens ?? null,
  });
}

function capabilities(
  effortLevels: Effort[] = ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
): ModelEntry['capabilities'] {
  return {
    temperature: false,
    effortLevels,
    jsonSchema: true,
    contextTokens: 1_000_000,
    maxOutputTokens: 128_000,
  };
}
