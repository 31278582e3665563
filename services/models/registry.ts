import type { Catalogue } from './catalogue.ts';
import type { Provider } from './model.ts';
import { providerDefinitions } from './provider-list.ts';
import type { ProviderDefinition } from './provider.ts';
import { openaiCompatible } from './providers/openai-compatible.ts';

/** The part of the environment that decides which service answers for a model. */
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
 * The service that answers for each model: its provider when there is a key; else an
 * OpenAI-compatible endpoint that lists the model's id; else, in local mode, the sandbox. An endpoint
 * may also list ids of its own, which no strategy seats and the catalogue does not price.
 *
 * @throws Error when a sandbox is given in production mode
 */
export function modelRegistry(
  settings: RegistrySettings,
  { modelOf }: Pick<Catalogue, 'modelOf'>,
): ModelRegistry {
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
    const own = modelOf(modelId)?.provider ?? null;
    const answering = (own === null ? undefined : real.get(own)) ?? byEndpoint.get(modelId) ?? null;
    if (answering !== null) return { provider: answering, simulated: false };
    const standIn = own === null ? undefined : simulated.get(own);
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
export function sandboxBaseUrl(
  sandboxUrl: string,
  { sandboxPath }: Pick<ProviderDefinition, 'sandboxPath'>,
): string {
  return `${sandboxUrl.replace(/\/$/, '')}${sandboxPath}`;
}

/** The first endpoint that lists a model answers for it. */
function endpointProviders(
  endpoints: RegistrySettings['compatibleEndpoints'],
): ReadonlyMap<string, Provider> {
  const byModel = new Map<string, Provider>();
  for (const endpoint of endpoints) {
    // The SDK requires a key even where the endpoint does not.
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

function keyVariableOf(provider: string | null | undefined): string | undefined {
  return providerDefinitions.find((definition) => definition.name === provider)?.keyVariable;
}
