import type { FailureClass } from '#services/models/model.ts';
import { copiesSentence } from '#services/models/seating/words.ts';
import { counted, formatNumber, wholePercent } from '#services/platform/numbers.ts';
import type {
  BiasAnalysis,
  Disagreement,
  Rejected,
} from '#services/optimizations/contract/result.ts';
import type {
  Evolution,
  Optimization,
  ProgressStep,
  SeatProgress,
  SeatStatus,
} from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary, RunStatus } from '#services/optimizations/contract/summary.ts';
import { askedDays, representative, votedOption } from '#services/optimizations/run/events.ts';
import type { MissingSeat, Repair, Scores, Slot } from '#services/optimizations/run/events.ts';
import {
  answerSlot,
  draftSlot,
  opinionSlot,
  reviewSlot,
} from '#services/optimizations/run/slots.ts';
import { openQuestion } from '#services/optimizations/run/outcomes.ts';
import { describeDegraded } from './degraded.ts';
import { acceptedDraft, describeResult, votesFor } from './describe-result.ts';
import {
  claimText,
  decisionReason,
  erased,
  fatalFlawsOf,
  missingFact,
  opinionOf,
  optionText,
  quoteOf,
} from './texts.ts';
import { answerCall, ballotOf, isVotedAgain } from './view.ts';
import type { AttemptView, CallView, RunView, SeatView } from './view.ts';
import { outcomeOf } from './words/result.ts';
import { runStatusWords } from './words/status.ts';

/** The view of a run in the words and figures that people read, for the server and the browser. */

/** The run as the API answers it. `now` (ms) moves the time left, and opens the question of a day. */
export function describeRun(view: RunView, now: number): Optimization {
  const bias = view.scores ? describeBias(view, view.scores) : null;
  return {
    ...summarize(view),
    challenge: view.challenge ?? erased,
    context: view.context ?? erased,
    objectives: [...view.objectives],
    constraints: [...view.constraints],
    files: [...view.files],
    stand_in: view.standIn,
    models: view.seats.map((seat) => describeSeat(view, seat)),
    metadata: { models: view.seats.map((seat) => seat.name) },
    refines: describeRefinement(view),
    refinements: [...view.refinements],
    newer: view.newer,
    refinable: view.refinable,
    ...describeOutcomes(view, now),
    insights_count: bias
      ? bias.consensus_points.length +
        bias.disagreement_areas.length +
        bias.uncertainty_factors.length
      : 0,
    evolution: { ...describeProgress(view, now), bias },
    result: describeResult(view),
    degraded: describeDegraded(view, (seat) => whyOut(view, seat)),
    ended_because: endReason(view),
    council: view,
  };
}

/** The question is null where the view does not know the newest result, as in an export. */
function describeOutcomes(
  { outcomes, resultAt, stage }: RunView,
  now: number,
): Pick<Optimization, 'outcomes' | 'outcome_question'> {
  const said = askedDays.flatMap((asked) => {
    const outcome = outcomes[asked];
    if (outcome === undefined) return [];
    const { happened, did, at, result } = outcome;
    return [{ asked, happened, did: did ?? erased, at, result_id: result }];
  });
  const days = said.map(({ asked }) => asked);
  return {
    outcomes: said,
    outcome_question:
      resultAt === null || stage !== 'closed'
        ? null
        : openQuestion(resultAt, days, new Date(now).toISOString()),
  };
}

function describeRefinement({ refines, before }: RunView): Optimization['refines'] {
  if (refines === null) return null;
  const { root, previous, number, about, claimId, claims, text } = refines;
  return {
    root_id: root,
    previous_id: previous,
    number,
    about,
    text: about === 'contested' ? null : (text ?? erased),
    claim_id: claimId,
    claim_ids: [...claims],
    given_before: (before?.given ?? []).map((given) => given.text),
    decision_before: before?.decision ?? null,
  };
}

