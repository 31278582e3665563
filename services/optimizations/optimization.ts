import type { Decider } from '#services/platform/command.ts';
import { Problem } from '#services/platform/problem.ts';
import { retryableFailures } from '#services/models/model.ts';
import type { FailureClass, UsageRecord } from '#services/models/model.ts';
import type {
  Ballot,
  CallOutcome,
  ConclusionReason,
  Heading,
  Ledger,
  MissingSeat,
  OptimizationEvent,
  Plan,
  Seat,
  Slot,
} from './events.ts';
import { computeScores } from './council.ts';
import { answersQuorum, answersReachable, reviewsQuorum } from './quorum.ts';
import { isDead, isWaiting, owedSlots } from './owed.ts';
import { reactions } from './reactions.ts';
import { reviewOffsets, reviewSchedule } from './schedule.ts';
import { labelsFor, seededOrder } from './seeded.ts';
import { settlement } from './settlement.ts';
import {
  claimsSlot,
  draftSlot,
  modelOf,
  opinionSlot,
  parseSlot,
  reviewSlot,
  stageOf,
  verifySlot,
} from './slots.ts';
import type { Stage } from './slots.ts';

/**
 * The decider of one run. A decision is `record(command)`, the fact, and then `progress(state)`, all
 * that the fact makes true: a stage closes in the same append as the answer that closed it, so there
 * is no job that watches a barrier and two workers cannot both close one. Expected failures are
 * events. Texts never come here: tasks read and check them and send ids, numbers and findings.
 */

export type CallState = {
  /** Attempts begun so far. */
  attempts: number;
  /** The last attempt is under way. */
  open: boolean;
  outcome: CallOutcome | null;
  /** Why the slot will never answer; null while it may. */
  dead: FailureClass | 'lost' | null;
  retryAt: string | null;
  /** Attempts whose usage stands in the stream. */
  priced: readonly number[];
};

type Created = {
  userId: string;
  challengeType: string;
  strategy: string;
  price: number;
  priceUntil: string;
  catalogueVersion: string;
  seats: readonly Seat[];
  plan: Plan;
  seed: string;
  hidden: boolean;
};

type Called = { calls: Readonly<Record<Slot, CallState>> };
type Deadlines = { softAt: string; hardAt: string };
type Running = Created & Called & { runDeadlineAt: string };
type WithOpinions = Running & {
  accepted: readonly string[];
  missing: readonly MissingSeat[];
  order: readonly string[];
  offsets: readonly number[];
};
type WithClaims = WithOpinions & { ledger: Ledger; scored: boolean };
type WithScores = WithClaims & {
  scoresOrder: readonly string[];
  /** Which of the two synthesisers (0 or 1) writes each round, by round. */
  synthesizers: readonly number[];
  judged: number;
};
type Concluded = {
  outcome: 'completed' | 'failed' | 'cancelled' | 'not_started';
  conclusion: Extract<OptimizationEvent, { type: 'RunConcluded' }>['data'];
};

export type RunState =
  | { stage: 'none' }
  | (Created & { stage: 'draft' })
  | (Running & Deadlines & { stage: 'opinions'; softPassed: boolean })
  | (WithOpinions & { stage: 'claims'; hardAt: string })
  | (WithClaims & Deadlines & { stage: 'reviews'; softPassed: boolean })
  | (WithScores & { stage: 'synthesis'; hardAt: string })
  | (Created & Called & Concluded & { stage: 'settling' })
  | (Created & Called & Concluded & { stage: 'closed'; captured: number; refunded: number });

type OpenState = Extract<RunState, { stage: Stage }>;
type CreatedData = Extract<OptimizationEvent, { type: 'OptimizationCreated' }>['data'];

export type CallResult =
  | {
      ok: true;
      outcome: CallOutcome;
      answeredBy: string;
      sealed: { reply: string; shown?: string; notes?: string };
      /** The ledger's texts, for the slot `claims.*`. */
      ledger?: string;
    }
  | { ok: false; failure: FailureClass; retryAfterMs: number | null };

