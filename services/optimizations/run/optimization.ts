import type { Decider } from '#services/platform/command.ts';
import { Problem } from '#services/platform/problem.ts';
import type { FailureClass, UsageRecord } from '#services/models/model.ts';
import { effortOf, isLastAttempt, nextTry } from './attempts.ts';
import { forgottenFrom, untilClosed } from './deadlines.ts';
import type {
  AskedDay,
  CalledModel,
  CallOutcome,
  CostSource,
  Happened,
  OptimizationEvent,
  Repair,
  Slot,
} from './events.ts';
import { askedFrom, isAsked } from './outcomes.ts';
import { owedSlots } from './owed.ts';
import { reactions } from './reactions.ts';
import { evolve, freshCall, initialState, isOpen } from './state.ts';
import type { At, CallState, Known, OpenState, RunState } from './state.ts';
import { claimsSlot, modelOf, parseSlot, stageOf } from './slots.ts';
import type { Stage } from './slots.ts';
import {
  closeOpinions,
  closeReviews,
  conclude,
  fallBack,
  fallbackLedger,
  later,
  opinionsQuorumMet,
  progress,
  reviewDeadlines,
  reviewsQuorumMet,
} from './stages.ts';

/**
 * The decider of one run. A decision is `record(command)`, the fact, and then `progress(state)`, all
 * its consequences: a stage closes in the same append as the answer that closed it, so no job has to
 * watch for that moment and two workers cannot both close one. Expected failures are
 * events. Texts never come here: tasks read and check them and send ids, numbers and findings.
 */
type CreatedData = Extract<OptimizationEvent, { type: 'OptimizationCreated' }>['data'];

export type CallResult =
  | {
      ok: true;
      outcome: CallOutcome;
      answeredBy: string;
      repaired: readonly Repair[];
      sealed: { reply: string; shown?: string; notes?: string };
      /** The ledger's texts, for the slot `claims.*`. */
      ledger?: { ledger: string; title?: string };
    }
  | { ok: false; failure: FailureClass; retryAfterMs: number | null };

/** `now` is the caller's clock, ISO 8601 UTC. */
export type OptimizationCommand =
  | { type: 'Create'; data: CreatedData }
  | {
      type: 'Start';
      now: string;
      seatable: boolean;
      /** Milliseconds that runs which began before may have the lanes; 0 when absent. */
      waitMs?: number;
    }
  | { type: 'Cancel'; now: string }
  /** Cancels a draft that was not started after all; any other run stays as it is. */
  | { type: 'Discard'; now: string }
  | {
      type: 'BeginCall';
      slot: Slot;
      attempt: number;
      now: string;
      promptMac?: string;
      promptVersion?: number;
    }
  | {
      type: 'EndCall';
      slot: Slot;
      attempt: number;
      now: string;
      usage: UsageRecord;
      costMicros: number | null;
      /** Null while the cost is unknown. */
      costSource: CostSource | null;
      latencyMs: number;
      result: CallResult;
    }
  | { type: 'Deadline'; stage: Stage; kind: 'soft' | 'hard'; now: string }
  | { type: 'RunDeadline'; now: string }
  | { type: 'Close'; captured: number; refunded: number; creditsVersion: number }
  | { type: 'Hide'; now: string }
  | { type: 'Restore'; now: string }
  | { type: 'Rename'; title: string; same: boolean }
  | {
      type: 'RecordOutcome';
      now: string;
      asked: AskedDay;
      happened: Happened;
      did: string;
      /** What was done is in the same words as before. */
      same: boolean;
      /** The newest completed result of the run and its refinements. */
      result: { runId: string; endedAt: string };
    }
  | { type: 'Nudge'; now: string };
export function decide(command: OptimizationCommand, state: RunState): OptimizationEvent[] {
  const recorded = record(command, state);
  const after = recorded.reduce(evolve, state);
  return 'now' in command ? [...recorded, ...progress(after, command.now)] : recorded;
}

// ── record: the fact that a command brings ──────────────────────────────────────────────────────

