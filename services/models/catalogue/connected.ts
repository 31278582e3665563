import type { Provider } from '#services/models/model.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { bearer, dataIds, readIds } from '#services/models/providers/listing.ts';
import type { ListCall } from '#services/models/providers/listing.ts';
import { connectionOf } from '#services/models/registry.ts';
import type { ModelRegistry, RegistrySettings } from '#services/models/registry.ts';

/** A provider with a key or an address, as it is checked. */
export type Connected = {
  name: string;
  displayName: string;
  /** The variable that holds its key. */
  keyVariable: string;
  /** The variable that holds its address; null at the provider's own. */
  urlVariable: string | null;
  /** With the port; for messages. */
  host: string;
  /** The ids that it lists, by calls of which a wrong key fails one. @throws ModelFailure */
  listIds: () => Promise<readonly string[]>;
  provider: Provider;
};

const endpointsVariable = 'OPENAI_COMPATIBLE_ENDPOINTS';

/** Providers in the order of the list, then the endpoints in the order of their variable. */
export function connectedProviders(
  settings: RegistrySettings,
  registry: Pick<ModelRegistry, 'provider'>,
): Connected[] {
  const entryOf = (
    given: Pick<Connected, 'name' | 'displayName' | 'keyVariable' | 'urlVariable'>,
    baseUrl: string,
    calls: readonly ListCall[],
  ): Connected[] => {
    const provider = registry.provider(given.name, false);
    if (provider === null) return [];
    const { host } = new URL(baseUrl);
    return [{ ...given, host, provider, listIds: async () => readIds(given.name, calls) }];
  };
  return [
    ...providerDefinitions.flatMap((definition) => {
      const connection = connectionOf(definition, settings);
      if (connection === null) return [];
      const { name, displayName, keyVariable } = definition;
      const baseUrl = connection.baseUrl ?? definition.ownUrl;
      const urlVariable = connection.baseUrl === null ? null : `${name.toUpperCase()}_URL`;
      const calls = definition.listCalls({ apiKey: connection.apiKey, baseUrl });
      return entryOf({ name, displayName, keyVariable, urlVariable }, baseUrl, calls);
    }),
    ...settings.compatibleEndpoints.flatMap(({ name, baseUrl, key }) => {
      const variables = { keyVariable: endpointsVariable, urlVariable: endpointsVariable };
      return entryOf({ name, displayName: name, ...variables }, baseUrl, [
        { url: `${baseUrl}/models`, headers: bearer(key ?? ''), idsIn: dataIds },
      ]);
    }),
  ];
}