/** `now` is the caller's clock, ISO 8601 UTC. */
export type OptimizationCommand =
  | { type: 'Create'; data: CreatedData }
  | { type: 'Start'; now: string; seatable: boolean }
  | { type: 'Cancel'; now: string }
  | { type: 'BeginCall'; slot: Slot; attempt: number; now: string }
  | {
      type: 'EndCall';
      slot: Slot;
      attempt: number;
      now: string;
      usage: UsageRecord;
      costMicros: number | null;
      latencyMs: number;
      result: CallResult;
    }
  | { type: 'Deadline'; stage: Stage; kind: 'soft' | 'hard'; now: string }
  | { type: 'RunDeadline'; now: string }
  | { type: 'Close'; captured: number; refunded: number; creditsVersion: number }
  | { type: 'Hide'; now: string }
  | { type: 'Restore'; now: string }
  | { type: 'Rename'; title: string; same: boolean }
  | { type: 'Nudge'; now: string };

export const initialState = (): RunState => ({ stage: 'none' });

export function decide(command: OptimizationCommand, state: RunState): OptimizationEvent[] {
  const recorded = record(command, state);
  const after = recorded.reduce(evolve, state);
  return 'now' in command ? [...recorded, ...progress(after, command.now)] : recorded;
}

// ── record: the fact that a command brings ──────────────────────────────────────────────────────

function record(command: OptimizationCommand, state: RunState): OptimizationEvent[] {
  if (command.type === 'Create')
    return state.stage === 'none' ? [{ type: 'OptimizationCreated', data: command.data }] : [];
  if (state.stage === 'none') throw new Problem(404, 'not-found', 'Failed to get optimization');
  switch (command.type) {
    case 'Start':
      return start(command, state);
    case 'Cancel':
      return cancel(state);
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
      return isClosed(state) && state.hidden
        ? [{ type: 'OptimizationRestored', data: { at: command.now } }]
        : [];
    case 'Rename':
      return command.same
        ? []
        : [{ type: 'OptimizationRenamed', data: { sealed: { title: command.title } } }];
    case 'Nudge':
      return [];
  }
}

type CommandOf<Type extends OptimizationCommand['type']> = Extract<
  OptimizationCommand,
  { type: Type }
>;
type Known = Exclude<RunState, { stage: 'none' }>;

function start(command: CommandOf<'Start'>, state: Known): OptimizationEvent[] {
  if (state.stage !== 'draft') return [];
  if (!command.seatable) return [conclude(state, 'not_started', null, 'not_seatable')];
  const { deadlinesMs } = state.plan;
  return [
    {
      type: 'ProcessingStarted',
      data: {
        startedAt: command.now,
        opinionsSoftAt: later(command.now, deadlinesMs.opinionsSoft),
        opinionsHardAt: later(command.now, deadlinesMs.opinionsHard),
        runDeadlineAt: later(command.now, deadlinesMs.run),
      },
    },
  ];
}

function cancel(state: Known): OptimizationEvent[] {
  switch (state.stage) {
    case 'draft':
    case 'opinions':
    case 'claims':
    case 'reviews':
      return [conclude(state, 'cancelled', null, 'person')];
    case 'synthesis':
      throw new Problem(
        409,
        'finishing',
        'The recommendation is being written; the run can no longer be cancelled.',
      );
    case 'settling':
    case 'closed':
      // The first answer stands: asking again to cancel what was cancelled is no conflict.
      if (state.outcome === 'cancelled') return [];
      throw new Problem(409, 'concluded', 'The run has already ended.', {
        members: { outcome: state.outcome },
      });
  }
}

