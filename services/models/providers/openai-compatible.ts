import type OpenAI from 'openai';
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
} from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import {
  refusal,
  sdkProvider,
  sdkTimeoutMs,
  usageFromTotals,
} from '#services/models/guarded-call.ts';
import { unknownUsage } from '#services/models/model.ts';
import type { ModelPart, ModelRequest, Provider, UsageRecord } from '#services/models/model.ts';
import type { ProviderConnection, RecognisedNames } from '#services/models/provider.ts';
import { guardedFetch } from '#services/models/transport.ts';

/**
 * Any endpoint that speaks Chat Completions: Ollama, vLLM, OpenRouter and most others. Usage comes
 * in a last chunk without choices, and only on request.
 *
 * @param name as configured; messages and events name the provider so.
 */
export function openaiCompatible(
  name: string,
  connection: ProviderConnection & { baseUrl: string },
): Provider {
  const client = async () => {
    const { OpenAI: Client } = await import('openai');
    return new Client({
      apiKey: connection.apiKey,
      baseURL: connection.baseUrl,
      organization: null,
      project: null,
      maxRetries: 0,
      fetch: guardedFetch,
      logLevel: 'off',
    });
  };
  return sdkProvider(name, client, (connected, request, signal) =>
    partsOf(name, connected, request, signal),
  );
}

/** Models of endpoints belong to no provider of the list. */
export const namesOfEndpoints: RecognisedNames = {
  makers: ['meta(?: ai)?', 'xai', 'alibaba', 'cohere', 'microsoft'],
  models: ['llama', 'grok', 'deepseek', 'qwen', 'kimi', 'command r', 'copilot'],
};

async function* partsOf(
  name: string,
  client: OpenAI,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncIterable<ModelPart> {
  const chunks = await client.chat.completions.create(chatParams(request), {
    signal,
    timeout: sdkTimeoutMs(request),
  });
  let text = '';
  let refused = false;
  let usage = unknownUsage;
  let answeredBy = request.model;
  let reason: ChatCompletionChunk.Choice['finish_reason'] = null;
  for await (const chunk of chunks) {
    if (chunk.usage) usage = usageOfCompletion(chunk.usage);
    if (chunk.model) answeredBy = chunk.model;
    const choice = chunk.choices[0];
    if (choice === undefined) continue;
    if (choice.delta.refusal) refused = true;
    reason = choice.finish_reason ?? reason;
    const delta = choice.delta.content ?? '';
    text += delta;
    yield { type: 'text', text: delta };
  }
  if (reason === null) return;
  if (refused || reason === 'content_filter') throw refusal(name, usage);
  const finish = reason === 'length' ? 'length' : 'stop';
  yield { type: 'reply', reply: { text, usage, finish, answeredBy } };
}

export function chatParams(request: ModelRequest): ChatCompletionCreateParamsStreaming {
  return {
    model: request.model,
    messages: [
      { role: 'system', content: request.system },
      { role: 'user', content: request.prompt },
    ],
    // Not `max_completion_tokens`: Ollama and vLLM know the older name.
    max_tokens: request.maxOutputTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(request.effort === null ? {} : { reasoning_effort: request.effort }),
    ...(request.schema === null
      ? {}
      : {
          response_format: {
            type: 'json_schema',
            json_schema: { name: request.schema.name, schema: { ...request.schema.json } },
          },
        }),
  } satisfies ChatCompletionCreateParamsStreaming;
}

/** Prompt tokens include the cached ones, completion tokens include reasoning. */
export function usageOfCompletion(usage: CompletionUsage): UsageRecord {
  return usageFromTotals({
    input: usage.prompt_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? null,
    cacheWrite: usage.prompt_tokens_details?.cache_write_tokens ?? null,
    output: usage.completion_tokens,
    thinking: usage.completion_tokens_details?.reasoning_tokens ?? null,
  });
}