export function summarize(view: RunView): OptimizationSummary {
  const cost = costOf(view, Object.keys(view.calls));
  const status = statusOf(view);
  const votes = countVotes(view.scores);
  const simulated = view.seats.filter((seat) => seat.simulated).length;
  return {
    id: view.id,
    title: view.title ?? erased,
    description: (view.challenge ?? erased).slice(0, 200),
    status,
    strategy: view.strategy,
    challenge_type: view.challengeType,
    progress: overallProgress(view),
    agreement_score: view.scores?.agreement.score ?? null,
    confidence_score: view.scores?.decision.share ?? null,
    ...votes,
    outcome: outcomeOf(
      view.stage === 'closed' ? (view.conclusion?.heading ?? null) : null,
      votes,
      view.conclusion?.bestSeat ?? null,
    ),
    cost: cost.micros === null ? null : cost.micros / 1_000_000,
    cost_is_minimum: cost.atLeast,
    credits: creditsOf(view),
    simulated: simulated > 0,
    simulated_seats: simulated,
    root_id: view.refines?.root ?? null,
    refinement_number: view.refines?.number ?? null,
    created_at: view.createdAt,
    createdAt: view.createdAt,
    ended_at: view.endedAt,
  };
}

export function creditsOf(view: RunView): OptimizationSummary['credits'] {
  const { price, stage, settled } = view;
  // A draft that is cancelled never held a credit.
  const isCancelledDraft = statusOf(view) === 'cancelled' && view.startedAt === null;
  return {
    price,
    reserved: stage === 'draft' || stage === 'closed' ? 0 : price,
    charged: settled ? settled.captured - settled.refunded : null,
    refunded: settled?.refunded ?? null,
    settlement: isCancelledDraft ? 'none' : settlementOf(stage),
  };
}

/** By heads. In v0.1 the draft chose the option, so that no list can know its votes. */
function countVotes(scores: Scores | null): Pick<OptimizationSummary, 'votes_for' | 'votes_total'> {
  return scores?.verdict
    ? votesFor(scores, scores.verdict.optionId)
    : { votes_for: null, votes_total: null };
}

export function statusOf(view: Pick<RunView, 'stage' | 'conclusion'>): RunStatus {
  if (view.stage === 'draft') return 'pending';
  if (view.stage !== 'closed' || !view.conclusion) return 'processing';
  const { outcome } = view.conclusion;
  return outcome === 'not_started' ? 'failed' : outcome;
}

export function settlementOf(stage: RunView['stage']): 'none' | 'held' | 'pending' | 'settled' {
  if (stage === 'closed') return 'settled';
  if (stage === 'settling') return 'pending';
  return stage === 'draft' ? 'none' : 'held';
}

function stepOf(view: Pick<RunView, 'stage'>): ProgressStep {
  const steps = {
    draft: 'initializing',
    opinions: 'querying_models',
    claims: 'analyzing_responses',
    reviews: 'analyzing_responses',
    scoring: 'detecting_bias',
    synthesis: 'synthesizing',
    settling: 'synthesizing',
    closed: 'completed',
  } as const;
  return steps[view.stage];
}

/** What a run usually takes from its start, behind the runs that began before it. */
export function usualSeconds(view: RunView): number {
  return view.schedule.typicalSeconds + view.waitMs / 2000;
}

function describeProgress(view: RunView, now: number): Omit<Evolution, 'bias'> {
  const started = view.startedAt === null ? null : Date.parse(view.startedAt);
  const left =
    started === null || !isUnderway(view) || view.schedule.typicalSeconds === 0
      ? null
      : Math.round(usualSeconds(view) - (now - started) / 1000);
  return {
    id: view.id,
    current_step: stepOf(view),
    progress_percentage: overallProgress(view),
    step_details: stepDetails(view),
    estimated_completion: left === null || left <= 0 ? null : left,
    start_time: view.startedAt,
    models_queried: view.seats.filter((seat) => answerCall(view, seat.seat)).length,
    models_completed: answered(view),
    can_cancel: ['draft', 'opinions', 'claims', 'reviews'].includes(view.stage),
  };
}