function beginCall(command: CommandOf<'BeginCall'>, state: Known): OptimizationEvent[] {
  if (!isOpen(state) || stageOf(command.slot) !== state.stage) return [];
  const call = owedCall(state, command.slot);
  if (!call || command.attempt !== call.attempts + 1) return [];
  const lost = { slot: command.slot, attempt: call.attempts };
  if (call.open && call.attempts >= state.plan.attempts)
    return [{ type: 'CallLost', data: { ...lost, final: true } }];
  const begun: OptimizationEvent = {
    type: 'CallStarted',
    data: {
      slot: command.slot,
      attempt: command.attempt,
      ...modelOf(command.slot, state),
      startedAt: command.now,
    },
  };
  return call.open ? [{ type: 'CallLost', data: { ...lost, final: false } }, begun] : [begun];
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
    latencyMs: command.latencyMs,
  };
  // Counted as unpriced before: given up by the stream, or still open when the run ended.
  const lost = !(isOpen(state) && call.open && command.attempt === call.attempts);
  const late: OptimizationEvent[] = call.priced.includes(command.attempt)
    ? []
    : [{ type: 'CallCostRecorded', data: { ...end, lost } }];
  const slotOpen = isOpen(state) && owedCall(state, command.slot) !== null;
  if (!slotOpen) return late;
  if (command.result.ok) {
    // The first valid answer for an open slot wins, whichever attempt brought it.
    const { outcome, answeredBy, sealed } = command.result;
    return [
      { type: 'CallSucceeded', data: { ...end, answeredBy, outcome, sealed } },
      ...consequences(command, state, outcome),
    ];
  }
  if (!call.open || command.attempt !== call.attempts) return late;
  const { failure, retryAfterMs } = command.result;
  const retryAt = later(command.now, Math.max(retryAfterMs ?? 0, retryDelayMs(command.attempt)));
  const beyondDeadline = retryAt >= state.hardAt && !hasMoreTime(state, command.now);
  const final =
    !retryableFailures.has(failure) || command.attempt >= state.plan.attempts || beyondDeadline;
  return [
    {
      type: 'CallFailed',
      data: { ...end, failure, final, retryAt: final ? null : retryAt },
    },
  ];
}

/**
 * A stage that is open so long after its hard deadline was given its full time once more, because no
 * worker had been awake to use it (`tasks.ts`); the time that was planned then bounds nothing.
 */
function hasMoreTime(state: OpenState, now: string): boolean {
  return now > later(state.hardAt, lateDeadlineMs);
}

/** What an accepted answer fixes by itself, before any question of progress. */
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
        ...reviewDeadlines(state.plan, command.now),
        ...(text === undefined ? {} : { sealed: { ledger: text } }),
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
  if (state.hidden) return [];
  const hidden: OptimizationEvent = { type: 'OptimizationHidden', data: { at: command.now } };
  if (state.stage === 'draft') return [conclude(state, 'cancelled', null, 'person'), hidden];
  if (state.stage === 'closed') return [hidden];
  throw new Problem(409, 'running', 'The run is still going on; cancel it first.');
}

// ── progress: everything that has become true ───────────────────────────────────────────────────

function progress(state: RunState, now: string): OptimizationEvent[] {
  const events = step(state, now);
  return events.length === 0 ? [] : [...events, ...progress(events.reduce(evolve, state), now)];
}

function step(state: RunState, now: string): OptimizationEvent[] {
  switch (state.stage) {
    case 'opinions':
      return stepOpinions(state, now);
    case 'claims':
      return isDead(state, claimsSlot(1)) && isDead(state, claimsSlot(2))
        ? [fallbackLedger(state, now)]
        : [];
    case 'reviews':
      return stepReviews(state, now);
    case 'synthesis':
      return stepSynthesis(state);
    case 'none':
    case 'draft':
    case 'settling':
    case 'closed':
      return [];
  }
}

type At<Name extends RunState['stage']> = Extract<RunState, { stage: Name }>;

function stepOpinions(state: At<'opinions'>, now: string): OptimizationEvent[] {
  const waiting = state.seats.filter((seat) => isWaiting(state, opinionSlot(seat.seat)));
  const met = opinionsQuorumMet(state);
  if (waiting.length === 0)
    return [met ? closeOpinions(state, 'all', now) : conclude(state, 'failed', null, 'quorum')];
  if (met) return state.softPassed ? [closeOpinions(state, 'quorum', now)] : [];
  const { plan, seats } = state;
  return answersReachable(seats.length, plan.minFamilies, answeredSeats(state), waiting)
    ? []
    : [conclude(state, 'failed', null, 'quorum')];
}