function record(command: OptimizationCommand, state: RunState): OptimizationEvent[] {
  if (command.type === 'Create')
    return state.stage === 'none' ? [{ type: 'OptimizationCreated', data: command.data }] : [];
  if (state.stage === 'none') throw noSuchRun();
  switch (command.type) {
    case 'Start':
      return start(command, state);
    case 'Cancel':
      return cancel(state);
    case 'Discard':
      return state.stage === 'draft' ? cancelDraft(state, 'refused') : [];
    case 'BeginCall':
      return beginCall(command, state);
    case 'EndCall':
      return endCall(command, state);
    case 'Deadline':
      return deadline(command, state);
    case 'RunDeadline':
      return runDeadline(state);
    case 'Close':
      return close(command, state);
    case 'Hide':
      return hide(command, state);
    case 'Restore':
      return restore(command, state);
    case 'Rename':
      return rename(command, state);
    case 'RecordOutcome':
      return recordOutcome(command, state);
    case 'Nudge':
      return [];
  }
}

type CommandOf<Type extends OptimizationCommand['type']> = Extract<
  OptimizationCommand,
  { type: Type }
>;

function start(command: CommandOf<'Start'>, state: Known): OptimizationEvent[] {
  if (state.stage !== 'draft') return [];
  if (!command.seatable) return [conclude(state, 'not_started', null, 'not_seatable')];
  const { deadlinesMs } = state.schedule;
  const { waitMs = 0 } = command;
  return [
    {
      type: 'ProcessingStarted',
      data: {
        startedAt: command.now,
        ...(state.refines
          ? {
              reviewsSoftAt: later(command.now, waitMs + deadlinesMs.reviewsSoft),
              reviewsHardAt: later(command.now, waitMs + deadlinesMs.reviewsHard),
            }
          : {
              opinionsSoftAt: later(command.now, waitMs + deadlinesMs.opinionsSoft),
              opinionsHardAt: later(command.now, waitMs + deadlinesMs.opinionsHard),
            }),
        runDeadlineAt: later(command.now, waitMs + deadlinesMs.run),
        ...(waitMs > 0 ? { waitMs } : {}),
      },
    },
  ];
}

function cancel(state: Known): OptimizationEvent[] {
  switch (state.stage) {
    case 'draft':
      return cancelDraft(state, 'person');
    case 'opinions':
    case 'claims':
    case 'reviews':
      return [conclude(state, 'cancelled', null, 'person')];
    case 'synthesis':
      throw new Problem(
        'finishing',
        "The recommendation is being written, so the run can't be canceled anymore.",
      );
    case 'settling':
    case 'closed':
      // Cancelling a cancelled run is a repeat, not a conflict.
      if (state.outcome === 'cancelled') return [];
      throw new Problem('concluded', 'The run has already ended.', {
        members: { outcome: state.outcome },
      });
  }
}

/**
 * A draft holds no credits, so there is no settlement to wait for. A hold that the run has not seen
 * yet is released by the start that follows the hold.
 */
function cancelDraft(state: At<'draft'>, reason: 'person' | 'refused'): OptimizationEvent[] {
  return [
    conclude(state, 'cancelled', null, reason),
    { type: 'OptimizationCancelled', data: { captured: 0, refunded: 0, creditsVersion: 0 } },
  ];
}

function beginCall(command: CommandOf<'BeginCall'>, state: Known): OptimizationEvent[] {
  if (!isOpen(state) || stageOf(command.slot) !== state.stage) return [];
  // The job of the deadline, which is due, closes the stage or opens it once more.
  if (untilClosed(state, Date.parse(command.now)) <= 0) return [];
  const call = owedCall(state, command.slot);
  if (!call || command.attempt !== call.attempts + 1) return [];
  const lost = { slot: command.slot, attempt: call.attempts };
  if (call.open && isLastAttempt(state, command.slot, 'lost'))
    return [{ type: 'CallLost', data: { ...lost, final: true } }];
  const begun: OptimizationEvent = {
    type: 'CallStarted',
    data: {
      slot: command.slot,
      attempt: command.attempt,
      ...calledModel(command.slot, state),
      startedAt: command.now,
      ...(command.promptMac === undefined ? {} : { promptMac: command.promptMac }),
      ...(command.promptVersion === undefined ? {} : { promptVersion: command.promptVersion }),
    },
  };
  return call.open ? [{ type: 'CallLost', data: { ...lost, final: false } }, begun] : [begun];
}