/** What the run as a whole does now, in words. */
export function stepDetails(view: RunView): string {
  const reviewed = view.seats.filter((seat) => view.calls[reviewSlot(seat.seat)]?.outcome).length;
  switch (view.stage) {
    case 'draft':
      return 'Getting ready';
    case 'opinions':
      return `${answered(view)} of ${view.seats.length} models have answered`;
    case 'claims':
      return 'Collecting claims from every answer';
    case 'reviews':
      return `${reviewed} of ${view.accepted?.length ?? view.seats.length} ${view.refines ? 'votes' : 'blind reviews'} are in`;
    case 'scoring':
      return 'Comparing the reviews';
    case 'synthesis':
      return currentDraft(view)?.outcome
        ? 'Two other models are checking the recommendation'
        : 'One model is writing the recommendation';
    case 'settling':
      return 'Finishing';
    case 'closed':
      return runStatusWords[statusOf(view)];
  }
}

function answered(view: RunView): number {
  return view.seats.filter((seat) => answerCall(view, seat.seat)?.outcome).length;
}

function isUnderway(view: RunView): boolean {
  return ['opinions', 'claims', 'reviews', 'scoring', 'synthesis'].includes(view.stage);
}

/** 0–100; 100 only when the run has ended. */
export function overallProgress(view: RunView): number {
  return averageProgress(
    view.stage,
    view.seats.map((seat) => strandProgress(view, seat.seat)),
  );
}

/** The average of the seats, rounded down. */
export function averageProgress(stage: RunView['stage'], seats: readonly number[]): number {
  if (stage === 'closed') return 100;
  if (seats.length === 0) return 0;
  const sum = seats.reduce((total, progress) => total + progress, 0);
  return Math.min(99, Math.floor(sum / seats.length));
}

/** 0–100: how far the run has come for one seat, other models' work included. */
export function strandProgress(view: RunView, seat: string): number {
  const callOf = {
    opinions: view.calls[opinionSlot(seat)],
    reviews: view.calls[reviewSlot(seat)],
    synthesis: currentDraft(view),
  };
  const call = view.stage in callOf ? callOf[view.stage as keyof typeof callOf] : undefined;
  return stageProgress(view.stage, {
    // No stage but the synthesis, which is the same for all, waits for a seat that dropped out.
    isAnswered: Boolean(call?.outcome) || (view.stage !== 'synthesis' && isOut(view, seat)),
    streamed: call?.streamed ?? 0,
    isRefinement: view.refines !== null,
  });
}

/**
 * Of the run: opinion 0–40, reviews 45–75, scores 80, synthesis 85–95. A refinement begins with its
 * votes, 0–75. `streamed` is 0–1.
 */
export function stageProgress(
  stage: RunView['stage'],
  {
    isAnswered,
    streamed,
    isRefinement,
  }: { isAnswered: boolean; streamed: number; isRefinement: boolean },
): number {
  switch (stage) {
    case 'draft':
      return 0;
    case 'opinions':
      return isAnswered ? 40 : Math.min(38, Math.floor(40 * streamed));
    case 'claims':
      return 40;
    case 'reviews': {
      const begin = isRefinement ? 0 : 45;
      return isAnswered ? 75 : Math.min(73, begin + Math.floor((75 - begin) * streamed));
    }
    case 'scoring':
      return 80;
    case 'synthesis':
      return isAnswered ? 95 : Math.min(94, 85 + Math.floor(10 * streamed));
    case 'settling':
      return 99;
    case 'closed':
      return 100;
  }
}

function currentDraft(view: RunView): CallView | undefined {
  const redone = Object.values(view.rounds).filter(
    ({ verdict }) => verdict === 'repair' || verdict === 'other_synthesizer',
  );
  return view.calls[draftSlot(redone.length + 1)];
}

