import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogueWith, loadCatalogue } from '#services/models/catalogue.ts';
import { checkModels } from '#services/models/catalogue/check.ts';
import type { Fault } from '#services/models/catalogue/check.ts';
import { connectedProviders } from '#services/models/catalogue/connected.ts';
import type { Connected } from '#services/models/catalogue/connected.ts';
import type { Offer } from '#services/models/offer.ts';
import { loadSdks, providerDefinitions } from '#services/models/provider-list.ts';
import { readIds } from '#services/models/providers/listing.ts';
import { modelRegistry, sandboxBaseUrl } from '#services/models/registry.ts';
import type { RegistrySettings } from '#services/models/registry.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { refusedKey, startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { rawServer } from '#tests/models/raw-server.ts';

/** Keys, ids, answers and prices, against the sandbox and against servers that misbehave. */
const catalogue = loadCatalogue(null);
const now = Date.parse('2026-11-23T12:00:00.000Z');
const key = 'sk-very-secret';
const makers = ['openai', 'anthropic', 'google', 'mistral'];

const settings: RegistrySettings = {
  mode: 'production',
  providerKeys: {},
  compatibleEndpoints: [],
  providerUrls: {},
  openrouterDataCollection: 'deny',
  ollamaUrl: null,
  ollamaMaxContext: 16_384,
  sandboxUrl: null,
};

let sandbox: ProviderSandbox;
const personas: Record<string, Persona> = {};

beforeAll(async () => {
  await loadSdks();
  sandbox = await startProviderSandbox({
    respond: () => ({ text: '{"ok": true}', thinkingTokens: 10 }),
    seed: 'test',
    catalogue,
    personas,
    profile: 'instant',
  });
});
afterAll(async () => sandbox.close());

/** A maker's own service, at another address. */
function connectedAt(name: string, given: { apiKey?: string; baseUrl?: string } = {}): Connected {
  const definition = providerDefinitions.find((each) => each.name === name);
  if (!definition) throw new Error(`There is no provider ${name}`);
  const { apiKey = key, baseUrl = sandboxBaseUrl(sandbox.url, definition) } = given;
  return {
    name,
    displayName: definition.displayName,
    keyVariable: definition.keyVariable,
    urlVariable: null,
    host: new URL(baseUrl).host,
    listIds: async () => readIds(name, definition.listCalls({ apiKey, baseUrl })),
    provider: definition.connect({ apiKey, baseUrl }),
  };
}

async function offersOf(names: readonly string[]): Promise<readonly Offer[]> {
  const providerKeys = Object.fromEntries(names.map((name) => [name, key]));
  return modelRegistry({ ...settings, providerKeys }, catalogue).offers();
}

type Asked = Parameters<typeof checkModels>[0];

async function linesOf(asked: Partial<Asked> & Pick<Asked, 'connected'>): Promise<string[]> {
  const offers = await offersOf(makers);
  const { faults } = await checkModels({
    catalogue,
    offers,
    seated: new Set(),
    wanted: new Set(),
    now,
    ...asked,
  });
  return faults.map(lineOf);
}

function lineOf({ about, problem, remedy }: Fault): string {
  return `${about}: ${problem}; ${remedy}`;
}

