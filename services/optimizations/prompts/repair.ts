import { jsonrepair } from 'jsonrepair';
import type { JsonSchema } from '#services/models/model.ts';
import type { Repair } from '#services/optimizations/run/events.ts';

/**
 * Repairs of a reply's form, before it counts as malformed: what a small model does with JSON. What
 * the model said stays as it is, and an answer that was cut off stays cut off.
 */

/** The reply as JSON; undefined when there is none, or when its end is missing. */
export function readJson(reply: string): { value: unknown; isRepaired: boolean } | undefined {
  const whole = parse(reply.trim());
  if (whole !== undefined) return { value: whole, isRepaired: false };
  const object = objectIn(reply.replace(/^\s*<think>[\s\S]*?<\/think>/, ''));
  if (object === null) return undefined;
  const value = parse(object) ?? parse(repaired(object));
  return value === undefined ? undefined : { value, isRepaired: true };
}

/** From the first brace that opens a member to the one that closes it, else to the last brace. */
function objectIn(reply: string): string | null {
  const start = /\{\s*(?:["'“}]|[a-z_]+\s*:|\/[/*])/.exec(reply)?.index;
  if (start === undefined) return null;
  const end = closingBrace(reply, start) ?? reply.lastIndexOf('}');
  return end > start ? reply.slice(start, end + 1) : null;
}

/** By strings and depth, so null for an object whose strings hold unescaped quotes. */
function closingBrace(text: string, start: number): number | null {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) return at;
  }
  return null;
}

/**
 * Null when the repair had to close what the reply left open: then its end is missing. Null, too, for
 * a text that is too long to repair in a moment.
 */
function repaired(object: string): string | null {
  if (object.length > repairableCharacters) return null;
  try {
    const json = jsonrepair(object);
    return closers(json) === closers(object) ? json : null;
  } catch {
    return null;
  }
}

/** The package takes time by the square of the length: here less than a second at worst. */
const repairableCharacters = 30_000;

/** How many brackets a text closes at its end. */
function closers(text: string): number {
  let count = 0;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const character = text[at] ?? '';
    if (character === ']' || character === '}') count += 1;
    else if (!/[\s,]/.test(character)) break;
  }
  return count;
}

function parse(json: string | null): unknown {
  if (json === null) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Fields that a good answer may have nothing to say in. */
const emptyWhenMissing: ReadonlySet<string> = new Set([
  'assumptions',
  'missing_info',
  'risks',
  'uncertainties',
  'critique',
  'injection_suspected',
  'fatal_flaws',
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
  return booleanWords[value.trim().toLowerCase()];
}

const booleanWords: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  false: false,
  no: false,
};

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
