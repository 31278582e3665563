import { expect, test } from 'vitest';
import { describeApi } from '#services/http/openapi.ts';

/** The descriptions of fields must be complete for a reader who has nothing else. */
type Schema = {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
};
type Field = { at: string; name: string; schema: Schema };

const { components, paths } = JSON.parse(
  JSON.stringify(describeApi({ productName: 'Sevenfold', publicUrl: 'https://example.com' })),
) as { components: { schemas: Readonly<Record<string, Schema>> }; paths: unknown };

/** Every property of a schema and every parameter, wherever in the document it stands. */
function fieldsIn(json: unknown, at: string): Field[] {
  if (typeof json !== 'object' || json === null) return [];
  const { properties } = json as Schema;
  const own = Object.entries(properties ?? {}).map(([name, schema]) => ({
    at: `${at}.${name}`,
    name,
    schema,
  }));
  const inside = Object.entries(json).flatMap(([name, one]: [string, unknown]) => {
    const below = /^(?:properties|items|anyOf|oneOf|schema|content)$/.test(name)
      ? at
      : `${at}.${name}`;
    return name === 'example' ? [] : fieldsIn(one, below);
  });
  return [...own, ...parameterOf(json, at), ...inside];
}

function parameterOf(json: object, at: string): Field[] {
  if (!('in' in json) || !('name' in json) || !('schema' in json)) return [];
  const name = String(json.name);
  const { description, schema } = json as { description?: string; schema: Schema };
  const written = description === undefined ? schema : { ...schema, description };
  return [{ at: `${at}.${name}`, name, schema: written }];
}

const fields = fieldsIn({ components: components.schemas, paths }, 'api');

/** A schema, what it names, and what it may be. */
function partsOf(schema: Schema): Schema[] {
  const named = components.schemas[schema.$ref?.split('/').at(-1) ?? ''];
  const others = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(named ? [named] : [])];
  return [schema, ...others.flatMap(partsOf)];
}

function wordsOf({ schema }: Field): string {
  return partsOf(schema)
    .map(({ description = '' }) => description)
    .join(' ');
}

const isA =
  (...types: readonly string[]) =>
  ({ schema }: Field) =>
    partsOf(schema).some(({ type = '' }) => types.includes(type));
const isNumber = isA('integer', 'number');
const isText = isA('string');

const rules: Readonly<Record<string, { of: (field: Field) => boolean; say: RegExp }>> = {
  'an amount of money': {
    of: (field) =>
      isNumber(field) && /_cents$|Cents$|_usd$|^cost$|^average_cost$|_price$/.test(field.name),
    say: /\bcents\b|\bUSD\b/i,
  },
  'an amount of credits': {
    of: (field) =>
      isNumber(field) &&
      /credits$|balance|^amount$|^shortfall$|^price$|^reserved$|^charged$|^refunded$|consum/.test(
        field.name,
      ),
    say: /\bcredits\b/i,
  },
  'a time': {
    of: (field) =>
      partsOf(field.schema).some(({ format }) => format === 'date-time') ||
      (isText(field) && /_at$|At$|_until$|^until$|^at$|^as_of$|_time$|_end$/.test(field.name)),
    say: /ISO 8601/,
  },
  'a month': { of: (field) => isText(field) && field.name === 'month', say: /UTC/ },
  'a duration': {
    of: (field) =>
      isNumber(field) && /seconds$|_ms$|Ms$|^expires_in$|^estimated_completion$/.test(field.name),
    say: /\b(?:milli)?seconds\b/i,
  },
  'a cursor': { of: ({ name }) => name === 'before', say: /\bcursor\b/i },
  'a share or a score': {
    of: (field) =>
      isNumber(field) && /score$|^progress|percentage$|_rate$|^confidence$/.test(field.name),
    say: /0–1(?:00)?\b/,
  },
  'an id': { of: (field) => isText(field) && /^id$|_id$/.test(field.name), say: /\S/ },
  'a number': { of: isNumber, say: /\S/ },
};

test.each(Object.entries(rules))(
  'the description of %s names its unit in every schema',
  (_, { of, say }) => {
    const meant = fields.filter(of);
    expect(meant).not.toEqual([]);
    expect(meant.filter((field) => !say.test(wordsOf(field))).map(({ at }) => at)).toEqual([]);
  },
);
