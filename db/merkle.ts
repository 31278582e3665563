import { createHash } from 'node:crypto';

/**
 * A tree of hashes (RFC 9162, 2.1): its root stands for a list of lines, and a path of some hashes
 * proves that one line is in the list without showing any other.
 */

/** A neighbour on the way from a line to the root, and the side on which it stands. */
export type PathStep = { side: 'left' | 'right'; hash: string };

/** 64 hex digits. */
export function merkleRoot(lines: readonly string[]): string {
  let level = lines.map(leafHash);
  if (level.length === 0) return createHash('sha256').digest('hex');
  while (level.length > 1) level = parentsOf(level);
  return level[0]!;
}

/** From the line at this place up to the root. */
export function merklePath(lines: readonly string[], place: number): PathStep[] {
  const path: PathStep[] = [];
  let level = lines.map(leafHash);
  for (let at = place; level.length > 1; at = Math.floor(at / 2)) {
    const isRight = at % 2 === 1;
    const neighbour = level[isRight ? at - 1 : at + 1];
    // The last one of an odd level moves up alone.
    if (neighbour !== undefined) path.push({ side: isRight ? 'left' : 'right', hash: neighbour });
    level = parentsOf(level);
  }
  return path;
}

/** The root of the list that holds the line, as the path says. */
export function rootAlong(line: string, path: readonly PathStep[]): string {
  return path.reduce(
    (below, { side, hash }) => (side === 'left' ? nodeHash(hash, below) : nodeHash(below, hash)),
    leafHash(line),
  );
}

/** The same root of lines that come one by one, in the memory of a few hashes. */
export function createMerkleRoot(): { add: (line: string) => void; root: () => string } {
  /** Of complete subtrees: the one of 2^n lines at place n. */
  const subtrees: (string | undefined)[] = [];
  return {
    add(line) {
      let hash = leafHash(line);
      let height = 0;
      for (; subtrees[height] !== undefined; height += 1) {
        hash = nodeHash(subtrees[height]!, hash);
        subtrees[height] = undefined;
      }
      subtrees[height] = hash;
    },
    root() {
      const hashes = subtrees.filter((hash) => hash !== undefined);
      const root = hashes.reduce<string | null>(
        (right, left) => (right === null ? left : nodeHash(left, right)),
        null,
      );
      return root ?? merkleRoot([]);
    },
  };
}

function parentsOf(level: readonly string[]): string[] {
  return level.flatMap((hash, at) => {
    if (at % 2 === 1) return [];
    const right = level[at + 1];
    return [right === undefined ? hash : nodeHash(hash, right)];
  });
}

/** The first byte keeps a line from passing for two hashes. */
function leafHash(line: string): string {
  return createHash('sha256').update('\0').update(line, 'utf8').digest('hex');
}

function nodeHash(left: string, right: string): string {
  return createHash('sha256')
    .update('\u0001')
    .update(Buffer.from(left, 'hex'))
    .update(Buffer.from(right, 'hex'))
    .digest('hex');
}
