import type { FailureClass, UsageRecord } from '#services/models/model.ts';
import { unknownUsage } from '#services/models/model.ts';
import type { JobSpec } from '#services/platform/command.ts';
import type {
  Ballot,
  CallOutcome,
  CouncilModel,
  DraftChecks,
  OptimizationEvent,
  Refines,
  Repair,
  Schedule,
  Seat,
  Slot,
  Stance,
} from '#services/optimizations/run/events.ts';
import { decide } from '#services/optimizations/run/optimization.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import type { CallResult, OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { nextAttempt, owedSlots } from '#services/optimizations/run/owed.ts';
import { reactions } from '#services/optimizations/run/reactions.ts';
import { reviewAssignments } from '#services/optimizations/council/assignments.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { rubric, seed } from '#tests/optimizations/council/ballots.ts';
import { streamOf } from '#services/optimizations/run/events.ts';

/** Runs written as commands, for given/when/then tests of the decider. */

export const runId = 'opt_00000000000000000000000001';
const userId = 'usr_00000000000000000000000001';
export const price = 14;

/** The default time of a command. */
export const noon = '2026-11-20T12:00:00.000Z';

export function after(milliseconds: number, from: string = noon): string {
  return new Date(Date.parse(from) + milliseconds).toISOString();
}

/** The panel of the balanced strategy: seven seats of four families. */
export const sevenSeats: readonly Seat[] = [
  seat('S1', 'strategic', 'openai'),
  seat('S2', 'strategic', 'anthropic'),
  seat('S3', 'strategic', 'google'),
  seat('R1', 'risk', 'mistral'),
  seat('R2', 'risk', 'anthropic'),
  seat('I1', 'implementation', 'google'),
  seat('I2', 'implementation', 'openai'),
];

function seat(code: string, role: Seat['role'], family: string): Seat {
  return { seat: code, role, family, ...model(`${family}-${code.toLowerCase()}`, family) };
}

function model(name: string, provider: string): CouncilModel {
  return { model: name, provider, effort: null, simulated: true };
}

export const schedule: Schedule = {
  reviewsPerSeat: 6,
  extractors: [model('extractor-one', 'openai'), model('extractor-two', 'google')],
  synthesizers: [model('writer-one', 'anthropic'), model('writer-two', 'openai')],
  verifiers: [
    [model('reader-one', 'openai'), model('reader-two', 'google')],
    [model('reader-two', 'google'), model('writer-one', 'anthropic')],
  ],
  minFamilies: 3,
  typicalSeconds: 30,
  strongest: 'S1',
  deadlinesMs: {
    opinionsSoft: 60_000,
    opinionsHard: 180_000,
    claims: 60_000,
    reviewsSoft: 60_000,
    reviewsHard: 180_000,
    synthesis: 120_000,
    run: 720_000,
  },
};

export type CreatedData = Extract<OptimizationCommand, { type: 'Create' }>['data'];

export function create(parts: Partial<CreatedData> = {}): OptimizationCommand {
  return {
    type: 'Create',
    data: {
      userId,
      challengeType: 'marketing',
      strategy: 'balanced',
      strategyVersion: 2,
      providerClass: 'vendor',
      price,
      priceUntil: after(86_400_000),
      catalogueVersion: 'test',
      seats: sevenSeats,
      schedule,
      seed,
      createdAt: noon,
      sealed: {
        title: 'sealed title',
        challenge: 'sealed challenge',
        context: 'sealed context',
        objectives: 'sealed objectives',
        constraints: 'sealed constraints',
      },
      ...parts,
    },
  };
}

// ── commands ────────────────────────────────────────────────────────────────────────────────────

export const start = (now: string = noon): OptimizationCommand => ({
  type: 'Start',
  now,
  seatable: true,
});
export const cancel: OptimizationCommand = { type: 'Cancel', now: noon };
export const nudge: OptimizationCommand = { type: 'Nudge', now: noon };
export const runDeadline: OptimizationCommand = { type: 'RunDeadline', now: noon };

export function deadline(
  stage: 'opinions' | 'claims' | 'reviews' | 'synthesis',
  kind: 'soft' | 'hard',
  now: string = noon,
): OptimizationCommand {
  return { type: 'Deadline', stage, kind, now };
}

export function begin(slot: Slot, attempt = 1, now: string = noon): OptimizationCommand {
  return { type: 'BeginCall', slot, attempt, now };
}

export const usage: UsageRecord = {
  inputUncached: 1200,
  inputCached: 0,
  cacheWrite: 0,
  outputVisible: 900,
  outputThinking: 0,
  source: 'provider',
};

type EndParts = { attempt?: number; now?: string; costMicros?: number | null };

function ended(slot: Slot, result: CallResult, parts: EndParts): OptimizationCommand {
  const { attempt = 1, now = noon, costMicros = 1500 } = parts;
  return {
    type: 'EndCall',
    slot,
    attempt,
    now,
    usage: costMicros === null ? unknownUsage : usage,
    costMicros,
    costSource: costMicros === null ? null : 'priced',
    latencyMs: 4200,
    result,
  };
}

