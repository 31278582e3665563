import type { Mistral } from '@mistralai/mistralai';
import type {
  ChatCompletionStreamRequest,
  ContentChunk,
  UsageInfo,
} from '@mistralai/mistralai/models/components';
import * as v from 'valibot';
import { refusal, sdkProvider, usageFromTotals } from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelPart, ModelRequest, UsageRecord } from '#services/models/model.ts';
import type { ProviderDefinition } from '#services/models/provider.ts';
import { bearer, dataIds } from './listing.ts';

const ownUrl = 'https://api.mistral.ai';

const sdk = async () => import('@mistralai/mistralai');

/** Mistral by its chat completions. */
export const mistral: ProviderDefinition = {
  name: 'mistral',
  displayName: 'Mistral',
  recognised: {
    makers: ['mistral(?: ai)?'],
    models: ['mistral', 'ministral', 'mixtral', 'magistral'],
  },
  keyVariable: 'MISTRAL_API_KEY',
  ownUrl,
  listCalls: ({ apiKey, baseUrl }) => [
    { url: `${baseUrl}/v1/models`, headers: bearer(apiKey), idsIn: dataIds },
  ],
  sandboxPath: '/mistral',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('mistral', sdk, ({ HTTPClient, Mistral: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          serverURL: baseUrl ?? ownUrl,
          httpClient: new HTTPClient({ fetcher: call.fetch }),
          retryConfig: { strategy: 'none' },
        }),
        call,
      ),
    ),
};

async function* partsOf(client: Mistral, { request, signal }: OpenCall): AsyncIterable<ModelPart> {
  const events = await client.chat.stream(chatRequest(request), { signal });
  let text = '';
  let usage = unknownUsage;
  let answeredBy = request.model;
  let reason: string | null = null;
  for await (const { data: chunk } of events) {
    if (chunk.usage !== undefined) usage = usageOfChat(chunk.usage);
    answeredBy = chunk.model;
    const choice = chunk.choices[0];
    if (choice === undefined) continue;
    reason = choice.finishReason ?? reason;
    const delta = textOf(choice.delta.content ?? '');
    text += delta;
    yield { type: 'text', text: delta };
  }
  if (reason === null) return;
  if (reason === 'error') {
    throw new ModelFailure('unavailable', 'mistral broke off its reply', { usage });
  }
  if (reason === 'content_filter') throw refusal('mistral', { usage });
  const finish = reason === 'length' || reason === 'model_length' ? 'length' : 'stop';
  yield { type: 'reply', reply: { text, usage, billedCost: null, finish, answeredBy } };
}

export function chatRequest(request: ModelRequest): ChatCompletionStreamRequest {
  return {
    model: request.model,
    messages: [
      { role: 'system', content: request.system },
      { role: 'user', content: request.prompt },
    ],
    maxTokens: request.maxOutputTokens,
    ...(request.effort === null
      ? {}
      : { reasoningEffort: request.effort === 'max' ? 'xhigh' : request.effort }),
    ...(request.schema === null
      ? {}
      : {
          responseFormat: {
            type: 'json_schema',
            jsonSchema: {
              name: request.schema.name,
              schemaDefinition: { ...request.schema.json },
              strict: true,
            },
          },
        }),
  } satisfies ChatCompletionStreamRequest;
}

/** Thinking models answer in chunks of several types; only text is the answer. */
function textOf(content: string | ContentChunk[]): string {
  if (typeof content === 'string') return content;
  return content.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('');
}

/** The SDK knows no details of usage and hands them on as they came. */
const usageDetails = v.object({
  prompt_tokens_details: v.nullish(v.object({ cached_tokens: v.nullish(v.number()) })),
  completion_tokens_details: v.nullish(v.object({ reasoning_tokens: v.nullish(v.number()) })),
});

/** Prompt tokens include the cached ones, completion tokens include thinking. */
export function usageOfChat(usage: UsageInfo): UsageRecord {
  const details = v.safeParse(usageDetails, usage);
  const known = details.success ? details.output : {};
  return usageFromTotals({
    input: usage.promptTokens ?? null,
    cached: known.prompt_tokens_details?.cached_tokens ?? null,
    cacheWrite: null,
    output: usage.completionTokens ?? null,
    thinking: known.completion_tokens_details?.reasoning_tokens ?? null,
  });
}
