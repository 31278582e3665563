import { LRUCache } from 'lru-cache';
import { isOnThisMachine, SettingsError } from '#services/platform/process/env.ts';
import type { CompatibleEndpoint } from '#services/platform/process/env.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { Catalogue } from './catalogue.ts';
import type { ModelEntry } from './catalogue/model-entry.ts';
import type { Provider } from './model.ts';
import type { Offer } from './offer.ts';
import { isNamed, offersOf } from './offers.ts';
import type { Place } from './offers.ts';
import { providerDefinitions } from './provider-list.ts';
import type { ProviderConnection, ProviderDefinition } from './provider.ts';
import { openaiCompatible } from './providers/openai-compatible.ts';
import { ollamaModels } from './providers/ollama-models.ts';
import type { OllamaModel } from './providers/ollama-models.ts';
import { failureOf } from './transport/guarded-fetch.ts';

/** The part of the environment that decides which service answers for a model. */
export type RegistrySettings = {
  mode: 'local' | 'production';
  /** By provider name; null or absent means that there is no key. */
  providerKeys: Readonly<Record<string, string | null>>;
  compatibleEndpoints: readonly CompatibleEndpoint[];
  /** By provider name, another address than its own, such as a gateway's. */
  providerUrls: Readonly<Record<string, string>>;
  openrouterDataCollection: 'deny' | 'allow';
  /** Null when no Ollama is to be used. */
  ollamaUrl: string | null;
  /** The most tokens of context that Ollama loads a model with. */
  ollamaMaxContext: number;
  /** The origin at which the provider sandbox listens; null when there is none. */
  sandboxUrl: string | null;
};

export type ModelRegistry = {
  /**
   * All models that a run may seat, one offer each: the maker's own key comes first, then OpenRouter,
   * then the endpoints in their order, then Ollama, then the sandbox. An Ollama that does not answer
   * offers nothing.
   */
  offers(): Promise<readonly Offer[]>;
  /** By the name that a run stored; null when it is no longer connected. */
  provider(name: string, simulated: boolean): Provider | null;
  /** Whether any real provider is connected, even one that does not answer. */
  hasRealModels: boolean;
};

/**
 * @throws Error when a sandbox is given in production mode
 * @throws SettingsError for an endpoint whose name is taken, or that names an unknown model
 */
export function modelRegistry(
  settings: RegistrySettings,
  catalogue: Pick<Catalogue, 'models' | 'modelOf' | 'priceOf'>,
  { clock = Date.now, log }: { clock?: () => number; log?: Pick<Log, 'warn'> } = {},
): ModelRegistry {
  if (settings.mode === 'production' && settings.sandboxUrl !== null) {
    throw new Error('The provider sandbox must not be used in production mode');
  }
  const { compatibleEndpoints: endpoints, ollamaMaxContext: mostContext } = settings;
  const faults = endpointFaults(endpoints, catalogue);
  if (faults.length > 0) throw new SettingsError(faults);
  const real = realProviders(settings);
  const simulated = simulatedProviders(settings.sandboxUrl);

  /** Besides Ollama's. */
  const placeOf = (modelId: string): Place | null => {
    const entry = catalogue.modelOf(modelId);
    const own = entry?.provider ?? null;
    const remoteId = (own === null ? undefined : entry?.remoteIds[own]) ?? modelId;
    if (own !== null && real.has(own)) return { provider: own, simulated: false, remoteId };
    const routed = entry?.remoteIds['openrouter'];
    if (routed !== undefined && real.has('openrouter'))
      return { provider: 'openrouter', simulated: false, remoteId: routed };
    return (
      placeAtEndpoint(endpoints, modelId, entry) ??
      (own !== null && simulated.has(own) ? { provider: own, simulated: true, remoteId } : null)
    );
  };

  const localModels = async (): Promise<readonly OllamaModel[]> => {
    if (settings.ollamaUrl === null) return [];
    try {
      return await ollamaModels(settings.ollamaUrl, log);
    } catch (error) {
      const { failure } = failureOf('ollama', error);
      log?.warn({ failure }, 'Ollama does not answer, so none of its models is offered');
      return [];
    }
  };
  const listed = new LRUCache<'ollama', readonly OllamaModel[]>({
    max: 1,
    ttl: listedForMs,
    fetchMethod: localModels,
  });

  return {
    async offers() {
      const at = new Date(clock()).toISOString();
      const local = (await listed.fetch('ollama')) ?? [];
      const isFree = (name: string) => real.get(name)?.isFree === true;
      return offersOf({ catalogue, at, placeOf, isFree, endpoints, local, mostContext });
    },
    provider: (name, isSimulated) => (isSimulated ? simulated : real).get(name) ?? null,
    hasRealModels: real.size > 0,
  };
}

const listedForMs = 30_000;

/** The first endpoint that lists a model answers for it. */
function placeAtEndpoint(
  endpoints: readonly CompatibleEndpoint[],
  modelId: string,
  entry: ModelEntry | null,
): Place | null {
  for (const { name, models } of endpoints) {
    const found = models.find(
      ({ model, remoteId }) => model === modelId || isNamed(remoteId, entry?.remoteIds[name]),
    );
    if (found) return { provider: name, simulated: false, remoteId: found.remoteId };
  }
  return null;
}

/** Never a value: a key in the wrong place must not reach a terminal. */
function endpointFaults(
  endpoints: readonly CompatibleEndpoint[],
  { modelOf }: Pick<Catalogue, 'modelOf'>,
): string[] {
  const names = [...providerDefinitions, ...endpoints].map(({ name }) => name);
  const isTaken = new Set(names).size < names.length;
  return [
    ...(isTaken
      ? [
          'OPENAI_COMPATIBLE_ENDPOINTS must give each endpoint a name of its own, which no provider has',
        ]
      : []),
    ...endpoints.flatMap(({ name, models }) =>
      models.flatMap(({ remoteId, model }, index) =>
        remoteId === model || modelOf(model) !== null
          ? []
          : [
              `OPENAI_COMPATIBLE_ENDPOINTS: model ${index + 1} of ${name} is mapped to an id that the catalogue does not list`,
            ],
      ),
    ),
  ];
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
    // The SDK requires a key even where the endpoint does not.
    const connection = { apiKey: key ?? 'none', baseUrl };
    // In production a proxy on this machine may bill its calls.
    const isFree = settings.mode === 'local' && isOnThisMachine(baseUrl);
    providers.set(name, { ...openaiCompatible(name, connection), isFree });
  }
  return providers;
}

/** How a provider is reached; null without its key, or its address. */
export function connectionOf(
  { name }: ProviderDefinition,
  settings: RegistrySettings,
): ProviderConnection | null {
  if (name === 'ollama')
    return settings.ollamaUrl === null ? null : { apiKey: '', baseUrl: settings.ollamaUrl };
  const apiKey = settings.providerKeys[name] ?? null;
  if (apiKey === null) return null;
  const baseUrl = settings.providerUrls[name] ?? null;
  return name === 'openrouter'
    ? { apiKey, baseUrl, dataCollection: settings.openrouterDataCollection }
    : { apiKey, baseUrl };
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
