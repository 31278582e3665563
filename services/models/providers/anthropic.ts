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
} from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import type { ModelPart, ModelRequest, UsageRecord } from '#services/models/model.ts';
import type { ProviderDefinition } from '#services/models/provider.ts';
import { dataIds } from './listing.ts';

const ownUrl = 'https://api.anthropic.com';

const sdk = async () => import('@anthropic-ai/sdk');

/** Anthropic by its Messages API. */
export const anthropic: ProviderDefinition = {
  name: 'anthropic',
  displayName: 'Anthropic',
  recognised: { makers: ['anthropic'], models: ['claude', 'sonnet', 'opus', 'haiku'] },
  keyVariable: 'ANTHROPIC_API_KEY',
  ownUrl,
  listCalls: ({ apiKey, baseUrl }) => [
    {
      url: `${baseUrl}/v1/models?limit=1000`,
      headers: { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' },
      idsIn: dataIds,
    },
  ],
  sandboxPath: '/anthropic',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('anthropic', sdk, ({ Anthropic: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          authToken: null,
          baseURL: baseUrl ?? ownUrl,
          maxRetries: 0,
          fetch: call.fetch,
          logLevel: 'off',
        }),
        call,
      ),
    ),
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
