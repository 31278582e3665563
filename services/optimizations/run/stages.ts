import { computeScores } from '#services/optimizations/council/council.ts';
import type { CouncilInput } from '#services/optimizations/council/council.ts';
import { currentMetric } from '#services/optimizations/council/metric.ts';
import type { Metric } from '#services/optimizations/council/metric.ts';
import { undecidableOption } from './events.ts';
import type {
  Ballot,
  ConclusionReason,
  Heading,
  MissingSeat,
  OptimizationEvent,
  Refines,
  Schedule,
  Scores,
  Seat,
  Slot,
} from './events.ts';
import { isDead, isWaiting, verifiersOf } from './owed.ts';
import { isRefining, secondCouncil, secondVotes } from './second-round.ts';
import {
  answersQuorum,
  answersReachable,
  reviewsQuorum,
} from '#services/optimizations/council/quorum.ts';
import { evolve } from './state.ts';
import type { At, OpenState, RunState } from './state.ts';
import { reviewOffsets, reviewAssignments } from '#services/optimizations/council/assignments.ts';
import { labelsFor, seededOrder } from '#services/platform/seeded.ts';
import { settlement } from '#services/optimizations/council/settlement.ts';
import { answerSlot, claimsSlot, draftSlot, opinionSlot, reviewSlot } from './slots.ts';

/**
 * The consequences of a fact: stages open and close here, and a run concludes. Pure, and called after
 * every fact, so that a stage closes in the append of its last answer.
 */
export function progress(state: RunState, now: string): OptimizationEvent[] {
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
function stepOpinions(state: At<'opinions'>, now: string): OptimizationEvent[] {
  const waiting = state.seats.filter((seat) => isWaiting(state, opinionSlot(seat.seat)));
  const met = opinionsQuorumMet(state);
  if (waiting.length === 0)
    return [met ? closeOpinions(state, 'all', now) : conclude(state, 'failed', null, 'quorum')];
  if (met) return state.softPassed ? [closeOpinions(state, 'quorum', now)] : [];
  const { schedule, seats } = state;
  return answersReachable(seats.length, schedule.minFamilies, answeredSeats(state), waiting)
    ? []
    : [conclude(state, 'failed', null, 'quorum')];
}

export function closeOpinions(
  state: At<'opinions'>,
  reason: 'all' | 'soft' | 'hard' | 'quorum',
  now: string,
): OptimizationEvent {
  const accepted = answeredSeats(state).map((seat) => seat.seat);
  const order = seededOrder(state.seed, 'order', accepted);
  const offsets = reviewOffsets(accepted.length, state.schedule.reviewsPerSeat);
  const assignments = reviewAssignments(order, offsets);
  const labels = Object.fromEntries(
    Object.entries(assignments).map(([reviewer, shown]) => [
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
      claimsHardAt: later(now, state.schedule.deadlinesMs.claims),
    },
  };
}

/**
 * Without an extractor the council continues with the claims that their authors called important: the
 * unmerged claims of importance 3 and 2, at most 24, spread evenly over the answers, one option per
 * answer. Votes on those are worth reading, but the same claim occurs several times, so nothing is
 * scored.
 */
export function fallbackLedger(state: At<'claims'>, now: string): OptimizationEvent {
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
      options: [
        ...state.order.map((seat, index) => ({ id: `o${index + 1}`, seats: [seat] })),
        { id: undecidableOption, seats: [] },
      ],
      notes: [],
      source: 'fallback',
      scored: false,
      ...reviewDeadlines(state.schedule, now),
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

export function closeReviews(
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
        synthesisHardAt: later(now, state.schedule.deadlinesMs.synthesis),
      },
    },
  ];
}

/**
 * The scores as the reviews of a run give them; the same each time, so that they can be verified with
 * the metric that the run names.
 */
export function countReviews(state: At<'reviews'>, metric: Metric = currentMetric): Count {
  const counted = isRefining(state) ? secondVotesOf(state) : firstReviewsOf(state, metric);
  return { ...counted, scores: computeScores(counted.council, metric) };
}

