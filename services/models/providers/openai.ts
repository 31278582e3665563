import type OpenAI from 'openai';
import type {
  Response as OpenAIResponse,
  ResponseCreateParamsStreaming,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import {
  refusal,
  sdkProvider,
  sdkTimeoutMs,
  usageFromTotals,
} from '#services/models/guarded-call.ts';
import type { OpenCall } from '#services/models/guarded-call.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type {
  Effort,
  ModelPart,
  ModelReply,
  ModelRequest,
  UsageRecord,
} from '#services/models/model.ts';
import { priceRowOf } from '#services/models/provider.ts';
import type { ModelEntry, PriceRow, ProviderDefinition } from '#services/models/provider.ts';
import { classOfStatus } from '#services/models/transport.ts';

const sdk = async () => import('openai');

/** OpenAI by its Responses API, the one in which the current models combine effort and schemas. */
export const openai: ProviderDefinition = {
  name: 'openai',
  displayName: 'OpenAI',
  recognised: { makers: ['open\\s?ai'], models: ['chat\\s?gpt', 'gpt'] },
  keyVariable: 'OPENAI_API_KEY',
  sandboxPath: '/openai/v1',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('openai', sdk, ({ OpenAI: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          baseURL: baseUrl ?? 'https://api.openai.com/v1',
          organization: null,
          project: null,
          maxRetries: 0,
          fetch: call.fetch,
          logLevel: 'off',
        }),
        call,
      ),
    ),
  models: [
    {
      id: 'gpt-6-luna',
      displayName: 'GPT-6 Luna',
      family: 'openai',
      capabilities: capabilities(),
      prices: [
        priceRowOfGpt({
          inputPerMTok: 0.1,
          cachedInputPerMTok: 0.01,
          outputPerMTok: 0.5,
          source: 'https://developers.openai.com/api/docs/models/gpt-6-luna',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'gpt-6.1-terra',
      displayName: 'GPT-6.1 Terra',
      family: 'openai',
      capabilities: capabilities(),
      prices: [
        priceRowOfGpt({
          validFrom: '2026-10-26T00:00:00.000Z',
          inputPerMTok: 1,
          cachedInputPerMTok: 0.05,
          outputPerMTok: 5,
          source: 'https://docs.litellm.ai/blog/gpt-6-1-terra',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'gpt-6.1-sol',
      displayName: 'GPT-6.1 Sol',
      family: 'openai',
      capabilities: capabilities(['low', 'medium', 'high', 'xhigh', 'max']),
      prices: [
        priceRowOfGpt({
          inputPerMTok: 2,
          cachedInputPerMTok: 0.1,
          outputPerMTok: 10,
          source: 'https://docs.litellm.ai/blog/gpt_6_1_sol',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'gpt-6-astra',
      displayName: 'GPT-6 Astra',
      family: 'openai',
      capabilities: capabilities(['low', 'medium', 'high', 'xhigh', 'max']),
      prices: [
        priceRowOf({
          inputPerMTok: 10,
          cachedInputPerMTok: null,
          outputPerMTok: 50,
          source: 'https://docs.venice.ai/es/models/claude-fable-5',
        }),
      ],
      deprecatedAfter: null,
    },
    {
      id: 'gpt-5.6-luna',
      displayName: 'GPT-5.6 Luna',
      family: 'openai',
      capabilities: capabilities(),
      prices: [
        priceRowOfGpt({
          validTo: '2026-07-30T00:00:00.000Z',
          inputPerMTok: 1,
          cachedInputPerMTok: 0.1,
          outputPerMTok: 6,
          source: 'https://docs.laozhang.ai/en/announcements/gpt-5-6-pricing-2026-07.md',
        }),
        priceRowOfGpt({
          validFrom: '2026-07-30T00:00:00.000Z',
          inputPerMTok: 0.2,
          cachedInputPerMTok: 0.02,
          outputPerMTok: 1.2,
          source: 'https://developers.openai.com/api/docs/models/gpt-5.6-luna',
        }),
      ],
      deprecatedAfter: null,
    },
  ],
};

async function* partsOf(
  client: OpenAI,
  { request, signal }: OpenCall,
): AsyncIterable<ModelPart> {
  const events = await client.responses.create(responsesParams(request), {
    signal,
    timeout: sdkTimeoutMs(request),
  });
  for await (const event of events) {
    switch (event.type) {
      case 'response.output_text.delta':
        yield { type: 'text', text: event.delta };
        break;
      case 'response.completed':
      case 'response.incomplete':
        yield { type: 'reply', reply: replyOfResponse(event.response) };
        break;
      case 'response.failed':
        throw new ModelFailure(
          classOfStatus(500, event.response.error?.code ?? null),
          'openai broke off its reply',
          { usage: usageOfResponse(event.response.usage) },
        );
      case 'error':
        throw new ModelFailure(classOfStatus(500, event.code), 'openai broke off its reply');
      default:
        break;
    }
  }
}

export function responsesParams(request: ModelRequest): ResponseCreateParamsStreaming {
  return {
    model: request.model,
    instructions: request.system,
    input: request.prompt,
    max_output_tokens: request.maxOutputTokens,
    stream: true,
    store: false,
    ...(request.effort === null ? {} : { reasoning: { effort: request.effort } }),
    ...(request.schema === null
      ? {}
      : {
          text: {
            format: {
              type: 'json_schema',
              name: request.schema.name,
              schema: { ...request.schema.json },
              strict: true,
            },
          },
        }),
  } satisfies ResponseCreateParamsStreaming;
}

/** @throws ModelFailure `refusal`, with the usage it cost */
export function replyOfResponse(response: OpenAIResponse): ModelReply {
  const usage = usageOfResponse(response.usage);
  const content = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const filtered = response.incomplete_details?.reason === 'content_filter';
  if (filtered || content.some((part) => part.type === 'refusal')) throw refusal('openai', { usage });
  return {
    text: content.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
    usage,
    billedCost: null,
    finish: response.status === 'incomplete' ? 'length' : 'stop',
    answeredBy: response.model,
  };
}

/** Input includes what was cached and written, output includes reasoning. */
export function usageOfResponse(usage: ResponseUsage | null | undefined): UsageRecord {
  if (usage === null || usage === undefined) return unknownUsage;
  // The details are always there in OpenAI's own replies, yet not in those of every imitation.
  const input: Partial<ResponseUsage.InputTokensDetails> = usage.input_tokens_details ?? {};
  const output: Partial<ResponseUsage.OutputTokensDetails> = usage.output_tokens_details ?? {};
  return usageFromTotals({
    input: usage.input_tokens,
    cached: input.cached_tokens ?? null,
    cacheWrite: input.cache_write_tokens ?? null,
    output: usage.output_tokens,
    thinking: output.reasoning_tokens ?? null,
  });
}

/** Above 272k input the whole request costs twice the input and 1.5 times the output. */
function priceRowOfGpt(
  given: Pick<PriceRow, 'inputPerMTok' | 'cachedInputPerMTok' | 'outputPerMTok' | 'source'> &
    Partial<PriceRow>,
): PriceRow {
  const { inputPerMTok, cachedInputPerMTok, outputPerMTok } = given;
  return priceRowOf({
    cacheWritePerMTok: times(inputPerMTok, 1.25),
    longContext: {
      aboveInputTokens: 272_000,
      inputPerMTok: times(inputPerMTok, 2),
      cachedInputPerMTok: cachedInputPerMTok === null ? null : times(cachedInputPerMTok, 2),
      cacheWritePerMTok: times(inputPerMTok, 2.5),
      outputPerMTok: times(outputPerMTok, 1.5),
    },
    ...given,
  });
}

/** Prices have at most four decimals. */
function times(price: number, factor: number): number {
  return Math.round(price * factor * 10_000) / 10_000;
}

function capabilities(
  effortLevels: Effort[] = ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
): ModelEntry['capabilities'] {
  return {
    temperature: false,
    effortLevels,
    jsonSchema: true,
    contextTokens: 1_050_000,
    maxOutputTokens: 128_000,
  };
}
