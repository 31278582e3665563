import { createHash } from 'node:crypto';
import { chainHash, firstHash } from '#db/chain.ts';
import { lineOf } from '#services/optimizations/audit/check.ts';
import { sealedFields } from '#services/optimizations/audit/evidence.ts';
import { auditPack } from '#services/optimizations/audit/pack/pack-checks.ts';
import type { UnprovenLine } from '#services/optimizations/audit/pack/pack-checks.ts';
import { readPack } from '#services/optimizations/audit/pack/read.ts';

/** Packs in the hands of someone who wants to change them. */
export type PackLine = Record<string, unknown> & { kind: string };
type EventLine = PackLine & {
  stream: string;
  version: number;
  messageId: string;
  type: string;
  data: Record<string, unknown>;
  metadata: Record<string, unknown>;
};

export function linesOf(pack: string): string[] {
  return pack.split('\n').slice(0, -1);
}

export function fileOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}

export function parsed(line: string): PackLine {
  return JSON.parse(line) as PackLine;
}

export function isEvent(line: PackLine): line is EventLine {
  return line.kind === 'event';
}

/** Everything that the command line would say about these bytes, as one text; and whether it accepts them. */
export async function judge(
  bytes: Uint8Array,
  ...roots: string[]
): Promise<{
  verified: boolean;
  said: string;
  faults: string[];
  unproven: readonly UnprovenLine[];
}> {
  const pack = readPack(bytes);
  if (!pack.ok)
    return { verified: false, said: pack.problem, faults: [pack.problem], unproven: [] };
  const { checks, notes, unproven } = await auditPack(pack, roots);
  const faults = checks.filter(({ equal }) => !equal).map(lineOf);
  return {
    verified: faults.length === 0,
    said: [...checks.map(lineOf), ...notes].join('\n'),
    faults,
    unproven,
  };
}

/**
 * The pack after a change, as a forger who knows the format would write it: every digest, every hash of
 * the chain and the counts of the manifest are made to fit.
 */
export function forged(pack: string, change: (lines: PackLine[]) => PackLine[] | void): Buffer {
  const lines = linesOf(pack).map(parsed);
  const changed = change(lines) ?? lines;
  const heads = new Map<string, { hash: string; events: number }>();
  for (const line of changed.filter(isEvent)) {
    const head = heads.get(line.stream) ?? { hash: firstHash, events: 0 };
    const { hash: _, ...metadata } = line.metadata;
    const { stream, messageId, type, data } = line;
    const version = head.events + 1;
    const hash = chainHash(head.hash, { stream, version, messageId, type, data, metadata });
    line.version = version;
    line.metadata['hash'] = hash;
    heads.set(stream, { hash, events: version });
  }
  for (const line of changed) {
    if (line.kind === 'manifest') {
      line['lines'] = changed.length;
      line['runs'] = [...heads].map(([stream, { hash, events }]) => ({
        run: stream.replace('optimization-', ''),
        events,
        hash,
      }));
    }
    if (!isEvent(line)) sign(line);
  }
  return fileOf(changed.map(written));
}

function sign(line: PackLine): void {
  const { sha256: _, ...rest } = line;
  line['sha256'] = createHash('sha256').update(written(rest)).digest('hex');
}

/** Nested keys in the order of the database: by length, then by bytes. */
function written(line: Record<string, unknown>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(line).map(([key, value]) => [key, inOrder(value)])),
  );
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => one.length - other.length || (one < other ? -1 : 1))
      .map(([key, member]) => [key, inOrder(member)]),
  );
}

/** The same run as 0.1 would have sealed it, without codes of texts; before any anchor. */
export function withoutCodes(lines: PackLine[]): PackLine[] {
  for (const line of lines.filter(isEvent)) {
    const sealed = sealedFields(line);
    for (const [field, text] of Object.entries(sealed))
      sealed[field] = text.replace(/^v2(.*)\.[\w-]{43}$/, 'v1$1');
  }
  lines[0]!['anchors'] = [];
  return lines.filter(({ kind }) => kind !== 'anchor');
}