function isOut(view: RunView, seat: string): boolean {
  return finalFailure(view, answerSlot(view, seat)) !== null || isMissing(view, seat);
}

/** Of a refinement: its model has gone since the run that it refines. */
function isNotOffered({ refines }: RunView, seat: string): boolean {
  return refines?.notOffered.includes(seat) === true;
}

function isMissing(view: RunView, seat: string): boolean {
  return view.missing.some((one) => one.seat === seat);
}

/** Why a seat's review was missing when the votes were counted; null for any other. */
function whySilent(view: RunView, seat: string): MissingSeat['why'] | null {
  return view.silent.find((one) => one.seat === seat)?.why ?? null;
}

/** Of a refinement, which asks for nothing else. */
function hasNotVotedAgain(view: RunView, seat: string): boolean {
  return view.refines !== null && whySilent(view, seat) !== null;
}

function lastAttempt(view: RunView, slot: Slot): { number: number; attempt: AttemptView } | null {
  const attempts = view.calls[slot]?.attempts ?? {};
  const number = Math.max(0, ...Object.keys(attempts).map(Number));
  const attempt = attempts[number];
  return attempt ? { number, attempt } : null;
}

function finalFailure(view: RunView, slot: Slot): FailureClass | 'lost' | null {
  if (view.calls[slot]?.outcome) return null;
  const last = lastAttempt(view, slot)?.attempt;
  if (!last?.final) return null;
  return last.status === 'lost' ? 'lost' : (last.failure ?? null);
}

/**
 * The failure that a missing seat was about to retry when its stage closed; null when it was at work.
 */
function lastFailure(view: RunView, seat: string): FailureClass | null {
  const last = lastAttempt(view, answerSlot(view, seat))?.attempt;
  return last?.status === 'failed' ? last.failure : null;
}

export function describeSeat(view: RunView, seat: SeatView): SeatProgress {
  const slots = [opinionSlot(seat.seat), reviewSlot(seat.seat)];
  const last = lastAttempt(view, currentSlot(view, seat.seat));
  const status = seatStatus(view, seat.seat);
  const cost = costOf(view, slots);
  const support = view.scores?.confidence[seat.seat]?.support;
  const place = view.scores?.order.indexOf(seat.seat) ?? -1;
  return {
    id: `${view.id}:${seat.seat}`,
    seat: seat.seat,
    name: seat.name,
    provider: seat.provider,
    role: seat.role,
    status,
    ...ownWork(view, seat.seat),
    costCents: cost.micros === null ? null : cost.micros / 10_000,
    latencyMs: latencyOf(view, slots),
    confidence: support === undefined ? null : wholePercent(support),
    rank: place < 0 ? null : place + 1,
    attempt: last?.number ?? 0,
    simulated: seat.simulated,
    reason: seatReason(view, seat.seat, status),
    repaired: repairsOf(view, slots),
  };
}

/** The call that a seat is at: its review once it has begun, before that its answer. */
function currentSlot(view: RunView, seat: string): Slot {
  return view.calls[reviewSlot(seat)] ? reviewSlot(seat) : answerSlot(view, seat);
}

/** What the run asks of one model: half is its answer, half its review; a refinement asks for a vote only. */
function ownWork(view: RunView, seat: string): Pick<SeatProgress, 'progress' | 'currentStep'> {
  if (isOut(view, seat) || isDone(view, seat)) return { progress: 100, currentStep: 'completed' };
  const review = view.calls[reviewSlot(seat)];
  const begin = view.refines === null ? 50 : 0;
  if (review)
    return {
      progress: begin + Math.floor((99 - begin) * Math.min(1, review.streamed)),
      currentStep: 'analyzing_responses',
    };
  const answer = answerCall(view, seat);
  return answer
    ? {
        progress: answer.outcome ? begin : Math.floor((begin - 1) * Math.min(1, answer.streamed)),
        currentStep: 'querying_models',
      }
    : { progress: 0, currentStep: null };
}