function closeOpinions(
  state: At<'opinions'>,
  reason: 'all' | 'soft' | 'hard' | 'quorum',
  now: string,
): OptimizationEvent {
  const accepted = answeredSeats(state).map((seat) => seat.seat);
  const order = seededOrder(state.seed, 'order', accepted);
  const offsets = reviewOffsets(accepted.length, state.plan.reviewsPerSeat);
  const schedule = reviewSchedule(order, offsets);
  const labels = Object.fromEntries(
    Object.entries(schedule).map(([reviewer, shown]) => [
      reviewer,
      labelsFor(state.seed, reviewer, shown),
    ]),
  );
  return {
    type: 'OpinionsClosed',
    data: {
      reason,
      accepted,
      missing: missingSeats(
        state,
        opinionSlot,
        state.seats.map((seat) => seat.seat),
      ),
      order,
      offsets,
      labels,
      claimsHardAt: later(now, state.plan.deadlinesMs.claims),
    },
  };
}

/**
 * Without an extractor the council goes on with what the authors themselves called important: the
 * unmerged claims of importance 3 and 2, at most 24 and as evenly over the answers as they come, one
 * option per answer. Votes on those are worth reading, but the same claim stands there several times,
 * so nothing is scored.
 */
function fallbackLedger(state: At<'claims'>, now: string): OptimizationEvent {
  const claims = state.order
    .flatMap((seat) => importantClaims(state, seat))
    .toSorted((one, other) => other.importance - one.importance || one.place - other.place)
    .slice(0, fallbackClaims)
    .map((claim, index) => ({
      id: `c${index + 1}`,
      importance: claim.importance,
      authors: [claim.seat],
      flips: claim.flips ? [claim.seat] : [],
      from: { seat: claim.seat, index: claim.index },
    }));
  return {
    type: 'ClaimsFixed',
    data: {
      claims,
      options: state.order.map((seat, index) => ({ id: `o${index + 1}`, seats: [seat] })),
      notes: [],
      source: 'fallback',
      scored: false,
      ...reviewDeadlines(state.plan, now),
    },
  };
}

/** A seat's claims of importance 3 and 2, those first, each with its place among them. */
function importantClaims(state: At<'claims'>, seat: string) {
  const outcome = state.calls[opinionSlot(seat)]?.outcome;
  if (outcome?.kind !== 'opinion') return [];
  return outcome.claims
    .map((claim, index) => ({ ...claim, seat, index }))
    .filter((claim) => claim.importance >= 2)
    .toSorted((one, other) => other.importance - one.importance)
    .map((claim, place) => ({ ...claim, place }));
}

function stepReviews(state: At<'reviews'>, now: string): OptimizationEvent[] {
  const waiting = state.accepted.filter((seat) => isWaiting(state, reviewSlot(seat)));
  const met = reviewsQuorumMet(state);
  if (waiting.length === 0)
    return met ? closeReviews(state, 'all', now) : [conclude(state, 'failed', null, 'reviews')];
  if (met) return state.softPassed ? closeReviews(state, 'quorum', now) : [];
  return reviewsQuorumReachable(state, waiting) ? [] : [conclude(state, 'failed', null, 'reviews')];
}

function closeReviews(
  state: At<'reviews'>,
  reason: 'all' | 'soft' | 'hard' | 'quorum',
  now: string,
): OptimizationEvent[] {
  const { ballots, missing, excluded, inputs, scores } = countReviews(state);
  return [
    { type: 'ReviewsClosed', data: { reason, reviewers: Object.keys(ballots), missing, excluded } },
    {
      type: 'ScoresComputed',
      data: {
        ...scores,
        inputs,
        synthesisHardAt: later(now, state.plan.deadlinesMs.synthesis),
      },
    },
  ];
}

