import type { JsonSchema } from '#services/models/model.ts';
import type { Repair } from '#services/optimizations/run/events.ts';

/** Repairs of a reply's values, before it counts as malformed: what a small model does with a schema. */

/** Fields that a good answer may have nothing to say in. */
const emptyWhenMissing: ReadonlySet<string> = new Set([
  'assumptions',
  'missing_info',
  'risks',
  'uncertainties',
  'critique',
  'injection_suspected',
  'fatal_flaws',
  'title',
  'reason',
  'owner',
  'measure',
  'stop_if',
  'flaw_replies',
  'quote',
  'questions',
  'why',
]);

/**
 * The value with its numbers, booleans and named values in the type of its schema, and the missing
 * fields of `emptyWhenMissing` empty. Anything else is left for the schema to refuse.
 */
export function coerced(value: unknown, schema: JsonSchema, found: Set<Repair>): unknown {
  switch (schema['type']) {
    case 'object':
      return coercedObject(value, (schema['properties'] ?? {}) as Members, found);
    case 'array': {
      const items = (schema['items'] ?? {}) as JsonSchema;
      return Array.isArray(value) ? value.map((item) => coerced(item, items, found)) : value;
    }
    case 'integer':
      return changed(value, numberIn(value), found);
    case 'boolean':
      return changed(value, booleanIn(value), found);
    case 'string':
      return changed(value, namedIn(value, schema['enum']), found);
    default:
      return value;
  }
}

type Members = Readonly<Record<string, JsonSchema>>;

function coercedObject(value: unknown, members: Members, found: Set<Repair>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const given = new Map<string, unknown>(Object.entries(value));
  const entries = Object.entries(members).flatMap(([key, member]) => {
    const own = given.get(key) ?? null;
    if (own !== null) return [[key, coerced(own, member, found)] as const];
    if (!emptyWhenMissing.has(key)) return given.has(key) ? [[key, own] as const] : [];
    found.add('defaults');
    return [[key, member['type'] === 'array' ? [] : ''] as const];
  });
  return Object.fromEntries(entries);
}

function changed(value: unknown, better: unknown, found: Set<Repair>): unknown {
  if (better === undefined || better === value) return value;
  found.add('clamped');
  return better;
}

/** 85, "85", "85 %" and "8/10". */
function numberIn(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const digits = /^\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*(?:%|\/\s*10{1,2})?\s*$/.exec(value)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function booleanIn(value: unknown): boolean | undefined {
  if (typeof value !== 'string') return undefined;
  return booleanWords.get(value.trim().toLowerCase());
}

const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['false', false],
  ['no', false],
]);

function namedIn(value: unknown, names: unknown): unknown {
  if (typeof value !== 'string' || !Array.isArray(names)) return undefined;
  const word = value.trim().toLowerCase();
  return (names as unknown[]).find((name) => name === word);
}

/** Whether a number of the value is another one in the parsed reply, which brought it into its range. */
export function isClamped(value: unknown, parsed: unknown): boolean {
  if (typeof parsed === 'number') return typeof value === 'number' && value !== parsed;
  if (typeof parsed !== 'object' || parsed === null) return false;
  if (typeof value !== 'object' || value === null) return false;
  const given = new Map<string, unknown>(Object.entries(value));
  return Object.entries(parsed).some(([key, part]) => isClamped(given.get(key), part));
}