/** Collecting the claims and writing the recommendation is the work of other models. */
function isDone(view: RunView, seat: string): boolean {
  const { stage, scores, conclusion, calls } = view;
  return (
    Boolean(calls[reviewSlot(seat)]?.outcome) ||
    finalFailure(view, reviewSlot(seat)) !== null ||
    stage === 'scoring' ||
    scores !== null ||
    conclusion?.outcome === 'completed'
  );
}

function attemptsOf(view: RunView, slots: readonly Slot[]): AttemptView[] {
  return slots.flatMap((slot) => Object.values(view.calls[slot]?.attempts ?? {}));
}

/** Milliseconds that all calls of the given slots took; null before any ended. */
function latencyOf(view: RunView, slots: readonly Slot[]): number | null {
  const known = attemptsOf(view, slots).flatMap(({ latencyMs }) => latencyMs ?? []);
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0);
}

function repairsOf(view: RunView, slots: readonly Slot[]): string[] {
  const found = attemptsOf(view, slots).flatMap(({ repaired }) => repaired);
  return [...new Set(found)].map((repair) => repairWords[repair]);
}

export const repairWords: Readonly<Record<Repair, string>> = {
  json: 'The JSON of the answer was repaired',
  clamped: 'A value of another type or range was corrected',
  defaults: 'A missing field was taken as empty',
  quotes: 'A quote differed in its punctuation',
};

export function seatStatus(view: RunView, seat: string): SeatStatus {
  if (view.excluded?.seat === seat) return 'excluded';
  if (isNotOffered(view, seat)) return 'not_called';
  const failure = finalFailure(view, answerSlot(view, seat));
  if (failure === 'refusal') return 'refused';
  if (failure === 'timeout') return 'timed_out';
  if (failure !== null) return 'failed';
  if (isMissing(view, seat) || hasNotVotedAgain(view, seat))
    return lastFailure(view, seat) === null ? 'timed_out' : 'failed';
  if (view.stage === 'closed' || view.stage === 'settling') {
    const answer = answerCall(view, seat);
    return !answer ? 'not_called' : answer.outcome ? 'completed' : 'failed';
  }
  if (isDone(view, seat)) return 'completed';
  const last = lastAttempt(view, currentSlot(view, seat))?.attempt;
  if (!last || last.status === 'succeeded') return 'waiting';
  return last.status === 'failed' && !last.final ? 'retrying' : 'processing';
}

function seatReason(view: RunView, seat: string, status: SeatStatus): string | null {
  if (status === 'excluded')
    return `Excluded from the vote: its answer tried to instruct the reviewers (flagged by ${view.excluded?.flags ?? 0})`;
  if (isOut(view, seat) || hasNotVotedAgain(view, seat)) return whyOut(view, seat);
  if (status === 'not_called') return 'Was not asked';
  if (status === 'failed') return "Hadn't answered when the run ended";
  if (status === 'retrying') {
    const last = lastAttempt(view, currentSlot(view, seat));
    return `${retryingWords(last?.number ?? 1)}: ${failureWords[last?.attempt.failure ?? 'unavailable']}`;
  }
  const silent = finalFailure(view, reviewSlot(seat)) ?? whySilent(view, seat);
  return silent === null ? null : `No review: ${failureWords[silent]}`;
}

function whyOut(view: RunView, seat: string): string {
  if (isNotOffered(view, seat)) return failureWords.not_offered;
  return failureWords[
    finalFailure(view, answerSlot(view, seat)) ?? lastFailure(view, seat) ?? 'late'
  ];
}

/** `attempts`: those that failed. From the second retry on it has its number. */
export function retryingWords(attempts: number): string {
  return attempts < 2 ? 'Retrying' : `Retrying (retry ${attempts})`;
}

