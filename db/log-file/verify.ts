import { chainHash, firstHash } from '#db/chain.ts';
import { createAnchors } from './anchored.ts';
import { parseLine } from './format.ts';
import type { Line, LineOf } from './format.ts';
import { LineError } from './lines.ts';
import { linesIn } from './split.ts';

/** Where a file is not what was exported; `field` is null for a line as a whole. */
export type FileFault = { line: number; field: string | null; problem: string };

export type FileVerification = {
  /** Null for a file that does not begin as one of this format. */
  header: LineOf<'header'> | null;
  streams: number;
  events: number;
  lines: number;
  anchors: number;
  newest: { number: number; root: string } | null;
  /**
   * Whether the anchors show that nothing before the newest of them is missing. Nothing shows it of some
   * streams or a range of time: an anchor has no list of an account's streams, and no root covers a time.
   */
  complete: boolean;
  /** By the given roots or, without any, by the anchors in the file. */
  provedEvents: number;
  /** Given roots that no anchor of the file has. */
  unknownRoots: readonly string[];
  /** Of an account or a run: streams that no given root proves, at most `mostFaults`. */
  unprovedStreams: readonly string[];
  /** In the order in which they were found, at most `mostFaults`. */
  faults: readonly FileFault[];
};

/** Beyond so many, single lines no longer matter. */
const mostFaults = 100;

/**
 * Checks an exported log without a database, line by line: memory grows with the anchors, not with the
 * events. Every hash, link, head and root is recomputed.
 *
 * @param roots that were kept elsewhere, 64 hex digits each; null checks the file alone
 */
export async function verifyLogFile(
  bytes: AsyncIterable<Uint8Array>,
  roots: readonly string[] | null,
): Promise<FileVerification> {
  const faults: FileFault[] = [];
  const report = (line: number, field: string | null, problem: string) => {
    if (faults.length < mostFaults) faults.push({ line, field, problem });
  };
  const file = createFile(report, roots);
  let number = 0;
  for await (const line of linesIn(bytes)) {
    number += 1;
    try {
      if ('problem' in line) throw new LineError(line.problem);
      file.take(number, parseLine(line.text));
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      report(number, error.field, error.problem);
    }
    // Nothing of another format can be checked.
    if (file.header() === null || ('problem' in line && line.isLast)) break;
  }
  return { ...file.end(number), faults };
}

type Stream = {
  name: string;
  hash: string;
  version: number;
  /** Events up to here were there before the file begins. */
  base: number;
  /** Up to here a head of an anchor stands above. */
  anchoredTo: number;
  /** A head has named an event that is not here. */
  isOver: boolean;
  isProved: boolean;
};

type Report = (line: number, field: string | null, problem: string) => void;

