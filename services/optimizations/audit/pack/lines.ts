import * as v from 'valibot';
import { firstHash } from '#db/chain.ts';
import {
  Count,
  Data,
  EventLine,
  Hex,
  MerklePath,
  parseSigned,
  Position,
  signedJson,
} from '#db/log-file/lines.ts';

/**
 * The lines of a pack: one JSON object each, keys in one order, no white space. An event is protected by its
 * chain, every other line by a digest of its own, so that a changed byte is found in its line. The
 * format is released (docs/decisions/0053-evidence.md): lines may gain fields in a new `formatVersion`.
 */
export const formatVersion = 1;

const RunId = v.pipe(v.string(), v.regex(/^opt_\w{1,64}$/, 'must be the id of a run'));
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
  path: MerklePath,
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

/** With its digest. */
export function protectedLine(line: Unsigned<Protected>): string {
  const { sha256: _none, ...ordered } = v.parse(Line, { ...line, sha256: firstHash }) as Protected;
  return signedJson(ordered);
}

/** @throws LineError */
export function parseLine(text: string): Line {
  return parseSigned(Line, text);
}
