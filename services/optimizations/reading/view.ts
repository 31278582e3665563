import type { NewerAnswer } from '#services/optimizations/contract/refinement.ts';
import type { StandIn } from '#services/sandbox/models/cases.ts';
import type { FailureClass, UsageRecord } from '#services/models/model.ts';
import type { StrategyId } from '#services/models/strategy-list.ts';
import type {
  AskedDay,
  Ballot,
  CallOutcome,
  ChallengeType,
  ClaimFixed,
  DraftChecks,
  Happened,
  LedgerTexts,
  MissingSeat,
  OptimizationEvent,
  Refines,
  Repair,
  ReviewNotes,
  Schedule,
  Scores,
  Seat,
  SeatingFacts,
  Slot,
} from '#services/optimizations/run/events.ts';
import type { OptimizationSummary, Refinable } from '#services/optimizations/contract/summary.ts';
import type { WrittenDraft } from '#services/optimizations/prompts/draft.ts';
import type { Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { mergedBallot } from '#services/optimizations/run/second-ballot.ts';
import { answerSlot, reviewSlot } from '#services/optimizations/run/slots.ts';

/**
 * What people see of a run, written once for the server and the browser: an event becomes a patch of
 * keyed absolute values, patches merge into the view, and `describe.ts` puts it into words. A run's detail is
 * the fold of its stream through these functions, the stream sends the same patches as facts, so a
 * page that joined late, resumed or reloaded ends with the same state.
 *
 * Erased text is null.
 */

export type AttemptView = {
  status: 'open' | 'succeeded' | 'failed' | 'lost';
  model: string;
  simulated: boolean;
  startedAt: string | null;
  latencyMs: number | null;
  costMicros: number | null;
  usage: UsageRecord | null;
  failure: FailureClass | null;
  /** Of an answer whose form was repaired. */
  repaired: readonly Repair[];
  final: boolean;
  retryAt: string | null;
};

export type CallView = {
  attempts: Readonly<Record<string, AttemptView>>;
  outcome: CallOutcome | null;
  opinion: Opinion | null;
  notes: ReviewNotes | null;
  draft: WrittenDraft | null;
  /** Share of the expected text that has streamed in, 0–1; live only. */
  streamed: number;
};

export type ClaimView = {
  importance: ClaimFixed['importance'];
  authors: readonly string[];
  flips: readonly string[];
  text: string | null;
  quotes: readonly { seat: string; quote: string }[];
  /** In a fallback ledger: the claim's place in its author's answer. */
  index: number | null;
};

export type RoundView = {
  /** Absent when no draft of this round was checked. */
  checks?: DraftChecks;
  verdict: 'accept' | 'repair' | 'other_synthesizer' | 'fallback' | null;
  failed: readonly string[];
};

/** What was read out of a file, as the person left it. */
export type RunFile = { name: string; text: string };

/** `name` is the model's name as people read it. */
export type SeatView = Seat & { name: string };

export type RunView = {
  id: string;
  /** Position of the last event merged; an older patch is ignored. */
  version: number;
  /** `scoring` lies between the two events of one append: watchers receive it, no reader meets it. */
  stage:
    | 'draft'
    | 'opinions'
    | 'claims'
    | 'reviews'
    | 'scoring'
    | 'synthesis'
    | 'settling'
    | 'closed';
  challengeType: ChallengeType;
  strategy: StrategyId;
  price: number;
  priceUntil: string;
  retryOf: string | null;
  /** The prepared case of the simulated seats; null without one. */
  standIn: StandIn | null;
  createdAt: string;
  startedAt: string | null;
  /** How long runs that began before may have the places of its calls. */
  waitMs: number;
  endedAt: string | null;
  /** The newest that the run's person gave, else the ledger's, else the asked question's. */
  title: string | null;
  titles: { own: string | null; ledger: string | null; asked: string | null };
  challenge: string | null;
  context: string | null;
  objectives: readonly string[];
  constraints: readonly string[];
  files: readonly RunFile[];
  seats: readonly SeatView[];
  /** How the panel differs from the design; null in runs of v0.1. */
  seating: SeatingFacts | null;
  schedule: Schedule;
  calls: Readonly<Record<Slot, CallView>>;
  accepted: readonly string[] | null;
  missing: readonly MissingSeat[];
  /** Seats that did not review, or, in a refinement, did not vote again. */
  silent: readonly MissingSeat[];
  ledger: {
    source: 'extractor' | 'second_extractor' | 'fallback';
    scored: boolean;
    claims: Readonly<Record<string, ClaimView>>;
    options: Readonly<Record<string, { seats: readonly string[]; text: string | null }>>;
    notes: Readonly<
      Record<string, { kind: string; seats: readonly string[]; text: string | null }>
    >;
  } | null;
  excluded: { seat: string; why: string; flags: number } | null;
  scores: Scores | null;
  rounds: Readonly<Record<string, RoundView>>;
  conclusion: Extract<OptimizationEvent, { type: 'RunConcluded' }>['data'] | null;
  settled: { captured: number; refunded: number } | null;
  hidden: boolean;
  /** What its owner said came of it, by the day that was asked about; of a refinement: of its root. */
  outcomes: Readonly<Partial<Record<AskedDay, OutcomeView>>>;
  /** When the newest result of the root that this run is or belongs to was there; server only. */
  resultAt: string | null;
  /** What is new in a refinement; null in any other run. */
  refines: RefinesView | null;
  /** What stood before a refinement; null in any other run, and in the patches of one. */
  before: BeforeView | null;
  /** Of the root that this run is or belongs to; server only, as of the time of reading. */
  refinements: readonly OptimizationSummary[];
  /** The newest completed refinement, where it is newer than this run; server only. */
  newer: NewerAnswer | null;
  /** Null until the run has completed; server only. */
  refinable: Refinable | null;
  /** Set for readers of a share link; words then avoid "you". */
  shared?: true;
};

export type OutcomeView = {
  happened: Happened;
  /** What they did; empty if they did not say. */
  did: string | null;
  at: string;
  /** The run whose result it is about. */
  result: string;
};

export type RefinesView = Omit<Refines, 'before' | 'claimId'> & {
  claimId: string | null;
  /** The instruction or the changed fact; null without one. */
  text: string | null;
};

export type BeforeView = {
  /** By seat: the review with every vote that was given again before. */
  reviews: Readonly<Record<string, ReviewView>>;
  /** The earlier refinements' facts and instructions, oldest first. */
  given: readonly Given[];
  /** The decision that the result before announced; null where it was erased. */
  decision: string | null;
  /** Its heading with the votes. */
  heading: string | null;
};

/** An instruction or a changed fact, and the claim that the fact is about. */
export type Given = { text: string; claimId: string | null };

export type ReviewView = {
  ballot: Ballot;
  notes: ReviewNotes | null;
  /** Where it voted in the root: the option it voted for there. */
  firstOption: string | null;
};

/** A partial view: objects merge by key, everything else replaces. */
export type RunPatch = DeepPartial<RunView>;
type DeepPartial<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { [Key in keyof Value]?: DeepPartial<Value[Key]> }
    : Value;

/** The opened texts of one event by field; null where the key is gone. */
export type EventTexts = Readonly<Record<string, string | null>>;

/** The sealed fields of an event that a reader needs. */
export type FieldsOf = (event: OptimizationEvent) => readonly string[];

// ── events to patches ───────────────────────────────────────────────────────────────────────────

/** The fields that `patchOf` reads. */
export const fieldsOfView: FieldsOf = (event) => {
  switch (event.type) {
    case 'OptimizationCreated':
      return ['title', ...questionFields, 'instruction'];
    case 'CallSucceeded':
      return fieldsOfCall[event.data.outcome.kind];
    case 'ClaimsFixed':
      return ['ledger', 'title'];
    case 'OptimizationRenamed':
      return ['title'];
    case 'OutcomeRecorded':
      return ['did'];
    default:
      return [];
  }
};

export const titleAlone: FieldsOf = (event) =>
  fieldsOfView(event).filter((field) => field === 'title');

export const titleAndQuestion: FieldsOf = (event) =>
  fieldsOfView(event).filter((field) => ['title', 'challenge', 'context'].includes(field));

export const questionFields = [
  'challenge',
  'context',
  'objectives',
  'constraints',
  'files',
] as const;

const fieldsOfCall: Readonly<Record<CallOutcome['kind'], readonly string[]>> = {
  opinion: ['reply'],
  claims: [],
  review: ['notes'],
  second_vote: ['notes'],
  draft: ['reply'],
  verify: [],
};

/** The patch of one event, computed from that event alone. `at` is when it occurred. */
export function patchOf(
  runId: string,
  event: OptimizationEvent,
  texts: EventTexts,
  at: string,
): RunPatch {
  switch (event.type) {
    case 'OptimizationCreated': {
      const { challengeType, strategy, price, priceUntil, seats, schedule, createdAt } = event.data;
      return {
        ...emptyView,
        id: runId,
        challengeType,
        strategy,
        price,
        priceUntil,
        seats: seats.map((seat) => ({ ...seat, name: seat.name ?? seat.model })),
        seating: event.data.seating ?? null,
        schedule,
        createdAt,
        retryOf: event.data.retryOf ?? null,
        title: texts['title'] ?? null,
        titles: { own: null, ledger: null, asked: texts['title'] ?? null },
        challenge: texts['challenge'] ?? null,
        context: texts['context'] ?? null,
        objectives: (parsed(texts['objectives']) as string[] | null) ?? [],
        constraints: (parsed(texts['constraints']) as string[] | null) ?? [],
        files: (parsed(texts['files']) as RunFile[] | null) ?? [],
        ...(event.data.refines ? tableOf(event.data.refines, seats, texts) : {}),
      };
    }
    case 'ProcessingStarted':
      return {
        stage: 'reviewsSoftAt' in event.data ? 'reviews' : 'opinions',
        startedAt: event.data.startedAt,
        waitMs: event.data.waitMs ?? 0,
      };
    case 'CallStarted': {
      const { slot, attempt, model, simulated, startedAt } = event.data;
      return call(slot, attempt, { ...newAttempt, model, simulated, startedAt }, { streamed: 0 });
    }
    case 'CallLost':
      return call(event.data.slot, event.data.attempt, {
        status: 'lost',
        final: event.data.final,
      });
    case 'CallSucceeded': {
      const { slot, attempt, outcome } = event.data;
      const reply = texts['reply'];
      const isVote = outcome.kind === 'review' || outcome.kind === 'second_vote';
      const notes = isVote ? (parsed(texts['notes']) as ReviewNotes | null) : null;
      return call(
        slot,
        attempt,
        { status: 'succeeded', repaired: event.data.repaired ?? [], ...ended(event.data) },
        {
          outcome: outcome.kind === 'review' ? withReasons(outcome, notes) : outcome,
          streamed: 1,
          ...(outcome.kind === 'opinion' ? { opinion: parsed(reply) as Opinion | null } : {}),
          ...(outcome.kind === 'draft' ? { draft: storedDraft(parsed(reply)) } : {}),
          ...(isVote ? { notes } : {}),
        },
      );
    }
    case 'CallFailed': {
      const { slot, attempt, failure, final, retryAt } = event.data;
      const change = { status: 'failed' as const, failure, final, retryAt, ...ended(event.data) };
      return call(slot, attempt, change, { streamed: 0 });
    }
    case 'CallCostRecorded':
      return call(event.data.slot, event.data.attempt, ended(event.data));
    case 'OpinionsClosed':
      return { stage: 'claims', accepted: event.data.accepted, missing: event.data.missing };
    case 'ClaimsFixed': {
      const words = parsed(texts['ledger']) as LedgerTexts | null;
      const { source, scored, claims, options, notes } = event.data;
      return {
        stage: 'reviews',
        titles: { ledger: texts['title'] ?? null },
        ledger: {
          source,
          scored,
          claims: Object.fromEntries(
            claims.map(({ id, importance, authors, flips, from }) => [
              id,
              {
                importance,
                authors,
                flips,
                text: words?.claims[id]?.text ?? null,
                quotes: words?.claims[id]?.quotes ?? [],
                index: from?.index ?? null,
              },
            ]),
          ),
          options: Object.fromEntries(
            options.map(({ id, seats }) => [id, { seats, text: words?.options[id] ?? null }]),
          ),
          notes: Object.fromEntries(
            notes.map(({ id, kind, seats }) => [
              id,
              { kind, seats, text: words?.notes[id] ?? null },
            ]),
          ),
        },
      };
    }
    case 'ReviewsClosed':
      return { stage: 'scoring', excluded: event.data.excluded, silent: event.data.missing };
    case 'ScoresComputed': {
      const { inputs: _inputs, synthesisHardAt: _hardAt, ...scores } = event.data;
      return { stage: 'synthesis', scores };
    }
    case 'DraftChecked':
      return round(event.data.round, { checks: event.data.checks });
    case 'SynthesisJudged': {
      const { verdict, failed } = event.data;
      return round(event.data.round, { verdict, failed });
    }
    case 'RunConcluded':
      return { stage: 'settling', conclusion: event.data };
    case 'OptimizationCompleted':
    case 'OptimizationFailed':
    case 'OptimizationCancelled': {
      const { captured, refunded } = event.data;
      return { stage: 'closed', settled: { captured, refunded }, endedAt: at };
    }
    case 'OptimizationHidden':
      return { hidden: true };
    case 'OptimizationRestored':
      return { hidden: false };
    case 'OptimizationRenamed':
      return { titles: { own: texts['title'] ?? null } };
    case 'OutcomeRecorded': {
      const { asked, happened, at: recordedAt, result } = event.data;
      const outcome = { happened, did: texts['did'] ?? null, at: recordedAt, result };
      return { outcomes: { [asked]: outcome } };
    }
    case 'SoftPassed':
      return {};
  }
}

/** A new view; keys that the patch does not name keep their objects. */
export function applyPatch(view: RunView, patch: RunPatch, version: number): RunView {
  if (version <= view.version) return view;
  const next = merged(view, patch) as RunView;
  const { own, ledger, asked } = next.titles;
  return { ...next, title: own ?? ledger ?? asked, version };
}

/** The view with how far open calls have streamed (0–100); never moves one back. */
export function withStreamed(
  view: RunView,
  streaming: readonly { slot: Slot; progress: number }[],
): RunView {
  const changes = streaming.flatMap(({ slot, progress }) => {
    const known = view.calls[slot];
    const streamed = progress / 100;
    return known && known.outcome === null && known.streamed < streamed
      ? [[slot, { ...known, streamed }] as const]
      : [];
  });
  if (changes.length === 0) return view;
  return { ...view, calls: { ...view.calls, ...Object.fromEntries(changes) } };
}

/** The view after the patch of `OptimizationCreated`. */
export function beginView(patch: RunPatch): RunView {
  return { ...(merged(emptyView, patch) as RunView), version: 1 };
}

function merged(value: unknown, patch: unknown): unknown {
  if (!isRecord(value) || !isRecord(patch)) return patch;
  const next: Record<string, unknown> = { ...value };
  for (const [key, part] of Object.entries(patch)) next[key] = merged(value[key], part);
  return next;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const emptySchedule: Schedule = {
  reviewsPerSeat: 0,
  extractors: [],
  synthesizers: [],
  verifiers: [],
  minFamilies: 0,
  typicalSeconds: 0,
  strongest: '',
  deadlinesMs: {
    opinionsSoft: 0,
    opinionsHard: 0,
    claims: 0,
    reviewsSoft: 0,
    reviewsHard: 0,
    synthesis: 0,
    run: 0,
  },
};

const emptyView: RunView = {
  id: '',
  version: 0,
  stage: 'draft',
  challengeType: 'other',
  strategy: 'balanced',
  price: 0,
  priceUntil: '',
  retryOf: null,
  standIn: null,
  createdAt: '',
  startedAt: null,
  waitMs: 0,
  endedAt: null,
  title: null,
  titles: { own: null, ledger: null, asked: null },
  challenge: null,
  context: null,
  objectives: [],
  constraints: [],
  files: [],
  seats: [],
  seating: null,
  schedule: emptySchedule,
  calls: {},
  accepted: null,
  missing: [],
  silent: [],
  ledger: null,
  excluded: null,
  scores: null,
  rounds: {},
  conclusion: null,
  settled: null,
  hidden: false,
  outcomes: {},
  resultAt: null,
  refines: null,
  before: null,
  refinements: [],
  newer: null,
  refinable: null,
};

const newAttempt: AttemptView = {
  status: 'open',
  model: '',
  simulated: false,
  startedAt: null,
  latencyMs: null,
  costMicros: null,
  usage: null,
  failure: null,
  repaired: [],
  final: false,
  retryAt: null,
};

const newCall: Omit<CallView, 'attempts'> = {
  outcome: null,
  opinion: null,
  notes: null,
  draft: null,
  streamed: 0,
};

function call(
  slot: Slot,
  attempt: number,
  change: Partial<AttemptView>,
  more: Partial<Omit<CallView, 'attempts'>> = {},
): RunPatch {
  const whole = change.status === 'open' && attempt === 1 ? newCall : {};
  return { calls: { [slot]: { ...whole, ...more, attempts: { [attempt]: change } } } };
}

function round(number: number, change: Partial<RoundView>): RunPatch {
  const whole = change.checks ? { verdict: null, failed: [] } : {};
  return { rounds: { [number]: { ...whole, ...change } } };
}

function ended(end: { usage: UsageRecord; costMicros: number | null; latencyMs: number }) {
  const { usage, costMicros, latencyMs } = end;
  return { usage, costMicros, latencyMs };
}

function parsed(text: string | null | undefined): unknown {
  return text === null || text === undefined ? null : (JSON.parse(text) as unknown);
}

/** A review's votes with the reasons that were sealed beside them. */
function withReasons(
  { kind, ballot }: Extract<CallOutcome, { kind: 'review' }>,
  notes: ReviewNotes | null,
): CallOutcome {
  return { kind, ballot: reasonedBallot(ballot, notes) };
}

function reasonedBallot(ballot: Ballot, notes: ReviewNotes | null): Ballot {
  const { reasons = {}, decisionReason = '' } = notes ?? {};
  return {
    ...ballot,
    votes: Object.fromEntries(
      Object.entries(ballot.votes).map(([claim, vote]) => {
        const reason = reasons[claim];
        return [claim, reason === undefined ? vote : { ...vote, reason }];
      }),
    ),
    decision: {
      ...ballot.decision,
      ...(decisionReason === '' ? {} : { reason: decisionReason }),
    },
  };
}

/** A draft as it was sealed; those of v0.1 have one text for each step, and answer no flaws. */
function storedDraft(sealed: unknown): WrittenDraft | null {
  const draft = sealed as
    | (Omit<WrittenDraft, 'next_steps'> & {
        next_steps: readonly (WrittenDraft['next_steps'][number] | StepOfFirstVersion)[];
      })
    | null;
  return (
    draft && {
      ...draft,
      flaw_replies: draft.flaw_replies ?? [],
      next_steps: draft.next_steps.map((step) =>
        'action' in step
          ? step
          : {
              action: step.text,
              owner: 'you',
              by_days: null,
              measure: '',
              stop_if: '',
              claim_ids: step.claim_ids,
            },
      ),
    }
  );
}

type StepOfFirstVersion = { text: string; claim_ids: string[] };

/** The call in which a seat answers, in a refinement votes; undefined before it. */
export function answerCall(view: RunView, seat: string): CallView | undefined {
  return view.calls[answerSlot(view, seat)];
}

/** What a seat voted, with its second vote in a refinement; null without any. */
export function ballotOf(view: RunView, seat: string): Ballot | null {
  return reviewOf(view, seat)?.ballot ?? null;
}

/** What a seat wrote in its review. */
export function notesOf(view: RunView, seat: string): ReviewNotes | null {
  return reviewOf(view, seat)?.notes ?? null;
}

/** Null for a seat that has voted neither here nor before. */
export function reviewOf(view: RunView, seat: string): ReviewView | null {
  const before = view.before?.reviews[seat] ?? null;
  const { outcome = null, notes = null } = view.calls[reviewSlot(seat)] ?? {};
  if (outcome?.kind === 'review') {
    const { ballot } = outcome;
    return { ballot, notes, firstOption: ballot.decision.optionId };
  }
  if (outcome?.kind !== 'second_vote') return before;
  // A reason of a vote that was given again would speak for the old one.
  const { votes, ...ballot } = mergedBallot(before?.ballot, outcome);
  const again = reasonedBallot({ ...ballot, votes: outcome.votes }, notes);
  return {
    ballot: { ...again, votes: { ...votes, ...again.votes } },
    notes: before?.notes ?? null,
    firstOption: before?.firstOption ?? null,
  };
}

/** What the person has said since the root, oldest first. */
export function givenOf({ before, refines }: RunView): Given[] {
  const { text = null, claimId = null } = refines ?? {};
  return [...(before?.given ?? []), ...(text === null ? [] : [{ text, claimId }])];
}

/** The claims that the person said are different, each with the latest fact about it. */
export function correctedOf(view: RunView): { id: string; fact: string }[] {
  const facts = givenOf(view).flatMap(({ claimId, text }) =>
    claimId === null ? [] : [[claimId, text] as const],
  );
  return [...new Map(facts)].map(([id, fact]) => ({ id, fact }));
}

/**
 * Whether a seat's vote was given again in this refinement.
 *
 * @param about a claim id, or `decision`
 */
export function isVotedAgain(view: RunView, seat: string, about: string): boolean {
  const outcome = view.calls[reviewSlot(seat)]?.outcome;
  return (
    outcome?.kind === 'second_vote' && (about === 'decision' || outcome.votes[about] !== undefined)
  );
}

/** What a refinement begins with, as far as its own event says. */
function tableOf(
  refines: Refines,
  seats: readonly Seat[],
  texts: EventTexts,
): Pick<RunView, 'refines' | 'accepted' | 'missing'> {
  const { before: _before, claimId = null, ...plain } = refines;
  const { notOffered } = plain;
  return {
    refines: { ...plain, claimId, text: texts['instruction'] ?? null },
    accepted: seats.map(({ seat }) => seat).filter((seat) => !notOffered.includes(seat)),
    missing: notOffered.map((seat) => ({ seat, why: 'not_offered' })),
  };
}