/** The scores as the reviews of a run give them; the same each time, so that they can be verified. */
export function countReviews(state: At<'reviews'>) {
  const ballots = ballotsOf(state);
  const missing = missingSeats(state, reviewSlot, state.accepted);
  const excluded = excludedSeat(state, ballots);
  const counted = withoutSeat(ballots, excluded?.seat ?? null);
  const seats = state.seats.filter(
    (seat) => state.accepted.includes(seat.seat) && seat.seat !== excluded?.seat,
  );
  const scores = computeScores({
    seed: state.seed,
    seats,
    ballots: counted,
    ledger: { ...state.ledger, scored: state.scored },
    opinions: Object.fromEntries(
      seats.map(({ seat }) => {
        const outcome = state.calls[opinionSlot(seat)]?.outcome;
        if (outcome?.kind !== 'opinion') throw new Error(`Seat ${seat} is accepted unanswered`);
        return [seat, { confidence: outcome.confidence, characters: outcome.characters }];
      }),
    ),
    reviewOrder: { order: state.order, offsets: state.offsets },
    minFamilies: state.plan.minFamilies,
    process: [
      ...(state.missing.length > 0 ? ['seats_missing'] : []),
      ...(state.missing.some(({ seat }) => seat === state.plan.strongest)
        ? ['strongest_seat_missing']
        : []),
      ...(state.plan.pricesStale === true ? ['price_table_stale'] : []),
      ...(missing.length > 0 ? ['reviews_missing'] : []),
      ...(state.scored ? [] : ['no_claim_ledger']),
      ...(excluded ? ['seat_excluded'] : []),
    ],
  });
  return { ballots, missing, excluded, inputs: Object.keys(counted).map(reviewSlot), scores };
}

/**
 * A seat that tries to instruct its reviewers is left out: a finding by code and one flag, or flags
 * by more than half of those who saw it; at most one, and never below the quorum.
 */
function excludedSeat(
  state: At<'reviews'>,
  ballots: Readonly<Record<string, Ballot>>,
): { seat: string; why: 'injection'; flags: number } | null {
  const suspicion = state.accepted.map((seat) => {
    const readers = Object.values(ballots).filter((ballot) => seat in ballot.scores);
    const flags = readers.filter((ballot) => ballot.suspects.includes(seat)).length;
    const outcome = state.calls[opinionSlot(seat)]?.outcome;
    const found = outcome?.kind === 'opinion' && outcome.injectionFound;
    return { seat, flags, guilty: (found && flags >= 1) || flags * 2 > readers.length };
  });
  const worst = suspicion
    .filter((one) => one.guilty)
    .toSorted((one, other) => other.flags - one.flags)[0];
  if (!worst) return null;
  const left = state.seats.filter(
    (seat) => state.accepted.includes(seat.seat) && seat.seat !== worst.seat,
  );
  if (!answersQuorum(state.seats.length, state.plan.minFamilies, left)) return null;
  return { seat: worst.seat, why: 'injection', flags: worst.flags };
}

function withoutSeat(
  ballots: Readonly<Record<string, Ballot>>,
  out: string | null,
): Record<string, Ballot> {
  const kept = Object.entries(ballots).filter(([reviewer]) => reviewer !== out);
  if (out === null) return Object.fromEntries(kept);
  return Object.fromEntries(
    kept.map(([reviewer, ballot]) => [
      reviewer,
      {
        ...ballot,
        ranking: ballot.ranking
          .map((group) => group.filter((seat) => seat !== out))
          .filter((group) => group.length > 0),
        scores: Object.fromEntries(Object.entries(ballot.scores).filter(([seat]) => seat !== out)),
      },
    ]),
  );
}

