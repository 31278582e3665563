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
} from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelPart, ModelReply, ModelRequest, UsageRecord } from '#services/models/model.ts';
import type { ProviderDefinition } from '#services/models/provider.ts';
import { classOfStatus } from '#services/models/transport/guarded-fetch.ts';
import { bearer, dataIds } from './listing.ts';

const ownUrl = 'https://api.openai.com/v1';

const sdk = async () => import('openai');

/** OpenAI by its Responses API, the one in which the current models combine effort and schemas. */
export const openai: ProviderDefinition = {
  name: 'openai',
  displayName: 'OpenAI',
  recognised: { makers: ['open\\s?ai'], models: ['chat\\s?gpt', 'gpt'] },
  keyVariable: 'OPENAI_API_KEY',
  ownUrl,
  listCalls: ({ apiKey, baseUrl }) => [
    { url: `${baseUrl}/models`, headers: bearer(apiKey), idsIn: dataIds },
  ],
  sandboxPath: '/openai/v1',
  loadSdk: sdk,
  connect: ({ apiKey, baseUrl }) =>
    sdkProvider('openai', sdk, ({ OpenAI: Client }, call) =>
      partsOf(
        new Client({
          apiKey,
          baseURL: baseUrl ?? ownUrl,
          organization: null,
          project: null,
          maxRetries: 0,
          fetch: call.fetch,
          logLevel: 'off',
        }),
        call,
      ),
    ),
};

async function* partsOf(client: OpenAI, { request, signal }: OpenCall): AsyncIterable<ModelPart> {
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
  if (filtered || content.some((part) => part.type === 'refusal'))
    throw refusal('openai', { usage });
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
