import { acceptedDraft } from '#services/optimizations/reading/describe-result.ts';
import { emptySchedule } from '#services/optimizations/reading/view.ts';
import type {
  AttemptView,
  BeforeView,
  CallView,
  RefinesView,
  RunView,
  SeatView,
} from '#services/optimizations/reading/view.ts';

/** What a reader of a link may see of a run. */
export type Reader = { shareId: string; showsContext: boolean };

/**
 * The view without what is its owner's alone. Each field is named, so that a new one is not shown before
 * somebody decides that it is. Amounts are 0 or null, ids of runs are empty or the link's, and whatever
 * the owner wrote beside the question is empty unless the link shows it; files never are.
 */
export function sharedView(view: RunView, { shareId, showsContext }: Reader): RunView {
  const { standIn, schedule, refines, before, conclusion, settled } = view;
  const draft = acceptedDraft(view);
  return {
    shared: true,
    id: shareId,
    version: view.version,
    stage: view.stage,
    challengeType: view.challengeType,
    strategy: view.strategy,
    price: 0,
    priceUntil: '',
    retryOf: null,
    // The case's own question was asked: then its context is the one that the owner wrote.
    standIn: standIn && (standIn.exact && !showsContext ? withoutContext(standIn) : standIn),
    createdAt: view.createdAt,
    startedAt: view.startedAt,
    waitMs: 0,
    endedAt: view.endedAt,
    title: view.title,
    titles: { own: view.title, ledger: null, asked: null },
    challenge: view.challenge,
    context: showsContext ? view.context : '',
    objectives: showsContext ? view.objectives : [],
    constraints: showsContext ? view.constraints : [],
    files: [],
    seats: view.seats.map(sharedSeat),
    seating: view.seating,
    schedule: { ...emptySchedule, strongest: schedule.strongest },
    calls: Object.fromEntries(
      Object.entries(view.calls).map(([slot, call]) => [slot, sharedCall(call, draft)]),
    ),
    accepted: view.accepted,
    missing: view.missing,
    silent: view.silent,
    ledger: view.ledger,
    excluded: view.excluded,
    scores: view.scores,
    rounds: view.rounds,
    conclusion: conclusion && sharedConclusion(conclusion),
    settled: settled && { captured: 0, refunded: 0 },
    hidden: view.hidden,
    refines: refines && sharedRefines(refines, showsContext),
    before: before && sharedBefore(before, showsContext),
    refinements: [],
    newer: null,
    refinable: null,
    outcomes: {},
    resultAt: null,
  };
}

function withoutContext(standIn: NonNullable<RunView['standIn']>): RunView['standIn'] {
  return { ...standIn, question: { ...standIn.question, context: '' } };
}

function sharedSeat({ seat, role, name, model, provider, family, effort, simulated }: SeatView) {
  return { seat, role, name, model, provider, family, effort, simulated };
}

/** @param accepted the draft that the result is made of; those that failed their checks are not shown */
function sharedCall(call: CallView, accepted: CallView['draft']): CallView {
  const { attempts, outcome, opinion, notes, draft, streamed } = call;
  return {
    attempts: Object.fromEntries(
      Object.entries(attempts).map(([number, attempt]) => [number, sharedAttempt(attempt)]),
    ),
    outcome,
    opinion,
    notes,
    draft: draft === accepted ? draft : null,
    streamed,
  };
}

function sharedAttempt(attempt: AttemptView): AttemptView {
  const { status, model, simulated, startedAt, latencyMs, failure, repaired, final } = attempt;
  const left = { costMicros: null, usage: null, retryAt: null };
  return { status, model, simulated, startedAt, latencyMs, failure, repaired, final, ...left };
}

type Conclusion = NonNullable<RunView['conclusion']>;

function sharedConclusion(conclusion: Conclusion): Conclusion {
  const { draftFailed } = conclusion;
  return {
    outcome: conclusion.outcome,
    heading: conclusion.heading,
    reason: conclusion.reason,
    bestSeat: conclusion.bestSeat,
    ...(draftFailed === undefined ? {} : { draftFailed }),
    callsStarted: conclusion.callsStarted,
    missing: conclusion.missing,
    seats: conclusion.seats,
    answeredUnusable: conclusion.answeredUnusable,
    price: 0,
    settlement: { kind: 'nothing' },
  };
}

function sharedRefines(refines: RefinesView, showsContext: boolean): RefinesView {
  const { number, about, claimId, claims, notOffered, text } = refines;
  const shown = text === null || showsContext ? text : '';
  return { root: '', previous: '', number, about, claimId, claims, notOffered, text: shown };
}

function sharedBefore(before: BeforeView, showsContext: boolean): BeforeView {
  const { reviews, given, decision, heading } = before;
  const shown = given.map(({ text, claimId }) => ({ text: showsContext ? text : '', claimId }));
  return { reviews, given: shown, decision, heading };
}
