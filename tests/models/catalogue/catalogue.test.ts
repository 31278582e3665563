import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { costMicros, rowOf, rowsBetween } from '#services/models/catalogue/prices.ts';
import { unknownUsage } from '#services/models/model.ts';
import type { UsageRecord } from '#services/models/model.ts';
import { longestRunMs } from '#services/models/strategies.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import { editorSchema } from './write-schema.ts';

const { models, modelOf, priceOf, strategyOf, version } = loadCatalogue(null);
const folder = mkdtempSync(join(tmpdir(), 'sevenfold-catalogue-'));
afterAll(() => rmSync(folder, { recursive: true }));

const now = '2026-11-20T12:00:00.000Z';

function usage(counts: Partial<UsageRecord>): UsageRecord {
  return {
    inputUncached: 0,
    inputCached: 0,
    cacheWrite: 0,
    outputVisible: 0,
    outputThinking: 0,
    source: 'provider',
    ...counts,
  };
}

describe('cost', () => {
  const million = usage({ inputUncached: 1_000_000, outputVisible: 1_000_000 });

  it.each([
    // The promotion of gemini-3.8-flash ends with the year: the price doubles.
    ['gemini-3.8-flash', '2026-12-31T23:59:59.999Z', 4_500_000],
    ['gemini-3.8-flash', '2027-01-01T00:00:00.000Z', 9_000_000],
    // Both large models of Gemini 4 are at half price until the end of November.
    ['gemini-4-argon', '2026-11-30T23:59:59.999Z', 12_000_000],
    ['gemini-4-argon', '2026-12-01T00:00:00.000Z', 24_000_000],
    ['gemini-4-carbon', '2026-11-30T23:59:59.999Z', 12_000_000],
    ['gemini-4-carbon', '2026-12-01T00:00:00.000Z', 24_000_000],
    ['mistral-large-4', '2026-10-19T23:59:59.999Z', 2_770_000],
    ['mistral-large-4', '2026-10-20T00:00:00.000Z', 5_540_000],
    ['gpt-5.6-luna', '2026-07-29T23:59:59.999Z', 2_000_000 + 9_000_000],
    ['gpt-5.6-luna', '2026-07-30T00:00:00.000Z', 400_000 + 1_800_000],
  ])('a million tokens each way with %s at %s cost %i micro-dollars', (model, at, expected) => {
    expect(costMicros(million, priceOf(model, at))).toBe(expected);
  });

  it.each([
    // Cached input, cache writes, thinking: 800×2 + 200×0.1 + 100×2.5 + (300+700)×10.
    [
      'claude-sonnet-5-5',
      {
        inputUncached: 800,
        inputCached: 200,
        cacheWrite: 100,
        outputVisible: 300,
        outputThinking: 700,
      },
      11_870,
    ],
    // 1000×1 + 640×0.05 + 1500×5.
    [
      'gpt-6.1-terra',
      { inputUncached: 1000, inputCached: 640, outputVisible: 1300, outputThinking: 200 },
      8532,
    ],
    // Cached input without a known price counts as input: 500×1.5 + 500×1.5 + 100×7.5.
    ['mistral-medium-2604', { inputUncached: 500, inputCached: 500, outputVisible: 100 }, 2250],
    // Half a micro-dollar is rounded up, less is rounded down.
    ['gpt-6-luna', { outputVisible: 1 }, 1],
    ['gpt-6-luna', { inputUncached: 4 }, 0],
    ['gpt-6-luna', { inputUncached: 5 }, 1],
    ['gemini-3.8-flash', { inputCached: 6 }, 0],
    ['gemini-3.8-flash', { inputCached: 7 }, 1],
  ])('the cost of one call with %s adds up its parts', (model, counts, expected) => {
    expect(costMicros(usage(counts), priceOf(model, now))).toBe(expected);
  });

  it.each([
    ['gpt-6-luna', 272_000, 27_200 + 500],
    ['gpt-6-luna', 272_001, 54_400 + 750],
    ['gpt-6.1-terra', 272_001, 544_002 + 7500],
    ['claude-haiku-5-5', 100_000, 10_000 + 500],
    ['claude-haiku-5-5', 100_001, 50_001 + 2500],
    ['claude-sonnet-5-5', 900_000, 1_800_000 + 10_000],
  ])('a prompt of %s with %i tokens costs the price of its tier', (model, input, expected) => {
    const inputs = { inputUncached: input, outputVisible: 1000 };
    const cost = costMicros(usage(inputs), priceOf(model, now));
    expect(cost).toBeGreaterThanOrEqual(expected);
    expect(cost).toBeLessThanOrEqual(expected + 1);
  });

  it.each(['constructor', '__proto__'])('a run’s prices hold a model named %s', (id) => {
    const rows = modelOf('gpt-6-luna')!.prices;
    expect(rowOf(Object.fromEntries([[id, rows]]), id, now)).toEqual(priceOf('gpt-6-luna', now));
    expect(rowOf({}, id, now)).toBeNull();
  });

  it('cached input counts towards the long tier, too', () => {
    const counts = usage({ inputUncached: 1, inputCached: 100_000, outputVisible: 0 });
    expect(costMicros(counts, priceOf('claude-haiku-5-5', now))).toBe(5001);
  });

  it('the cost is unknown, and never 0, when the usage is unknown', () => {
    expect(costMicros(unknownUsage, priceOf('gpt-6-luna', now))).toBeNull();
    expect(costMicros(usage({ outputVisible: null }), priceOf('gpt-6-luna', now))).toBeNull();
  });

  it("the cost is unknown for an unlisted model and before a model's first price", () => {
    expect(costMicros(million, priceOf('llama-of-mine', now))).toBeNull();
    expect(costMicros(million, priceOf('gpt-6.1-terra', '2026-10-25T23:59:59.999Z'))).toBeNull();
  });
});