function calledModel(slot: Slot, state: OpenState): CalledModel {
  const seated = modelOf(slot, state);
  const { model, provider, simulated, remoteId } = seated;
  const effort = effortOf(seated, state.calls[slot] ?? freshCall);
  return { model, provider, effort, simulated, ...(remoteId === undefined ? {} : { remoteId }) };
}

function endCall(command: CommandOf<'EndCall'>, state: Known): OptimizationEvent[] {
  if (!('calls' in state)) return [];
  const call = state.calls[command.slot];
  if (!call || command.attempt > call.attempts) return [];
  const end = {
    slot: command.slot,
    attempt: command.attempt,
    usage: command.usage,
    costMicros: command.costMicros,
    ...(command.costSource === null ? {} : { costSource: command.costSource }),
    latencyMs: command.latencyMs,
  };
  const late: OptimizationEvent[] = call.priced.includes(command.attempt)
    ? []
    : [{ type: 'CallCostRecorded', data: end }];
  const slotOpen = isOpen(state) && owedCall(state, command.slot) !== null;
  if (!slotOpen) return late;
  if (command.result.ok) {
    // The first valid answer for an open slot wins, from any attempt.
    const { outcome, answeredBy, sealed, repaired } = command.result;
    const repairs = repaired.length === 0 ? {} : { repaired };
    return [
      { type: 'CallSucceeded', data: { ...end, answeredBy, outcome, ...repairs, sealed } },
      ...consequences(command, state, outcome),
    ];
  }
  if (!call.open || command.attempt !== call.attempts) return late;
  const { failure, retryAfterMs } = command.result;
  const { slot, attempt, now } = command;
  const retryAt = nextTry(state, { slot, attempt, failure, retryAfterMs, now });
  return [{ type: 'CallFailed', data: { ...end, failure, final: retryAt === null, retryAt } }];
}

/** The events that follow from an accepted answer alone, before `progress`. */
function consequences(
  command: CommandOf<'EndCall'>,
  state: OpenState,
  outcome: CallOutcome,
): OptimizationEvent[] {
  if (outcome.kind === 'draft')
    return [
      { type: 'DraftChecked', data: { round: roundOf(command.slot), checks: outcome.checks } },
    ];
  if (outcome.kind !== 'claims' || state.stage !== 'claims') return [];
  const text = command.result.ok ? command.result.ledger : undefined;
  return [
    {
      type: 'ClaimsFixed',
      data: {
        claims: outcome.claims,
        options: outcome.options,
        notes: outcome.notes,
        source: command.slot === claimsSlot(1) ? 'extractor' : 'second_extractor',
        scored: true,
        ...reviewDeadlines(state.schedule, command.now),
        ...(text === undefined ? {} : { sealed: text }),
      },
    },
  ];
}

function deadline(command: CommandOf<'Deadline'>, state: Known): OptimizationEvent[] {
  if (state.stage !== command.stage) return [];
  if (command.kind === 'soft') return softDeadline(command, state);
  switch (state.stage) {
    case 'opinions':
      return opinionsQuorumMet(state)
        ? [closeOpinions(state, 'hard', command.now)]
        : [conclude(state, 'failed', null, 'quorum')];
    case 'claims':
      return [fallbackLedger(state, command.now)];
    case 'reviews':
      return reviewsQuorumMet(state)
        ? closeReviews(state, 'hard', command.now)
        : [conclude(state, 'failed', null, 'reviews')];
    case 'synthesis':
      return fallBack(state, ['deadline']);
    default:
      return [];
  }
}

function softDeadline(command: CommandOf<'Deadline'>, state: Known): OptimizationEvent[] {
  if ((state.stage !== 'opinions' && state.stage !== 'reviews') || state.softPassed) return [];
  const passed: OptimizationEvent = { type: 'SoftPassed', data: { stage: state.stage } };
  if (state.stage === 'opinions')
    return opinionsQuorumMet(state)
      ? [passed, closeOpinions(state, 'soft', command.now)]
      : [passed];
  return reviewsQuorumMet(state) ? [passed, ...closeReviews(state, 'soft', command.now)] : [passed];
}

function runDeadline(state: Known): OptimizationEvent[] {
  if (!isOpen(state)) return [];
  return state.stage === 'synthesis'
    ? fallBack(state, ['run_deadline'])
    : [conclude(state, 'failed', null, 'timeout')];
}

