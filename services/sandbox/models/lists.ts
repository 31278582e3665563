import type { ModelInfo as AnthropicModel } from '@anthropic-ai/sdk/resources/models';
import type { Model as GoogleModel } from '@google/genai';
import type { BaseModelCard } from '@mistralai/mistralai/models/components';
import type { Model as OpenAIModel } from 'openai/resources/models';
import type { Model as RoutedModel } from '@openrouter/sdk/models';
import type { GetCurrentKeyResponse } from '@openrouter/sdk/models/operations';
import type { Catalogue } from '#services/models/catalogue.ts';
import type { ModelEntry } from '#services/models/catalogue/model-entry.ts';
import { anthropicMessages } from './anthropic.ts';
import { googleContent } from './google.ts';
import { ollamaShow, ollamaTags } from './ollama.ts';
import { openrouterFailure } from './openrouter.ts';
import type { Wire } from './openrouter.ts';
import { mistralChat } from './mistral.ts';
import { openaiChat } from './openai-chat.ts';
import { bearerKey } from './wire.ts';
import type { WireFailure, WireFormat } from './wire.ts';

/** The vendors' lists of models, from the catalogue, and what their keys are worth. */

export type ListRequest = { method: string; url: URL; headers: Headers; body: string | null };
export type ListReply = { status: number; body: unknown };

type List = Pick<WireFormat, 'failure' | 'keyOf'> & {
  method: 'GET' | 'POST';
  path: string;
  /** Null for a model that is not there. */
  reply(models: readonly ModelEntry[], body: string | null): unknown;
};

/** Some member of each list says when, and nothing here depends on it. */
const since = { iso: '2026-10-01T00:00:00Z', seconds: 1_790_812_800 };

const lists: readonly List[] = [
  {
    ...openaiChat,
    method: 'GET',
    path: '/openai/v1/models',
    reply: (models) => listOf(ofMaker(models, 'openai').map(({ id }) => openaiModel(id, 'openai'))),
  },
  {
    ...openaiChat,
    method: 'GET',
    path: '/compatible/v1/models',
    reply: () => listOf([openaiModel('model-of-mine', 'library')]),
  },
  {
    ...anthropicMessages,
    method: 'GET',
    path: '/anthropic/v1/models',
    reply: (models) => {
      const data = ofMaker(models, 'anthropic').map(anthropicModel);
      return { data, has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id };
    },
  },
  {
    ...googleContent,
    method: 'GET',
    path: '/google/v1beta/models',
    reply: (models) => ({ models: ofMaker(models, 'google').map(googleModel) }),
  },
  {
    ...mistralChat,
    method: 'GET',
    path: '/mistral/v1/models',
    reply: (models) => listOf(ofMaker(models, 'mistral').map(mistralModel)),
  },
  {
    method: 'GET',
    path: '/openrouter/api/v1/models',
    // The list is public.
    keyOf: () => 'none',
    failure: openrouterFailure,
    reply: (models) => {
      const data = models.flatMap(routedModel);
      return { data, links: { next: null }, total_count: data.length };
    },
  },
  {
    method: 'GET',
    path: '/openrouter/api/v1/key',
    keyOf: bearerKey,
    failure: openrouterFailure,
    reply: routerKey,
  },
  ...ollamaLists(),
];

function ollamaLists(): List[] {
  const open = {
    keyOf: () => 'none',
    failure: ({ message }: WireFailure) => ({ status: 404, body: { error: message } }),
  };
  return [
    { ...open, method: 'GET', path: '/ollama/api/tags', reply: ollamaTags },
    { ...open, method: 'GET', path: '/ollama/api/version', reply: () => ({ version: '0.40.12' }) },
    {
      ...open,
      method: 'POST',
      path: '/ollama/api/show',
      reply: (_models, body) => ollamaShow(JSON.parse(body ?? 'null')),
    },
  ];
}

