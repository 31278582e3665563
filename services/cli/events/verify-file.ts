import { createReadStream, existsSync } from 'node:fs';
import type { LineOf } from '#db/log-file/format.ts';
import { verifyLogFile } from '#db/log-file/verify.ts';
import type { FileFault, FileVerification } from '#db/log-file/verify.ts';
import { counted, printable, printResult, UsageError } from '#services/cli/command.ts';
import type { Arguments } from '#services/cli/command.ts';
import { rootsOf } from '#services/cli/credits/anchors.ts';

/** Null when the argument names a stream. @throws UsageError for a file that cannot be read */
export async function verifyFile(call: Arguments): Promise<number | null> {
  const [named] = call.positionals;
  if (named === undefined || !isFile(named)) return null;
  const roots = rootsOf(call);
  const found = await verifyLogFile(bytesOf(named), roots).catch((error: unknown) => {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new UsageError(`The file can't be read: ${error.message}`);
  });
  const { faults, unknownRoots, unprovedStreams } = found;
  const verified = faults.length + unknownRoots.length + unprovedStreams.length === 0;
  printResult(call, { verified, ...documentOf(found) }, linesOf(found, roots, verified));
  if (found.header === null) return 2;
  return verified ? 0 : 1;
}

/** The name of a stream has neither a dot nor a slash. */
function isFile(named: string): boolean {
  return named === '-' || /[./\\]/.test(named) || existsSync(named);
}

function bytesOf(named: string): AsyncIterable<Uint8Array> {
  return named === '-' ? process.stdin : createReadStream(named, { highWaterMark: 1 << 18 });
}

function documentOf(found: FileVerification): object {
  const { header, streams, events, lines, anchors, newest, faults } = found;
  return {
    file:
      header === null
        ? null
        : {
            product: header.product,
            software: header.software,
            exported_at: header.exportedAt,
            scope: header.scope,
            of: header.of,
            since: header.since,
            until: header.until,
          },
    streams,
    events,
    lines,
    anchors,
    newest_root: newest?.root ?? null,
    complete: found.complete,
    proved_events: found.provedEvents,
    unknown_roots: found.unknownRoots,
    unproved_streams: found.unprovedStreams,
    faults,
  };
}

function linesOf(
  found: FileVerification,
  roots: readonly string[] | null,
  verified: boolean,
): string[] {
  const { header, streams, events, anchors, newest, faults, provedEvents } = found;
  const newer = events - provedEvents;
  const by = roots === null ? 'the anchors in the file' : 'the given roots';
  return [
    ...(header === null || faults.length > 0
      ? faults.map(faultLine)
      : [
          `     ${contentOf(header)}`,
          `ok   ${counted(events, 'event')} of ${counted(streams, 'stream')}: each follows from the one before`,
          newest === null
            ? '     The file has no anchor, so only the chains protect its events'
            : `ok   ${counted(anchors, 'anchor')}, the newest with the root ${newest.root}`,
        ]),
    ...found.unknownRoots.map((root) => `NOT  no anchor in the file has the root ${root}`),
    ...(found.unknownRoots.length > 0 && newest !== null
      ? [
          `     the newest in the file is anchor ${newest.number}: give the root that was logged with it`,
        ]
      : []),
    ...found.unprovedStreams.map((name) => `NOT  no given root proves ${name}`),
    ...(verified
      ? [
          `     proved by ${by}: ${counted(provedEvents, 'event')}; newer, or without an anchor: ${newer}`,
          ...(found.complete
            ? []
            : ['     Nothing shows that no event is missing; only a file of the whole log does']),
          roots === null
            ? 'Verified, as far as a file can show. Pass --root with a root kept elsewhere to prove it.'
            : newer === 0
              ? 'Verified.'
              : `Verified, except that no given root proves ${counted(newer, 'event')}.`,
        ]
      : [
          header === null
            ? 'This is no exported log.'
            : faults.length > 0
              ? 'Differences were found.'
              : 'Not proved by the given roots.',
        ]),
  ].map(printable);
}

function contentOf({ scope, of, since, until }: LineOf<'header'>): string {
  return [
    scope === 'all' ? 'The whole log' : `The events of the ${scope} ${of}`,
    ...(since === null ? [] : [`from ${since}`]),
    ...(until === null ? [] : [`before ${until}`]),
  ].join(', ');
}

function faultLine({ line, field, problem }: FileFault): string {
  return `NOT  line ${line}${field === null ? '' : `, ${field}`}: ${problem}`;
}
