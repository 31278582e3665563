import type { ClaimFixed, Scores, Seat, Stance } from '#services/optimizations/run/events.ts';
import { precision, reaches } from './metric.ts';
import type { Metric } from './metric.ts';
import type { Review } from './ranking.ts';

/**
 * Votes and the agreement score. Instead of comparing texts, each reviewer states where it stands on
 * every claim and on the decision; agreement is counted from these votes.
 */

export type Vote = { seat: string; choice: string };

/** Those who chose alike. `weight` is the sum of their family weights. */
type Camp = { choice: string; seats: readonly string[]; weight: number };

export type Poll = {
  /** Largest first; the first one is the mode. */
  camps: readonly Camp[];
  votes: number;
  /** Weight of the mode among all votes; null without votes. */
  share: number | null;
  /** max(0, 2 × share − 1); null with too few votes to count. */
  agreement: number | null;
  /** The two largest camps weigh the same, so that neither is a minority. */
  tied: boolean;
};

export type ClaimPoll = Poll & {
  claim: ClaimFixed;
  stances: Record<Stance, readonly string[]>;
  /** Weighted share of agreement among those who took a stance; null without any. */
  agreeShare: number | null;
  /** Share of reviewers, by heads, who took a stance. */
  participation: number;
  /** Enough votes and enough participation to enter the score. */
  counts: boolean;
};

/**
 * Seat → weight of its vote. Seats of one family weigh 1/√size each, so that three siblings, who
 * learned from the same data, do not outvote three laboratories. Counted among those who vote: a
 * sibling whose review was lost takes nothing from the others.
 */
export function familyWeights(
  voters: readonly Seat[],
  metric: Metric,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    voters.map(({ seat, family }) => {
      const size = voters.filter((other) => other.family === family).length;
      return [seat, size ** -metric.familyExponent];
    }),
  );
}

/**
 * Counts votes. The value of a question is 2s − 1 for the modal share s, and 0 without a majority:
 * 7–0 is 1, 6–1 is .714, 4–3 is .143, and 4–1–1–1 is .143 as well. The usual normalised variation
 * ratio would call that last one .429, more agreement because the opposition splintered.
 *
 * `preference` orders choices that weigh the same and have as many seats, smaller first.
 */
export function takePoll(
  votes: readonly Vote[],
  weights: Readonly<Record<string, number>>,
  preference: (choice: string) => number,
  metric: Metric,
): Poll {
  const camps = [...Map.groupBy(votes, ({ choice }) => choice)]
    .map(([choice, chosen]) => ({
      choice,
      seats: chosen.map(({ seat }) => seat),
      weight: chosen.reduce((sum, { seat }) => sum + weights[seat]!, 0),
    }))
    .toSorted((one, other) =>
      sameWeight(one, other)
        ? other.seats.length - one.seats.length || preference(one.choice) - preference(other.choice)
        : other.weight - one.weight,
    );
  const total = camps.reduce((sum, camp) => sum + camp.weight, 0);
  const [mode, rival] = camps;
  const share = mode ? mode.weight / total : null;
  return {
    camps,
    votes: votes.length,
    share,
    agreement:
      share === null || votes.length < metric.minimumVotes ? null : Math.max(0, 2 * share - 1),
    tied: mode !== undefined && rival !== undefined && sameWeight(mode, rival),
  };
}

/** The seats outside the majority. In a tie every seat has as many against it as with it. */
export function minorityOf(poll: Poll): string[] {
  return poll.camps.slice(poll.tied ? 0 : 1).flatMap((camp) => camp.seats);
}

/** Share of the votes' weight that is not with the mode. */
export function minorityShare(poll: Poll): number {
  return poll.share === null ? 0 : 1 - poll.share;
}

export function pollClaim(
  claim: ClaimFixed,
  reviews: readonly Review[],
  weights: Readonly<Record<string, number>>,
  metric: Metric,
): ClaimPoll {
  const taking = (stance: Stance) =>
    reviews
      .filter(({ ballot }) => ballot.votes[claim.id]?.stance === stance)
      .map(({ reviewer }) => reviewer);
  const stances = {
    agree: taking('agree'),
    disagree: taking('disagree'),
    unsure: taking('unsure'),
  };
  const votes = (['agree', 'disagree'] as const).flatMap((choice) =>
    stances[choice].map((seat) => ({ seat, choice })),
  );
  const poll = takePoll(votes, weights, (choice) => (choice === 'agree' ? 0 : 1), metric);
  // A reviewer that left a claim out was shown it, so that is an abstention, too.
  const participation = reviews.length === 0 ? 0 : poll.votes / reviews.length;
  return {
    ...poll,
    claim,
    stances,
    agreeShare: shareOf(poll, 'agree'),
    participation,
    counts: poll.agreement !== null && reaches(participation, metric.minimumParticipation),
  };
}

/**
 * A_claim, 0–1: the mean value of the claims that count, weighted by importance and participation;
 * null when none counts.
 */
