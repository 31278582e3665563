import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describeApi } from '#services/http/openapi.ts';
import type { Chance } from '#tests/support/chance.ts';

/** JSON Schema as the description uses it, and random values of it. */
export type JsonSchema = {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
};

type Parameter = { name: string; in: string; required: boolean; schema: JsonSchema };
export type Operation = {
  parameters: readonly Parameter[];
  requestBody?: { content: Readonly<Record<string, { schema: JsonSchema }>> };
};
type Document = {
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { schemas: Readonly<Record<string, JsonSchema>> };
};

/** The description as plain JSON, as a caller reads it. */
const document = JSON.parse(
  JSON.stringify(describeApi({ productName: 'Sevenfold', publicUrl: 'https://example.com' })),
) as Document;

/** By their names among the endpoints, such as `GET /credits/balance`. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, one]) => [`${method.toUpperCase()} ${path}`, one] as const,
    ),
  ),
);

/** The description of a JSON body. */
export function bodySchemaOf({ requestBody }: Operation): JsonSchema | null {
  return requestBody?.content['application/json']?.schema ?? null;
}

/** The query as an object that allows no other fields. */
export function querySchemaOf({ parameters }: Operation): JsonSchema {
  const fields = parameters.filter((one) => one.in === 'query');
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  };
}

/** Whether the description allows a value. */
export function allows(schema: JsonSchema): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  ajv.addFormat('email', true);
  ajv.addFormat('uuid', /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i);
  const check = ajv.compile({ ...schema, components: document.components });
  return (value) => check(value);
}

/** @throws Error when there is nothing to pick */
export function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  const picked = items[chance.below(items.length)];
  if (picked === undefined) throw new Error('There is nothing to pick');
  return picked;
}

// --- what the description allows ---

/** A value that the description allows. Optional fields are randomly left out. */
export function valueOf(written: JsonSchema, chance: Chance): unknown {
  const schema = resolved(written);
  if ('const' in schema) return schema.const;
  if (schema.enum) return pick(chance, schema.enum);
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return valueOf(pick(chance, options), chance);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name) === true || chance.of(0.6))
          .map(([name, field]) => [name, valueOf(field, chance)]),
      );
    case 'array':
      return Array.from(
        { length: edge(schema.minItems ?? 0, Math.min(schema.maxItems ?? 5, 30), chance) },
        () => valueOf(schema.items ?? {}, chance),
      );
    case 'integer':
    case 'number':
      return edge(schema.minimum ?? -(2 ** 53 - 1), schema.maximum ?? 2 ** 53 - 1, chance);
    case 'boolean':
      return chance.of(0.5);
    case 'null':
      return null;
    case 'string':
      return textOf(schema, chance);
    default:
      throw new Error(`The generator knows no ${JSON.stringify(schema)}`);
  }
}

function resolved(schema: JsonSchema): JsonSchema {
  const name = schema.$ref?.split('/').at(-1);
  if (name === undefined) return schema;
  const found = document.components.schemas[name];
  if (!found) throw new Error(`The description names ${name} and does not have it`);
  return found;
}

/** Mostly the ends of the range, where mistakes are most likely. */
function edge(least: number, most: number, chance: Chance): number {
  const roll = chance.below(4);
  if (roll === 0) return least;
  if (roll === 1) return most;
  return Math.min(most, least + chance.below(Math.min(most - least, 1_000) + 1));
}

/**
 * No white space at either end: it is trimmed before lengths are checked. Every character is one UTF-16
 * unit, because lengths are counted in units. The description says both in words.
 */