export const failureWords: Readonly<Record<MissingSeat['why'], string>> = {
  rate_limited: 'The provider is rate limiting us',
  timeout: 'No answer in time',
  conflict: 'The provider reported a conflict',
  unavailable: 'The provider is unavailable',
  connection: 'The provider could not be reached',
  auth: 'The provider rejected the API key',
  billing: 'The provider account has a billing issue',
  unknown_model: "The provider doesn't offer this model",
  bad_request: 'The provider rejected the request',
  refusal: 'The model declined to answer this question',
  truncated: 'The answer was cut off',
  malformed: "The answer wasn't in the required format",
  silent: 'The provider stopped sending',
  aborted: 'The call was stopped',
  lost: 'The call was lost',
  late: 'No answer in time',
  not_offered: 'This model is no longer offered',
};

/** Micro-dollars of the given slots; null before any call was priced. */
export function costOf(
  view: RunView,
  slots: readonly Slot[],
): { micros: number | null; atLeast: boolean } {
  const attempts = attemptsOf(view, slots);
  const known = attempts.flatMap((one) => (one.costMicros === null ? [] : [one.costMicros]));
  return {
    micros: known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0),
    atLeast: attempts.some((one) => one.costMicros === null && isOver(view, one)),
  };
}

/** Open calls may still report their cost; usage of an open attempt arrived too late to matter. */
function isOver(view: RunView, attempt: AttemptView): boolean {
  return attempt.status !== 'open' || attempt.usage !== null || view.conclusion !== null;
}

function endReason(view: RunView): string | null {
  const reason = view.conclusion?.reason ?? null;
  if (reason === null) return null;
  if (reason === 'reviews' && view.refines) return 'Too few models voted again.';
  const words = {
    quorum: `${hasAnswer(view) ? 'Too few models' : 'No model'} gave an answer that could be used.`,
    reviews: 'Too few models reviewed the answers.',
    timeout: 'Optimization timeout: the run took longer than it may.',
    not_seatable: "This strategy's models aren't available.",
    person: 'You canceled this run.',
    refused: 'This refinement never started.',
    drafts_failed:
      view.conclusion?.heading === 'best_single_answer'
        ? 'No recommendation passed its checks, so the best single answer is shown instead.'
        : 'No recommendation passed its checks.',
    no_ledger: "The claims couldn't be merged, so no recommendation was written.",
  } as const;
  return words[reason];
}

function hasAnswer(view: RunView): boolean {
  return view.seats.some(({ seat }) => answerCall(view, seat)?.outcome);
}

function describeBias(view: RunView, scores: Scores): Evolution['bias'] {
  return {
    agreement_score: scores.agreement.score,
    agreement_band: scores.agreement.band,
    agreement_capped: capOf(scores),
    agreement_note: agreementNote(scores),
    ordering: scores.ordering ?? 'kemeny',
    two_camps: scores.twoCamps,
    clear_winner: scores.clearWinner,
    clear_winner_reason: scores.clearWinnerReason,
    disagreement_areas: scores.disagreements.map((area) => describeArea(view, scores, area)),
    consensus_points: scores.consensus.map((id) => ({ claim_id: id, text: claimText(view, id) })),
    rejected_claims: rejectedIds(scores).map((id) => describeRejected(view, scores, id)),
    model_confidence_scores: Object.fromEntries(
      Object.entries(scores.confidence).map(([seat, { support }]) => [seat, wholePercent(support)]),
    ),
    uncertainty_factors: scores.uncertainty
      // Runs of v0.1 carry it, and only an operator can do something about it.
      .filter(({ ref }) => ref !== 'price_table_stale')
      .map((factor) => ({ kind: factor.kind, text: uncertaintyText(view, factor) })),
    minority_report: scores.minority
      ? {
          seat: scores.minority.seat,
          position: positionOf(view, scores.minority),
          votes: otherVotes(view, scores),
          against: [...scores.minority.against],
          flaws: scores.minority.against.flatMap((seat) =>
            fatalFlawsOf(view, seat, representative(scores) ?? '').map((text) => ({ seat, text })),
          ),
        }
      : null,
    indicators: [
      {
        id: 'position',
        name: 'Position',
        value:
          scores.bias.positionSlope === null
            ? null
            : `${signed(scores.bias.positionSlope)} points per position`,
        note: 'How much higher (+) or lower (−) each later position scored. An indicator only: a single run can detect 0.3 points per position or more.',
      },
      {
        id: 'leniency',
        name: 'Leniency',
        value:
          scores.bias.leniencySpread === null
            ? null
            : `spread ${scores.bias.leniencySpread.toFixed(2)} points`,
        note: "How much reviewers differ in strictness. The order comes from their rankings, so this doesn't affect it.",
      },
      {
        id: 'verbosity',
        name: 'Length',
        value: scores.bias.verbosityTau === null ? null : signed(scores.bias.verbosityTau),
        note: "How much longer answers ranked higher (τ). A single run can't separate length from quality.",
      },
    ],
  };
}

