import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { endpoints } from '#services/http/endpoints.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { Endpoint } from '#services/platform/contract.ts';
import { parseInput } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { allows, bodySchemaOf, nearMisses, operations, querySchemaOf, valueOf } from './schemas.ts';
import type { JsonSchema } from './schemas.ts';
import { createChance } from '#tests/support/chance.ts';

/**
 * F2: the parser accepts what the description allows, and both refuse what breaks one rule. JSON Schema
 * cannot express four rules, so the description states them in words: texts are trimmed, lengths are
 * counted in UTF-16 units, the texts of files have a length together, and only an outcome that is too
 * early may come without a text.
 */
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_122);
const rounds = 40;

type Case = {
  name: string;
  described: JsonSchema;
  /** The value as it arrives at the parser. */
  sent: (value: unknown) => unknown;
  taken: (value: unknown) => boolean;
};

const all = Object.entries<Endpoint>(endpoints);
const bodies = all.flatMap(([name, { body }]): Case[] => {
  const operation = operations.get(name);
  const described = operation === undefined ? null : bodySchemaOf(operation);
  if (!body || described === null) return [];
  const taken = (value: unknown) => takes(body, value);
  return [
    {
      name: `the body of ${name}`,
      described,
      sent: name.endsWith('/outcomes/{day}') ? withText : withinOneLength,
      taken,
    },
  ];
});
const queries = all.flatMap(([name, { query }]): Case[] => {
  const operation = operations.get(name);
  if (!query || !operation) return [];
  const described = { ...querySchemaOf(operation), additionalProperties: false };
  const taken = (value: unknown) => takes(query, value);
  return [{ name: `the query of ${name}`, described, sent: onTheWire, taken }];
});

/** Parses like a route. */
function takes(schema: v.GenericSchema, value: unknown): boolean {
  try {
    parseInput(schema, value);
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** Of files that are too long together, only the first. */
function withinOneLength(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('files' in value)) return value;
  const result = v.safeParse(v.array(v.object({ text: v.string() })), value.files);
  const { filesText, files: most } = optimizationLimits;
  if (!result.success || result.output.length > most) return value;
  const characters = result.output.reduce((sum, { text }) => sum + text.length, 0);
  return characters > filesText
    ? { ...value, files: (value.files as unknown[]).slice(0, 1) }
    : value;
}

function withText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('did' in value)) return value;
  return typeof value.did === 'string' && value.did.trim() === ''
    ? { ...value, did: 'We did it' }
    : value;
}

/** In a query every value is text. */
function onTheWire(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const texts = Object.entries(value).map(([name, one]) => [
    name,
    typeof one === 'number' ? String(one) : (one as unknown),
  ]);
  return Object.fromEntries(texts) as unknown;
}

describe.each([...bodies, ...queries])('$name', ({ name, described, sent, taken }) => {
  const allowed = allows(described);

  test(`${name} accepts what its description allows`, () => {
    const chance = createChance(seed);
    const values = Array.from({ length: rounds }, () => valueOf(described, chance));
    expect(values.filter((value) => !allowed(value))).toEqual([]);
    expect(values.filter((value) => !taken(sent(value)))).toEqual([]);
  });

  test(`${name} refuses what breaks one rule of its description`, () => {
    const chance = createChance(seed);
    const misses = nearMisses(described)
      .map(({ what, make }) => ({ what, value: make(chance) }))
      .filter(
        // In a query a number is text, so it is valid where text is.
        ({ what, value }) => !allowed(value) && !(sent === onTheWire && what.endsWith(': integer')),
      );
    expect(misses).not.toEqual([]);
    expect(misses.filter(({ value }) => taken(sent(value))).map(({ what }) => what)).toEqual([]);
  });
});