describe('the rows that a run stores', () => {
  const { prices } = modelOf('gemini-3.8-flash')!;

  it.each([
    ['2026-11-20T00:00:00.000Z', '2026-12-31T23:59:59.999Z', [0.75]],
    ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z', [0.75, 1.5]],
    ['2027-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z', [1.5]],
  ])('a run between %s and %s stores every row that can be in force', (from, to, expected) => {
    expect(rowsBetween(prices, from, to).map((row) => row.inputPerMTok)).toEqual(expected);
  });
});

describe('the catalogue', () => {
  it('the catalogue prices every model today that is not only run locally', () => {
    const sold = models.filter(
      ({ provider, remoteIds }) => provider !== null || 'openrouter' in remoteIds,
    );
    expect(sold.filter(({ id }) => priceOf(id, now) === null)).toEqual([]);
  });

  it('the catalogue knows only the models that it lists', () => {
    expect(modelOf('gpt-6-luna')?.displayName).toBe('GPT-6 Luna');
    expect(modelOf('constructor')).toBeNull();
  });

  it('the catalogue calls a price stale 30 days after it was read', () => {
    const read = '2026-11-20T00:00:00.000Z';
    const readThen = mergedWith({
      models: models.map(({ id, prices }) => ({
        id,
        prices: prices.map((row) => ({ ...row, readOn: read.slice(0, 10) })),
      })),
    });
    expect(readThen.staleModels('2026-12-20T00:00:00.000Z')).toEqual([]);
    expect(readThen.staleModels('2026-12-20T00:00:00.001Z')).toHaveLength(
      models.filter(({ prices }) => prices.length > 0).length,
    );
  });

  it('the schema for editors is the one of the code', () => {
    const schema = readFileSync('services/models/catalogue.schema.json', 'utf8');
    expect(JSON.parse(schema)).toEqual(editorSchema());
  });
});