/** Scores of `agreement_v1` say that the cap applied, and knew this one only. */
function capOf({ agreement: { capped } }: Scores): BiasAnalysis['agreement_capped'] {
  return typeof capped === 'boolean' ? (capped ? 'contested' : null) : capped;
}

function agreementNote(scores: Scores): string | null {
  const { score, rank, whyNull } = scores.agreement;
  const cap = capOf(scores);
  if (score === null)
    return whyNull === 'no_ledger'
      ? "No score: the claims couldn't be collected"
      : 'No score: too few models answered';
  const notes = [
    ...(cap === 'contested'
      ? [`Capped at ${score}: a third or more of the models contest a decisive claim.`]
      : []),
    ...(scores.clearWinnerReason === 'copies' ? [copiesSentence] : []),
    ...(cap === 'copies' ? [`Capped at ${score}.`] : []),
  ];
  if (notes.length > 0) return notes.join(' ');
  return rank === null
    ? 'Reviewers shared too few answers to compare their rankings, so the score leaves that out.'
    : null;
}

/** What most of the weight is against, where no other list has it. */
function rejectedIds({ claims, disagreements, uncertainty }: Scores): string[] {
  const listed = new Set([
    ...disagreements.map(({ about }) => about),
    ...uncertainty.flatMap(({ kind, ref }) => (kind === 'unsure_claim' ? [ref] : [])),
  ]);
  return Object.entries(claims)
    .filter(([id, { agreeShare }]) => agreeShare !== null && agreeShare < 1 / 2 && !listed.has(id))
    .toSorted(([, one], [, other]) => other.disagree.length - one.disagree.length)
    .map(([id]) => id);
}

function describeRejected(view: RunView, scores: Scores, id: string): Rejected {
  const { agree = [], disagree = [], unsure = [] } = scores.claims[id] ?? {};
  const side = { stance: 'disagree', seats: [...disagree] };
  return {
    claim_id: id,
    text: claimText(view, id),
    agree: [...agree],
    unsure: [...unsure],
    against: { ...side, quote: quoteOf(view, scores, id, side) },
  };
}

function describeArea(
  view: RunView,
  scores: Scores,
  area: Scores['disagreements'][number],
): Disagreement {
  const text = area.about === 'decision' ? 'Which decision to make' : claimText(view, area.about);
  return {
    about: area.about,
    text,
    sides: area.sides.map((side) => ({
      stance: area.about === 'decision' ? optionText(view, side.stance) : side.stance,
      seats: [...side.seats],
      quote: quoteOf(view, scores, area.about, side),
    })),
    firm: (area.firm ?? []).flatMap((seat) => {
      const percent = ballotOf(view, seat)?.votes[area.about]?.confidence;
      return percent === undefined ? [] : [{ seat, percent }];
    }),
    settled_by: settledBy(view, scores, area.about),
  };
}