export function claimAgreement(claims: readonly ClaimPoll[]): number | null {
  const counted = claims.flatMap(({ claim, participation, agreement, counts }) =>
    counts && agreement !== null ? [{ agreement, weight: claim.importance * participation }] : [],
  );
  const weight = counted.reduce((sum, item) => sum + item.weight, 0);
  return weight === 0
    ? null
    : counted.reduce((sum, item) => sum + item.weight * item.agreement, 0) / weight;
}

export type AgreementParts = {
  decision: number | null;
  claims: number | null;
  rank: number | null;
};

/**
 * The score before its cap, 0–100 and unrounded. A part that could not be measured leaves its weight
 * to the others; without the decision there is no score.
 */
export function weighParts(parts: AgreementParts, metric: Metric): number | null {
  if (parts.decision === null) return null;
  const weights = parts.rank === null ? metric.weights.withoutRank : metric.weights.all;
  const measured = (['decision', 'claims', 'rank'] as const).flatMap((part) => {
    const value = parts[part];
    return value === null ? [] : [{ value, weight: weights[part] }];
  });
  const total = measured.reduce((sum, { weight }) => sum + weight, 0);
  return (100 * measured.reduce((sum, { value, weight }) => sum + weight * value, 0)) / total;
}

/**
 * The agreement score with all its parts. A ledger without an extractor lists the same
 * claim several times and never merges decisions, so counting on it would understate agreement: then
 * nothing is scored, and the votes are shown as they are.
 */
export function scoreAgreement(
  votes: {
    decision: Poll;
    byAnswer: Poll;
    claims: readonly ClaimPoll[];
    scored: boolean;
    /** From `hasCopies`. */
    copies: boolean;
  },
  rank: number | null,
  metric: Metric,
): Scores['agreement'] {
  const { scored } = votes;
  const claims = scored ? claimAgreement(votes.claims) : null;
  const decision = scored ? votes.decision.agreement : null;
  const cap = lowestCap(votes, metric);
  const finish = (decided: number | null) => {
    const raw = scored ? weighParts({ decision: decided, claims, rank }, metric) : null;
    if (raw === null) return { score: null, lowered: false };
    const rounded = roundHalfUp(raw);
    return cap !== null && rounded > cap.score
      ? { score: cap.score, lowered: true }
      : { score: rounded, lowered: false };
  };
  const { score, lowered } = finish(decision);
  return {
    score,
    band: bandOf(score, metric),
    decision,
    claims,
    rank,
    capped: storedCap(lowered ? cap : null, metric),
    byAnswer: finish(votes.byAnswer.agreement).score,
    whyNull: score !== null ? null : scored ? 'too_few_votes' : 'no_ledger',
  };
}

export function bandOf(score: number | null, { bands }: Metric): Scores['agreement']['band'] {
  if (score === null) return null;
  if (score >= bands.strong) return 'strong';
  if (score >= bands.majority) return 'majority';
  return score >= bands.contested ? 'contested' : 'split';
}

type Cap = { name: 'contested' | 'copies'; score: number };

function lowestCap(
  votes: { claims: readonly ClaimPoll[]; copies: boolean },
  metric: Metric,
): Cap | null {
  const caps: Cap[] = [];
  if (votes.claims.some((claim) => deservesCap(claim, metric)))
    caps.push({ name: 'contested', score: metric.cap.score });
  if (votes.copies && metric.copies !== null)
    caps.push({ name: 'copies', score: metric.copies.score });
  return caps.toSorted((one, other) => one.score - other.score)[0] ?? null;
}

/** `agreement_v1` knew one cap, and stored whether it applied. */
function storedCap(cap: Cap | null, metric: Metric): Scores['agreement']['capped'] {
  return metric.copies === null ? cap !== null : (cap?.name ?? null);
}

/** Whether one maker, or a few models, sit on most of the panel: they tend to agree. */
export function hasCopies(seats: readonly Seat[], { copies }: Metric): boolean {
  if (copies === null) return false;
  const makers = new Set(seats.map(({ family }) => family)).size;
  const models = new Set(seats.map(({ model }) => model)).size;
  return makers < copies.makers || models < copies.models;
}

function deservesCap({ claim, counts, ...poll }: ClaimPoll, { cap }: Metric): boolean {
  const large = reaches(minorityShare(poll), cap.minorityShare);
  return counts && claim.importance >= cap.importance && large;
}

function shareOf(poll: Poll, choice: string): number | null {
  const total = poll.camps.reduce((sum, camp) => sum + camp.weight, 0);
  const camp = poll.camps.find((one) => one.choice === choice);
  return total === 0 ? null : (camp?.weight ?? 0) / total;
}

function sameWeight(one: Camp, other: Camp): boolean {
  return Math.abs(one.weight - other.weight) < precision;
}

function roundHalfUp(value: number): number {
  return Math.floor(value + 0.5 + precision);
}
