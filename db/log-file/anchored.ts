import { createHash } from 'node:crypto';
import { anchorRoot, headLine, isProved } from '#db/anchor-root.ts';
import { firstHash } from '#db/chain.ts';
import { createMerkleRoot } from '#db/merkle.ts';
import type { LineOf } from './format.ts';

type Report = (line: number, field: string, problem: string) => void;

type Kept = Omit<LineOf<'anchor'>, 'kind' | 'sha256'> & {
  line: number;
  tree: ReturnType<typeof createMerkleRoot>;
  /** As 0.1 computed a root (`listRoot`). */
  list: ReturnType<typeof createHash>;
  found: number;
  /** Events that this anchor proves and none before it does. */
  events: number;
};

/**
 * The anchors of a file. Where it has all their heads, these come in the order of the tree, so each root is
 * computed as they pass by; else each head has its path.
 */
export function createAnchors(report: Report) {
  const kept = new Map<number, Kept>();
  let last: Kept | null = null;
  let isWhole = true;
  let beginsFirst = true;

  return {
    /** Of the whole log, or of one or some of its streams; from the first event on, or from a time. */
    begin({ scope, since }: Pick<LineOf<'header'>, 'scope' | 'since'>): void {
      isWhole = scope === 'all';
      beginsFirst = since === null;
    },

    add(line: number, { kind: _kind, sha256: _digest, ...anchor }: LineOf<'anchor'>): void {
      const { number, previousRoot } = anchor;
      if (last !== null && number <= last.number)
        report(line, 'number', `anchor ${number} stands after anchor ${last.number}`);
      else if (isWhole && last !== null && number !== last.number + 1)
        report(line, 'number', `the anchors between ${last.number} and ${number} are missing`);
      else if (last !== null && number === last.number + 1 && previousRoot !== last.root)
        report(line, 'previousRoot', `it is not the root of anchor ${last.number}`);
      else if (isWhole && beginsFirst && last === null && previousRoot !== firstHash)
        report(line, 'previousRoot', 'the anchors before it are missing');
      if (number === 1 && previousRoot !== firstHash)
        report(line, 'previousRoot', 'nothing comes before the first anchor');
      last = {
        ...anchor,
        line,
        tree: createMerkleRoot(),
        list: createHash('sha256').update(`${previousRoot}\n`),
        found: 0,
        events: 0,
      };
      kept.set(number, last);
    },

    /** @param newlyProved events that no earlier head of the stream stands above */
    head(line: number, head: LineOf<'head'>, newlyProved: number): void {
      const anchor = kept.get(head.anchor);
      if (anchor === undefined) {
        report(line, 'anchor', `the file has no anchor ${head.anchor}`);
        return;
      }
      const named = { streamId: head.stream, version: head.version, hash: head.hash };
      anchor.found += 1;
      anchor.events += newlyProved;
      if ((head.path === null) !== isWhole) {
        report(line, 'path', isWhole ? 'a whole log has no paths' : 'it is missing');
        return;
      }
      if (head.path === null) {
        anchor.tree.add(headLine(named));
        anchor.list.update(`${headLine(named)}\n`);
        return;
      }
      const { number, madeAt, previousRoot, root } = anchor;
      if (!isProved({ number, madeAt, previousRoot, root, head: named, path: head.path }))
        report(line, 'path', `the root of anchor ${number} does not follow from this head`);
    },

    /** After the last line. */
    end(): void {
      if (!isWhole) return;
      for (const { line, number, previousRoot, root, heads, found, tree, list } of kept.values())
        if (heads !== found)
          report(line, 'heads', `anchor ${number} has ${heads} heads, the file ${found} of them`);
        else if (root !== anchorRoot(previousRoot, tree.root()) && root !== list.digest('hex'))
          report(
            line,
            'root',
            `it does not follow from the heads of anchor ${number} in this file`,
          );
    },

    newest: (): { number: number; root: string } | null => last,
    count: (): number => kept.size,

    /**
     * The events that these roots prove. Of a whole log a root proves also every anchor before it, which
     * its own root follows from. Without roots: those that any anchor of the file proves.
     */
    proved(roots: readonly string[] | null): { events: number; unknown: readonly string[] } {
      const all = [...kept.values()];
      if (roots === null) return { events: sum(all), unknown: [] };
      const named = all.filter(({ root }) => roots.includes(root));
      const upTo = Math.max(0, ...named.map(({ number }) => number));
      return {
        events: sum(isWhole ? all.filter(({ number }) => number <= upTo) : named),
        unknown: roots.filter((root) => !named.some((anchor) => anchor.root === root)),
      };
    },

    /** Whether these roots prove what an anchor says of one stream. */
    isNamed: (number: number, roots: readonly string[]): boolean =>
      roots.includes(kept.get(number)?.root ?? ''),
  };
}

function sum(anchors: readonly Kept[]): number {
  return anchors.reduce((all, { events }) => all + events, 0);
}
