import type OpenAI from 'openai';
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { refusal, sdkTimeoutMs, usageFromTotals } from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelPart, ModelRequest, UsageRecord } from '#services/models/model.ts';

/** Chat Completions, as OpenAI began them and others speak them; usage comes in the last chunk. */

export const chatSdk = async () => import('openai');

/** @param baseUrl the address up to and without `/chat/completions` */
export function chatClient(
  { OpenAI: Client }: Awaited<ReturnType<typeof chatSdk>>,
  { apiKey, baseUrl }: { apiKey: string; baseUrl: string },
  { fetch }: Pick<OpenCall, 'fetch'>,
): OpenAI {
  return new Client({
    apiKey,
    baseURL: baseUrl,
    organization: null,
    project: null,
    maxRetries: 0,
    fetch,
    logLevel: 'off',
  });
}

/**
 * @param costOf what the provider says it charged, in micro-dollars; null when it does not say
 */
export async function* chatParts(
  name: string,
  client: OpenAI,
  { request, signal }: OpenCall,
  params: ChatCompletionCreateParamsStreaming,
  costOf: (usage: CompletionUsage) => number | null = () => null,
): AsyncIterable<ModelPart> {
  const timeout = sdkTimeoutMs(request);
  const chunks = await client.chat.completions.create(params, { signal, timeout });
  let text = '';
  let refused = false;
  let usage = unknownUsage;
  let billedCost: number | null = null;
  let answeredBy = request.model;
  let reason: string | null = null;
  for await (const chunk of chunks) {
    if (chunk.usage) {
      usage = usageOfCompletion(chunk.usage);
      billedCost = costOf(chunk.usage);
    }
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
  const cost = { usage, billedCost };
  // A router's word for a model that broke off without saying why.
  if (reason === 'error')
    throw new ModelFailure('unavailable', `${name} broke off its reply`, cost);
  if (refused || reason === 'content_filter') throw refusal(name, cost);
  const finish = reason === 'length' ? 'length' : 'stop';
  yield { type: 'reply', reply: { text, ...cost, finish, answeredBy } };
}

/** What every endpoint takes. Efforts have several names, and some endpoints refuse `strict`. */
export function chatParams(
  request: ModelRequest,
  { system, strict }: { system: string; strict: boolean },
) {
  return {
    model: request.model,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: request.prompt },
    ],
    // Not `max_completion_tokens`: local servers and many of a router's endpoints know the older name.
    max_tokens: request.maxOutputTokens,
    stream: true,
    ...responseFormat(request, strict),
  } satisfies ChatCompletionCreateParamsStreaming;
}

function responseFormat({ schema, structuredOutput }: ModelRequest, strict: boolean) {
  if (schema === null || structuredOutput === 'prompt') return {};
  if (structuredOutput === 'json') return { response_format: { type: 'json_object' as const } };
  const { name, json } = schema;
  return {
    response_format: {
      type: 'json_schema' as const,
      json_schema: { name, schema: { ...json }, ...(strict ? { strict } : {}) },
    },
  };
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
