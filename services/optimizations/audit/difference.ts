import { isDeepStrictEqual } from 'node:util';

/** Two values that should be equal. */
export type Difference = {
  recorded: unknown;
  recomputed: unknown;
  /** Of both, in the plural. */
  unit: string;
  /** What the second one was recomputed from. */
  from: string;
};

/** How many fields of one value are named. */
const mostFields = 6;

type Field = { path: string } & Pick<Difference, 'recorded' | 'recomputed'>;

/** Only what differs: `agreement: recorded 71, recomputed nothing`. */
export function differenceOf({ recorded, recomputed, unit, from }: Partial<Difference>): string {
  const fields = fieldsOf({ path: '', recorded, recomputed });
  const named = fields.slice(0, mostFields).map((field) => {
    const start = field.path === '' ? '' : `${field.path}: `;
    const recordedWords = `${shown(field.recorded)}${measure(field.recorded, unit)}`;
    return `${start}recorded ${recordedWords}, recomputed ${shown(field.recomputed)}`;
  });
  const more = fields.length - named.length;
  return [
    named.join('; '),
    ...(more > 0 ? [`; and ${more} more ${more === 1 ? 'field' : 'fields'}`] : []),
    ...(from === undefined ? [] : [`, ${from}`]),
  ].join('');
}

/** A list of words and numbers, such as an order, is one field. */
function fieldsOf({ path, recorded, recomputed }: Field): Field[] {
  if (isDeepStrictEqual(recorded, recomputed)) return [];
  const isSameKind = Array.isArray(recorded) === Array.isArray(recomputed);
  if (!isObject(recorded) || !isObject(recomputed) || !isSameKind || isFlat(recorded, recomputed))
    return [{ path, recorded, recomputed }];
  const keys = new Set([...Object.keys(recorded), ...Object.keys(recomputed)]);
  return [...keys].flatMap((key) => {
    const name = Array.isArray(recorded) ? `entry ${Number(key) + 1}` : key;
    return fieldsOf({
      path: path === '' ? name : `${path}, ${name}`,
      recorded: memberOf(recorded, key),
      recomputed: memberOf(recomputed, key),
    });
  });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isFlat(...values: object[]): boolean {
  return values.every((value) => Array.isArray(value) && !value.some(isObject));
}

function memberOf(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** Of the first figure; the second has the same. */
function measure(value: unknown, unit: string | undefined): string {
  if (unit === undefined || value === undefined || value === null) return '';
  return value === 1 ? ` ${unit.replace(/s$/, '')}` : ` ${unit}`;
}

function shown(value: unknown): string {
  return value === undefined || value === null ? 'nothing' : JSON.stringify(value);
}