function secondVotesOf(state: At<'reviews'> & { refines: Refines }): Counted {
  const ballots = secondVotes(state);
  const missing = [...state.missing, ...missingSeats(state, reviewSlot, state.accepted)];
  return {
    ballots,
    missing,
    excluded: null,
    inputs: [...state.refines.before.inputs, ...Object.keys(ballots).map(reviewSlot)],
    council: secondCouncil(state, ballots, missing.length === 0),
  };
}

type Counted = {
  /** By seat: what it voted in this run. */
  ballots: Readonly<Record<string, unknown>>;
  missing: readonly MissingSeat[];
  excluded: { seat: string; why: 'injection'; flags: number } | null;
  inputs: readonly Slot[];
  council: CouncilInput;
};
export type Count = Counted & { scores: Scores };

function firstReviewsOf(state: At<'reviews'>, metric: Metric): Counted {
  const ballots = ballotsOf(state);
  const missing = missingSeats(state, reviewSlot, state.accepted);
  const excluded = excludedSeat(state, ballots, metric);
  const counted = withoutSeat(ballots, excluded?.seat ?? null);
  const seats = state.seats.filter(
    (seat) => state.accepted.includes(seat.seat) && seat.seat !== excluded?.seat,
  );
  const council: CouncilInput = {
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
    minFamilies: state.schedule.minFamilies,
    process: [
      ...(state.missing.length > 0 ? ['seats_missing'] : []),
      ...(state.missing.some(({ seat }) => seat === state.schedule.strongest)
        ? ['strongest_seat_missing']
        : []),
      ...(state.schedule.pricesStale === true ? ['price_table_stale'] : []),
      ...(missing.length > 0 ? ['reviews_missing'] : []),
      ...(state.scored ? [] : ['no_claim_ledger']),
      ...(excluded ? ['seat_excluded'] : []),
    ],
  };
  return {
    ballots,
    missing,
    excluded,
    inputs: Object.keys(counted).map(reviewSlot),
    council,
  };
}

/**
 * A seat that tries to instruct its reviewers is left out: a finding by code with some flags, or flags
 * by more than half of those who saw it; at most one, and never below the quorum.
 */
