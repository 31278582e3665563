import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { catalogueWith, loadCatalogue } from '#services/models/catalogue.ts';
import { writeChanges } from '#services/models/catalogue/operator-file.ts';
import { readOpenRouterList } from '#services/models/catalogue/openrouter-list.ts';
import type { ListedModel } from '#services/models/catalogue/openrouter-list.ts';
import { differences } from '#services/models/catalogue/sync.ts';
import { rawServer } from '#tests/models/raw-server.ts';

const now = Date.parse('2026-11-23T12:00:00.000Z');
const nowIso = new Date(now).toISOString();
const at = { now, since: Date.parse('2026-09-01') };
const folder = mkdtempSync(join(tmpdir(), 'sevenfold-sync-'));
afterAll(() => rmSync(folder, { recursive: true }));

const row = {
  validFrom: null,
  validTo: null,
  source: 'https://example.com/luna',
  readOn: '2026-11-20',
  inputPerMTok: 0.1,
  cachedInputPerMTok: 0.01,
  cacheWritePerMTok: null,
  outputPerMTok: 0.5,
  longContext: null,
};

/** The catalogue with these prices of GPT-6 Luna. */
function priced(prices: readonly object[]) {
  const models = [{ id: 'gpt-6-luna', prices }];
  return catalogueWith([{ name: 'test', models, strategies: [] }]);
}

/** The list as the catalogue has it, with changes by id; null takes a model out. */
function listOf(
  catalogue: ReturnType<typeof loadCatalogue>,
  changes: Readonly<Record<string, Partial<ListedModel> | null>> = {},
): ListedModel[] {
  return catalogue.models.flatMap((entry) => {
    const price = catalogue.priceOf(entry.id, nowIso);
    const change = changes[entry.id];
    if (change === null) return [];
    return [
      {
        remoteId: entry.remoteIds['openrouter'] ?? '',
        name: entry.displayName,
        listedAt: Date.parse('2026-10-01'),
        contextTokens: entry.contextTokens,
        maxOutputTokens: entry.maxOutputTokens,
        structuredOutput: entry.structuredOutput,
        efforts: entry.efforts,
        price,
        longContext: null,
        retiresAt: null,
        ...change,
      },
    ];
  });
}

const price = {
  inputPerMTok: 0.1,
  cachedInputPerMTok: 0.01,
  cacheWritePerMTok: null,
  outputPerMTok: 0.5,
};

