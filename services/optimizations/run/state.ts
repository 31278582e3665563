import type { FailureClass } from '#services/models/model.ts';
import type {
  AskedDay,
  CallOutcome,
  Happened,
  Ledger,
  MissingSeat,
  OptimizationEvent,
  Refines,
  Seat,
  Slot,
  Verdict,
} from './events.ts';
import type { Stage } from './slots.ts';

/** How an attempt ended that may be followed by another (`attempts.ts`). */
export type EndedBy = 'transient' | 'timeout' | 'unusable' | 'lost';

/**
 * The state of a run: one type for each situation, each with only its own fields. Decisions use it
 * and snapshots hold it; it contains no text.
 */
export type CallState = {
  /** Attempts begun so far. */
  attempts: number;
  /** Attempts that have ended without an answer, by how. */
  ends: Readonly<Record<EndedBy, number>>;
  /** Attempts whose answer was cut off: each lowers the effort of the next one. */
  truncated: number;
  /** An attempt returned unusable text with known usage. */
  answeredUnusable: boolean;
  /** The last attempt is under way. */
  open: boolean;
  outcome: CallOutcome | null;
  /** Why the slot will never answer; null while it may. */
  dead: FailureClass | 'lost' | null;
  retryAt: string | null;
  /** Attempts with recorded usage. */
  priced: readonly number[];
};

/** What the first event fixes for good. */
type Fixed = Omit<
  Extract<OptimizationEvent, { type: 'OptimizationCreated' }>['data'],
  'retryOf' | 'seating' | 'preparedCase' | 'createdAt' | 'sealed'
>;

type Created = Fixed & {
  /** Since when the run is out of sight, ISO 8601 UTC; null while it is in the lists. */
  hiddenAt: string | null;
  /** How often the title was changed and the run restored, which are bounded (`optimization.ts`). */
  renames: number;
  restores: number;
  /** What its owner said came of it, by the day that was asked about. */
  outcomes: Readonly<Partial<Record<AskedDay, RecordedOutcome>>>;
};

type RecordedOutcome = {
  happened: Happened;
  /** The run whose result it is about. */
  result: string;
  corrections: number;
};

type Called = { calls: Readonly<Record<Slot, CallState>> };
type Deadlines = { softAt: string; hardAt: string };
type Running = Created &
  Called & {
    startedAt: string;
    /** How long runs that began before may have the lanes. */
    waitMs: number;
    runDeadlineAt: string;
  };
