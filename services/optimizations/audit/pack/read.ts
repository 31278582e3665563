import { LineError } from '#db/log-file/lines.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { AuditedRun, Evidence, StoredEvent } from '#services/optimizations/audit/evidence.ts';
import { parseLine } from './lines.ts';
import type { Line, ManifestLine } from './lines.ts';
import { linesOf } from './write.ts';

/** A pack as a file holds it, or the first line that is not one. */
export type ReadPack =
  | {
      ok: true;
      evidence: Evidence;
      manifest: ManifestLine;
      lines: number;
      /** The line of each opened text, by `textPlace`. */
      textLines: ReadonlyMap<string, number>;
    }
  | { ok: false; problem: string };

export const packLimits = { bytes: 64_000_000, lines: 20_000 } as const;

/** Reads whatever a file holds; never throws. */
export function readPack(bytes: Uint8Array): ReadPack {
  try {
    const texts = splitLines(bytes);
    const lines = texts.map(lineAt);
    const [manifest, ...others] = lines;
    if (manifest?.kind !== 'manifest') throw new PackError(1, 'it is not a manifest');
    const evidence = evidenceOf(manifest, others);
    refuseDisorder(texts, lines, manifest, evidence);
    return { ok: true, evidence, manifest, lines: lines.length, textLines: textLinesOf(lines) };
  } catch (error) {
    if (!(error instanceof PackError)) throw error;
    return { ok: false, problem: error.message };
  }
}

/** Names an opened text among those of a file. */
export function textPlace(runId: string, position: number, field: string): string {
  return `${runId} ${position} ${field}`;
}

function textLinesOf(lines: readonly Line[]): ReadonlyMap<string, number> {
  return new Map(
    lines.flatMap((line, index) =>
      line.kind === 'text'
        ? [[textPlace(line.run, line.position, line.field), index + 1] as const]
        : [],
    ),
  );
}

class PackError extends Error {
  override readonly name = 'PackError';
  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
  }
}

function splitLines(bytes: Uint8Array): string[] {
  if (bytes.length > packLimits.bytes) throw new PackError(1, 'the file is too large for a pack');
  const lines: string[] = [];
  // Line by line, so that a byte that is no text is found in its line.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for (let from = 0; from < bytes.length;) {
    const number = lines.length + 1;
    const end = bytes.indexOf(10, from);
    if (end < 0) throw new PackError(number, 'it does not end with a line break');
    if (number > packLimits.lines) throw new PackError(number, 'a pack has fewer lines');
    try {
      lines.push(decoder.decode(bytes.subarray(from, end)));
    } catch {
      throw new PackError(number, 'it is not UTF-8');
    }
    from = end + 1;
  }
  if (lines.length === 0) throw new PackError(1, 'the file is empty');
  return lines;
}

function lineAt(text: string, index: number): Line {
  if (text.endsWith('\r'))
    throw new PackError(
      index + 1,
      'line ends were changed to CRLF, as some editors, mail programs and version control do',
    );
  try {
    return parseLine(text);
  } catch (error) {
    if (error instanceof LineError) throw new PackError(index + 1, error.message);
    throw error;
  }
}

function evidenceOf(manifest: ManifestLine, lines: readonly Line[]): Evidence {
  const events = Map.groupBy(
    lines.flatMap((line) => (line.kind === 'event' ? [storedEvent(line)] : [])),
    ({ streamId }) => streamId,
  );
  const runs: AuditedRun[] = manifest.runs.map(({ run }) => ({
    runId: run,
    events: (events.get(streamOf(run)) ?? []).toSorted(
      (one, other) => one.streamPosition - other.streamPosition,
    ),
  }));
  return {
    runs,
    texts: manifest.texts,
    promptVersion: manifest.promptVersion,
    macKey: lines.flatMap((line) => (line.kind === 'key' ? [line.subkey] : []))[0] ?? null,
    opened: lines.flatMap((line) =>
      line.kind === 'text'
        ? [{ runId: line.run, position: line.position, field: line.field, text: line.text }]
        : [],
    ),
    prompts: lines.flatMap((line) => {
      if (line.kind !== 'prompt') return [];
      const { run: runId, position, system, prompt, schema } = line;
      return [{ runId, position, system, prompt, schema }];
    }),
    credits: lines
      .flatMap((line) => {
        if (line.kind !== 'credits') return [];
        const { run: runId, position, type, credits, at, hash } = line;
        return [{ runId, position, type, credits, at, hash }];
      })
      .toSorted((one, other) => one.position - other.position),
    anchors: manifest.runs.flatMap(({ run }) =>
      lines.flatMap((line) => {
        if (line.kind !== 'anchor' || line.run !== run) return [];
        const { number, madeAt, previousRoot, root, path, position, hash } = line;
        const head = { streamId: streamOf(run), version: position, hash };
        return [{ number, madeAt, previousRoot, root, path, head }];
      }),
    ),
  };
}

function storedEvent(line: Extract<Line, { kind: 'event' }>): StoredEvent {
  const { stream, version, messageId, type, data, metadata } = line;
  return { streamId: stream, streamPosition: version, messageId, type, data, metadata };
}

/** A pack has one order, and each line once. */
function refuseDisorder(
  texts: readonly string[],
  lines: readonly Line[],
  manifest: ManifestLine,
  evidence: Evidence,
): void {
  const counts = new Map(manifest.runs.map(({ run, events }) => [streamOf(run), events]));
  const seen = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    const earlier = seen.get(placeOf(line));
    if (earlier !== undefined)
      throw new PackError(index + 1, `${placeOf(line)} is already in line ${earlier}`);
    seen.set(placeOf(line), index + 1);
    if (line.kind === 'event' && line.version > (counts.get(line.stream) ?? 0))
      throw new PackError(
        index + 1,
        `${placeOf(line)} is beyond the events that the manifest counts`,
      );
  }
  const expected = linesOf(evidence);
  for (const [index, line] of lines.entries()) {
    if (index === 0 || expected[index - 1] === texts[index]) continue;
    throw new PackError(
      index + 1,
      `${placeOf(line)} is out of order, or about an event that is missing`,
    );
  }
}

/** What a line is about, which no other line is about. */
function placeOf(line: Line): string {
  switch (line.kind) {
    case 'manifest':
      return 'the manifest';
    case 'key':
      return 'the key';
    case 'event':
      return `event ${line.version} of ${line.stream}`;
    case 'text':
      return `the text "${line.field}" of event ${line.position} of ${line.run}`;
    case 'prompt':
      return `the prompt of event ${line.position} of ${line.run}`;
    case 'credits':
      return `entry ${line.position} of the account about ${line.run}`;
    case 'anchor':
      return `the anchor of ${line.run}`;
  }
}
