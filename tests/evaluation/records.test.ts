import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import {
  BudgetSpent,
  createBudget,
  metered,
  mostMicros,
} from '#services/evaluation/records/budget.ts';
import { openLines } from '#services/evaluation/records/lines.ts';
import { callLine } from '#services/evaluation/records/records.ts';
import type { CallLine } from '#services/evaluation/records/records.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelPart, ModelRequest } from '#services/models/model.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { newFolder, planHere } from './evaluations.ts';

describe('a file of lines', () => {
  const schema = v.strictObject({ n: v.number() });

  test('is continued by a later process', () => {
    using folder = newFolder();
    const path = join(folder.path, 'lines.ndjson');
    for (const n of [1, 2]) {
      const lines = openLines(path, schema);
      lines.add({ n });
      lines.close();
    }
    const lines = openLines(path, schema);
    expect(lines.all()).toEqual([{ n: 1 }, { n: 2 }]);
    lines.close();
  });

  test('loses a torn last line, and the next line begins on its own', () => {
    using folder = newFolder();
    const path = join(folder.path, 'lines.ndjson');
    writeFileSync(path, '{"n":1}\n');
    appendFileSync(path, '{"n":');
    const lines = openLines(path, schema);
    expect(lines.all()).toEqual([{ n: 1 }]);
    lines.add({ n: 3 });
    lines.close();
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":3}\n');
  });

  test('that another program wrote is refused, and left as it is', () => {
    using folder = newFolder();
    const path = join(folder.path, 'lines.ndjson');
    writeFileSync(path, '{"n":1}\n{"m":2}\n');
    expect(() => openLines(path, schema)).toThrow('line 2');
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"m":2}\n');
  });
});

describe('the budget', () => {
  const price = {
    validFrom: null,
    validTo: null,
    source: 'https://example.com',
    readOn: '2026-11-20',
    inputPerMTok: 2,
    cachedInputPerMTok: null,
    cacheWritePerMTok: 3,
    outputPerMTok: 10,
    longContext: null,
  };
  const request: ModelRequest = {
    model: 'm',
    system: 'é',
    prompt: 'xyz',
    schema: null,
    structuredOutput: 'schema',
    effort: null,
    maxOutputTokens: 100,
    numCtx: null,
    timeoutMs: 1000,
    signal: new AbortController().signal,
  };
  /** Five bytes and what a provider adds, written to a cache, and all output. */
  const most = 505 * 3 + 100 * 10;

  test('sets aside as many tokens as a prompt has bytes, at the highest price, and all output', () => {
    expect(mostMicros(request, price)).toBe(most);
    const long = { ...price, aboveInputTokens: 1, outputPerMTok: 20 };
    expect(mostMicros(request, { ...price, longContext: long })).toBe(505 * 3 + 100 * 20);
    expect(() => mostMicros(request, null)).toThrow('has no bound');
  });

  const usage = {
    inputUncached: 10,
    inputCached: 0,
    cacheWrite: 0,
    outputVisible: 5,
    outputThinking: 0,
    source: 'provider' as const,
  };
  async function call(
    limitMicros: number | null,
    outcome: Error | { billedCost: number | null; usage: typeof usage | typeof unknownUsage },
    isFree = false,
  ) {
    using folder = newFolder();
    const lines = openLines(join(folder.path, 'calls.ndjson'), callLine);
    const budget = createBudget(limitMicros, lines);
    const { catalogue } = await planHere(['--sandbox', '--out', 'unused', '--cases', 'finance']);
    const registry: ModelRegistry = {
      offers: async () => [],
      hasRealModels: true,
      provider: (name) => ({
        name,
        isFree,
        async *call(): AsyncIterable<ModelPart> {
          yield { type: 'text', text: 'a' };
          if (outcome instanceof Error) throw outcome;
          const reply = { text: 'a', finish: 'stop' as const, answeredBy: 'm', ...outcome };
          yield { type: 'reply', reply };
        },
      }),
    };
    const counted = metered(registry, {
      budget,
      offers: [],
      catalogue: { ...catalogue, priceOf: () => price },
      clock: Date.now,
    });
    let error: unknown = null;
    try {
      for await (const _part of counted.provider('p', false)?.call(request) ?? []);
    } catch (caught) {
      error = caught;
    }
    const written: readonly CallLine[] = [...lines.all()];
    lines.close();
    return { error, spent: budget.spentMicros(), written };
  }

  test('counts what a call cost: its bill, else its tokens at their price', async () => {
    expect((await call(null, { billedCost: 7, usage })).spent).toBe(7);
    expect((await call(null, { billedCost: null, usage })).spent).toBe(70);
    expect((await call(null, { billedCost: null, usage }, true)).spent).toBe(0);
  });

  test('counts all that was set aside where nobody says what a call cost', async () => {
    const found = await call(null, { billedCost: null, usage: unknownUsage });
    expect(found.spent).toBe(most);
    expect(found.written).toMatchObject([{ isKnown: false, countedMicros: most }]);
    expect((await call(null, new ModelFailure('timeout', 'late'))).spent).toBe(most);
  });

  test('counts nothing for a request that a provider turned away', async () => {
    expect((await call(null, new ModelFailure('rate_limited', 'later'))).spent).toBe(0);
    expect((await call(null, new ModelFailure('auth', 'no'))).spent).toBe(0);
  });

  test('lets no call begin that could cost more than is left', async () => {
    const refused = await call(most - 1, { billedCost: 7, usage });
    expect(refused.error).toBeInstanceOf(BudgetSpent);
    expect(refused.written).toEqual([]);
    expect((await call(most, { billedCost: 7, usage })).error).toBeNull();
  });

  test('counts what earlier runs into the same folder have cost', () => {
    using folder = newFolder();
    const path = join(folder.path, 'calls.ndjson');
    const lines = openLines(path, callLine);
    const line = { at: '', model: 'm', provider: 'p', countedMicros: 60, isKnown: true };
    createBudget(100, lines).setAside(60).count(line);
    lines.close();
    const again = openLines(path, callLine);
    const budget = createBudget(100, again);
    expect(budget.spentMicros()).toBe(60);
    expect(budget.has(40)).toBe(true);
    expect(budget.has(41)).toBe(false);
    again.close();
  });

  test('counts calls that are under way as if they cost the most', () => {
    using folder = newFolder();
    const lines = openLines(join(folder.path, 'calls.ndjson'), callLine);
    const budget = createBudget(100, lines);
    budget.setAside(60);
    expect(() => budget.setAside(41)).toThrow(BudgetSpent);
    budget.setAside(40);
    lines.close();
  });
});
