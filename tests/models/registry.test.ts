import { afterAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Offer } from '#services/models/offer.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { modelRegistry, sandboxBaseUrl } from '#services/models/registry.ts';
import type { RegistrySettings } from '#services/models/registry.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { rawServer } from './raw-server.ts';

const catalogue = loadCatalogue(null);
const ofMakers = catalogue.models.filter(({ provider }) => provider !== null);
const routed = catalogue.models.filter(({ remoteIds }) => 'openrouter' in remoteIds);

const settings: RegistrySettings = {
  mode: 'local',
  providerKeys: {},
  compatibleEndpoints: [],
  providerUrls: {},
  openrouterDataCollection: 'deny',
  ollamaUrl: null,
  ollamaMaxContext: 16_384,
  sandboxUrl: 'http://127.0.0.1:4000',
};

const open: { close(): Promise<void> }[] = [];
afterAll(async () => {
  await Promise.all(open.map(async (each) => each.close()));
});

const endpoint = (name: string, ...models: [remoteId: string, model: string][]) => ({
  name,
  baseUrl: 'http://127.0.0.1:1/v1',
  key: null,
  models: models.map(([remoteId, model]) => ({ remoteId, model })),
  concurrency: null,
});

const registryOf = (more: Partial<RegistrySettings>, options = {}) =>
  modelRegistry({ ...settings, ...more }, catalogue, options);

async function offered(more: Partial<RegistrySettings>): Promise<Map<string, Offer>> {
  const offers = await registryOf(more).offers();
  const byModel = new Map(offers.map((offer) => [offer.model, offer]));
  expect(byModel.size).toBe(offers.length);
  return byModel;
}

async function localOllama(): Promise<string> {
  const sandbox = await startProviderSandbox({
    respond: () => ({ text: '', thinkingTokens: 0 }),
    catalogue,
    seed: 'test',
    personas: {},
    profile: 'instant',
  });
  open.push(sandbox);
  return `${sandbox.url}/ollama`;
}