function excludedSeat(
  state: At<'reviews'>,
  ballots: Readonly<Record<string, Ballot>>,
  { suspicion: { flags: enough } }: Metric,
): { seat: string; why: 'injection'; flags: number } | null {
  const suspicion = state.accepted.map((seat) => {
    const readers = Object.values(ballots).filter((ballot) => seat in ballot.scores);
    const flags = readers.filter((ballot) => ballot.suspects.includes(seat)).length;
    const outcome = state.calls[opinionSlot(seat)]?.outcome;
    const found = outcome?.kind === 'opinion' && outcome.injectionFound;
    return { seat, flags, guilty: (found && flags >= enough) || flags * 2 > readers.length };
  });
  const worst = suspicion
    .filter((one) => one.guilty)
    .toSorted((one, other) => other.flags - one.flags)[0];
  if (!worst) return null;
  const left = state.seats.filter(
    (seat) => state.accepted.includes(seat.seat) && seat.seat !== worst.seat,
  );
  if (!answersQuorum(state.seats.length, state.schedule.minFamilies, left)) return null;
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
  // Unmerged claims give a draft nothing to cite, and the gate nothing to compare.
  if (!state.scored)
    return [conclude(state, 'completed', publishedHeading(state, false), 'no_ledger')];
  const round = state.judged + 1;
  const draft = state.calls[draftSlot(round)];
  if (draft?.dead) return failRound(state, round, 'none', [`draft_${draft.dead}`], true);
  if (draft?.outcome?.kind !== 'draft') return [];
  const { checks } = draft.outcome;
  if (!checks.passed) return failRound(state, round, 'none', checks.failed, false);
  const verifiers = verifiersOf(state);
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
    conclude(state, 'completed', publishedHeading(state, true), null),
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

export function fallBack(state: At<'synthesis'>, failed: readonly string[]): OptimizationEvent[] {
  return [
    {
      type: 'SynthesisJudged',
      data: { round: state.judged + 1, verdict: 'fallback', verified: 'none', failed },
    },
    conclude(state, 'completed', publishedHeading(state, false), 'drafts_failed'),
  ];
}

/** No majority and that it cannot be decided are findings of the vote, which need no draft. */
export function publishedHeading({ verdict }: At<'synthesis'>, hasDraft: boolean): Heading {
  const voted = verdict?.heading ?? 'recommendation';
  if (hasDraft || voted === 'no_majority' || voted === 'undecidable') return voted;
  return 'best_single_answer';
}

/** Without a verdict the order alone chose. */
function bestSeatOf({ verdict, scoresOrder }: At<'synthesis'>): string | null {
  return verdict ? verdict.bestSeat : (scoresOrder[0] ?? null);
}

type ConclusionOutcome = Extract<OptimizationEvent, { type: 'RunConcluded' }>['data']['outcome'];

export function conclude(
  state: At<'draft'> | OpenState,
  outcome: ConclusionOutcome,
  heading: Heading | null,
  reason: ConclusionReason,
): OptimizationEvent {
  const calls = 'calls' in state ? state.calls : {};
  const callsStarted = Object.values(calls).reduce((sum, call) => sum + call.attempts, 0);
  const seats = state.seats.length;
  const answers = state.seats.map(({ seat }) => calls[answerSlot(state, seat)]);
  const answered = answers.filter((call) => call?.outcome).length;
  const refused = answers.filter((call) => call?.dead === 'refusal').length;
  const answeredUnusable = Object.values(calls).some((call) => call.answeredUnusable);
  // A model that refused the person's content did its work: it is named, but not returned.
  const missing = outcome === 'completed' ? seats - answered - refused : seats - answered;
  const { price } = state;
  const draftFailed = reason === 'drafts_failed' || reason === 'no_ledger';
  const due = { price, outcome, draftFailed, callsStarted, missing, seats, answeredUnusable };
  const bestSeat = state.stage === 'synthesis' ? bestSeatOf(state) : null;
  return {
    type: 'RunConcluded',
    data: { ...due, heading, reason, bestSeat, settlement: settlement(due) },
  };
}

function answeredSeats(state: At<'opinions'>): Seat[] {
  return state.seats.filter((seat) => state.calls[opinionSlot(seat.seat)]?.outcome);
}

export function opinionsQuorumMet(state: At<'opinions'>): boolean {
  return answersQuorum(state.seats.length, state.schedule.minFamilies, answeredSeats(state));
}

export function reviewsQuorumMet(state: At<'reviews'>): boolean {
  if (isRefining(state))
    return reviewsQuorum(state.seats.length, Object.keys(secondVotes(state)).length);
  const ballots = Object.values(ballotsOf(state));
  const everyAnswerRead = state.accepted.every((seat) =>
    ballots.some((ballot) => seat in ballot.scores),
  );
  return everyAnswerRead && reviewsQuorum(state.accepted.length, ballots.length);
}

/** Whether the outstanding reviewers could still complete the quorum, each with all it was shown. */
function reviewsQuorumReachable(state: At<'reviews'>, waiting: readonly string[]): boolean {
  if (isRefining(state)) {
    const voted = Object.keys(secondVotes(state)).length;
    return reviewsQuorum(state.seats.length, voted + waiting.length);
  }
  const ballots = Object.values(ballotsOf(state));
  const assignments = reviewAssignments(state.order, state.offsets);
  const toRead = new Set(waiting.flatMap((reviewer) => assignments[reviewer] ?? []));
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

export function reviewDeadlines(
  schedule: Schedule,
  now: string,
): { reviewsSoftAt: string; reviewsHardAt: string } {
  return {
    reviewsSoftAt: later(now, schedule.deadlinesMs.reviewsSoft),
    reviewsHardAt: later(now, schedule.deadlinesMs.reviewsHard),
  };
}
export function later(iso: string, milliseconds: number): string {
  return new Date(Date.parse(iso) + milliseconds).toISOString();
}
const synthesisRounds = 3;
const fallbackClaims = 24;
