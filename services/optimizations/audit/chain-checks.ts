import { chainHash, firstHash } from '#db/chain.ts';
import { isProved } from '#db/anchor-root.ts';
import type { AnchorProof } from '#db/anchor-root.ts';
import { runIdOf, streamOf } from '#services/optimizations/run/events.ts';
import { all, failed, nameOf } from './check.ts';
import type { Check } from './check.ts';
import type { AuditedRun, StoredEvent } from './evidence.ts';

/** That no event was changed, added or taken out: the hash chain, and the anchors over it. */

const chainName = 'hash chain and order of the stream';

/** Each event against the stored hash before it, so that every changed one is named, not only the first. */
export function chainChecks({ runId, events }: AuditedRun): Check[] {
  return all(
    chainName,
    events.flatMap((event, index) => chainCheck(streamOf(runId), events[index - 1], event)),
  );
}

function chainCheck(
  stream: string,
  previous: StoredEvent | undefined,
  event: StoredEvent,
): Check[] {
  const expected = (previous?.streamPosition ?? 0) + 1;
  const { streamPosition: version, messageId, type, data } = event;
  if (version > expected) {
    const missing =
      version - 1 === expected
        ? `event ${expected} is`
        : `events ${expected} to ${version - 1} are`;
    return [failed(chainName, `${missing} missing before it`, event)];
  }
  if (version < expected)
    return [
      failed(chainName, `it appears after ${previous ? nameOf(previous) : 'nothing'}`, event),
    ];
  const { hash, ...metadata } = event.metadata;
  const before = previous === undefined ? firstHash : String(previous.metadata['hash']);
  const follows =
    event.streamId === stream &&
    hash === hashOf(before, { stream, version, messageId, type, data, metadata });
  return follows
    ? []
    : [
        failed(
          chainName,
          'its hash does not follow from its content and the hash before it',
          event,
        ),
      ];
}

/** Null for an event that has no hash because the database could not have stored it. */
function hashOf(...of: Parameters<typeof chainHash>): string | null {
  try {
    return chainHash(...of);
  } catch {
    return null;
  }
}

export function anchorChecks(
  runs: readonly AuditedRun[],
  anchors: readonly AnchorProof[],
): { checks: Check[]; notes: string[] } {
  return {
    checks: anchors.map((anchor) => anchorCheck(runs, anchor)),
    notes: runs.flatMap(({ runId, events }) => {
      const anchor = anchors.find(({ head }) => head.streamId === streamOf(runId));
      return anchorNote(runId, events.length, anchor);
    }),
  };
}

function anchorCheck(runs: readonly AuditedRun[], anchor: AnchorProof): Check {
  const { number, root, head } = anchor;
  const name = `anchor ${number} of ${runIdOf(head.streamId)}, with the root ${root}`;
  const run = runs.find(({ runId }) => streamOf(runId) === head.streamId);
  const event = run?.events.find(({ streamPosition }) => streamPosition === head.version);
  if (event === undefined) return failed(name, `there is no event ${head.version}`);
  if (event.metadata['hash'] !== head.hash)
    return failed(name, `its hash is not the anchored ${head.hash}`, event);
  return isProved(anchor)
    ? { name, equal: true }
    : failed(name, 'the root does not follow from the head of the stream');
}

function anchorNote(runId: string, events: number, anchor: AnchorProof | undefined): string[] {
  if (anchor === undefined)
    return [
      `${runId} has no anchor here: only its own hash chain protects it, so no root can show that it is as it was stored`,
    ];
  return anchor.head.version < events
    ? [`events of ${runId} after event ${anchor.head.version} are newer than its anchor`]
    : [];
}
