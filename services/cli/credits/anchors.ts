import { anchorNow, brokenLine, missingLine, readAnchors } from '#db/anchors.ts';
import type { Anchor, AnchorCheck } from '#db/anchors.ts';
import { counted, printResult, table, text, UsageError } from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';

const anchor: CliCommand = {
  noun: 'credits',
  verb: 'anchor',
  arguments: '',
  summary: 'Anchors the hash chains now and prints the root. A worker also does this once a day.',
  options: {},
  async run(call) {
    const made = await anchorNow(call.database);
    printResult(call, documentOf(made), [
      `Anchor ${made.number} of ${counted(made.heads, 'stream')} has the root ${made.root}`,
      'Keep this root outside the database; this command does not log it.',
    ]);
    return 0;
  },
};

const anchors: CliCommand = {
  noun: 'credits',
  verb: 'anchors',
  arguments: '',
  summary: 'Lists every anchor with its root, to compare with the roots in the log.',
  options: {},
  reads: true,
  async run(call) {
    const all = await readAnchors(call.database.pool);
    printResult(
      call,
      all.map(documentOf),
      table([
        ['anchor', 'made at', 'day', 'streams', 'root'],
        ...all.map(({ number, madeAt, day, heads, root }) => [
          number,
          madeAt,
          day ?? '--',
          heads,
          root,
        ]),
      ]),
    );
    return 0;
  },
};

function documentOf({ number, day, madeAt, heads, root }: Anchor) {
  return { anchor: number, day, made_at: madeAt, streams: heads, root };
}

/** The root that `--root` names; undefined without it. @throws UsageError */
export function rootOf(call: Pick<CliCall, 'options'>): string | undefined {
  const root = text(call, 'root')?.toLowerCase();
  if (root !== undefined && !/^[0-9a-f]{64}$/.test(root))
    throw new UsageError('--root must be the root of an anchor, 64 hex digits');
  return root;
}

/** `--root a,b`: one for each day on which a stream was anchored; null without it. @throws UsageError */
export function rootsOf(call: Pick<CliCall, 'options'>): string[] | null {
  const given = text(call, 'root')?.split(',');
  return given?.flatMap((root) => rootOf({ options: { root } }) ?? []) ?? null;
}

/** The anchors in the output of `credits verify`: as part of its document, and as lines. */
export function anchorReport({ anchors: count, heads, last, named, broken, missing }: AnchorCheck) {
  return {
    document: {
      anchors: count,
      heads,
      last: last === null ? null : documentOf(last),
      named: named === null ? null : documentOf(named),
      broken: broken.map(({ streamId, ...link }) => ({ ...link, stream: streamId })),
      missing,
    },
    lines: [
      ...broken.map(brokenLine),
      ...missing.map(missingLine),
      last === null
        ? 'no anchor yet'
        : `${count} anchors, the last of ${last.madeAt} with the root ${last.root}`,
      ...(named === null
        ? []
        : [`the given root is that of anchor ${named.number}, made at ${named.madeAt}`]),
    ],
  };
}

export const anchorCommands: readonly CliCommand[] = [anchor, anchors];