/** Null when the address is no list. @throws ValiError or SyntaxError for a body of another shape */
export function listReply(
  { method, url, headers, body }: ListRequest,
  { models }: Pick<Catalogue, 'models'>,
  refusedKey: string,
): ListReply | null {
  const list = lists.find((each) => each.method === method && each.path === url.pathname);
  if (list === undefined) return null;
  const refused = (failure: 'auth' | 'unknown_model', message: string) =>
    list.failure({ kind: 'failure', failure, message, retryAfterSeconds: null });
  const key = list.keyOf(headers, url);
  if (key === null || key === refusedKey) return refused('auth', 'The key is not valid.');
  const reply = list.reply(models, body);
  return reply === null
    ? refused('unknown_model', 'The model is not there.')
    : { status: 200, body: reply };
}

function ofMaker(models: readonly ModelEntry[], name: string): readonly ModelEntry[] {
  return models.filter(({ provider }) => provider === name);
}

function listOf(data: readonly unknown[]) {
  return { object: 'list', data };
}

function openaiModel(id: string, owner: string): OpenAIModel {
  return { id, object: 'model', created: since.seconds, owned_by: owner };
}

function anthropicModel({ id, displayName, contextTokens, maxOutputTokens }: ModelEntry) {
  return {
    type: 'model',
    id,
    display_name: displayName,
    created_at: since.iso,
    max_input_tokens: contextTokens,
    max_tokens: maxOutputTokens,
  } satisfies Partial<AnthropicModel>;
}

function googleModel({ id, displayName, contextTokens, maxOutputTokens }: ModelEntry) {
  return {
    name: `models/${id}`,
    version: '001',
    displayName,
    inputTokenLimit: contextTokens,
    outputTokenLimit: maxOutputTokens,
    // The package calls it by another name.
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  } satisfies GoogleModel & { supportedGenerationMethods: string[] };
}

function mistralModel({ id, contextTokens }: ModelEntry) {
  return {
    id,
    object: 'model',
    created: since.seconds,
    owned_by: 'mistralai',
    name: id,
    max_context_length: contextTokens,
    capabilities: { completion_chat: true },
    internal: false,
    type: 'base',
  } satisfies Partial<Wire<Omit<BaseModelCard, 'capabilities'>>> & { capabilities: unknown };
}

function routedModel(entry: ModelEntry): Wire<RoutedModel>[] {
  const { remoteIds, displayName, contextTokens, maxOutputTokens, efforts } = entry;
  const id = remoteIds['openrouter'];
  const price = entry.prices.at(-1);
  if (id === undefined || price === undefined) return [];
  return [
    {
      id,
      canonical_slug: id,
      name: displayName,
      created: since.seconds,
      context_length: contextTokens,
      architecture: {
        modality: 'text->text',
        input_modalities: ['text'],
        output_modalities: ['text'],
      },
      pricing: {
        prompt: perToken(price.inputPerMTok),
        completion: perToken(price.outputPerMTok),
        ...(price.cachedInputPerMTok === null
          ? {}
          : { input_cache_read: perToken(price.cachedInputPerMTok) }),
      },
      top_provider: {
        context_length: contextTokens,
        max_completion_tokens: maxOutputTokens,
        is_moderated: false,
      },
      per_request_limits: null,
      supported_parameters: [
        'max_tokens',
        'response_format',
        'structured_outputs',
        ...(efforts.length > 0 ? (['reasoning'] as const) : []),
      ],
      supported_voices: null,
      default_parameters: null,
      expiration_date: entry.retiresAt?.slice(0, 10) ?? null,
      links: { details: `/api/v1/models/${id}/endpoints` },
      ...(efforts.length > 0
        ? {
            reasoning: {
              mandatory: !efforts.includes('none'),
              supported_efforts: efforts.toReversed(),
            },
          }
        : {}),
    },
  ];
}

/** Dollars per token as text, without an exponent. */
function perToken(perMTok: number): string {
  return (perMTok / 1_000_000).toFixed(10).replace(/\.?0+$/, '');
}

function routerKey() {
  return {
    data: {
      label: 'sk-or-v1-…box',
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      usage: 1.25,
      is_free_tier: false,
      expires_at: null,
    },
  } satisfies Wire<{ data: Partial<GetCurrentKeyResponse['data']> }>;
}