export function answers(
  slot: Slot,
  outcome: CallOutcome,
  { repaired = [], ...parts }: EndParts & { repaired?: readonly Repair[] } = {},
): OptimizationCommand {
  const result: CallResult = {
    ok: true,
    outcome,
    answeredBy: 'model-as-answered',
    repaired,
    sealed: {
      reply: 'sealed reply',
      ...(outcome.kind === 'opinion' ? { shown: 'sealed shown' } : {}),
      ...(outcome.kind === 'review' ? { notes: 'sealed notes' } : {}),
    },
    ...(outcome.kind === 'claims' ? { ledger: { ledger: 'sealed ledger' } } : {}),
  };
  return ended(slot, result, parts);
}

export function fails(
  slot: Slot,
  failure: FailureClass,
  parts: EndParts & { retryAfterMs?: number } = {},
): OptimizationCommand {
  const { retryAfterMs = null, ...rest } = parts;
  return ended(slot, { ok: false, failure, retryAfterMs }, { costMicros: null, ...rest });
}

// ── answers ─────────────────────────────────────────────────────────────────────────────────────

export function opinion(
  parts: Partial<Extract<CallOutcome, { kind: 'opinion' }>> = {},
): CallOutcome {
  return {
    kind: 'opinion',
    confidence: 70,
    claims: [
      { importance: 3, flips: true },
      { importance: 2, flips: false },
      { importance: 1, flips: false },
    ],
    characters: 1800,
    injectionFound: false,
    ...parts,
  };
}

export const passedChecks: DraftChecks = {
  consensusCoverage: 1,
  disagreementCoverage: 1,
  uncitedShare: 0,
  unknownNumbers: 0,
  passed: true,
  failed: [],
};
export const failedChecks: DraftChecks = {
  ...passedChecks,
  consensusCoverage: 0.5,
  passed: false,
  failed: ['consensus_coverage'],
};

export function draft(checks: DraftChecks = passedChecks): CallOutcome {
  return { kind: 'draft', optionId: 'o1', checks };
}

export function verdict(contradicts = false): CallOutcome {
  return { kind: 'verify', contradicts, claimIds: contradicts ? ['c1'] : [] };
}

/** Two claims and two options; all seats hold the first, the first half of the seats the second. */
export function ledgerOf(seats: readonly string[]): CallOutcome {
  const half = Math.ceil(seats.length / 2);
  return {
    kind: 'claims',
    rejectedQuotes: 0,
    claims: [
      { id: 'c1', importance: 3, authors: seats, flips: seats.slice(0, 2) },
      { id: 'c2', importance: 2, authors: seats.slice(0, half), flips: [] },
    ],
    options: [
      { id: 'o1', seats: seats.slice(0, half) },
      { id: 'o2', seats: seats.slice(half) },
    ],
    notes: [{ id: 'n1', kind: 'assumption', seats: seats.slice(0, 2) }],
  };
}

type Reviewing = Extract<RunState, { order: unknown }>;

/** A review of everything that the seat was shown, in the order shown, in agreement with all claims. */
export function reviewBy(
  state: Reviewing,
  reviewer: string,
  parts: {
    stance?: Stance;
    optionId?: string;
    suspects?: readonly string[];
    reversed?: boolean;
  } = {},
): CallOutcome {
  const shown = reviewAssignments(state.order, state.offsets)[reviewer] ?? [];
  // All seats rank by one common order, so that the council agrees by default.
  const ranked = shown.toSorted((one, other) => (one < other ? -1 : 1));
  const best = parts.reversed === true ? ranked.toReversed() : ranked;
  const claims = 'ledger' in state ? state.ledger.claims : [];
  const options = 'ledger' in state ? state.ledger.options : [];
  const ballot: Ballot = {
    ranking: best.map((one) => [one]),
    scores: Object.fromEntries(best.map((one, place) => [one, rubric(Math.max(1, 9 - place))])),
    votes: Object.fromEntries(
      claims.map(({ id }) => [id, { stance: parts.stance ?? 'agree', confidence: 70 }]),
    ),
    decision: { optionId: parts.optionId ?? options[0]?.id ?? 'o1', seat: best[0] ?? null },
    suspects: (parts.suspects ?? []).filter((one) => shown.includes(one)),
    scoresContradict: false,
    fatalFlaws: {},
  };
  return { kind: 'review', ballot };
}

/** A second vote that repeats the first one; a seat without one agrees with everything. */
function sameVote({ claims, before }: Refines, voter: string): CallOutcome {
  const first = before.ballots[voter];
  return {
    kind: 'second_vote',
    votes: Object.fromEntries(
      claims.map((id) => [id, first?.votes[id] ?? { stance: 'agree' as const, confidence: 70 }]),
    ),
    optionId: first?.decision.optionId ?? 'o1',
  };
}

/** What a well-behaved model answers for a slot of this state. */
export function usualAnswer(state: RunState, slot: Slot): CallOutcome {
  const parts = parseSlot(slot);
  switch (parts.kind) {
    case 'opinion':
      return opinion();
    case 'claims':
      return ledgerOf('accepted' in state ? state.accepted : []);
    case 'review':
      if (!('order' in state)) throw new Error(`No reviews in the stage ${state.stage}`);
      if (state.refines) return sameVote(state.refines, parts.seat);
      return reviewBy(state, parts.seat);
    case 'draft':
      return draft();
    case 'verify':
      return verdict();
  }
}

