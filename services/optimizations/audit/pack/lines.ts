import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { firstHash } from '#db/chain.ts';

/**
 * The lines of a pack: one JSON object each, keys in one order, no white space. An event is protected by its
 * chain, every other line by a digest of its own, so that a changed byte is found in its line. The
 * format is released (docs/decisions/0053-evidence.md): lines may gain fields in a new `formatVersion`.
 */
export const formatVersion = 1;

const Hex = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits'));
const RunId = v.pipe(v.string(), v.regex(/^opt_\w{1,64}$/, 'must be the id of a run'));
const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Position = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const Data = v.record(v.string(), v.unknown());
const place = { run: RunId, position: Position };

export const ManifestLine = v.strictObject({
  kind: v.literal('manifest'),
  format: v.literal('evidence of a run'),
  formatVersion: v.literal(formatVersion, `must be ${formatVersion}, the only one known here`),
  run: RunId,
  exportedAt: v.string(),
  software: v.string(),
  promptVersion: Count,
  texts: v.picklist(['opened', 'sealed', 'erased']),
  runs: v.pipe(
    v.array(v.strictObject({ run: RunId, events: Count, hash: Hex })),
    v.minLength(1),
    v.maxLength(64),
  ),
  /** Prompts that the exporting software could no longer write. */
  promptsLeftOut: v.array(v.strictObject(place)),
  /** Positions in the stream of the account. */
  credits: v.array(v.strictObject(place)),
  /** The runs that have one. */
  anchors: v.array(RunId),
  lines: Count,
  figures: Data,
  sha256: Hex,
});
export type ManifestLine = v.InferOutput<typeof ManifestLine>;

const KeyLine = v.strictObject({
  kind: v.literal('key'),
  use: v.literal('HMAC-SHA-256 of prompts and texts'),
  subkey: Hex,
  sha256: Hex,
});

/** What `db/chain.ts` hashes; the hash is in the metadata. */
const EventLine = v.strictObject({
  kind: v.literal('event'),
  stream: v.string(),
  version: Position,
  messageId: v.string(),
  type: v.string(),
  data: Data,
  metadata: v.objectWithRest({ hash: Hex }, v.unknown()),
});

const TextLine = v.strictObject({
  kind: v.literal('text'),
  ...place,
  field: v.string(),
  text: v.string(),
  sha256: Hex,
});

const PromptLine = v.strictObject({
  kind: v.literal('prompt'),
  ...place,
  system: v.string(),
  prompt: v.string(),
  schema: v.string(),
  sha256: Hex,
});

const CreditLine = v.strictObject({
  kind: v.literal('credits'),
  ...place,
  type: v.string(),
  credits: Count,
  at: v.string(),
  hash: Hex,
  sha256: Hex,
});

const AnchorLine = v.strictObject({
  kind: v.literal('anchor'),
  number: Position,
  madeAt: v.string(),
  previousRoot: Hex,
  root: Hex,
  ...place,
  hash: Hex,
  path: v.pipe(
    v.array(v.strictObject({ side: v.picklist(['left', 'right']), hash: Hex })),
    v.maxLength(64),
  ),
  sha256: Hex,
});

const Line = v.variant('kind', [
  ManifestLine,
  KeyLine,
  EventLine,
  TextLine,
  PromptLine,
  CreditLine,
  AnchorLine,
]);
export type Line = v.InferOutput<typeof Line>;
type Protected = Exclude<Line, { kind: 'event' }>;
type Unsigned<Of> = Of extends { sha256: string } ? Omit<Of, 'sha256'> : never;

/** A line that is no line of a pack. */
export class LineError extends Error {
  override readonly name = 'LineError';
}

/** With its digest. */
export function protectedLine(line: Unsigned<Protected>): string {
  const { sha256: _none, ...ordered } = v.parse(Line, { ...line, sha256: firstHash }) as Protected;
  return jsonOf({ ...ordered, sha256: digestOf(ordered) });
}

export function eventLine(event: Omit<Extract<Line, { kind: 'event' }>, 'kind'>): string {
  return jsonOf(v.parse(EventLine, { kind: 'event', ...event }));
}

/** @throws LineError */
export function parseLine(text: string): Line {
  const value = parseJson(text);
  const parsed = v.safeParse(Line, value);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw new LineError(`${v.getDotPath(issue) ?? 'the line'}: ${issue.message}`);
  }
  const line = parsed.output;
  if (jsonOf(line) !== text) throw new LineError('it is not written as this format writes it');
  if ('sha256' in line) {
    const { sha256, ...rest } = line;
    if (digestOf(rest) !== sha256)
      throw new LineError('it was changed: its digest does not follow from its content');
  }
  return line;
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
      .map(([key, member]) => ({ bytes: Buffer.from(key), key, member }))
      .toSorted(byStoredOrder)
      .map(({ key, member }) => [key, inStoredOrder(member, depth + 1)]),
  );
}

function byStoredOrder(one: { bytes: Buffer }, other: { bytes: Buffer }): number {
  return one.bytes.length - other.bytes.length || Buffer.compare(one.bytes, other.bytes);
}