describe('the check of keys, ids and answers', () => {
  it('makers whose keys, ids and models are in order have no faults', async () => {
    const offers = await offersOf(makers);
    const { providers, faults } = await checkModels({
      catalogue,
      connected: makers.map((name) => connectedAt(name)),
      offers,
      seated: new Set(offers.map(({ model }) => model)),
      wanted: new Set(),
      now,
    });
    expect(faults).toEqual([]);
    const own = (name: string) =>
      catalogue.models.filter(({ provider }) => provider === name).length;
    expect(providers).toEqual(
      makers.map((name) => ({ name, listed: own(name), answered: own(name) })),
    );
  });

  it('a router, an endpoint and a local server are checked at their own addresses', async () => {
    const at = (name: string) =>
      sandboxBaseUrl(
        sandbox.url,
        providerDefinitions.find((each) => each.name === name)!,
      );
    const given: RegistrySettings = {
      ...settings,
      providerKeys: { openrouter: key },
      providerUrls: { openrouter: at('openrouter') },
      ollamaUrl: at('ollama'),
      compatibleEndpoints: [
        {
          name: 'mine',
          baseUrl: `${sandbox.url}/compatible/v1`,
          key,
          models: [{ remoteId: 'model-of-mine', model: 'model-of-mine' }],
          concurrency: null,
        },
      ],
    };
    const registry = modelRegistry(given, catalogue);
    const offers = (await registry.offers()).map((offer) =>
      offer.provider === 'mine' ? { ...offer, price: null } : offer,
    );
    const { providers, faults } = await checkModels({
      catalogue,
      connected: connectedProviders(given, registry),
      offers,
      seated: new Set(offers.map(({ model }) => model)),
      wanted: new Set(),
      now,
    });
    expect(faults.map(lineOf)).toEqual([
      'model-of-mine: its price is unknown, and so is its cost; add it to models in MODELS_FILE, with prices and remoteIds.mine',
    ]);
    const count = (name: string) => offers.filter(({ provider }) => provider === name).length;
    expect(providers).toEqual(
      ['openrouter', 'ollama', 'mine'].map((name) => ({
        name,
        listed: count(name),
        answered: count(name),
      })),
    );
    expect(count('ollama')).toBeGreaterThan(0);
  });

  it.each(makers)('a key that %s refuses is one line, and no model is called', async (name) => {
    const seated = new Set((await offersOf(makers)).map(({ model }) => model));
    const connected = [connectedAt(name, { apiKey: refusedKey })];
    const { displayName, keyVariable } = connected[0]!;
    expect(await linesOf({ connected, seated })).toEqual([
      `${displayName}: the key was refused; correct ${keyVariable}`,
    ]);
  });

  it('an address that cannot be reached names the host and the variable', async () => {
    const baseUrl = 'http://127.0.0.1:1/v1';
    const fixed = connectedAt('openai', { baseUrl });
    expect(await linesOf({ connected: [fixed] })).toEqual([
      'OpenAI: 127.0.0.1:1 cannot be reached; check the network',
    ]);
    const given: RegistrySettings = {
      ...settings,
      providerKeys: { openrouter: key },
      providerUrls: { openrouter: baseUrl },
      ollamaUrl: 'http://127.0.0.1:1',
      compatibleEndpoints: [
        {
          name: 'mine',
          baseUrl,
          key: null,
          models: [{ remoteId: 'm', model: 'm' }],
          concurrency: null,
        },
      ],
    };
    const connected = connectedProviders(given, modelRegistry(given, catalogue));
    expect(await linesOf({ connected })).toEqual([
      'OpenRouter: 127.0.0.1:1 cannot be reached; correct OPENROUTER_URL',
      'Ollama: 127.0.0.1:1 cannot be reached; correct OLLAMA_URL',
      'mine: 127.0.0.1:1 cannot be reached; correct OPENAI_COMPATIBLE_ENDPOINTS',
    ]);
  });

  it('an id that is not listed names the entry and the field', async () => {
    const offers = (await offersOf(makers)).map((offer) =>
      offer.model === 'gpt-6-luna' ? { ...offer, remoteId: 'gpt-0' } : offer,
    );
    const seated = new Set(['gpt-6-luna']);
    expect(await linesOf({ connected: [connectedAt('openai')], offers, seated })).toEqual([
      'gpt-6-luna: OpenAI does not list gpt-0; correct models "gpt-6-luna", remoteIds.openai in MODELS_FILE',
    ]);
  });

  it.each<[Persona, string]>([
    [
      'dead',
      'it is listed by OpenAI, but not served; correct models "gpt-6-luna", remoteIds.openai in MODELS_FILE',
    ],
    [
      'malformed',
      'its answer by OpenAI did not follow the schema (malformed); correct models "gpt-6-luna", structuredOutput or efforts in MODELS_FILE',
    ],
    [
      'truncated',
      'its answer by OpenAI did not follow the schema (truncated); correct models "gpt-6-luna", structuredOutput or efforts in MODELS_FILE',
    ],
    [
      'refusal',
      'it refused the question by OpenAI; name another model in the strategies of MODELS_FILE',
    ],
    ['500', 'it did not answer by OpenAI (unavailable); check again later'],
  ])('a seated model that is %s is one line with its remedy', async (persona, line) => {
    personas['gpt-6-luna'] = persona;
    const seated = new Set(['gpt-6-luna']);
    const lines = await linesOf({ connected: [connectedAt('openai')], seated });
    delete personas['gpt-6-luna'];
    expect(lines).toEqual([`gpt-6-luna: ${line}`]);
  });

  it.each([
    [
      402,
      'the account has no credit left; top it up, or set OPENAI_API_KEY to the key of another one',
    ],
    [401, 'the key was refused; correct OPENAI_API_KEY'],
  ])(
    'calls that answer %i are one line for all models, without the words of the provider',
    async (status, line) => {
      const listed = catalogue.models.map(({ id }) => ({ id }));
      const server = await rawServer((request, response) => {
        const isList = request.method === 'GET';
        const refusal = { error: { message: `You sent ${key}`, code: key, type: key } };
        response.writeHead(isList ? 200 : status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isList ? { data: listed } : refusal));
      });
      const connected = [connectedAt('openai', { baseUrl: server.url })];
      const seated = new Set(['gpt-6-luna', 'gpt-6.1-sol']);
      expect(await linesOf({ connected, seated })).toEqual([`OpenAI: ${line}`]);
      await server.close();
    },
  );

  it.each<[string, number, string]>([
    ['another page', 200, 'did not answer with a list of models; check again later'],
    [`{"error":"${key}"}`, 200, 'did not answer with a list of models; check again later'],
    [`{"error":"${key}"}`, 503, 'is busy (unavailable); check again later'],
    ['', 302, 'did not answer with a list of models; check again later'],
  ])('a list that is %s with status %i is one line', async (body, status, line) => {
    const server = await rawServer((_request, response) => response.writeHead(status).end(body));
    const { host } = new URL(server.url);
    const lines = await linesOf({ connected: [connectedAt('openai', { baseUrl: server.url })] });
    expect(lines).toEqual([`OpenAI: ${host} ${line}`]);
    await server.close();
  });
});

