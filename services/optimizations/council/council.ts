import { familyWeights, hasCopies, pollClaim, scoreAgreement, takePoll } from './agreement.ts';
import type { ClaimPoll, Poll, Vote } from './agreement.ts';
import { leniency, marksOf, positionSlope, verbosityTau } from './bias.ts';
import type { Ballot, Ledger, Scores, Seat } from '#services/optimizations/run/events.ts';
import {
  consensusPoints,
  disagreementAreas,
  minorityReport,
  placements,
  uncertaintyFactors,
} from './findings.ts';
import type { Evidence } from './findings.ts';
import { currentMetric } from './metric.ts';
import type { Metric } from './metric.ts';
import { rankAgreement, reviewerTaus, twoCamps } from './rank-agreement.ts';
import {
  comparePairs,
  condorcetWinner,
  judgeWinner,
  kemenyOrder,
  rubricMeans,
  shownOrder,
  tieBreak,
  winRates,
} from './ranking.ts';
import type { Review } from './ranking.ts';
import { reviewAssignments } from './assignments.ts';
import { peerSupport, seatConfidence } from './seat-confidence.ts';
import { flawsOf, verdictOf } from './verdict.ts';
import { seededOrder } from '#services/platform/seeded.ts';

/** The input of a run's figures, all of it from the run's events. */
export type CouncilInput = {
  seed: string;
  /** Accepted and not left out. */
  seats: readonly Seat[];
  /** Reviewer → ballot; ballots of other seats are ignored, and so is what they say of other answers. */
  ballots: Readonly<Record<string, Ballot>>;
  ledger: Ledger & { scored: boolean };
  /** Seat → stated confidence, 0–100, and length of the answer. */
  opinions: Readonly<Record<string, { confidence: number; characters: number }>>;
  /** As fixed when the opinions closed, with seats that were left out since. */
  reviewOrder: { order: readonly string[]; offsets: readonly number[] };
  minFamilies: number;
  /** Names of facts about the process that make the result less certain, such as `seats_missing`. */
  process: readonly string[];
};

/**
 * All figures of a council's ballots: order, agreement, lists, confidences,
 * indicators. Pure: the same input gives the same figures, so that an auditor can recompute a run from
 * its events. Shares and figures are rounded to four decimals, and only at the end.
 */
export function computeScores(input: CouncilInput, metric: Metric = currentMetric): Scores {
  const { seats } = input;
  const answers = seats.map(({ seat }) => seat);
  const reviews = answers.flatMap((reviewer) => {
    const ballot = input.ballots[reviewer];
    return ballot ? [{ reviewer, ballot }] : [];
  });
  const weights = familyWeights(
    seats.filter(({ seat }) => reviews.some(({ reviewer }) => reviewer === seat)),
    metric,
  );
  const copies = hasCopies(seats, metric);
  const ranking = rankAnswers(input.seed, answers, reviews, weights, metric);
  const votes = countVotes(input, reviews, weights, ranking.order, metric);
  const { options } = input.ledger;
  const { camps, order } = ranking;
  const election = { ...votes, ...input.ledger, weights, reviews, order, camps };
  const verdict = metric.decides ? verdictOf(election) : null;
  const evidence: Evidence = {
    seats,
    verdict,
    options,
    reviews,
    claims: votes.claims,
    decision: votes.decision,
    order: ranking.order,
    q: ranking.q,
  };
  return rounded({
    metricVersion: metric.version,
    order: ranking.order,
    ...(ranking.ordering === undefined ? {} : { ordering: ranking.ordering }),
    q: Object.fromEntries(ranking.q),
    rubricMeans: Object.fromEntries(ranking.rubric),
    condorcetWinner: ranking.condorcetWinner,
    ...(copies ? { clearWinner: null, clearWinnerReason: 'copies' as const } : ranking.verdict),
    twoCamps: ranking.camps.length > 0,
    agreement: scoreAgreement(
      { ...votes, scored: input.ledger.scored, copies },
      ranking.rankAgreement,
      metric,
    ),
    claims: Object.fromEntries(
      votes.claims.map((poll) => [poll.claim.id, claimFigures(poll, input.ledger.scored)]),
    ),
    decision: {
      modal: votes.decision.camps[0]?.choice ?? null,
      share: votes.decision.share,
      votes: Object.fromEntries(votes.decision.camps.map(({ choice, seats: by }) => [choice, by])),
    },
    ...(verdict === null ? {} : { verdict, flaws: flawsOf(verdict, election) }),
    consensus: consensusPoints(evidence, input.minFamilies, metric),
    disagreements: disagreementAreas(evidence, metric),
    minority: minorityReport(evidence),
    uncertainty: uncertaintyFactors(evidence, input.ledger.notes, input.process, metric),
    confidence: confidences(input, evidence, weights, metric),
    placement: placements(evidence),
    bias: biasIndicators(input, evidence, metric),
  });
}

