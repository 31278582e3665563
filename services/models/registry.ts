import { SettingsError } from '#services/platform/process/env.ts';
import type { CompatibleEndpoint } from '#services/platform/process/env.ts';
import { modelOf } from './catalogue.ts';
import type { Provider } from './model.ts';
import { providerDefinitions } from './provider-list.ts';
import type { ProviderConnection, ProviderDefinition } from './provider.ts';
import { openaiCompatible } from './providers/openai-compatible.ts';

/** The part of the environment that decides which service answers for a model. */
export type RegistrySettings = {
  mode: 'local' | 'production';
  /** By provider name; null or absent means that there is no key. */
  providerKeys: Readonly<Record<string, string | null>>;
  compatibleEndpoints: readonly CompatibleEndpoint[];
  /** Another address for OpenRouter's, such as a gateway's; null is its own. */
  openrouterUrl: string | null;
  openrouterDataCollection: 'deny' | 'allow';
  /** Null when no Ollama is to be used. */
  ollamaUrl: string | null;
  /** The origin at which the provider sandbox listens; null when there is none. */
  sandboxUrl: string | null;
};

/** Whether a model can be seated, and whether the sandbox would answer for it. */
type ModelStatus =
  | { available: true; simulated: boolean; provider: string; family: string; remoteId: string }
  | { available: false; simulated: false; provider: string | null; missing: string };

export type ModelRegistry = {
  statusOf(modelId: string): ModelStatus;
  /** By the name that a run stored; null when it is no longer connected. */
  provider(name: string, simulated: boolean): Provider | null;
  /** Whether any model is served by a real provider. */
  hasRealModels: boolean;
};

/**
 * The service that answers for each model: its provider when there is a key; else an
 * OpenAI-compatible endpoint that lists the model; else, in local mode, the sandbox.
 *
 * @throws Error when a sandbox is given in production mode
 * @throws SettingsError for an endpoint whose name is taken
 */
export function modelRegistry(settings: RegistrySettings): ModelRegistry {
  if (settings.mode === 'production' && settings.sandboxUrl !== null) {
    throw new Error('The provider sandbox must not be used in production mode');
  }
  const real = realProviders(settings);
  const simulated = simulatedProviders(settings.sandboxUrl);
  const listed = listedModels(settings.compatibleEndpoints);

  const find = (
    modelId: string,
  ): { provider: string; simulated: boolean; remoteId: string } | null => {
    const own = modelOf(modelId)?.provider;
    if (own !== undefined && real.has(own))
      return { provider: own, simulated: false, remoteId: modelId };
    const atEndpoint = listed.get(modelId);
    if (atEndpoint !== undefined) return { ...atEndpoint, simulated: false };
    return own !== undefined && simulated.has(own)
      ? { provider: own, simulated: true, remoteId: modelId }
      : null;
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
      return { available: true, ...found, family: entry?.family ?? found.provider };
    },
    provider: (name, isSimulated) => (isSimulated ? simulated : real).get(name) ?? null,
    hasRealModels: real.size > 0,
  };
}

/** By name: those with a key or an address, and the endpoints. */
function realProviders(settings: RegistrySettings): ReadonlyMap<string, Provider> {
  const providers = new Map(
    providerDefinitions.flatMap((definition) => {
      const connection = connectionOf(definition, settings);
      return connection === null
        ? []
        : [[definition.name, definition.connect(connection)] as const];
    }),
  );
  for (const { name, key, baseUrl } of settings.compatibleEndpoints) {
    if (providers.has(name) || providerDefinitions.some((definition) => definition.name === name)) {
      throw new SettingsError([
        'OPENAI_COMPATIBLE_ENDPOINTS must give each endpoint a name of its own, other than a provider’s',
      ]);
    }
    // The SDK requires a key even where the endpoint does not.
    providers.set(name, openaiCompatible(name, { apiKey: key ?? 'none', baseUrl }));
  }
  return providers;
}

function connectionOf(
  { name }: ProviderDefinition,
  settings: RegistrySettings,
): ProviderConnection | null {
  const apiKey = settings.providerKeys[name] ?? null;
  if (name === 'ollama') {
    return settings.ollamaUrl === null
      ? null
      : { apiKey: apiKey ?? '', baseUrl: settings.ollamaUrl };
  }
  if (apiKey === null) return null;
  if (name !== 'openrouter') return { apiKey, baseUrl: null };
  return {
    apiKey,
    baseUrl: settings.openrouterUrl,
    dataCollection: settings.openrouterDataCollection,
  };
}

function simulatedProviders(sandboxUrl: string | null): ReadonlyMap<string, Provider> {
  if (sandboxUrl === null) return new Map();
  return new Map(
    providerDefinitions.map((definition) => {
      const baseUrl = sandboxBaseUrl(sandboxUrl, definition);
      return [definition.name, definition.connect({ apiKey: 'sandbox', baseUrl })] as const;
    }),
  );
}

/** Where the sandbox serves a provider's wire format. */
export function sandboxBaseUrl(
  sandboxUrl: string,
  { sandboxPath }: Pick<ProviderDefinition, 'sandboxPath'>,
): string {
  return `${sandboxUrl.replace(/\/$/, '')}${sandboxPath}`;
}

/** The first endpoint that lists a model answers for it. */
function listedModels(
  endpoints: readonly CompatibleEndpoint[],
): ReadonlyMap<string, { provider: string; remoteId: string }> {
  const listed = endpoints.flatMap(({ name, models }) =>
    models.map(({ remoteId, model }) => [model, { provider: name, remoteId }] as const),
  );
  return new Map(listed.toReversed());
}

function keyVariableOf(provider: string | undefined): string | undefined {
  return providerDefinitions.find((definition) => definition.name === provider)?.keyVariable;
}