function stepSynthesis(state: At<'synthesis'>): OptimizationEvent[] {
  const round = state.judged + 1;
  const draft = state.calls[draftSlot(round)];
  if (draft?.dead) return failRound(state, round, 'none', [`draft_${draft.dead}`], true);
  if (draft?.outcome?.kind !== 'draft') return [];
  const { checks } = draft.outcome;
  if (!checks.passed) return failRound(state, round, 'none', checks.failed, false);
  const verifiers = [verifySlot(round, 1), verifySlot(round, 2)];
  if (verifiers.some((slot) => isWaiting(state, slot))) return [];
  const verdicts = verifiers.flatMap((slot) => {
    const outcome = state.calls[slot]?.outcome;
    return outcome?.kind === 'verify' ? [outcome] : [];
  });
  const verified = (['none', 'one', 'two'] as const)[verdicts.length]!;
  if (verdicts.some((verdict) => verdict.contradicts))
    return failRound(state, round, verified, ['contradicts_consensus'], false);
  return [
    { type: 'SynthesisJudged', data: { round, verdict: 'accept', verified, failed: [] } },
    conclude(state, 'completed', 'recommendation', null),
  ];
}

/**
 * One repair by the same synthesiser, then the other one; a dead draft goes to the other at once, who
 * then has the repair.
 */
function failRound(
  state: At<'synthesis'>,
  round: number,
  verified: 'none' | 'one' | 'two',
  failed: readonly string[],
  dead: boolean,
): OptimizationEvent[] {
  const writer = state.synthesizers[round - 1] ?? 0;
  const lastWriterDied = dead && writer > 0;
  if (round >= synthesisRounds || lastWriterDied) return fallBack(state, failed);
  const verdict = writer === 0 && (dead || round > 1) ? 'other_synthesizer' : 'repair';
  return [{ type: 'SynthesisJudged', data: { round, verdict, verified, failed } }];
}

function fallBack(state: At<'synthesis'>, failed: readonly string[]): OptimizationEvent[] {
  return [
    {
      type: 'SynthesisJudged',
      data: { round: state.judged + 1, verdict: 'fallback', verified: 'none', failed },
    },
    conclude(state, 'completed', 'best_single_answer', 'drafts_failed'),
  ];
}

// ── what the decisions above are made of ────────────────────────────────────────────────────────

function conclude(
  state: At<'draft'> | OpenState,
  outcome: Concluded['outcome'],
  heading: Heading | null,
  reason: ConclusionReason,
): OptimizationEvent {
  const calls = 'calls' in state ? state.calls : {};
  const callsStarted = Object.values(calls).reduce((sum, call) => sum + call.attempts, 0);
  const seats = state.seats.length;
  const answered = state.seats.filter(
    (seat) => calls[opinionSlot(seat.seat)]?.outcome && isAccepted(state, seat.seat),
  ).length;
  const refused = state.seats.filter(
    (seat) => calls[opinionSlot(seat.seat)]?.dead === 'refusal',
  ).length;
  // A model that refused the person's content did its work: it is named, but not returned.
  const missing = outcome === 'completed' ? seats - answered - refused : seats - answered;
  return {
    type: 'RunConcluded',
    data: {
      outcome,
      heading,
      reason,
      bestSeat: state.stage === 'synthesis' ? (state.scoresOrder[0] ?? null) : null,
      callsStarted,
      openCalls: Object.values(calls).filter(
        (call) => call.open && !call.priced.includes(call.attempts),
      ).length,
      missing,
      seats,
      price: state.price,
      settlement: settlement({
        price: state.price,
        outcome,
        heading,
        callsStarted,
        missing,
        seats,
      }),
    },
  };
}

function isAccepted(state: At<'draft'> | OpenState, seat: string): boolean {
  return 'accepted' in state ? state.accepted.includes(seat) : true;
}

function answeredSeats(state: At<'opinions'>): Seat[] {
  return state.seats.filter((seat) => state.calls[opinionSlot(seat.seat)]?.outcome);
}

function opinionsQuorumMet(state: At<'opinions'>): boolean {
  return answersQuorum(state.seats.length, state.plan.minFamilies, answeredSeats(state));
}

function reviewsQuorumMet(state: At<'reviews'>): boolean {
  const ballots = Object.values(ballotsOf(state));
  const everyAnswerRead = state.accepted.every((seat) =>
    ballots.some((ballot) => seat in ballot.scores),
  );
  return everyAnswerRead && reviewsQuorum(state.accepted.length, ballots.length);
}