describe('the offers of the registry', () => {
  it('without a key the sandbox offers every model of a maker', async () => {
    const offers = await offered({});
    expect([...offers.keys()]).toEqual(ofMakers.map(({ id }) => id));
    for (const { id, provider } of ofMakers)
      expect(offers.get(id)).toMatchObject({ provider, remoteId: id, simulated: true });
  });

  it('in production nothing is offered without a key', async () => {
    expect((await offered({ mode: 'production', sandboxUrl: null })).size).toBe(0);
  });

  it('an offer says what the catalogue knows of its model, and the price in force', async () => {
    const clock = () => Date.parse('2026-11-23T12:00:00.000Z');
    const [offer] = await registryOf({ providerKeys: { openai: 'key' } }, { clock }).offers();
    expect(offer).toEqual({
      model: 'gpt-6-luna',
      name: 'GPT-6 Luna',
      family: 'openai',
      tier: 'small',
      provider: 'openai',
      remoteId: 'gpt-6-luna',
      simulated: false,
      efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
      structuredOutput: 'schema',
      contextTokens: 1_050_000,
      maxOutputTokens: 128_000,
      price: { inputPerMTok: 0.1, outputPerMTok: 0.5 },
    });
  });

  it('one key of OpenRouter offers every model that it knows, by its own ids', async () => {
    const offers = await offered({ providerKeys: { openrouter: 'key' }, sandboxUrl: null });
    expect(offers.size).toBe(routed.length);
    expect(routed.length).toBeGreaterThanOrEqual(ofMakers.length);
    for (const { id, remoteIds } of routed)
      expect(offers.get(id)).toMatchObject({
        provider: 'openrouter',
        remoteId: remoteIds['openrouter'],
        simulated: false,
      });
  });

  const lists = [
    endpoint('first', ['my-luna', 'gpt-6-luna'], ['llama-4', 'llama-4']),
    endpoint('second', ['other-luna', 'gpt-6-luna'], ['llama-4', 'llama-4']),
  ];
  it.each([
    ['a key of its maker', { openai: 'key', openrouter: 'key' }, 'openai', 'gpt-6-luna'],
    ['OpenRouter', { openrouter: 'key' }, 'openrouter', 'openai/gpt-6-luna'],
    ['the first endpoint that lists it', {}, 'first', 'my-luna'],
  ])('a model is offered by %s', async (_where, providerKeys, provider, remoteId) => {
    const offers = await offered({ providerKeys, compatibleEndpoints: lists });
    expect(offers.get('gpt-6-luna')).toMatchObject({ provider, remoteId, simulated: false });
  });

  it('a model of an endpoint that the catalogue does not list is small, of the endpoint’s own family, and free on this machine', async () => {
    const offers = await offered({ compatibleEndpoints: lists });
    expect(offers.get('llama-4')).toMatchObject({
      name: 'llama-4',
      family: 'first',
      tier: 'small',
      provider: 'first',
      remoteId: 'llama-4',
      price: { inputPerMTok: 0, outputPerMTok: 0 },
    });
  });

  it('Ollama offers what is installed, can chat and runs on this machine', async () => {
    const offers = await offered({ ollamaUrl: await localOllama(), sandboxUrl: null });
    const local = [...offers.values()].map(({ remoteId, efforts, contextTokens, price }) => ({
      remoteId,
      efforts,
      contextTokens,
      price,
    }));
    const free = { inputPerMTok: 0, outputPerMTok: 0 };
    const expected = [
      { remoteId: 'qwen3:8b', efforts: ['none', 'medium'], contextTokens: 16_384, price: free },
      {
        remoteId: 'gpt-oss:20b',
        efforts: ['low', 'medium', 'high'],
        contextTokens: 16_384,
        price: free,
      },
      { remoteId: 'gemma3:12b', efforts: [], contextTokens: 16_384, price: free },
      { remoteId: 'llama3.1:8b', efforts: [], contextTokens: 16_384, price: free },
    ];
    expect(local).toHaveLength(expected.length);
    expect(local).toEqual(expect.arrayContaining(expected));
    expect([...offers.values()].map(({ provider }) => provider)).toEqual(
      expected.map(() => 'ollama'),
    );
  });

  it('a local model that the catalogue lists has its name, and is offered once', async () => {
    const own = { ...catalogue.models[0]!, id: 'gemma-3-12b', remoteIds: { ollama: 'gemma3:12b' } };
    const listed = { ...own, provider: null, displayName: 'Gemma 3 12B', family: 'google' };
    const registry = modelRegistry(
      { ...settings, sandboxUrl: null, ollamaUrl: await localOllama() },
      {
        models: [listed],
        modelOf: (id) => (id === listed.id ? listed : null),
        priceOf: () => null,
      },
    );
    const offers = (await registry.offers()).filter(({ remoteId }) => remoteId === 'gemma3:12b');
    expect(offers).toEqual([
      expect.objectContaining({ model: 'gemma-3-12b', name: 'Gemma 3 12B', family: 'google' }),
    ]);
  });

  it('an Ollama that does not answer offers nothing, is asked again after half a minute, and is logged', async () => {
    const warnings: unknown[] = [];
    const server = await rawServer((_request, response) => {
      response.writeHead(500).end();
    });
    open.push(server);
    const registry = registryOf(
      { ollamaUrl: server.url, sandboxUrl: null },
      { log: { warn: (...args: unknown[]) => warnings.push(args) } },
    );
    expect(await Promise.all([registry.offers(), registry.offers()])).toEqual([[], []]);
    expect(await registry.offers()).toEqual([]);
    expect(server.requests).toHaveLength(1);
    expect(warnings).toEqual([[{ failure: 'unavailable' }, expect.any(String)]]);
  });

  it('of a hostile Ollama only plain ids and families are offered, and no key is sent to it', async () => {
    const plain = ['constructor', '__proto__', 'a'.repeat(200)];
    const odd = ['esc\u001b[2J', 'a\u202eb', 'two words', '', 'a'.repeat(201)];
    const server = await rawServer((request, response, body) => {
      const show = { details: { family: '\u001b[2J' }, capabilities: ['completion'] };
      const models = [...odd, ...plain, 'broken'].map((model) => ({ model }));
      response.statusCode = body.includes('broken') ? 500 : 200;
      response.end(JSON.stringify(request.url === '/api/tags' ? { models } : show));
    });
    open.push(server);
    const warnings: unknown[] = [];
    const registry = registryOf(
      { ollamaUrl: server.url, sandboxUrl: null, providerKeys: { ollama: 'canary' } },
      { log: { warn: (...args: unknown[]) => warnings.push(args) } },
    );
    const offers = await registry.offers();
    expect(offers.map(({ model, family }) => [model, family]).toReversed()).toEqual(
      plain.map((id) => [id, 'ollama']),
    );
    expect(warnings).toEqual([[{ failure: 'unavailable' }, expect.any(String)]]);
    expect(server.requests).toHaveLength(1 + plain.length + 1);
    expect(server.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual(
      [],
    );
  });

  it('an Ollama is asked for at most 100 models, 8 at once', async () => {
    const waiting: (() => void)[] = [];
    let answered = 0;
    let most = 0;
    const server = await rawServer((request, response) => {
      const models = Array.from({ length: 130 }, (_, index) => ({ model: `m:${index}` }));
      if (request.url === '/api/tags') return void response.end(JSON.stringify({ models }));
      waiting.push(() =>
        response.end(JSON.stringify({ details: {}, capabilities: ['completion'] })),
      );
      most = Math.max(most, waiting.length);
      // No answer before all are waiting; a ninth has time to come.
      if (waiting.length < Math.min(8, 100 - answered)) return;
      setTimeout(() => {
        answered += waiting.length;
        for (const answer of waiting.splice(0)) answer();
      }, 20);
    });
    open.push(server);
    const offers = await registryOf({ ollamaUrl: server.url, sandboxUrl: null }).offers();
    expect(offers.map(({ model }) => model).toReversed()).toEqual(
      Array.from({ length: 100 }, (_, index) => `m:${index}`),
    );
    expect(most).toBe(8);
  });

  it('an Ollama that describes none of its models counts as one that does not answer', async () => {
    const server = await rawServer((request, response) => {
      response.end(request.url === '/api/tags' ? '{"models":[{"model":"a"}]}' : '<html>');
    });
    open.push(server);
    const warnings: unknown[] = [];
    const log = { warn: (...args: unknown[]) => warnings.push(args) };
    const registry = registryOf({ ollamaUrl: server.url, sandboxUrl: null }, { log });
    expect(await registry.offers()).toEqual([]);
    expect(warnings).toEqual([
      [{ failure: 'malformed' }, expect.stringMatching(/does not answer/)],
    ]);
  });
});

describe('the registry', () => {
  it('the registry finds the provider that a run stored, real or simulated', () => {
    const registry = registryOf({
      providerKeys: { openai: 'key' },
      compatibleEndpoints: [endpoint('mine', ['llama-4', 'llama-4'])],
    });
    expect(registry.provider('openai', false)?.name).toBe('openai');
    expect(registry.provider('openai', true)?.name).toBe('openai');
    expect(registry.provider('mine', false)?.name).toBe('mine');
    expect(registry.provider('anthropic', false)).toBeNull();
    expect(registry.provider('mine', true)).toBeNull();
    expect(registry.hasRealModels).toBe(true);
    expect(registryOf({}).hasRealModels).toBe(false);
  });

  it.each([
    ['openai', true],
    ['openrouter', true],
    ['ollama', false],
  ])('the registry connects %s by a key: %s', (name, isConnected) => {
    const registry = registryOf({ providerKeys: { [name]: 'key' }, sandboxUrl: null });
    expect(registry.provider(name, false) !== null).toBe(isConnected);
  });

  it.each([
    ['local', 'http://127.0.0.1:4000/v1', true],
    ['local', 'https://proxy.example/v1', false],
    ['production', 'http://127.0.0.1:4000/v1', false],
    ['production', 'https://proxy.example/v1', false],
  ] as const)('in %s mode an endpoint at %s is free: %s', async (mode, baseUrl, isFree) => {
    const models = [endpoint('proxy', ['luna', 'gpt-6-luna'], ['mine', 'mine'])];
    const compatibleEndpoints = models.map((each) => ({ ...each, baseUrl }));
    const registry = registryOf({ mode, compatibleEndpoints, sandboxUrl: null });
    const listed = catalogue.priceOf('gpt-6-luna', new Date().toISOString());
    expect(registry.provider('proxy', false)?.isFree).toBe(isFree);
    expect((await registry.offers()).map(({ price }) => price?.outputPerMTok)).toEqual(
      isFree ? [0, 0] : [listed?.outputPerMTok, undefined],
    );
  });

  it('of all providers only Ollama costs nothing', () => {
    const registry = registryOf({
      providerKeys: Object.fromEntries(providerDefinitions.map(({ name }) => [name, 'key'])),
      ollamaUrl: 'http://127.0.0.1:11434',
    });
    const local = providerDefinitions.filter(
      ({ name }) => registry.provider(name, false)?.isFree === true,
    );
    expect(local.map(({ name }) => name)).toEqual(['ollama']);
  });

  it('the registry refuses a sandbox in production', () => {
    expect(() => registryOf({ mode: 'production' })).toThrow(/production/);
  });

  it.each([
    ['the name of a provider', [endpoint('ollama', ['a', 'a'])]],
    ['the name of another endpoint', [endpoint('one', ['a', 'a']), endpoint('one', ['b', 'b'])]],
  ])('the registry refuses an endpoint with %s', (_what, compatibleEndpoints) => {
    expect(() => registryOf({ compatibleEndpoints })).toThrow(
      'OPENAI_COMPATIBLE_ENDPOINTS must give each endpoint a name of its own',
    );
  });

  it('the registry refuses a map to a model that the catalogue does not list, and repeats no value', () => {
    const compatibleEndpoints = [endpoint('mine', ['a', 'a'], ['canary', 'gpt-0'])];
    expect(() => registryOf({ compatibleEndpoints })).toThrow(
      /^OPENAI_COMPATIBLE_ENDPOINTS: model 2 of mine is mapped to an id that the catalogue does not list$/,
    );
  });

  it('the registry gives each provider its own path in the sandbox', () => {
    const urls = providerDefinitions.map((each) => sandboxBaseUrl('http://127.0.0.1:4000/', each));
    expect(urls).toContain('http://127.0.0.1:4000/openai/v1');
    expect(new Set(urls).size).toBe(providerDefinitions.length);
  });
});