function rankAnswers(
  seed: string,
  answers: readonly string[],
  reviews: readonly Review[],
  weights: Readonly<Record<string, number>>,
  metric: Metric,
) {
  const pairs = comparePairs(answers, reviews);
  const q = winRates(pairs);
  const rubric = rubricMeans(answers, reviews);
  const seeded = seededOrder(seed, 'ties', answers.toSorted(compareText));
  const preference = tieBreak(
    q,
    rubric,
    answers.map((answer) => seeded.indexOf(answer)),
  );
  const kemeny = kemenyOrder(pairs, preference);
  const { shown, ordering } = shownOrder(pairs, kemeny, preference, metric);
  const taus = reviewerTaus(answers, reviews, metric);
  const agreed = rankAgreement(taus, metric);
  return {
    order: shown.map((index) => answers[index]!),
    ordering,
    q: new Map(answers.map((answer, index) => [answer, q[index]!])),
    rubric: new Map(answers.map((answer, index) => [answer, rubric[index]!])),
    condorcetWinner: condorcetWinner(pairs),
    verdict: judgeWinner(pairs, kemeny, shown, agreed, metric),
    rankAgreement: agreed,
    camps: twoCamps(
      taus,
      reviews.map(({ reviewer }) => reviewer),
      reviews.map(({ reviewer }) => weights[reviewer]!),
      metric,
    ),
  };
}

function countVotes(
  { seed, ledger }: CouncilInput,
  reviews: readonly Review[],
  weights: Readonly<Record<string, number>>,
  order: readonly string[],
  metric: Metric,
): { claims: ClaimPoll[]; decision: Poll; byAnswer: Poll } {
  const votes = (choose: (decision: Ballot['decision']) => string | null): Vote[] =>
    reviews.flatMap(({ reviewer, ballot }) => {
      const choice = choose(ballot.decision);
      return choice === null ? [] : [{ seat: reviewer, choice }];
    });
  const preference = optionPreference(seed, ledger.options, order);
  return {
    claims: ledger.claims.map((claim) => pollClaim(claim, reviews, weights, metric)),
    decision: takePoll(
      votes(({ optionId }) => optionId),
      weights,
      (option) => preference.indexOf(option),
      metric,
    ),
    byAnswer: takePoll(
      votes(({ seat }) => seat),
      weights,
      (answer) => order.indexOf(answer),
      metric,
    ),
  };
}

/** Options with as many votes: first the one that the higher-placed answer proposes, then the seed. */
function optionPreference(
  seed: string,
  options: Ledger['options'],
  order: readonly string[],
): string[] {
  const seeded = seededOrder(seed, 'options', options.map(({ id }) => id).toSorted(compareText));
  const place = (option: Ledger['options'][number]) =>
    Math.min(...option.seats.map((seat) => order.indexOf(seat)).filter((index) => index >= 0));
  return options
    .toSorted((one, other) => {
      const [first, second] = [place(one), place(other)];
      return first === second ? seeded.indexOf(one.id) - seeded.indexOf(other.id) : first - second;
    })
    .map(({ id }) => id);
}

function claimFigures(poll: ClaimPoll, scored: boolean): Scores['claims'][string] {
  return {
    ...poll.stances,
    agreeShare: poll.agreeShare,
    a: poll.agreement,
    scored: scored && poll.counts,
  };
}

function confidences(
  input: CouncilInput,
  { seats, reviews, q }: Evidence,
  weights: Readonly<Record<string, number>>,
  metric: Metric,
): Scores['confidence'] {
  return Object.fromEntries(
    seats.flatMap(({ seat }) => {
      const opinion = input.opinions[seat];
      const parts = {
        q: q.get(seat) ?? null,
        support: peerSupport(seat, input.ledger.claims, reviews, weights),
        statedPercent: opinion?.confidence ?? 0,
      };
      const confidence = opinion ? seatConfidence(parts, metric) : null;
      return confidence ? [[seat, confidence] as const] : [];
    }),
  );
}

function biasIndicators(
  { opinions, reviewOrder }: CouncilInput,
  { seats, reviews, q }: Evidence,
  metric: Metric,
): Scores['bias'] {
  const answers = seats.map(({ seat }) => seat);
  const assignments = reviewAssignments(reviewOrder.order, reviewOrder.offsets);
  const marks = marksOf(reviews, assignments, answers);
  return {
    positionSlope: positionSlope(marks, metric),
    ...leniency(marks),
    verbosityTau: verbosityTau(
      answers.flatMap((seat) => {
        const characters = opinions[seat]?.characters;
        return characters === undefined ? [] : [{ characters, q: q.get(seat) ?? null }];
      }),
      metric,
    ),
  };
}

/** By code units, which no locale of any machine can change. */
function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * Four decimals for every number inside. The nudge makes a half that missed its last digit round like
 * one that did not; adding 0 turns −0, which JSON cannot carry, into 0.
 */
function rounded<Value>(value: Value): Value;
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Math.round(value * 1e4 + 1e-7) / 1e4 + 0;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item: unknown) => rounded(item));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]: [string, unknown]) => [key, rounded(inner)]),
  );
}
