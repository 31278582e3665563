import type { Mistral } from '@mistralai/mistralai';
import type {
  ChatCompletionStreamRequest,
  ContentChunk,
  UsageInfo,
} from '@mistralai/mistralai/models/components';
import * as v from 'valibot';
import { refusal, sdkProvider, usageFromTotals } from '#services/models/guarded-call.ts';
import type { OpenCall } from '#services/models/guarded-call.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { Effort, ModelPart, ModelRequest, UsageRecord } from '#services/models/model.ts';
import { priceRowOf } from '#services/models/provider.ts';
import type { ModelEntry, ProviderDefinition } from '#services/models/provider.ts';

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
  sandboxPath: '/mistral',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('mistral', sdk, ({ HTTPClient, Mistral: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          serverURL: baseUrl ?? 'https://api.mistral.ai',
          httpClient: new HTTPClient({ fetcher: call.fetch }),
          retryConfig: { strategy: 'none' },
        }),
        call,
      ),
    ),
  models: [
    {
      id: 'ministral-8b-2512',
      displayName: 'Ministral 3 8B',
      family: 'mistral',
      capabilities: capabilities([], 32_768),
      prices: [
        priceRowOf({
          inputPerMTok: 0.15,
          cachedInputPerMTok: null,
          outputPerMTok: 0.15,
          source:
            'https://github.com/anomalyco/models.dev/blob/main/providers/mistral/models/ministral-8b-latest.toml',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'mistral-small-2603',
      displayName: 'Mistral Small 4',
      family: 'mistral',
      capabilities: capabilities(['none', 'high'], 65_536),
      prices: [
        priceRowOf({
          inputPerMTok: 0.15,
          cachedInputPerMTok: 0.015,
          outputPerMTok: 0.6,
          source:
            'https://github.com/anomalyco/models.dev/blob/main/providers/mistral/models/mistral-small-latest.toml',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'mistral-large-2512',
      displayName: 'Mistral Large 3',
      family: 'mistral',
      capabilities: capabilities([], 65_536),
      prices: [
        priceRowOf({
          inputPerMTok: 0.5,
          cachedInputPerMTok: null,
          outputPerMTok: 1.5,
          source: 'https://vercel.com/ai-gateway/models/mistral-large-3.md',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'mistral-medium-2604',
      displayName: 'Mistral Medium 3.5',
      family: 'mistral',
      capabilities: capabilities(['none', 'high'], 65_536),
      prices: [
        priceRowOf({
          inputPerMTok: 1.5,
          cachedInputPerMTok: null,
          outputPerMTok: 7.5,
          source: 'https://vercel.com/ai-gateway/models/mistral-medium-3.5.md',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'mistral-large-4',
      displayName: 'Mistral Large 4',
      family: 'mistral',
      capabilities: capabilities([], 262_144),
      prices: [
        priceRowOf({
          validTo: '2026-10-20T00:00:00.000Z',
          inputPerMTok: 0.68,
          cachedInputPerMTok: null,
          outputPerMTok: 2.09,
          source: 'https://github.com/BlockRunAI/Franklin/releases/tag/v3.49.15',
        }),
        priceRowOf({
          validFrom: '2026-10-20T00:00:00.000Z',
          inputPerMTok: 1.36,
          cachedInputPerMTok: null,
          outputPerMTok: 4.18,
          source: 'https://vercel.com/ai-gateway/models/mistral-large-4.md',
        }),
      ],
      deprecatedAfter: null,
    },
  ],
};

async function* partsOf(
  client: Mistral,
  { request, signal }: OpenCall,
): AsyncIterable<ModelPart> {
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

function capabilities(effortLevels: Effort[], maxOutputTokens: number): ModelEntry['capabilities'] {
  return {
    temperature: true,
    effortLevels,
    jsonSchema: true,
    contextTokens: 262_144,
    maxOutputTokens,
  };
}
