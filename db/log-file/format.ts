import * as v from 'valibot';
import { firstHash } from '#db/chain.ts';
import { Count, EventLine, Hex, MerklePath, parseSigned, Position, signedJson } from './lines.ts';

/**
 * The lines of an exported log (docs/decisions/0059-exported-log.md). A header, the anchors, then each
 * stream in the order of its name: its events as they are stored, and behind an event the anchored head
 * that stands on it. An end line last.
 */
export const formatVersion = 1;

const Time = v.pipe(v.string(), v.isoTimestamp());

const HeaderLine = v.strictObject({
  kind: v.literal('header'),
  format: v.literal('events', 'must be events; a file of evidence is for optimizations verify'),
  formatVersion: v.literal(formatVersion, `must be ${formatVersion}, the only one known here`),
  product: v.string(),
  software: v.string(),
  exportedAt: Time,
  /** `all`: every stream, and every head of the anchors. Else the heads have paths. */
  scope: v.picklist(['all', 'account', 'run']),
  /** The user or the run. */
  of: v.nullable(v.string()),
  /** By the time at which an event occurred: from the first, up to and without the second. */
  since: v.nullable(Time),
  until: v.nullable(Time),
  anchors: Count,
  sha256: Hex,
});

const AnchorLine = v.strictObject({
  kind: v.literal('anchor'),
  number: Position,
  day: v.nullable(v.string()),
  madeAt: v.string(),
  previousRoot: Hex,
  root: Hex,
  /** All of them, also those that are not in this file. */
  heads: Count,
  sha256: Hex,
});

const place = { stream: v.string(), version: Position, hash: Hex };

/** The event before the first one in the file, of a stream that began before `since`. */
const BaseLine = v.strictObject({ kind: v.literal('base'), ...place, sha256: Hex });

const HeadLine = v.strictObject({
  kind: v.literal('head'),
  anchor: Position,
  ...place,
  /** Null where the file has every head of the anchor. */
  path: v.nullable(MerklePath),
  sha256: Hex,
});

const EndLine = v.strictObject({
  kind: v.literal('end'),
  streams: Count,
  events: Count,
  heads: Count,
  /** With this one. */
  lines: Count,
  /** Of the newest anchor in the file. */
  root: v.nullable(Hex),
  sha256: Hex,
});

const Line = v.variant('kind', [HeaderLine, AnchorLine, BaseLine, EventLine, HeadLine, EndLine]);
export type Line = v.InferOutput<typeof Line>;
export type LineOf<Kind extends Line['kind']> = Extract<Line, { kind: Kind }>;

/** What of the log is exported. */
export type Selection = Pick<LineOf<'header'>, 'scope' | 'of' | 'since' | 'until'> & {
  /** The streams of an account or a run; null for every stream. */
  streams: readonly string[] | null;
};

type Signed = Exclude<Line, { kind: 'event' }>;
type Unsigned<Of> = Of extends { sha256: string } ? Omit<Of, 'sha256'> : never;

/** With its digest, and its keys in their order. */
export function signedLine(line: Unsigned<Signed>): string {
  const { sha256: _none, ...ordered } = v.parse(Line, { ...line, sha256: firstHash }) as Signed;
  return signedJson(ordered);
}

/** @throws LineError */
export function parseLine(text: string): Line {
  return parseSigned(Line, text);
}
