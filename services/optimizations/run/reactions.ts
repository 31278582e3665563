import type { JobSpec } from '#services/platform/command.ts';
import { forgottenFrom } from './deadlines.ts';
import { runIdOf } from './events.ts';
import type { OptimizationEvent } from './events.ts';
import { placeOf } from './lanes.ts';
import { owedSlots, retryTime } from './owed.ts';
import { isOpen } from './state.ts';
import type { RunState } from './state.ts';
import { claimsSlot } from './slots.ts';

/**
 * Event to jobs, enqueued in the transaction that appends the event and never replayed. Keys name
 * what is owed (`<run>:<slot>`, `<run>:<stage>:hard`), so asking again replaces and never doubles.
 */
export function reactions(event: OptimizationEvent, streamId: string, state: RunState): JobSpec[] {
  const runId = runIdOf(streamId);
  switch (event.type) {
    case 'ProcessingStarted':
      return owedJobs(runId, state);
    case 'OpinionsClosed':
    case 'ClaimsFixed':
    case 'ScoresComputed':
      return owedJobs(runId, state).filter((job) => job.task !== 'run-deadline');
    case 'CallFailed':
      return event.data.final
        ? secondExtractor(runId, state, event.data.slot)
        : owedSlots(state)
            .filter((slot) => slot === event.data.slot)
            .map((slot) => callJob(runId, state, slot, event.data.retryAt));
    case 'CallLost':
      return event.data.final ? secondExtractor(runId, state, event.data.slot) : [];
    case 'DraftChecked':
      return owedSlots(state).map((slot) => callJob(runId, state, slot, null));
    case 'SynthesisJudged':
      // The other verdicts end the run in the same append: no further draft is owed.
      return event.data.verdict === 'repair' || event.data.verdict === 'other_synthesizer'
        ? owedSlots(state).map((slot) => callJob(runId, state, slot, null))
        : [];
    case 'RunConcluded':
      return [settleJob(runId)];
    case 'OptimizationCompleted':
    case 'OptimizationFailed':
    case 'OptimizationCancelled':
      return [notifyJob(runId)];
    case 'OptimizationHidden':
      return [forgetJob(runId, event.data.at)];
    case 'OptimizationCreated':
    case 'CallStarted':
    case 'CallSucceeded':
    case 'CallCostRecorded':
    case 'SoftPassed':
    case 'ReviewsClosed':
    case 'OptimizationRestored':
    case 'OptimizationRenamed':
    case 'OutcomeRecorded':
      return [];
  }
}

/** Every job that the state waits for: what the sweeper adds again when one has gone missing. */
export function owedJobs(runId: string, state: RunState): JobSpec[] {
  const calls = owedSlots(state).map((slot) => callJob(runId, state, slot, retryTime(state, slot)));
  switch (state.stage) {
    case 'opinions':
    case 'reviews':
      return [
        ...calls,
        ...(state.softPassed ? [] : [deadlineJob(runId, state.stage, 'soft', state.softAt)]),
        deadlineJob(runId, state.stage, 'hard', state.hardAt),
        runDeadlineJob(runId, state.runDeadlineAt),
      ];
    case 'claims':
    case 'synthesis':
      return [
        ...calls,
        deadlineJob(runId, state.stage, 'hard', state.hardAt),
        runDeadlineJob(runId, state.runDeadlineAt),
      ];
    case 'settling':
      return [settleJob(runId)];
    case 'none':
    case 'draft':
    case 'closed':
      return [];
  }
}

/** For a run that ended before it had seen its hold. */
export function settleJob(runId: string): JobSpec {
  return { task: 'settle-run', payload: { runId }, key: `${runId}:settle` };
}

/** The task checks whether the user wants an email. */
function notifyJob(runId: string): JobSpec {
  return { task: 'notify-run', payload: { runId }, key: `${runId}:notify` };
}

/**
 * When a run that was hidden at `hiddenAt` loses its texts. Restoring leaves the job, which then finds
 * nothing to do; hiding again puts it off.
 */
export function forgetJob(runId: string, hiddenAt: string): JobSpec & { runAt: string } {
  return {
    task: 'forget-run',
    payload: { runId },
    key: `${runId}:forget`,
    runAt: forgottenFrom(hiddenAt),
  };
}

function secondExtractor(runId: string, state: RunState, slot: string): JobSpec[] {
  const owes = slot === claimsSlot(1) && owedSlots(state).includes(claimsSlot(2));
  return owes ? [callJob(runId, state, claimsSlot(2), null)] : [];
}

const callKey = (runId: string, slot: string): string => `${runId}:${slot}`;

/** @param retryAt when a further attempt may begin; null: at once */
function callJob(runId: string, state: RunState, slot: string, retryAt: string | null): JobSpec {
  const job = { task: 'call-model', payload: { runId, slot }, key: callKey(runId, slot) };
  const place = isOpen(state) ? placeOf(state, slot, retryAt) : null;
  return { ...job, ...(retryAt === null ? {} : { runAt: retryAt }), ...place };
}

function deadlineJob(runId: string, stage: string, kind: 'soft' | 'hard', runAt: string): JobSpec {
  return {
    task: 'stage-deadline',
    payload: { runId, stage, kind, dueAt: runAt, rearmed: false },
    key: `${runId}:${stage}:${kind}`,
    runAt,
  };
}

function runDeadlineJob(runId: string, runAt: string): JobSpec {
  return {
    task: 'run-deadline',
    payload: { runId, dueAt: runAt, rearmed: false },
    key: `${runId}:deadline`,
    runAt,
  };
}