/** Whether the outstanding reviewers could still complete the quorum, each with all it was shown. */
function reviewsQuorumReachable(state: At<'reviews'>, waiting: readonly string[]): boolean {
  const ballots = Object.values(ballotsOf(state));
  const schedule = reviewSchedule(state.order, state.offsets);
  const toRead = new Set(waiting.flatMap((reviewer) => schedule[reviewer] ?? []));
  const everyAnswerReadable = state.accepted.every(
    (seat) => toRead.has(seat) || ballots.some((ballot) => seat in ballot.scores),
  );
  return (
    everyAnswerReadable && reviewsQuorum(state.accepted.length, ballots.length + waiting.length)
  );
}

function ballotsOf(state: At<'reviews'>): Record<string, Ballot> {
  return Object.fromEntries(
    state.accepted.flatMap((seat) => {
      const outcome = state.calls[reviewSlot(seat)]?.outcome;
      return outcome?.kind === 'review' ? [[seat, outcome.ballot] as const] : [];
    }),
  );
}

function missingSeats(
  state: OpenState,
  slotOf: (seat: string) => Slot,
  seats: readonly string[],
): MissingSeat[] {
  return seats.flatMap((seat) => {
    const call = state.calls[slotOf(seat)];
    return call?.outcome ? [] : [{ seat, why: call?.dead ?? 'late' }];
  });
}

function reviewDeadlines(
  plan: Plan,
  now: string,
): { reviewsSoftAt: string; reviewsHardAt: string } {
  return {
    reviewsSoftAt: later(now, plan.deadlinesMs.reviewsSoft),
    reviewsHardAt: later(now, plan.deadlinesMs.reviewsHard),
  };
}

function isOpen(state: RunState): state is OpenState {
  return 'runDeadlineAt' in state;
}

function isClosed(state: RunState): state is At<'closed'> {
  return state.stage === 'closed';
}

const fresh: CallState = {
  attempts: 0,
  open: false,
  outcome: null,
  dead: null,
  retryAt: null,
  priced: [],
};

/** The call of a slot that the state waits for; null when the state owes no such call. */
function owedCall(state: OpenState, slot: Slot): CallState | null {
  return owedSlots(state).includes(slot) ? (state.calls[slot] ?? fresh) : null;
}

function roundOf(slot: Slot): number {
  const parts = parseSlot(slot);
  return 'round' in parts ? parts.round : 0;
}

function later(iso: string, milliseconds: number): string {
  return new Date(Date.parse(iso) + milliseconds).toISOString();
}

/** Before attempt 2: 1 s, before attempt 3: 2 s; a Retry-After that is longer counts instead. */
function retryDelayMs(attempt: number): number {
  return 1000 * 2 ** (attempt - 1);
}

/** A deadline that is noticed later than this gives its stage the full time again. */
const lateDeadlineMs = 30_000;
const synthesisRounds = 3;
const fallbackClaims = 24;

// ── evolve ──────────────────────────────────────────────────────────────────────────────────────

