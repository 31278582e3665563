import { createHash } from 'node:crypto';
import { rootAlong } from './merkle.ts';
import type { PathStep } from './merkle.ts';

/** The root of an anchor (`anchors.ts`), and the proof that it holds the head of one stream. */

export type AnchorHead = { streamId: string; version: number; hash: string };

export type AnchorProof = {
  number: number;
  /** ISO 8601. */
  madeAt: string;
  previousRoot: string;
  root: string;
  head: AnchorHead;
  /** From the head to the root of the heads; it shows no other stream. */
  path: readonly PathStep[];
};

export function headLine({ streamId, version, hash }: AnchorHead): string {
  return `${streamId} ${version} ${hash}`;
}

/** @param headsRoot of the tree over the lines of the heads */
export function anchorRoot(previousRoot: string, headsRoot: string): string {
  return createHash('sha256').update(`anchor 2\n${previousRoot}\n${headsRoot}\n`).digest('hex');
}

/** As 0.1 computed it: over all lines at once, so that a proof needs every one of them. */
export function listRoot(previousRoot: string, heads: readonly AnchorHead[]): string {
  const digest = createHash('sha256').update(`${previousRoot}\n`);
  for (const head of heads) digest.update(`${headLine(head)}\n`);
  return digest.digest('hex');
}

/** Whether the anchor's root follows from its head, its path and the root before. */
export function isProved({ previousRoot, root, head, path }: AnchorProof): boolean {
  return anchorRoot(previousRoot, rootAlong(headLine(head), path)) === root;
}