describe('the check of entries', () => {
  const [row] = catalogue.modelOf('ministral-8b-2512')!.prices;
  it.each<[string, object, string | null]>([
    ['a price of 30 days', { prices: [{ ...row, readOn: '2026-10-25' }] }, null],
    [
      'an older price',
      { prices: [{ ...row, readOn: '2026-10-20' }] },
      `its price was read on 2026-10-20; read ${row!.source} and correct models "ministral-8b-2512", prices in MODELS_FILE, or run models sync --write`,
    ],
    [
      'no price',
      { prices: [] },
      'no price is in force, so its cost is unknown; add a row to models "ministral-8b-2512", prices in MODELS_FILE, or run models sync --write',
    ],
    ['a distant end', { retiresAt: '2027-02-01T00:00:00.000Z' }, null],
    [
      'an end within 60 days',
      { retiresAt: '2027-01-01T00:00:00.000Z' },
      'it retires on 2027-01-01; name another model in the strategies of MODELS_FILE',
    ],
    [
      'an end that is past',
      { retiresAt: '2026-11-23T12:00:00.000Z' },
      'it was retired on 2026-11-23; name another model in the strategies of MODELS_FILE',
    ],
  ])(
    'a seated entry with %s is named only when something is to be done',
    async (_what, change, line) => {
      const models = [{ id: 'ministral-8b-2512', ...change }];
      const changed = catalogueWith([{ name: 'test', models, strategies: [] }]);
      const seated = new Set(['ministral-8b-2512']);
      const lines = await linesOf({ catalogue: changed, connected: [], seated });
      expect(lines).toEqual(line === null ? [] : [`ministral-8b-2512: ${line}`]);
      expect(await linesOf({ catalogue: changed, connected: [] })).toEqual([]);
    },
  );
});