describe('the comparison with the public list', () => {
  it('a list that says the same makes no difference', () => {
    const catalogue = priced([row]);
    expect(differences(catalogue, listOf(catalogue), at)).toEqual([]);
  });

  const read = { source: 'https://openrouter.ai/openai/gpt-6-luna', readOn: '2026-11-23' };
  const ends = '2027-01-01T00:00:00.000Z';
  const dearer = { ...price, outputPerMTok: 0.6 };
  const changedRow = { ...row, ...read, outputPerMTok: 0.6 };
  it.each([
    [
      'a changed price ends the row in force and begins another',
      [row],
      'output 0.5 → 0.6',
      [
        { ...row, validTo: nowIso },
        { ...changedRow, validFrom: nowIso },
      ],
    ],
    [
      'a change within a promotion ends with it',
      [
        { ...row, validTo: ends },
        { ...row, validFrom: ends, outputPerMTok: 1 },
      ],
      'output 0.5 → 0.6',
      [
        { ...row, validTo: nowIso },
        { ...changedRow, validFrom: nowIso, validTo: ends },
        { ...row, validFrom: ends, outputPerMTok: 1 },
      ],
    ],
    [
      'a first price is in force from the beginning',
      [],
      'input unknown → 0.1, cached input unknown → 0.01, output unknown → 0.6',
      [changedRow],
    ],
    [
      'a price after the last row continues it',
      [{ ...row, validTo: '2026-11-01T00:00:00.000Z' }],
      'input unknown → 0.1, cached input unknown → 0.01, output unknown → 0.6',
      [
        { ...row, validTo: '2026-11-01T00:00:00.000Z' },
        { ...changedRow, validFrom: '2026-11-01T00:00:00.000Z' },
      ],
    ],
  ])('%s', (_title, rows, what, prices) => {
    const catalogue = priced(rows);
    expect(
      differences(catalogue, listOf(catalogue, { 'gpt-6-luna': { price: dearer } }), at),
    ).toEqual([
      {
        kind: 'price',
        model: 'gpt-6-luna',
        remoteId: 'openai/gpt-6-luna',
        what,
        change: { prices },
      },
    ]);
    expect(priced(prices).priceOf('gpt-6-luna', nowIso)?.outputPerMTok).toBe(0.6);
  });

  it('a price of more than 30 days that is still right takes the day of this reading', () => {
    const catalogue = priced([{ ...row, readOn: '2026-10-24' }]);
    const [found, ...rest] = differences(catalogue, listOf(catalogue), at);
    expect(rest).toEqual([]);
    expect(found).toMatchObject({ kind: 'confirmed', change: { prices: [{ ...row, ...read }] } });
    expect(differences(priced([{ ...row, readOn: '2026-10-25' }]), listOf(catalogue), at)).toEqual(
      [],
    );
  });

  it('a rate that one side does not name is no difference', () => {
    const catalogue = priced([{ ...row, cachedInputPerMTok: null }]);
    expect(differences(catalogue, listOf(catalogue, { 'gpt-6-luna': { price } }), at)).toEqual([]);
  });

  it('an announced end is written, and a model that is gone is only named', () => {
    const retiresAt = '2027-03-01T00:00:00.000Z';
    const catalogue = priced([row]);
    const listed = listOf(catalogue, { 'gpt-6-luna': { retiresAt }, 'mistral-large-4': null });
    expect(differences(catalogue, listed, at)).toMatchObject([
      { kind: 'retirement', model: 'gpt-6-luna', change: { retiresAt } },
      { kind: 'gone', model: 'mistral-large-4', change: null },
    ]);
  });

  const fresh: ListedModel = {
    remoteId: 'openai/gpt-7-luna',
    name: 'OpenAI: GPT-7 Luna',
    listedAt: Date.parse('2026-11-22'),
    contextTokens: 400_000,
    maxOutputTokens: null,
    structuredOutput: 'schema',
    efforts: ['low', 'high'],
    price: { ...price, inputPerMTok: 1, outputPerMTok: 4 },
    longContext: null,
    retiresAt: null,
  };

  it('a new model of a known maker is an entry that the catalogue accepts', () => {
    const catalogue = priced([row]);
    const found = differences(catalogue, [...listOf(catalogue), fresh], at);
    expect(found).toMatchObject([
      {
        kind: 'new',
        model: 'gpt-7-luna',
        what: 'GPT-7 Luna of openai, mid, input 1, output 4',
        change: { family: 'openai', provider: null, maxOutputTokens: 200_000, tier: 'mid' },
      },
    ]);
    const models = found.map(({ model, change }) => ({ ...change, id: model }));
    const merged = catalogueWith([{ name: 'test', models, strategies: [] }]);
    expect(merged.modelOf('gpt-7-luna')?.remoteIds).toEqual({ openrouter: 'openai/gpt-7-luna' });
  });

  it.each<[string, Partial<ListedModel>]>([
    ['of another maker', { remoteId: 'acme/model-1' }],
    ['listed before the day', { listedAt: Date.parse('2026-08-31') }],
    ['that is a variant', { remoteId: 'openai/gpt-7-luna:free' }],
    ['that is an alias', { remoteId: '~openai/gpt-luna-latest' }],
    ['without a price', { price: null }],
    ['that ends already', { retiresAt: '2026-12-01T00:00:00.000Z' }],
    ['whose id the catalogue has', { remoteId: 'google/gpt-6-luna' }],
  ])('a model %s is not new', (_what, change) => {
    const catalogue = priced([row]);
    expect(differences(catalogue, [...listOf(catalogue), { ...fresh, ...change }], at)).toEqual([]);
  });
});

