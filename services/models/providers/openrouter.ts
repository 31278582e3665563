import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import * as v from 'valibot';
import { sdkProvider, systemWithSchema } from '#services/models/transport/guarded-call.ts';
import type { ModelRequest } from '#services/models/model.ts';
import type { ProviderConnection, ProviderDefinition } from '#services/models/provider.ts';
import { bearer, dataIds } from './listing.ts';
import { chatClient, chatParams, chatParts, chatSdk } from './chat-completions.ts';

const openrouterUrl = 'https://openrouter.ai/api/v1';

/** OpenRouter: one key for the models of all makers, by Chat Completions with members of its own. */
export const openrouter: ProviderDefinition = {
  name: 'openrouter',
  displayName: 'OpenRouter',
  recognised: { makers: ['open\\s?router'], models: [] },
  keyVariable: 'OPENROUTER_API_KEY',
  ownUrl: openrouterUrl,
  listCalls: ({ apiKey, baseUrl }) => [
    // The list is public, so the key is asked for itself.
    { url: `${baseUrl}/key`, headers: bearer(apiKey), idsIn: noIds },
    { url: `${baseUrl}/models`, headers: bearer(apiKey), idsIn: dataIds },
  ],
  sandboxPath: '/openrouter/api/v1',
  loadSdk: chatSdk,
  connect: ({ apiKey, baseUrl, dataCollection = 'deny' }) =>
    sdkProvider('openrouter', chatSdk, (sdk, call) =>
      chatParts(
        'openrouter',
        chatClient(sdk, { apiKey, baseUrl: baseUrl ?? openrouterUrl }, call),
        call,
        openrouterParams(call.request, dataCollection),
        billedMicros,
      ),
    ),
};

const noIds = v.pipe(
  v.object({}),
  v.transform((): string[] => []),
);

/**
 * Every parameter counts: with `require_parameters` an endpoint that lacks one is left out, so none is
 * sent that the model does not need. Usage and cost come unasked.
 */
export function openrouterParams(
  request: ModelRequest,
  dataCollection: NonNullable<ProviderConnection['dataCollection']>,
) {
  const maker = request.model.split('/')[0] ?? '';
  const isShown = request.structuredOutput === 'schema' && schemaReaders.has(maker);
  const system = isShown ? request.system : systemWithSchema(request);
  return {
    ...chatParams(request, { system, strict: true }),
    provider: { require_parameters: true, data_collection: dataCollection },
    ...(request.effort === null ? {} : { reasoning: { effort: request.effort } }),
  } satisfies ChatCompletionCreateParamsStreaming & Record<'provider', unknown>;
}

/** Makers whose models are shown the schema; with others it may only constrain the output. */
const schemaReaders: ReadonlySet<string> = new Set(['openai', 'anthropic', 'google', 'mistralai']);

const charged = v.object({
  cost: v.pipe(v.number(), v.minValue(0), v.maxValue(1000)),
  is_byok: v.nullish(v.boolean()),
  cost_details: v.nullish(
    v.object({
      upstream_inference_cost: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(1000))),
    }),
  ),
});

/**
 * Dollars as charged to the account. With a key of one's own at the maker, the charge is OpenRouter's
 * fee alone and the maker's bill comes on top.
 */
export function billedMicros(usage: CompletionUsage): number | null {
  const parsed = v.safeParse(charged, usage);
  if (!parsed.success) return null;
  const { cost, is_byok: isByok, cost_details: details } = parsed.output;
  const upstream = isByok === true ? (details?.upstream_inference_cost ?? null) : 0;
  return upstream === null ? null : Math.round((cost + upstream) * 1_000_000);
}