function close(command: CommandOf<'Close'>, state: Known): OptimizationEvent[] {
  if (state.stage !== 'settling') return [];
  const { captured, refunded, creditsVersion } = command;
  const data = { captured, refunded, creditsVersion };
  switch (state.outcome) {
    case 'completed':
      return [{ type: 'OptimizationCompleted', data }];
    case 'cancelled':
      return [{ type: 'OptimizationCancelled', data }];
    case 'failed':
    case 'not_started':
      return [{ type: 'OptimizationFailed', data }];
  }
}

function hide(command: CommandOf<'Hide'>, state: Known): OptimizationEvent[] {
  if (state.hiddenAt !== null) return [];
  const hidden: OptimizationEvent = { type: 'OptimizationHidden', data: { at: command.now } };
  if (state.stage === 'draft') return [...cancelDraft(state, 'person'), hidden];
  if (state.stage === 'closed') return [hidden];
  throw new Problem('running', 'The run has not ended; cancel it first.');
}

/**
 * A read folds the whole stream and these changes are free, so their number is limited. Hiding is
 * never refused: the limit on restoring limits it, too.
 */
const mostRenames = 50;
const mostRestores = 25;
/** Of the answer for one day. */
const mostCorrections = 20;

function rename(command: CommandOf<'Rename'>, state: Known): OptimizationEvent[] {
  if (command.same) return [];
  if (state.renames >= mostRenames)
    throw new Problem(
      'too-many-renames',
      `A run can be renamed ${mostRenames} times at most. It keeps its present title.`,
    );
  return [{ type: 'OptimizationRenamed', data: { sealed: { title: command.title } } }];
}

/** A run hidden too long ago counts as gone, because its texts may be erased. */
function restore(command: CommandOf<'Restore'>, state: Known): OptimizationEvent[] {
  if (state.hiddenAt === null) return [];
  if (command.now >= forgottenFrom(state.hiddenAt)) throw noSuchRun();
  if (state.restores >= mostRestores)
    throw new Problem(
      'too-many-restores',
      `A run can be restored ${mostRestores} times at most. It stays deleted.`,
    );
  return [{ type: 'OptimizationRestored', data: { at: command.now } }];
}

/**
 * A correction stays about the result that was answered for first, however often the run was refined
 * since. The words may be corrected as often as the choice, so both count.
 */
function recordOutcome(command: CommandOf<'RecordOutcome'>, state: Known): OptimizationEvent[] {
  if (state.hiddenAt !== null) throw noSuchRun();
  if (state.refines)
    throw new Problem('part-of-run', 'An outcome is recorded with the run that was refined.');
  if (state.stage !== 'closed' || state.outcome !== 'completed')
    throw new Problem('no-result', 'This run has no result.');
  const { asked, happened, did, same, now, result } = command;
  const known = state.outcomes[asked];
  if (known?.happened === happened && same) return [];
  if (!known && !isAsked(result.endedAt, asked, now)) throw tooSoon(result.endedAt, asked);
  if (known && known.corrections >= mostCorrections)
    throw new Problem(
      'too-many-corrections',
      `An outcome can be corrected ${mostCorrections} times at most. It stays as it is.`,
    );
  return [
    {
      type: 'OutcomeRecorded',
      data: { asked, happened, at: now, result: known?.result ?? result.runId, sealed: { did } },
    },
  ];
}

export function tooSoon(endedAt: string, asked: AskedDay): Problem {
  return new Problem('too-soon', `This is asked ${asked} days after the result.`, {
    members: { asked_from: askedFrom(endedAt, asked) },
  });
}

function noSuchRun(): Problem {
  return new Problem('not-found', 'Failed to get optimization');
}

/** The open call of a slot; null when the state owes none. */
function owedCall(state: OpenState, slot: Slot): CallState | null {
  return owedSlots(state).includes(slot) ? (state.calls[slot] ?? freshCall) : null;
}

function roundOf(slot: Slot): number {
  const parts = parseSlot(slot);
  return 'round' in parts ? parts.round : 0;
}

/** As the command bus runs it. */
export const optimization: Decider<RunState, OptimizationCommand, OptimizationEvent> = {
  name: 'optimization',
  version: 6,
  initialState,
  decide,
  evolve,
  reactions,
};