function textOf({ pattern, format, minLength = 0, maxLength = 200 }: JsonSchema, chance: Chance) {
  if (format === 'uuid') return drawn(uuid, chance);
  if (format === 'email') return `${drawn(matching('^[a-z][\\w+\\-]{0,20}$'), chance)}@example.com`;
  if (pattern !== undefined && !/\(\?|\[\^/.test(pattern)) return drawn(matching(pattern), chance);
  // Patterns with a look-ahead require letters of both cases and a digit.
  const needed = pattern?.includes('(?=') === true ? 'aB3' : '';
  const length = edge(Math.max(minLength, needed.length), Math.min(maxLength, 25_000), chance);
  const letters = Array.from({ length: length - needed.length }, () => pick(chance, alphabet));
  return needed + letters.join('');
}

const uuid = fc.uuid();

/** Generated texts per pattern, cached because generating one takes longer than a call. */
const byPattern = new Map<string, fc.Arbitrary<string>>();

function matching(pattern: string): fc.Arbitrary<string> {
  const known = byPattern.get(pattern);
  if (known) return known;
  const made = fc.stringMatching(new RegExp(pattern, 'u'));
  byPattern.set(pattern, made);
  return made;
}

const alphabet = 'abcxyzABCXYZ0189-_.,;:!?<>&"\'\\/{}[]%$#@éßøñЖ中あ'.split('');

function drawn(from: fc.Arbitrary<string>, chance: Chance): string {
  const [value] = fc.sample(from, { seed: chance.below(2 ** 31), numRuns: 1 });
  if (value === undefined) throw new Error('Nothing was drawn');
  return value;
}

// --- what the description refuses ---

/** A value that breaks exactly one rule; made lazily, because most are never used. */
export type NearMiss = { what: string; make: (chance: Chance) => unknown };

export function nearMisses(written: JsonSchema, at = ''): NearMiss[] {
  const schema = resolved(written);
  const options = schema.anyOf ?? schema.oneOf;
  // A value that breaks one alternative may satisfy another; the caller checks the description.
  if (options) return options.flatMap((one, index) => nearMisses(one, `${at}|${index}`));
  if ('const' in schema) return [miss(`${at}: another constant`, `${String(schema.const)}x`)];
  if (schema.enum) return [miss(`${at}: none of the list`, `${String(schema.enum[0])}x`)];
  const others = wrongTypes.filter(
    ({ type }) => type !== schema.type && !(type === 'integer' && schema.type === 'number'),
  );
  const wrong = others.map(({ type, value }) => miss(`${at}: ${type}`, value));
  switch (schema.type) {
    case 'object':
      return [...wrong, ...missesOfObject(schema, at)];
    case 'array':
      return [...wrong, ...missesOfArray(schema, at)];
    case 'integer':
      return [...wrong, ...missesOfNumber(schema, at), miss(`${at}: a fraction`, 1.5)];
    case 'string':
      return [...wrong, ...missesOfText(schema, at)];
    default:
      return wrong;
  }
}

function miss(what: string, value: unknown): NearMiss {
  return { what, make: () => value };
}

const wrongTypes = [
  { type: 'null', value: null },
  { type: 'boolean', value: true },
  { type: 'integer', value: 7 },
  { type: 'string', value: 'Lorem ipsum' },
  { type: 'array', value: [] },
  { type: 'object', value: {} },
] as const;

function missesOfObject(schema: JsonSchema, at: string): NearMiss[] {
  const whole = (chance: Chance) => valueOf(schema, chance) as Record<string, unknown>;
  const missing = (schema.required ?? []).map((name) => ({
    what: `${at}.${name}: missing`,
    make(chance: Chance) {
      const { [name]: _, ...rest } = whole(chance);
      return rest;
    },
  }));
  const surplus = {
    what: `${at}: an unknown field`,
    make: (chance: Chance) => ({ ...whole(chance), surplus: 1 }),
  };
  const inside = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    nearMisses(field, `${at}.${name}`).map(({ what, make }) => ({
      what,
      make: (chance: Chance) => ({ ...whole(chance), [name]: make(chance) }),
    })),
  );
  return [...missing, surplus, ...inside];
}

function missesOfArray({ items = {}, minItems, maxItems }: JsonSchema, at: string): NearMiss[] {
  const inside = nearMisses(items, `${at}[]`).map(({ what, make }) => ({
    what,
    make: (chance: Chance) => [make(chance)],
  }));
  return [
    ...inside,
    ...(minItems === undefined ? [] : [miss(`${at}: too few`, [])]),
    ...(maxItems === undefined ? [] : [miss(`${at}: too many`, Array(maxItems + 1).fill('row'))]),
  ];
}

function missesOfNumber({ minimum, maximum }: JsonSchema, at: string): NearMiss[] {
  return [
    ...(minimum === undefined ? [] : [miss(`${at}: too small`, minimum - 1)]),
    ...(maximum === undefined ? [] : [miss(`${at}: too large`, maximum + 1)]),
  ];
}

function missesOfText(
  { minLength = 0, maxLength, pattern, format }: JsonSchema,
  at: string,
): NearMiss[] {
  const shaped = pattern !== undefined || format !== undefined;
  return [
    ...(minLength > 0 ? [miss(`${at}: too short`, 'a'.repeat(minLength - 1))] : []),
    ...(maxLength === undefined ? [] : [miss(`${at}: too long`, 'aB3'.repeat(maxLength))]),
    ...(shaped ? [miss(`${at}: another shape`, 'a\u2028b\u202E!')] : []),
  ];
}