/** What would settle a question: what the recommendation says, else a fact that a voter misses. */
function settledBy(view: RunView, scores: Scores, about: string): string | null {
  const written = acceptedDraft(view)?.dissent.find((one) => one.claim_id === about)?.text;
  return written ?? missingFact(view, scores, about);
}

/** Who voted for another option than the one that was chosen. */
function otherVotes(
  view: RunView,
  scores: Scores,
): NonNullable<BiasAnalysis['minority_report']>['votes'] {
  const chosen = votedOption(scores);
  return Object.entries(scores.decision.votes)
    .filter(([option]) => option !== chosen)
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([option, seats]) => ({
      option_id: option,
      text: optionText(view, option),
      seats: [...seats],
      argument: argumentFor(view, scores, option, seats),
    }));
}

/** Of the best placed dissenter whose answer proposes the option; else of one who gave a reason. */
function argumentFor(
  view: RunView,
  { order, minority }: Scores,
  optionId: string,
  seats: readonly string[],
): { seat: string; text: string } | null {
  const placed = order.filter((seat) => seats.includes(seat));
  const proposers = view.ledger?.options[optionId]?.seats ?? [];
  const seat =
    (minority?.optionId === optionId ? minority.seat : undefined) ??
    placed.find((one) => proposers.includes(one)) ??
    placed.find((one) => decisionReason(view, one) !== null);
  if (seat === undefined) return null;
  const text = positionOf(view, { seat, optionId });
  // The option alone is no argument.
  return text === optionText(view, optionId) ? null : { seat, text };
}

/**
 * A dissenter's own answer where it proposes the option that it votes for; else its vote's reason. In a
 * refinement the reason comes first, because it is newer than the answer.
 */
function positionOf(
  view: RunView,
  { seat, optionId }: Pick<NonNullable<Scores['minority']>, 'seat' | 'optionId'>,
): string {
  const ownAnswer = opinionOf(view, seat)?.recommendation.one_line ?? erased;
  const reason = decisionReason(view, seat);
  if (reason !== null && isVotedAgain(view, seat, 'decision')) return reason;
  if (view.ledger?.options[optionId]?.seats.includes(seat) !== false) return ownAnswer;
  const option = optionText(view, optionId);
  return reason === null ? option : `${option}: ${reason}`;
}

function uncertaintyText(view: RunView, factor: Scores['uncertainty'][number]): string {
  // A refinement asks for votes only: what answers said stands as it was before.
  const first = view.refines === null ? '' : ' in the first round';
  switch (factor.kind) {
    case 'unsure_claim':
      return `${factor.count} models are unsure: ${claimText(view, factor.ref)}`;
    case 'flips':
      return `${factor.count} models ${first === '' ? '' : `said${first} that they `}would change their advice if this is wrong: ${claimText(view, factor.ref)}`;
    case 'assumption':
      return `${counted(factor.count, 'model')} assumed${first}: ${view.ledger?.notes[factor.ref]?.text ?? erased}`;
    case 'missing_info':
      return `${counted(factor.count, 'model')} needed to know${first}: ${view.ledger?.notes[factor.ref]?.text ?? erased}`;
    case 'process':
      return processWords[factor.ref] ?? factor.ref;
  }
}

const processWords: Readonly<Record<string, string>> = {
  seats_missing: 'Not every model answered.',
  reviews_missing: 'Not every model reviewed the others.',
  no_claim_ledger: "The claims couldn't be merged.",
  seat_excluded: 'One answer was excluded from the vote.',
  strongest_seat_missing: "The panel's strongest model is missing.",
  votes_missing: 'Not every model voted again.',
};

const twoDecimals = { minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;

function signed(value: number): string {
  return formatNumber(value, { ...twoDecimals, signDisplay: 'exceptZero' }, 'en-US');
}
