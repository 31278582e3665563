import { createHash } from 'node:crypto';
import * as v from 'valibot';

/**
 * Lines of a file that an auditor reads: one JSON object each, keys in one order, no white space. An event
 * is protected by its chain, every other line by a digest of its own, so that a changed byte is found in
 * its line.
 */
export const Hex = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits'));
export const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
export const Position = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
export const Data = v.record(v.string(), v.unknown());

/** From a head of an anchor to its root (`db/merkle.ts`). */
export const MerklePath = v.pipe(
  v.array(v.strictObject({ side: v.picklist(['left', 'right']), hash: Hex })),
  v.maxLength(64),
);

/** What `db/chain.ts` hashes; the hash is in the metadata. */
export const EventLine = v.strictObject({
  kind: v.literal('event'),
  stream: v.string(),
  version: Position,
  messageId: v.string(),
  type: v.string(),
  data: Data,
  metadata: v.objectWithRest({ hash: Hex }, v.unknown()),
});
export type EventLine = v.InferOutput<typeof EventLine>;

/** A line that is no line of its format. */
export class LineError extends Error {
  override readonly name = 'LineError';
  /** Null for the line as a whole. */
  readonly field: string | null;
  readonly problem: string;

  constructor(problem: string, field: string | null = null) {
    super(field === null ? problem : `${field}: ${problem}`);
    this.field = field;
    this.problem = problem;
  }
}

export function eventLine(event: Omit<EventLine, 'kind'>): string {
  return jsonOf(v.parse(EventLine, { kind: 'event', ...event }));
}

/** As it was stored, whatever that is: a verification says what is wrong with it. */
export function storedEventLine(
  event: Omit<EventLine, 'kind' | 'metadata'> & { metadata: object },
) {
  return jsonOf({ kind: 'event', ...event });
}

/** With its digest. The keys of the line have the order of its schema. */
export function signedJson(line: object): string {
  return jsonOf({ ...line, sha256: digestOf(line) });
}

/** @throws LineError */
export function parseSigned<Schema extends v.GenericSchema<unknown, { kind: string }>>(
  schema: Schema,
  text: string,
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw new LineError(issue.message, v.getDotPath(issue) ?? 'the line');
  }
  const line: object = parsed.output;
  if (jsonOf(line) !== text) throw new LineError('it is not written as this format writes it');
  if ('sha256' in line) {
    const { sha256, ...rest } = line;
    if (digestOf(rest) !== sha256)
      throw new LineError('it was changed: its digest does not follow from its content');
  }
  return parsed.output;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new LineError('it is not JSON');
  }
}

function digestOf(line: object): string {
  return createHash('sha256').update(jsonOf(line)).digest('hex');
}

/** A line has its keys in the order of its schema, so that it begins with what it is. */
function jsonOf(line: object): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(line).map(([key, member]) => [key, inStoredOrder(member, 1)] as const),
    ),
  );
}

const deepest = 64;

/**
 * With keys in the order in which the database keeps them: by length, then by bytes. A prompt lists
 * claims in that order, so it could not be made again from another. Unlike the form that the chain
 * hashes, this takes every text, because a model may have written a character that the database stores
 * only when it is sealed.
 */
function inStoredOrder(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === deepest) throw new LineError(`it is nested more than ${deepest} deep`);
  if (Array.isArray(value)) return value.map((item: unknown) => inStoredOrder(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>)
      .filter(([, member]) => member !== undefined)
      .toSorted(([one], [other]) => inStoredOrderOfKeys(one, other))
      .map(([key, member]) => [key, inStoredOrder(member, depth + 1)]),
  );
}

function inStoredOrderOfKeys(one: string, other: string): number {
  const bytes = Buffer.byteLength(one);
  const difference = bytes - Buffer.byteLength(other);
  if (difference !== 0 || one === other) return difference;
  // Of ASCII alone, which has a byte for each character, the order is the same without a copy.
  if (bytes === one.length && bytes === other.length) return one < other ? -1 : 1;
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