export function evolve(state: RunState, event: OptimizationEvent): RunState {
  if (event.type === 'OptimizationCreated') {
    const { userId, challengeType, strategy, price, priceUntil, catalogueVersion } = event.data;
    const { seats, plan, seed } = event.data;
    return {
      stage: 'draft',
      userId,
      challengeType,
      strategy,
      price,
      priceUntil,
      catalogueVersion,
      seats,
      plan,
      seed,
      hidden: false,
    };
  }
  if (state.stage === 'none') return state;
  switch (event.type) {
    case 'ProcessingStarted':
      return {
        ...createdPart(state),
        stage: 'opinions',
        calls: {},
        softAt: event.data.opinionsSoftAt,
        hardAt: event.data.opinionsHardAt,
        runDeadlineAt: event.data.runDeadlineAt,
        softPassed: false,
      };
    case 'CallStarted':
      return withCall(state, event.data.slot, {
        attempts: event.data.attempt,
        open: true,
        retryAt: null,
      });
    case 'CallLost':
      return withCall(state, event.data.slot, {
        open: false,
        ...(event.data.final ? { dead: 'lost' as const } : {}),
      });
    case 'CallSucceeded':
      return priced(
        withCall(state, event.data.slot, {
          outcome: event.data.outcome,
          open: false,
          retryAt: null,
        }),
        event.data,
      );
    case 'CallFailed':
      return priced(
        withCall(state, event.data.slot, {
          open: false,
          retryAt: event.data.retryAt,
          ...(event.data.final ? { dead: event.data.failure } : {}),
        }),
        event.data,
      );
    case 'CallCostRecorded':
      return priced(state, event.data);
    case 'SoftPassed':
      return state.stage === event.data.stage ? { ...state, softPassed: true } : state;
    case 'OpinionsClosed': {
      if (state.stage !== 'opinions') return state;
      const { accepted, missing, order, offsets, claimsHardAt } = event.data;
      return {
        ...runningPart(state),
        stage: 'claims',
        accepted,
        missing,
        order,
        offsets,
        hardAt: claimsHardAt,
      };
    }
    case 'ClaimsFixed': {
      if (state.stage !== 'claims') return state;
      const { claims, options, notes, scored, reviewsSoftAt, reviewsHardAt } = event.data;
      return {
        ...state,
        stage: 'reviews',
        ledger: { claims, options, notes },
        scored,
        softAt: reviewsSoftAt,
        hardAt: reviewsHardAt,
        softPassed: false,
      };
    }
    case 'ScoresComputed': {
      if (state.stage !== 'reviews') return state;
      const { softAt: _softAt, softPassed: _softPassed, ...rest } = state;
      return {
        ...rest,
        stage: 'synthesis',
        scoresOrder: event.data.order,
        synthesizers: [0],
        judged: 0,
        hardAt: event.data.synthesisHardAt,
      };
    }
    case 'SynthesisJudged': {
      if (state.stage !== 'synthesis') return state;
      const writer = state.synthesizers[event.data.round - 1] ?? 0;
      const next = event.data.verdict === 'other_synthesizer' ? 1 : writer;
      return { ...state, judged: event.data.round, synthesizers: [...state.synthesizers, next] };
    }
    case 'RunConcluded':
      return {
        ...createdPart(state),
        stage: 'settling',
        calls: 'calls' in state ? state.calls : {},
        outcome: event.data.outcome,
        conclusion: event.data,
      };
    case 'OptimizationCompleted':
    case 'OptimizationFailed':
    case 'OptimizationCancelled':
      return state.stage === 'settling'
        ? {
            ...state,
            stage: 'closed',
            captured: event.data.captured,
            refunded: event.data.refunded,
          }
        : state;
    case 'OptimizationHidden':
      return { ...state, hidden: true };
    case 'OptimizationRestored':
      return { ...state, hidden: false };
    case 'ReviewsClosed':
    case 'DraftChecked':
    case 'OptimizationRenamed':
      return state;
  }
}

function createdPart(state: Known): Created {
  const { userId, challengeType, strategy, price, priceUntil, catalogueVersion } = state;
  const { seats, plan, seed, hidden } = state;
  return {
    userId,
    challengeType,
    strategy,
    price,
    priceUntil,
    catalogueVersion,
    seats,
    plan,
    seed,
    hidden,
  };
}

function runningPart(state: OpenState): Running {
  return { ...createdPart(state), calls: state.calls, runDeadlineAt: state.runDeadlineAt };
}

function withCall(state: Known, slot: Slot, change: Partial<CallState>): Known {
  if (!('calls' in state)) return state;
  const call = state.calls[slot] ?? fresh;
  return { ...state, calls: { ...state.calls, [slot]: { ...call, ...change } } };
}

function priced(state: Known, end: { slot: Slot; attempt: number }): Known {
  if (!('calls' in state)) return state;
  const call = state.calls[end.slot] ?? fresh;
  return withCall(state, end.slot, { priced: [...call.priced, end.attempt] });
}

/** As the command bus runs it. */
export const optimization: Decider<RunState, OptimizationCommand, OptimizationEvent> = {
  name: 'optimization',
  version: 1,
  initialState,
  decide,
  evolve,
  reactions,
};
