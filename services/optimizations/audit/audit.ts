import type { OptimizationEventType } from '#services/optimizations/run/events.ts';
import { anchorChecks, chainChecks } from './chain-checks.ts';
import { attempt, failed, reasonOf } from './check.ts';
import type { Check, Findings } from './check.ts';
import { decisionChecks } from './decision-checks.ts';
import { auditedRun } from './evidence.ts';
import type { AuditedRun, Evidence } from './evidence.ts';
import { moneyChecks } from './money-checks.ts';
import { promptChecks } from './prompt-checks.ts';
import type { PromptFindings } from './prompt-checks.ts';
import { refinementChecks } from './refinement-checks.ts';
import { rootChecks } from './root-checks.ts';

/**
 * Everything about a run that can be computed again, compared with what is recorded. Never throws,
 * whatever the events hold.
 *
 * @param roots of anchors, kept outside the evidence; with any, they must prove every run
 */
export async function auditOf(
  evidence: Evidence,
  roots: readonly string[] = [],
): Promise<PromptFindings> {
  const { runs, anchors } = evidence;
  const own = auditedRun(evidence);
  const found = runs.map((run) => {
    const { checks, notes } = runChecks(run, evidence);
    const suffix = run === own ? '' : ` of ${run.runId}`;
    return { checks: checks.map((check) => ({ ...check, name: `${check.name}${suffix}` })), notes };
  });
  const prompts = await promptFindings(evidence);
  const anchored = anchorChecks(runs, anchors);
  const rooted =
    roots.length === 0 ? [] : attempt('given roots', () => rootChecks(evidence, roots));
  return {
    checks: [
      ...found.flatMap(({ checks }) => checks),
      ...prompts.checks,
      ...anchored.checks,
      ...rooted,
    ],
    notes: [
      ...new Set([...found.flatMap(({ notes }) => notes), ...prompts.notes, ...anchored.notes]),
    ],
    unproven: prompts.unproven,
  };
}

function runChecks(run: AuditedRun, { runs, credits }: Evidence): Findings {
  const { events } = run;
  const own = credits.filter(({ runId }) => runId === run.runId);
  let notes: readonly string[] = [];
  const money = () => {
    const found = moneyChecks(events, own);
    ({ notes } = found);
    return found.checks;
  };
  const checks = [
    ...attempt('hash chain and order of the stream', () => chainChecks(run)),
    ...attempt('types of the events', () => typeChecks(run)),
    ...attempt('start of the refinement', () => refinementChecks(run, runs)),
    ...attempt('decisions', () => decisionChecks(run)),
    ...attempt('costs and charge', money),
  ];
  return { checks, notes };
}

async function promptFindings(evidence: Evidence): Promise<PromptFindings> {
  try {
    return await promptChecks(evidence);
  } catch (error) {
    return {
      checks: [failed('prompts', `cannot be computed from these events (${reasonOf(error)})`)],
      notes: [],
      unproven: [],
    };
  }
}

const knownTypes: Readonly<Record<OptimizationEventType, true>> = {
  OptimizationCreated: true,
  ProcessingStarted: true,
  CallStarted: true,
  CallLost: true,
  CallSucceeded: true,
  CallFailed: true,
  CallCostRecorded: true,
  SoftPassed: true,
  OpinionsClosed: true,
  ClaimsFixed: true,
  ReviewsClosed: true,
  ScoresComputed: true,
  DraftChecked: true,
  SynthesisJudged: true,
  RunConcluded: true,
  OptimizationCompleted: true,
  OptimizationFailed: true,
  OptimizationCancelled: true,
  OptimizationHidden: true,
  OptimizationRestored: true,
  OptimizationRenamed: true,
  OutcomeRecorded: true,
};

/** A type that this software does not know would be left out of every other check. */
function typeChecks({ events }: AuditedRun): Check[] {
  const unknown = events.filter(({ type }) => !Object.hasOwn(knownTypes, type));
  return unknown.map((event) =>
    failed('types of the events', 'this software does not know this type', event),
  );
}
