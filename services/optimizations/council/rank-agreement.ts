import { reaches } from './metric.ts';
import type { Metric } from './metric.ts';
import { ranksOf } from './ranking.ts';
import type { Review } from './ranking.ts';

/**
 * How far the reviewers' orders agree: Kendall's τ between every two of them, its mean (A_rank), and
 * whether the reviewers fall into two camps that read the answers in opposite order.
 */

/**
 * Kendall's τ-b of two equally long lists, −1 to 1, corrected for ties. Null when one of them does not
 * distinguish anything: an order that was not stated neither agrees nor disagrees.
 */
export function kendallTau(one: readonly number[], other: readonly number[]): number | null {
  let score = 0;
  let distinctInOne = 0;
  let distinctInOther = 0;
  for (let a = 0; a < one.length; a += 1)
    for (let b = 0; b < a; b += 1) {
      const signOfOne = Math.sign(one[a]! - one[b]!);
      const signOfOther = Math.sign(other[a]! - other[b]!);
      score += signOfOne * signOfOther;
      distinctInOne += Math.abs(signOfOne);
      distinctInOther += Math.abs(signOfOther);
    }
  if (distinctInOne === 0 || distinctInOther === 0) return null;
  return score / Math.sqrt(distinctInOne * distinctInOther);
}

/** τ of every two reviewers over the answers both ranked; null below `metric.rank.commonAnswers`. */
export function reviewerTaus(
  answers: readonly string[],
  reviews: readonly Review[],
  metric: Metric,
): (number | null)[][] {
  const ranks = reviews.map((review) => ranksOf(review, answers));
  return ranks.map((one) =>
    ranks.map((other) => {
      const common = [...one.keys()].filter((answer) => other.has(answer));
      if (one === other || common.length < metric.rank.commonAnswers) return null;
      return kendallTau(
        common.map((answer) => one.get(answer)!),
        common.map((answer) => other.get(answer)!),
      );
    }),
  );
}

/** A_rank, 0–1: the mean τ of all pairs of reviewers, at least 0; null with too few pairs. */
export function rankAgreement(
  taus: readonly (readonly (number | null)[])[],
  metric: Metric,
): number | null {
  const measured = taus.flatMap((row, a) => row.slice(0, a)).filter((tau) => tau !== null);
  return measured.length < metric.rank.minimumPairs ? null : Math.max(0, mean(measured));
}

/** The reviewers of each camp. */
export type TwoCamps = readonly [readonly string[], readonly string[]];

/**
 * Each division of the reviewers into two camps; empty when they are none. In camps the answer in the
 * middle, the first choice of neither, has the most wins, and there is no winner to name. Every division into two is tried; it counts as
 * camps when both are large enough (by the family weights), each agrees within itself, the two
 * contradict each other, and all together agree no more than chance would let them. A camp has three
 * reviewers at least: with two, chance alone finds camps in one run of twenty at five seats. With
 * three, it does in about one run of 150 at six seats, and of 1,000 at seven.
 */
export function twoCamps(
  taus: readonly (readonly (number | null)[])[],
  reviewers: readonly string[],
  weights: readonly number[],
  metric: Metric,
): TwoCamps[] {
  const agreement = rankAgreement(taus, metric);
  if (agreement === null || reaches(agreement, metric.clearWinner.rankAgreement)) return [];
  const places = taus.map((_, reviewer) => reviewer);
  const named = (camp: readonly number[]) => camp.map((place) => reviewers[place]!);
  const found: TwoCamps[] = [];
  // The last reviewer is always in the second camp, so that no division is tried twice.
  for (let set = 1; set < 2 ** (taus.length - 1); set += 1) {
    const first = places.filter((place) => (set & (1 << place)) !== 0);
    const second = places.filter((place) => (set & (1 << place)) === 0);
    if (areCamps(taus, weights, first, second, metric)) found.push([named(first), named(second)]);
  }
  return found;
}

function areCamps(
  taus: readonly (readonly (number | null)[])[],
  weights: readonly number[],
  first: readonly number[],
  second: readonly number[],
  { camps }: Metric,
): boolean {
  const smaller = Math.min(first.length, second.length);
  if (smaller < camps.seats) return false;
  const weightOf = (camp: readonly number[]) =>
    camp.reduce((sum, reviewer) => sum + weights[reviewer]!, 0);
  const [one, other] = [weightOf(first), weightOf(second)];
  if (!reaches(Math.min(one, other) / (one + other), camps.share)) return false;
  const within = [meanTau(taus, first, first), meanTau(taus, second, second)];
  const between = meanTau(taus, first, second);
  return (
    within.every((tau) => tau !== null && reaches(tau, camps.within)) &&
    between !== null &&
    reaches(-between, -camps.between)
  );
}

function meanTau(
  taus: readonly (readonly (number | null)[])[],
  from: readonly number[],
  to: readonly number[],
): number | null {
  const measured = from.flatMap((a) => to.map((b) => taus[a]![b]!)).filter((tau) => tau !== null);
  return measured.length === 0 ? null : mean(measured);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