type WithOpinions = Running & {
  accepted: readonly string[];
  missing: readonly MissingSeat[];
  order: readonly string[];
  offsets: readonly number[];
};
type WithClaims = WithOpinions & { ledger: Ledger; scored: boolean };
type WithScores = WithClaims & {
  scoresOrder: readonly string[];
  /** Null in a run of v0.1, whose draft chose the decision. */
  verdict: Verdict | null;
  /** Verifiers compare the draft with the consensus, so without one there is nothing to verify. */
  hasConsensus: boolean;
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
export type OpenState = Extract<RunState, { stage: Stage }>;
/** The state of one situation. */
export type At<Name extends RunState['stage']> = Extract<RunState, { stage: Name }>;
export type Known = Exclude<RunState, { stage: 'none' }>;

export const initialState = (): RunState => ({ stage: 'none' });
export function isOpen(state: RunState): state is OpenState {
  return 'runDeadlineAt' in state;
}

/** A call that has not begun. */
export const freshCall: CallState = {
  attempts: 0,
  ends: { transient: 0, timeout: 0, unusable: 0, lost: 0 },
  truncated: 0,
  answeredUnusable: false,
  open: false,
  outcome: null,
  dead: null,
  retryAt: null,
  priced: [],
};
/** Null for a failure that no further attempt can avoid. */
export function endedBy(failure: FailureClass): EndedBy | null {
  switch (failure) {
    case 'rate_limited':
    case 'conflict':
    case 'unavailable':
    case 'connection':
      return 'transient';
    case 'timeout':
      return 'timeout';
    case 'truncated':
    case 'malformed':
    case 'silent':
      return 'unusable';
    case 'auth':
    case 'billing':
    case 'unknown_model':
    case 'bad_request':
    case 'refusal':
    case 'aborted':
      return null;
  }
}

function isUnusableText(failure: FailureClass): boolean {
  return failure === 'truncated' || failure === 'malformed';
}

export function evolve(state: RunState, event: OptimizationEvent): RunState {
  if (event.type === 'OptimizationCreated')
    return {
      stage: 'draft',
      ...fixedPart(event.data),
      hiddenAt: null,
      renames: 0,
      restores: 0,
      outcomes: {},
    };
  if (state.stage === 'none') return state;
  switch (event.type) {
    case 'ProcessingStarted': {
      const { startedAt, waitMs = 0, runDeadlineAt } = event.data;
      const begun = { ...createdPart(state), calls: {}, startedAt, waitMs, runDeadlineAt };
      if ('opinionsSoftAt' in event.data) {
        const { opinionsSoftAt: softAt, opinionsHardAt: hardAt } = event.data;
        return { ...begun, stage: 'opinions', softAt, hardAt, softPassed: false };
      }
      const { reviewsSoftAt: softAt, reviewsHardAt: hardAt } = event.data;
      return state.refines
        ? {
            ...begun,
            ...tableOf(state.refines, state.seats),
            stage: 'reviews',
            softAt,
            hardAt,
            softPassed: false,
          }
        : state;
    }
    case 'CallStarted':
      return withCall(state, event.data.slot, {
        attempts: event.data.attempt,
        open: true,
        retryAt: null,
      });
    case 'CallLost':
      return withCall(state, event.data.slot, {
        ...endedAttempt(state, event.data.slot, 'lost'),
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
    case 'CallFailed': {
      const by = endedBy(event.data.failure);
      const call = ('calls' in state ? state.calls[event.data.slot] : undefined) ?? freshCall;
      return priced(
        withCall(state, event.data.slot, {
          ...endedAttempt(state, event.data.slot, by),
          ...(isUnusableText(event.data.failure) && event.data.usage.source !== 'unknown'
            ? { answeredUnusable: true }
            : {}),
          ...(event.data.failure === 'truncated' ? { truncated: call.truncated + 1 } : {}),
          retryAt: event.data.retryAt,
          ...(event.data.final ? { dead: event.data.failure } : {}),
        }),
        event.data,
      );
    }
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
        verdict: event.data.verdict ?? null,
        hasConsensus: event.data.consensus.length > 0,
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
      return { ...state, hiddenAt: event.data.at };
    case 'OptimizationRestored':
      return { ...state, hiddenAt: null, restores: state.restores + 1 };
    case 'OptimizationRenamed':
      return { ...state, renames: state.renames + 1 };
    case 'OutcomeRecorded': {
      const { asked, happened, result } = event.data;
      const known = state.outcomes[asked];
      const corrections = known ? known.corrections + 1 : 0;
      return {
        ...state,
        outcomes: { ...state.outcomes, [asked]: { happened, result, corrections } },
      };
    }
    case 'ReviewsClosed':
    case 'DraftChecked':
      return state;
  }
}

/** What a refinement begins with in place of opinions and claims. */
function tableOf({ before, notOffered }: Refines, seats: readonly Seat[]) {
  const { order, offsets, ledger, scored } = before;
  return {
    accepted: seats.map(({ seat }) => seat).filter((seat) => !notOffered.includes(seat)),
    missing: notOffered.map((seat) => ({ seat, why: 'not_offered' as const })),
    order,
    offsets,
    ledger,
    scored,
  };
}

function fixedPart(of: Fixed): Fixed {
  const { userId, challengeType, strategy, price, priceUntil, catalogueVersion } = of;
  const { seats, schedule, seed, refines } = of;
  return {
    userId,
    challengeType,
    strategy,
    price,
    priceUntil,
    catalogueVersion,
    seats,
    schedule,
    seed,
    ...(refines ? { refines } : {}),
  };
}

function createdPart(state: Known): Created {
  const { hiddenAt, renames, restores, outcomes } = state;
  return { ...fixedPart(state), hiddenAt, renames, restores, outcomes };
}

function runningPart(state: OpenState): Running {
  const { calls, startedAt, waitMs, runDeadlineAt } = state;
  return { ...createdPart(state), calls, startedAt, waitMs, runDeadlineAt };
}

function withCall(state: Known, slot: Slot, change: Partial<CallState>): Known {
  if (!('calls' in state)) return state;
  const call = state.calls[slot] ?? freshCall;
  return { ...state, calls: { ...state.calls, [slot]: { ...call, ...change } } };
}

function endedAttempt(state: Known, slot: Slot, by: EndedBy | null): Partial<CallState> {
  const { ends } = ('calls' in state ? state.calls[slot] : undefined) ?? freshCall;
  return { open: false, ends: by === null ? ends : { ...ends, [by]: ends[by] + 1 } };
}

function priced(state: Known, end: { slot: Slot; attempt: number }): Known {
  if (!('calls' in state)) return state;
  const call = state.calls[end.slot] ?? freshCall;
  return withCall(state, end.slot, { priced: [...call.priced, end.attempt] });
}
