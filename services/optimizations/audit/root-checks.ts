import type { AnchorProof } from '#db/anchor-root.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEventType } from '#services/optimizations/run/events.ts';
import { all, failed } from './check.ts';
import type { Check } from './check.ts';
import type { AuditedRun } from './evidence.ts';

type Given = { runs: readonly AuditedRun[]; anchors: readonly AnchorProof[] };

/**
 * Whether roots that were kept outside this evidence prove every run in it. A run that a refinement
 * builds on counts as much as the refinement, so none may be left to its own chain.
 */
export function rootChecks({ runs, anchors }: Given, roots: readonly string[]): Check[] {
  const proved = provedHeads({ runs, anchors }, roots);
  return runs.flatMap(({ runId, events }) => {
    const name = `a given root proves ${runId}`;
    const version = proved.get(runId);
    if (version === undefined) return [failed(name, whyNot(anchorOf(anchors, runId)))];
    const others = events.filter(
      ({ streamPosition, type }) => streamPosition > version && !afterwards.has(type),
    );
    return all(
      name,
      others.map((event) =>
        failed(name, `it is newer than event ${version}, the last one that the root proves`, event),
      ),
    );
  });
}

/** What the owner of a run does long after it has ended. It changes no money and no vote. */
const afterwards: ReadonlySet<string> = new Set<OptimizationEventType>([
  'OptimizationHidden',
  'OptimizationRestored',
  'OptimizationRenamed',
  'OutcomeRecorded',
]);

/** How many events of each run a given root proves; of a run that none proves nothing. */
function provedHeads(
  { runs, anchors }: Given,
  roots: readonly string[],
): ReadonlyMap<string, number> {
  const proved = new Map<string, number>();
  const raise = (runId: string, version: number) =>
    proved.set(runId, Math.max(version, proved.get(runId) ?? 0));
  // The last run first, because a refinement names the head of the run before it.
  for (const run of runs.toReversed()) {
    const anchor = anchorOf(anchors, run.runId);
    if (anchor !== undefined && roots.includes(anchor.root)) raise(run.runId, anchor.head.version);
    const base = proved.has(run.runId) ? baseHeadOf(run) : null;
    if (base !== null && isHeadOf(base, runs)) raise(base.runId, base.version);
  }
  return proved;
}

type Head = { runId: string; version: number; hash: string };

/** Null for the first run, and for a refinement from before they named it. */
function baseHeadOf({ events: [stored] }: AuditedRun): Head | null {
  const created = stored && runEventOf(stored);
  const refines = created?.type === 'OptimizationCreated' ? created.data.refines : undefined;
  return refines?.previousHead === undefined
    ? null
    : { runId: refines.previous, ...refines.previousHead };
}

function isHeadOf({ runId, version, hash }: Head, runs: readonly AuditedRun[]): boolean {
  const run = runs.find((one) => one.runId === runId);
  const event = run?.events.find(({ streamPosition }) => streamPosition === version);
  return event?.metadata['hash'] === hash;
}

function anchorOf(anchors: readonly AnchorProof[], runId: string): AnchorProof | undefined {
  return anchors.find(({ head }) => head.streamId === streamOf(runId));
}

function whyNot(anchor: AnchorProof | undefined): string {
  return anchor === undefined
    ? 'this run has no anchor here'
    : `the anchor of this run has ${anchor.root}`;
}