describe('the public list', () => {
  it('the list is read in the units of the catalogue', async () => {
    const model = {
      id: 'openai/gpt-7',
      name: 'OpenAI: GPT-7',
      created: 1_790_000_000,
      context_length: 1_050_000,
      pricing: {
        prompt: '0.00000125',
        completion: '0.00001',
        input_cache_read: '0.000000125',
        input_cache_write: '0.00000012501',
        overrides: [
          { utc_start: '08:00', prompt: '0.000009' },
          { min_prompt_tokens: 272_000, prompt: '0.0000025', completion: '0.000015' },
        ],
      },
      top_provider: { max_completion_tokens: 128_000 },
      supported_parameters: ['response_format', 'structured_outputs', 'reasoning'],
      reasoning: { supported_efforts: null, mandatory: true },
      expiration_date: '2027-03-01',
    };
    const plain = {
      id: 'openai/gpt-8',
      name: 'GPT-8',
      created: 1_790_000_000,
      context_length: null,
      pricing: { prompt: '-1', completion: '-1' },
    };
    const server = await rawServer((request, response) =>
      response.end(
        JSON.stringify(request.url === '/v1/models' ? { data: [model, {}, plain] } : {}),
      ),
    );
    expect(await readOpenRouterList(`${server.url}/v1`)).toEqual([
      {
        remoteId: 'openai/gpt-7',
        name: 'OpenAI: GPT-7',
        listedAt: 1_790_000_000_000,
        contextTokens: 1_050_000,
        maxOutputTokens: 128_000,
        structuredOutput: 'schema',
        efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
        price: {
          inputPerMTok: 1.25,
          cachedInputPerMTok: 0.125,
          cacheWritePerMTok: 0.1251,
          outputPerMTok: 10,
        },
        longContext: {
          aboveInputTokens: 272_000,
          inputPerMTok: 2.5,
          cachedInputPerMTok: 0.125,
          cacheWritePerMTok: 0.1251,
          outputPerMTok: 15,
        },
        retiresAt: '2027-03-01T00:00:00.000Z',
      },
      {
        remoteId: 'openai/gpt-8',
        name: 'GPT-8',
        listedAt: 1_790_000_000_000,
        contextTokens: 0,
        maxOutputTokens: null,
        structuredOutput: 'prompt',
        efforts: [],
        price: null,
        longContext: null,
        retiresAt: null,
      },
    ]);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    await server.close();
  });

  it.each([
    [500, 'oops', 'answered 500; check OPENROUTER_URL'],
    [200, '<html>', 'did not answer with a list of models; check OPENROUTER_URL'],
    [200, '{"models":[]}', 'did not answer with a list of models; check OPENROUTER_URL'],
  ])('an answer %i %s is refused in one sentence', async (status, body, sentence) => {
    const server = await rawServer((_request, response) => response.writeHead(status).end(body));
    await expect(readOpenRouterList(server.url)).rejects.toThrow(
      `${new URL(server.url).host} ${sentence}`,
    );
    await server.close();
    await expect(readOpenRouterList(server.url)).rejects.toThrow('cannot be reached');
  });
});

describe("the operator's file", () => {
  const changes = [{ model: 'gpt-6-luna', change: { prices: [row] } }];

  it('changes are merged into what stands there', () => {
    const path = join(folder, 'merged.json');
    const standing = {
      $schema: './schema.json',
      models: [{ id: 'gpt-6-luna', displayName: 'Luna' }],
      strategies: [{ id: 'fast', credits: 9 }],
    };
    writeFileSync(path, JSON.stringify(standing));
    writeChanges(path, changes);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      ...standing,
      models: [{ id: 'gpt-6-luna', displayName: 'Luna', prices: [row] }],
    });
    const catalogue = loadCatalogue(path);
    expect(catalogue.modelOf('gpt-6-luna')).toMatchObject({ displayName: 'Luna', prices: [row] });
  });

  it('a missing file is created', () => {
    const path = join(folder, 'new.json');
    writeChanges(path, changes);
    expect(loadCatalogue(path).modelOf('gpt-6-luna')?.prices).toEqual([row]);
  });

  it('a folder that cannot be written to is named', () => {
    const path = join(folder, 'missing', 'models.json');
    expect(() => writeChanges(path, changes)).toThrow(`${path}: cannot be written (ENOENT)`);
  });

  it('a change that would stop the next start is not written', () => {
    const path = join(folder, 'refused.json');
    const broken = [{ model: 'gpt-7', change: { displayName: 'GPT-7' } }];
    expect(() => writeChanges(path, broken)).toThrow('models "gpt-7", tier is missing');
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(folder).filter((name) => name.startsWith('refused'))).toEqual([]);
  });
});
