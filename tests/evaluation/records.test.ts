import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { mostMicros } from '#services/evaluation/prices.ts';
import { BudgetSpent, createBudget } from '#services/evaluation/records/budget.ts';
import { metered } from '#services/evaluation/records/metered.ts';
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
    const bounds = { promptBytes: 5, maxOutputTokens: 100 };
    expect(mostMicros(bounds, price)).toBe(most);
    const long = { ...price, aboveInputTokens: 1, outputPerMTok: 20 };
    expect(mostMicros(bounds, { ...price, longContext: long })).toBe(505 * 3 + 100 * 20);
    expect(() => mostMicros(bounds, null)).toThrow('has no bound');
  });

  const usage = {
    inputUncached: 10,
    inputCached: 0,
    cacheWrite: 0,
    outputVisible: 5,
    outputThinking: 0,
    source: 'provider' as const,
  };
  async function counted(
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
    const through = metered(registry, {
      allowance: await budget.begin(0),
      offers: [],
      catalogue: { ...catalogue, priceOf: () => price },
      clock: Date.now,
    });
    let error: unknown = null;
    try {
      for await (const part of through.provider('p', false)?.call(request) ?? [])
        if (part.type === 'reply') break;
    } catch (caught) {
      error = caught;
    }
    const written: readonly CallLine[] = [...lines.all()];
    lines.close();
    return { error, spent: budget.spentMicros(), written };
  }

  test('counts what a call cost: its bill, else its tokens at their price', async () => {
    expect((await counted(null, { billedCost: 7, usage })).spent).toBe(7);
    expect((await counted(null, { billedCost: null, usage })).spent).toBe(70);
    expect((await counted(null, { billedCost: null, usage }, true)).spent).toBe(0);
  });

  test('counts all that was set aside where nobody says what a call cost', async () => {
    const found = await counted(null, { billedCost: null, usage: unknownUsage });
    expect(found.spent).toBe(most);
    expect(found.written).toMatchObject([{ isKnown: false, countedMicros: most }]);
    expect((await counted(null, new ModelFailure('timeout', 'late'))).spent).toBe(most);
  });

  test('counts nothing for a request that a provider turned away', async () => {
    expect((await counted(null, new ModelFailure('rate_limited', 'later'))).spent).toBe(0);
    expect((await counted(null, new ModelFailure('auth', 'no'))).spent).toBe(0);
  });

  test('lets no call begin that could cost more than is left', async () => {
    const refused = await counted(most - 1, { billedCost: 7, usage });
    expect(refused.error).toBeInstanceOf(BudgetSpent);
    expect(refused.written).toEqual([]);
    expect((await counted(most, { billedCost: 7, usage })).error).toBeNull();
  });

  const line = { at: '', model: 'm', provider: 'p', isKnown: true };
  function opened(folder: { path: string }, limitMicros: number) {
    const lines = openLines(join(folder.path, 'calls.ndjson'), callLine);
    return { budget: createBudget(limitMicros, lines), close: () => lines.close() };
  }

  test('counts what earlier runs into the same folder have cost', async () => {
    using folder = newFolder();
    const first = opened(folder, 100);
    const work = await first.budget.begin(60);
    work.setAside(60).count({ ...line, countedMicros: 60 });
    work.end();
    first.close();
    const second = opened(folder, 100);
    expect(second.budget.spentMicros()).toBe(60);
    await expect(second.budget.begin(41)).rejects.toThrow(BudgetSpent);
    await expect(second.budget.begin(40)).resolves.toBeDefined();
    second.close();
  });

  test('lets work wait until other work has given back what it did not need', async () => {
    using folder = newFolder();
    const { budget, close } = opened(folder, 100);
    const first = await budget.begin(60);
    let hasBegun = false;
    const second = budget.begin(50).then((work) => {
      hasBegun = true;
      return work;
    });
    first.setAside(60).count({ ...line, countedMicros: 10 });
    await second;
    expect(hasBegun).toBe(true);
    first.end();
    (await second).end();
    expect(budget.spentMicros()).toBe(10);
    close();
  });

  test('refuses work that would not fit with nothing else under way, and begins what is behind it', async () => {
    using folder = newFolder();
    const { budget, close } = opened(folder, 100);
    const first = await budget.begin(60);
    const large = budget.begin(101);
    const small = budget.begin(40);
    first.end();
    await expect(large).rejects.toThrow(BudgetSpent);
    await expect(small).resolves.toBeDefined();
    close();
  });

  test('lets a call take more than its work was given as far as something is free', async () => {
    using folder = newFolder();
    const { budget, close } = opened(folder, 100);
    const work = await budget.begin(60);
    const call = work.setAside(70);
    expect(() => work.setAside(31)).toThrow(BudgetSpent);
    call.count({ ...line, countedMicros: 70 });
    work.setAside(30).count({ ...line, countedMicros: 30 });
    work.end();
    expect(budget.spentMicros()).toBe(100);
    await expect(budget.begin(1)).rejects.toThrow(BudgetSpent);
    close();
  });
});
