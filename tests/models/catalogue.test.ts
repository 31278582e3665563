import { describe, expect, it } from 'vitest';
import {
  catalogueVersion,
  costMicros,
  modelOf,
  models,
  parseCatalogue,
  priceOf,
  staleModels,
} from '#services/models/catalogue.ts';
import { unknownUsage } from '#services/models/model.ts';
import type { UsageRecord } from '#services/models/model.ts';

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

/** A catalogue of one model, with the first model's fields by default. */
function catalogueOf(entry: Record<string, unknown>): unknown[] {
  return [{ ...structuredClone(models[0]), ...entry }];
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
    expect(costMicros(million, model, at)).toBe(expected);
  });

  it.each([
    // Cached input, cache writes, thinking: 800×2 + 200×0.2 + 100×2.5 + (300+700)×10.
    [
      'claude-sonnet-5-5',
      {
        inputUncached: 800,
        inputCached: 200,
        cacheWrite: 100,
        outputVisible: 300,
        outputThinking: 700,
      },
      11_890,
    ],
    // 1000×1 + 640×0.05 + 1500×5.
    [
      'gpt-6.1-terra',
      { inputUncached: 1000, inputCached: 640, outputVisible: 1300, outputThinking: 200 },
      8532,
    ],
    // Cached input without a known price counts as input: 500×0.15 + 500×0.15 + 100×0.15.
    ['ministral-8b-2512', { inputUncached: 500, inputCached: 500, outputVisible: 100 }, 165],
    // Half a micro-dollar is rounded up, less is rounded down.
    ['gpt-6-luna', { outputVisible: 1 }, 1],
    ['gpt-6-luna', { inputUncached: 4 }, 0],
    ['gpt-6-luna', { inputUncached: 5 }, 1],
    ['gemini-3.8-flash', { inputCached: 6 }, 0],
    ['gemini-3.8-flash', { inputCached: 7 }, 1],
  ])('the cost of one call with %s adds up its parts', (model, counts, expected) => {
    expect(costMicros(usage(counts), model, now)).toBe(expected);
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
    const cost = costMicros(usage(inputs), model, now);
    expect(cost).toBeGreaterThanOrEqual(expected);
    expect(cost).toBeLessThanOrEqual(expected + 1);
  });

  it('cached input counts towards the long tier, too', () => {
    const counts = usage({ inputUncached: 1, inputCached: 100_000, outputVisible: 0 });
    expect(costMicros(counts, 'claude-haiku-5-5', now)).toBe(5001);
  });

  it('the cost is unknown, and never 0, when the usage is unknown', () => {
    expect(costMicros(unknownUsage, 'gpt-6-luna', now)).toBeNull();
    expect(costMicros(usage({ outputVisible: null }), 'gpt-6-luna', now)).toBeNull();
  });

  it("the cost is unknown for an unlisted model and before a model's first price", () => {
    expect(costMicros(million, 'llama-of-mine', now)).toBeNull();
    expect(costMicros(million, 'gpt-6.1-terra', '2026-10-25T23:59:59.999Z')).toBeNull();
  });
});

describe('the catalogue', () => {
  it('the catalogue prices every model today', () => {
    expect(models.filter((entry) => priceOf(entry.id, now) === null)).toEqual([]);
  });

  it('the catalogue names a version that changes with any figure', () => {
    expect(catalogueVersion).toMatch(/^\d{4}-\d{2}-\d{2}\.[0-9a-f]{8}$/);
  });

  it('the catalogue knows only the models that it lists', () => {
    expect(modelOf('gpt-6-luna')?.displayName).toBe('GPT-6 Luna');
    expect(modelOf('constructor')).toBeNull();
  });

  it('the catalogue calls a price stale 30 days after it was read', () => {
    expect(staleModels('2026-12-20T00:00:00.000Z')).toEqual([]);
    expect(staleModels('2026-12-20T00:00:00.001Z')).toHaveLength(models.length);
  });

  it('the catalogue refuses an alias, because the price of an alias can move', () => {
    expect(() => parseCatalogue(catalogueOf({ id: 'ministral-8b-latest' }))).toThrow(/alias/);
  });

  it('the catalogue refuses prices that overlap or leave a gap', () => {
    const [row] = models[0]?.prices ?? [];
    const first = { ...row, validTo: '2027-01-01T00:00:00.000Z' };
    const late = { ...row, validFrom: '2027-02-01T00:00:00.000Z' };
    const early = { ...row, validFrom: '2026-12-01T00:00:00.000Z' };
    expect(() => parseCatalogue(catalogueOf({ prices: [first, late] }))).toThrow(/gap/);
    expect(() => parseCatalogue(catalogueOf({ prices: [first, early] }))).toThrow(/overlap/);
    expect(() => parseCatalogue(catalogueOf({ prices: [row, late] }))).toThrow(/overlap/);
  });

  it('the catalogue refuses a price finer than it can add up exactly', () => {
    const [row] = models[0]?.prices ?? [];
    const fine = { ...row, inputPerMTok: 0.00001 };
    expect(() => parseCatalogue(catalogueOf({ prices: [fine] }))).toThrow('decimals');
  });
});
