import { modelOf } from './catalogue.ts';
import type { Provider, ProviderDefinition } from './model.ts';
import { anthropic } from './providers/anthropic.ts';
import { google } from './providers/google.ts';
import { mistral } from './providers/mistral.ts';
import { openaiCompatible } from './providers/openai-compatible.ts';
import { openai } from './providers/openai.ts';

/** Every provider with its own wire format. The contract tests run over this list. */
export const providerDefinitions: readonly ProviderDefinition[] = [
  openai,
  anthropic,
  google,
  mistral,
];

/** Whoever calls models loads all SDKs before the first call, so that none is held up. */
export async function loadSdks(): Promise<void> {
  await Promise.all([
    import('openai'),
    import('@anthropic-ai/sdk'),
    import('@google/genai'),
    import('@mistralai/mistralai'),
  ]);
}

/** The part of the environment that decides who answers for a model. */
export type RegistrySettings = {
  mode: 'local' | 'production';
  /** By provider name; null or absent means that there is no key. */
  providerKeys: Readonly<Record<string, string | null>>;
  compatibleEndpoints: readonly {
    name: string;
    baseUrl: string;
    key: string | null;
    models: readonly string[];
  }[];
  /** The origin at which the provider sandbox listens; null when there is none. */
  sandboxUrl: string | null;
};

/** Whether a model can be seated, and whether the sandbox would answer for it. */
type ModelStatus =
  | { available: true; simulated: boolean; provider: string; family: string }
  | { available: false; simulated: false; provider: string | null; missing: string };

export type ModelRegistry = {
  statusOf(modelId: string): ModelStatus;
  /** Null for a model that is not available. */
  providerFor(modelId: string): Provider | null;
  /** Whether any model is served by a real provider. */
  hasRealModels: boolean;
};

/**
 * Who answers for each model: its provider when there is a key; else an OpenAI-compatible endpoint
 * that lists the model's id; else, in local mode, the sandbox. An endpoint may also list ids of its
 * own, which no strategy seats and the catalogue does not price.
 *
 * @throws Error when a sandbox is given in production mode
 */
export function modelRegistry(settings: RegistrySettings): ModelRegistry {
  if (settings.mode === 'production' && settings.sandboxUrl !== null) {
    throw new Error('The provider sandbox must not be used in production mode');
  }
  const real = new Map(
    providerDefinitions.flatMap((definition) => {
      const apiKey = settings.providerKeys[definition.name] ?? null;
      return apiKey === null
        ? []
        : [[definition.name, definition.connect({ apiKey, baseUrl: null })] as const];
    }),
  );
  const simulated = new Map(
    providerDefinitions.flatMap((definition) =>
      settings.sandboxUrl === null
        ? []
        : [
            [
              definition.name,
              definition.connect({
                apiKey: 'sandbox',
                baseUrl: sandboxBaseUrl(settings.sandboxUrl, definition),
              }),
            ] as const,
          ],
    ),
  );
  const byEndpoint = endpointProviders(settings.compatibleEndpoints);

  const find = (modelId: string): { provider: Provider; simulated: boolean } | null => {
    const own = modelOf(modelId)?.provider;
    const answering =
      (own === undefined ? undefined : real.get(own)) ?? byEndpoint.get(modelId) ?? null;
    if (answering !== null) return { provider: answering, simulated: false };
    const standIn = own === undefined ? undefined : simulated.get(own);
    return standIn === undefined ? null : { provider: standIn, simulated: true };
  };

  return {
    statusOf(modelId) {
      const found = find(modelId);
      const entry = modelOf(modelId);
      if (found === null) {
        return {
          available: false,
          simulated: false,
          provider: entry?.provider ?? null,
          missing: keyVariableOf(entry?.provider) ?? 'OPENAI_COMPATIBLE_ENDPOINTS',
        };
      }
      return {
        available: true,
        simulated: found.simulated,
        provider: found.provider.name,
        family: entry?.family ?? found.provider.name,
      };
    },
    providerFor: (modelId) => find(modelId)?.provider ?? null,
    hasRealModels: real.size > 0 || byEndpoint.size > 0,
  };
}

/** Where the sandbox serves a provider's wire format. */
export function sandboxBaseUrl(sandboxUrl: string, definition: ProviderDefinition): string {
  return `${sandboxUrl.replace(/\/$/, '')}${definition.sandboxPath}`;
}

/** The first endpoint that lists a model answers for it. */
function endpointProviders(
  endpoints: RegistrySettings['compatibleEndpoints'],
): ReadonlyMap<string, Provider> {
  const byModel = new Map<string, Provider>();
  for (const endpoint of endpoints) {
    // The SDK wants a key even where the endpoint asks for none.
    const provider = openaiCompatible(endpoint.name, {
      apiKey: endpoint.key ?? 'none',
      baseUrl: endpoint.baseUrl,
    });
    for (const modelId of endpoint.models) {
      if (!byModel.has(modelId)) byModel.set(modelId, provider);
    }
  }
  return byModel;
}

function keyVariableOf(provider: string | undefined): string | undefined {
  return providerDefinitions.find((definition) => definition.name === provider)?.keyVariable;
}