// ── the script ──────────────────────────────────────────────────────────────────────────────────

export type Script = {
  readonly state: RunState;
  readonly events: readonly OptimizationEvent[];
  /** The events of a command in this state. */
  when(command: OptimizationCommand): OptimizationEvent[];
  /** The script with these commands done, in order. */
  given(...commands: OptimizationCommand[]): Script;
  /** Begins and answers these slots, as usual unless an outcome is given. */
  answered(slots: readonly Slot[], outcome?: (slot: Slot, state: RunState) => CallOutcome): Script;
  /** Slots that fail in the same way until they are given up; not for transient failures. */
  died(slots: readonly Slot[], failure?: FailureClass): Script;
};

export function script(
  state: RunState = initialState(),
  events: readonly OptimizationEvent[] = [],
): Script {
  return {
    state,
    events,
    when: (command) => decide(command, state),
    given: (...commands) => {
      const all = commands.reduce(
        (done, command) => {
          const decided = decide(command, done.state);
          return {
            state: decided.reduce<RunState>(evolve, done.state),
            events: [...done.events, ...decided],
          };
        },
        { state, events: [...events] },
      );
      return script(all.state, all.events);
    },
    answered(slots, outcome) {
      return slots.reduce<Script>((done, slot) => {
        const attempt = nextAttempt(done.state, slot);
        const found = (outcome ?? ((one, at) => usualAnswer(at, one)))(slot, done.state);
        return done.given(begin(slot, attempt), answers(slot, found, { attempt }));
      }, this);
    },
    died(slots, failure = 'refusal') {
      return slots.reduce<Script>((done, slot) => {
        const attempt = nextAttempt(done.state, slot);
        const failed = done.given(begin(slot, attempt), fails(slot, failure, { attempt }));
        return owedSlots(failed.state).includes(slot) ? failed.died([slot], failure) : failed;
      }, this);
    },
  };
}

export const created = (parts: Partial<CreatedData> = {}): Script => script().given(create(parts));
export const started = (parts: Partial<CreatedData> = {}): Script => created(parts).given(start());

export const opinionsOf = (seats: readonly string[]): Slot[] =>
  seats.map((code) => `opinion.${code}`);
export const reviewsOf = (seats: readonly string[]): Slot[] =>
  seats.map((code) => `review.${code}`);
export const allSeats: readonly string[] = sevenSeats.map(({ seat: code }) => code);

/** Every opinion is in. */
export const inClaims = (parts: Partial<CreatedData> = {}): Script => {
  const begun = started(parts);
  return begun.answered(owedSlots(begun.state));
};
/** And the ledger is written. */
export const inReviews = (parts: Partial<CreatedData> = {}): Script =>
  inClaims(parts).answered(['claims.1']);
/** And every review is in. */
export const inSynthesis = (parts: Partial<CreatedData> = {}): Script => {
  const begun = inReviews(parts);
  return begun.answered(owedSlots(begun.state));
};
/** And the first draft has passed and was verified. */
export const concluded = (): Script =>
  inSynthesis().answered(['draft.1', 'verify.1.1', 'verify.1.2']);
export const closed = (): Script =>
  concluded().given({ type: 'Close', captured: 14, refunded: 0, creditsVersion: 3 });

/** A completed run in which these seats never answered. */
export const closedWithout = (
  seats: readonly string[],
  failure: FailureClass,
  refunded: number,
): Script => {
  const opened = started().died(opinionsOf(seats), failure);
  const inDraft = [opinionsOf(allSeats), ['claims.1'], reviewsOf(allSeats)].reduce<Script>(
    (done, slots) => done.answered(slots.filter((slot) => owedSlots(done.state).includes(slot))),
    opened,
  );
  return inDraft
    .answered(['draft.1', 'verify.1.1', 'verify.1.2'])
    .given({ type: 'Close', captured: price, refunded, creditsVersion: 3 });
};

export function typesOf(events: readonly OptimizationEvent[]): string[] {
  return events.map(({ type }) => type);
}

type EventOf<Type extends OptimizationEvent['type']> = Extract<OptimizationEvent, { type: Type }>;

/** The one event of a type; fails the test when there is none or are several. */
export function only<Type extends OptimizationEvent['type']>(
  events: readonly OptimizationEvent[],
  type: Type,
): EventOf<Type> {
  const found = events.filter((event): event is EventOf<Type> => event.type === type);
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} events of type ${type}`);
  return found[0];
}

/** The jobs that a command's events enqueue, each with the state after its own event. */
export function jobsOf(done: Script, command: OptimizationCommand): JobSpec[] {
  let state = done.state;
  return done.when(command).flatMap((event) => {
    state = evolve(state, event);
    return reactions(event, streamOf(runId), state);
  });
}

export function keysOf(jobs: readonly JobSpec[]): string[] {
  return jobs.map(({ key }) => key.slice(runId.length + 1));
}