describe("the operator's file", () => {
  const price = {
    inputPerMTok: 1,
    outputPerMTok: 2,
    source: 'https://example.com/p',
    readOn: '2026-11-20',
  };
  const local = {
    id: 'local-8b',
    displayName: 'Local 8B',
    family: 'local',
    tier: 'small',
    contextTokens: 32_768,
    maxOutputTokens: 8192,
    structuredOutput: 'json',
  };

  it('a given field replaces that of the catalogue, and every other field stays', () => {
    const merged = mergedWith({
      models: [{ id: 'gpt-6-luna', displayName: 'Luna', prices: [price] }],
    });
    const { displayName: _name, prices: _prices, ...rest } = modelOf('gpt-6-luna')!;
    expect(merged.modelOf('gpt-6-luna')).toMatchObject({ ...rest, displayName: 'Luna' });
    expect(merged.priceOf('gpt-6-luna', now)).toMatchObject({
      outputPerMTok: 2,
      longContext: null,
    });
    expect(merged.models).toHaveLength(models.length);
  });

  it('a new model is added with what it leaves out as unknown', () => {
    expect(mergedWith({ models: [local] }).modelOf('local-8b')).toEqual({
      ...local,
      provider: null,
      efforts: [],
      remoteIds: {},
      prices: [],
      retiresAt: null,
    });
  });

  it('a strategy takes the credits, the panel and the limits of the file, and its place by price', () => {
    const { panel } = strategyOf('fast')!;
    const seats = [...panel.slice(0, 6), { seat: 'I3', role: 'implementation', model: 'local-8b' }];
    const changes = { id: 'fast', credits: 9, panel: seats, maxOutputTokens: 8000 };
    const merged = mergedWith({ models: [local], strategies: [changes] });
    expect(merged.strategyOf('fast')).toMatchObject({ credits: 9, name: 'Fast' });
    expect(merged.strategyOf('fast')?.panel[6]).toMatchObject({ model: 'local-8b', effort: null });
    expect(merged.strategies.map(({ id }) => id).slice(0, 4)).toEqual([
      'ultra-economy',
      'economy',
      'fast',
      'balanced',
    ]);
  });

  it('any change of a figure changes the version, and the same files have the same one', () => {
    const versions = [
      {},
      { models: [{ id: 'gpt-6-luna', tier: 'mid' }] },
      { models: [{ id: 'gpt-6-luna', prices: [price] }] },
      { strategies: [{ id: 'fast', credits: 9 }] },
    ].map((file) => mergedWith(file).version);
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions[0]).toBe(version);
    expect(version).toMatch(/^\d{4}-\d{2}-\d{2}\.[0-9a-f]{8}$/);
  });

  const [row] = models[0]!.prices;
  const { deadlines } = strategyOf('fast')!;
  const until = { ...row, validTo: '2027-01-01T00:00:00.000Z' };
  it.each<[string, unknown]>([
    [
      'models "gpt-6-luna", prices.0.inputPerMTok must have at most four decimals',
      priced([{ ...row, inputPerMTok: 0.00001 }]),
    ],
    [
      'models "gpt-6-luna", prices.0.source must be the address',
      priced([{ ...row, source: 'sk-secret' }]),
    ],
    [
      'models "gpt-6-luna", prices.0.validFrom must be an ISO time',
      priced([{ ...row, validFrom: 'soon' }]),
    ],
    [
      'models "gpt-6-luna", prices must follow each other',
      priced([until, { ...row, validFrom: '2027-02-01T00:00:00.000Z' }]),
    ],
    [
      'models "gpt-6-luna", prices must follow each other',
      priced([until, { ...row, validFrom: '2026-12-01T00:00:00.000Z' }]),
    ],
    [
      'models "gpt-6-luna", prices must follow each other',
      priced([row, { ...row, validFrom: '2027-02-01T00:00:00.000Z' }]),
    ],
    [
      'models "gpt-6-luna", contextTokens must be number',
      { models: [{ id: 'gpt-6-luna', contextTokens: 'sk-secret' }] },
    ],
    [
      'models "gpt-6-luna", apiKey is not a field of it',
      { models: [{ id: 'gpt-6-luna', apiKey: 'sk-secret' }] },
    ],
    [
      'models "gpt-6-luna", provider must be null or one of openai,',
      { models: [{ id: 'gpt-6-luna', provider: 'sk-secret' }] },
    ],
    [
      'models "gpt-6-luna" stands there twice',
      { models: [{ id: 'gpt-6-luna' }, { id: 'gpt-6-luna' }] },
    ],
    ['models "local-8b", tier is missing', { models: [{ ...local, tier: undefined }] }],
    [
      'models "ministral-latest", id must be the id of one model, not an alias',
      { models: [{ ...local, id: 'ministral-latest' }] },
    ],
    ...['esc \u001b[2J', 'sk-secret\u202e', 'two\nlines', '\u200b', ' '].flatMap(
      (text): [string, unknown][] => [
        [
          'models "gpt-6-luna", displayName must be visible text on one line',
          { models: [{ id: 'gpt-6-luna', displayName: text }] },
        ],
        [
          'models "gpt-6-luna", family must be visible text on one line',
          { models: [{ id: 'gpt-6-luna', family: text }] },
        ],
        [
          'strategies "fast", name must be visible text on one line',
          { strategies: [{ id: 'fast', name: text }] },
        ],
        [
          'strategies "fast", description must be visible text on one line',
          { strategies: [{ id: 'fast', description: text }] },
        ],
      ],
    ),
    ['strategies "wide", id must be', { strategies: [{ id: 'wide' }] }],
    ['strategies "fast", credits must be >=1', { strategies: [{ id: 'fast', credits: 0 }] }],
    [
      'strategies "fast", deadlines.runMs must be <=10800000',
      { strategies: [{ id: 'fast', deadlines: { ...deadlines, runMs: longestRunMs + 1 } }] },
    ],
    [
      'strategies "fast", deadlines.opinions.hardMs must be <=10800000',
      {
        strategies: [
          {
            id: 'fast',
            deadlines: { ...deadlines, opinions: { softMs: 1000, hardMs: longestRunMs + 1 } },
          },
        ],
      },
    ],
    [
      'strategies "fast" has fewer than 7 seats',
      { strategies: [{ id: 'fast', panel: strategyOf('fast')!.panel.slice(0, 6) }] },
    ],
    ['models.0.id is missing', { models: [{ displayName: 'sk-secret' }] }],
    ['keys is not a field of it', { keys: 'sk-secret' }],
  ])('a fault is one line that names file, entry and field, and no value: %s', (line, file) => {
    const path = written(JSON.stringify(file));
    const fault = faultOf(path);
    expect(fault.lines).toHaveLength(1);
    expect(fault.lines[0]).toContain(`${path}: ${line}`);
    expect(fault.message).not.toContain('sk-secret');
  });

  it('a fault of a field that the catalogue holds names the catalogue', () => {
    const path = written(
      JSON.stringify({ models: [{ id: 'gemini-4-hydrogen', efforts: ['high'] }] }),
    );
    expect(faultOf(path).lines).toEqual([
      'services/models/catalogue.json: strategies "reasoning-focused" asks gemini-4-hydrogen for effort xhigh',
    ]);
  });

  it('a file that is missing or no JSON is named without its text', () => {
    expect(faultOf('/nowhere/models.json').lines).toEqual([
      '/nowhere/models.json: cannot be read (ENOENT)',
    ]);
    const path = written('OPENAI_API_KEY=sk-secret\n');
    expect(faultOf(path).message).toMatch(/: is not valid JSON/);
    expect(faultOf(path).message).not.toContain('API_KEY');
  });

  function priced(prices: unknown) {
    return { models: [{ id: 'gpt-6-luna', prices }] };
  }
});

function mergedWith(file: unknown): Catalogue {
  return loadCatalogue(written(JSON.stringify(file)));
}

function written(text: string): string {
  const path = join(mkdtempSync(join(folder, 'models-')), 'models.json');
  writeFileSync(path, text);
  return path;
}

function faultOf(path: string): SettingsError {
  try {
    loadCatalogue(path);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('The file was accepted');
}