function createFile(report: Report, roots: readonly string[] | null) {
  const anchors = createAnchors(report);
  let header: LineOf<'header'> | null = null;
  let stream: Stream | null = null;
  let ended = false;
  const counted = { streams: 0, events: 0, heads: 0 };
  const unproved: string[] = [];

  const takers: { [Kind in Line['kind']]: (at: number, line: LineOf<Kind>) => void } = {
    header(at, line) {
      if (header !== null) return report(at, 'kind', 'there is one header, in the first line');
      header = line;
      anchors.begin(line);
    },
    anchor(at, line) {
      if (stream !== null) report(at, 'kind', 'anchors stand before the streams');
      anchors.add(at, line);
    },
    base(at, { stream: name, version, hash }) {
      if (header?.since === null) report(at, 'kind', 'this file begins with the first events');
      if (stream?.name === name) report(at, 'kind', `${name} has begun`);
      else enter(at, name);
      if (stream !== null)
        Object.assign(stream, { version, hash, base: version, anchoredTo: version });
    },
    event(at, line) {
      const { kind: _kind, metadata: all, ...event } = line;
      const own = enter(at, line.stream);
      const { hash, ...metadata } = all;
      if (own.version === own.base) counted.streams += 1;
      counted.events += 1;
      if (!isInRange(metadata['occurredAt']))
        report(at, 'metadata.occurredAt', 'it lies outside the range of the file');
      if (own.isOver) report(at, 'version', 'it follows the head of a later event');
      if (line.version !== own.version + 1)
        report(at, 'version', orderProblem(own.version, line.version));
      else if (hash !== hashOf(own.hash, { ...event, metadata }))
        report(at, 'metadata.hash', 'it does not follow from this event and the hash before it');
      // The next event is compared with what stands here, so that one change is one fault.
      own.hash = hash;
      own.version = line.version;
    },
    head(at, line) {
      const own = enter(at, line.stream);
      counted.heads += 1;
      const newly = standing(at, line, own) ? line.version - own.anchoredTo : 0;
      own.anchoredTo += newly;
      anchors.head(at, line, newly);
      own.isProved ||= roots !== null && newly > 0 && anchors.isNamed(line.anchor, roots);
    },
    end(at, line) {
      leave();
      ended = true;
      for (const name of ['streams', 'events', 'heads'] as const)
        if (line[name] !== counted[name])
          report(at, name, `it says ${line[name]}, the file has ${counted[name]}`);
      if (line.lines !== at) report(at, 'lines', `it says ${line.lines}, the file has ${at}`);
      if (line.root !== (anchors.newest()?.root ?? null))
        report(at, 'root', 'it is not the root of the newest anchor in the file');
    },
  };

  function isInRange(time: unknown): boolean {
    const { since = null, until = null } = header ?? {};
    if (since === null && until === null) return true;
    return typeof time === 'string' && (since ?? '') <= time && (until === null || time < until);
  }

  /** The stream of a line, which begins here or continues. */
  function enter(at: number, name: string): Stream {
    if (stream?.name === name) return stream;
    if (stream !== null && name < stream.name)
      report(at, 'stream', `${name} stands after ${stream.name}`);
    leave();
    stream = {
      name,
      hash: firstHash,
      version: 0,
      base: 0,
      anchoredTo: 0,
      isOver: false,
      isProved: false,
    };
    return stream;
  }

  function leave(): void {
    const isOne = header !== null && header.scope !== 'all' && roots !== null;
    if (isOne && stream !== null && !stream.isProved && unproved.length < mostFaults)
      unproved.push(stream.name);
  }

  /** Whether the event that a head stands on is in the file, and is the anchored one. */
  function standing(at: number, { version, hash }: LineOf<'head'>, own: Stream): boolean {
    if (version === own.version) {
      if (hash !== own.hash) report(at, 'hash', `event ${version} in the file has another hash`);
      return hash === own.hash;
    }
    if (version < own.version) {
      if (version > own.base) report(at, 'version', `it stands behind event ${own.version}`);
      return false;
    }
    // Of a stream that has no event in the range, all that an anchor names lies before it.
    const isBefore = own.version === 0 && header?.since !== null;
    if (!isBefore) own.isOver = true;
    if (!isBefore && header?.until === null)
      report(
        at,
        'version',
        `the anchor has event ${version} of ${own.name}, the file ends at ${own.version}`,
      );
    return false;
  }

  return {
    header: () => header,
    take(at: number, line: Line): void {
      if (at === 1 && line.kind !== 'header') return report(at, 'kind', 'it is not a header');
      if (ended) return report(at, 'kind', 'it stands after the end');
      // The type of a line belongs to its kind, which a lookup cannot say.
      (takers[line.kind] as (at: number, line: Line) => void)(at, line);
    },
    end(lines: number): Omit<FileVerification, 'faults'> {
      if (lines === 0) report(1, null, 'the file is empty');
      else if (header !== null && !ended)
        report(lines, null, 'the file ends here, without its end line');
      if (ended) anchors.end();
      const { events: provedEvents, unknown } = anchors.proved(roots);
      const { streams, events } = counted;
      return {
        header,
        streams,
        events,
        lines,
        anchors: anchors.count(),
        newest: anchors.newest(),
        complete: header?.scope === 'all' && header.since === null && header.until === null,
        provedEvents,
        unknownRoots: unknown,
        unprovedStreams: unproved,
      };
    },
  };
}

function orderProblem(before: number, version: number): string {
  if (version <= before) return `event ${version} stands after event ${before}`;
  return version === before + 2
    ? `event ${before + 1} is missing`
    : `events ${before + 1} to ${version - 1} are missing`;
}

/** Null for an event that has no hash because the database could not have stored it. */
function hashOf(...of: Parameters<typeof chainHash>): string | null {
  try {
    return chainHash(...of);
  } catch {
    return null;
  }
}
