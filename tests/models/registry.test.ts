import { describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { modelRegistry, sandboxBaseUrl } from '#services/models/registry.ts';
import type { RegistrySettings } from '#services/models/registry.ts';

const catalogue = loadCatalogue(null);
const { models } = catalogue;
const registryOf = (settings: RegistrySettings) => modelRegistry(settings, catalogue);

const settings: RegistrySettings = {
  mode: 'local',
  providerKeys: { openai: null, anthropic: null, google: null, mistral: null },
  compatibleEndpoints: [],
  sandboxUrl: 'http://127.0.0.1:4000',
};

describe('the registry', () => {
  it('the registry serves every model of the catalogue from the sandbox when there is no key', () => {
    const registry = registryOf(settings);
    for (const { id, provider, family } of models) {
      expect(registry.statusOf(id)).toEqual({ available: true, simulated: true, provider, family });
      expect(registry.providerFor(id)?.name).toBe(provider);
    }
    expect(registry.hasRealModels).toBe(false);
  });

  it('the registry serves a provider with a key itself and leaves the others to the sandbox', () => {
    const registry = registryOf({ ...settings, providerKeys: { anthropic: 'key' } });
    expect(registry.statusOf('claude-haiku-5-5')).toMatchObject({
      available: true,
      simulated: false,
    });
    expect(registry.statusOf('gpt-6-luna')).toMatchObject({ available: true, simulated: true });
    expect(registry.hasRealModels).toBe(true);
  });

  it('the registry names the missing variable when there is neither a key nor a sandbox', () => {
    const registry = registryOf({ ...settings, mode: 'production', sandboxUrl: null });
    expect(registry.statusOf('mistral-large-4')).toEqual({
      available: false,
      simulated: false,
      provider: 'mistral',
      missing: 'MISTRAL_API_KEY',
    });
    expect(registry.providerFor('mistral-large-4')).toBeNull();
  });

  it('the registry refuses a sandbox in production', () => {
    expect(() => registryOf({ ...settings, mode: 'production' })).toThrow(/production/);
  });

  it('an endpoint serves the models that it lists, real ones before simulated ones', () => {
    const registry = registryOf({
      ...settings,
      compatibleEndpoints: [
        {
          name: 'router',
          baseUrl: 'http://127.0.0.1:1/v1',
          key: null,
          models: ['gpt-6-luna', 'llama-4'],
        },
      ],
    });
    expect(registry.statusOf('gpt-6-luna')).toEqual({
      available: true,
      simulated: false,
      provider: 'router',
      family: 'openai',
    });
    expect(registry.statusOf('llama-4')).toEqual({
      available: true,
      simulated: false,
      provider: 'router',
      family: 'router',
    });
    expect(registry.statusOf('gpt-6.1-sol')).toMatchObject({ simulated: true });
  });

  it('the registry prefers a provider’s own key to an endpoint that lists its model', () => {
    const registry = registryOf({
      ...settings,
      providerKeys: { openai: 'key' },
      compatibleEndpoints: [
        { name: 'router', baseUrl: 'http://127.0.0.1:1/v1', key: null, models: ['gpt-6-luna'] },
      ],
    });
    expect(registry.statusOf('gpt-6-luna')).toMatchObject({ provider: 'openai', simulated: false });
  });

  it('the registry does not know a model that no provider serves', () => {
    expect(registryOf(settings).statusOf('llama-4')).toMatchObject({
      available: false,
      missing: 'OPENAI_COMPATIBLE_ENDPOINTS',
    });
  });

  it('the registry has a provider for every model of the catalogue', () => {
    const names = new Set(providerDefinitions.map((definition) => definition.name));
    expect(models.filter(({ provider }) => provider !== null && !names.has(provider))).toEqual([]);
  });

  it('the registry gives each provider its own path in the sandbox', () => {
    const urls = providerDefinitions.map((each) => sandboxBaseUrl('http://127.0.0.1:4000/', each));
    expect(urls).toContain('http://127.0.0.1:4000/openai/v1');
    expect(new Set(urls).size).toBe(providerDefinitions.length);
  });
});
