import type { Scores } from '#services/optimizations/run/events.ts';
import type { Metric } from './metric.ts';
import { kendallTau } from './rank-agreement.ts';
import { rubricMean } from './ranking.ts';
import type { Review } from './ranking.ts';

/**
 * Indicators of bias within one run. They are never verdicts: one run has too few reviews for that (a
 * slope below 0.3 points a position is more likely missed than seen), and none of them changes an
 * order, because orders come from ranks.
 */

/** One rubric mean: its reviewer, the seat it marks, and the place, from 1, of that answer. */
export type Mark = { reviewer: string; answer: string; position: number; score: number };

/**
 * All marks of the counted reviews. Places are those of the stored design, `order` and `offsets`: an
 * answer that was left out afterwards keeps its place.
 */
export function marksOf(
  reviews: readonly Review[],
  schedule: Readonly<Record<string, readonly string[]>>,
  answers: readonly string[],
): Mark[] {
  const known = new Set(answers);
  return reviews.flatMap(({ reviewer, ballot }) =>
    (schedule[reviewer] ?? []).flatMap((answer, index) => {
      const rubric = ballot.scores[answer];
      return rubric && known.has(answer)
        ? [{ reviewer, answer, position: index + 1, score: rubricMean(rubric) }]
        : [];
    }),
  );
}

export type TwoWayFit = {
  /** Reviewer → α, how far above the mean reviewer it marks; the α sum to 0. */
  reviewers: Readonly<Record<string, number>>;
  /** The residuals of reviewer and answer, in the order of the marks. */
  residuals: readonly number[];
};

/**
 * Least squares of value = μ + α(reviewer) + β(answer), by fitting the two in turn until nothing
 * moves. Plain means are wrong here: no reviewer marks its own answer, so a reviewer with a strong
 * answer sees a weaker set than the others, and would seem harsh.
 */
export function fitTwoWay(
  marks: readonly { reviewer: string; answer: string }[],
  values: readonly number[],
): TwoWayFit {
  const grand = mean(values);
  let alpha = new Map<string, number>();
  let beta = new Map<string, number>();
  const rest = (index: number, { reviewer, answer }: { reviewer: string; answer: string }) =>
    values[index]! - grand - (alpha.get(reviewer) ?? 0) - (beta.get(answer) ?? 0);
  for (let round = 0, moved = Infinity; round < fitRounds && moved > fitTolerance; round += 1) {
    const steps = meansBy(marks, ({ reviewer }) => reviewer, rest);
    alpha = added(alpha, steps);
    const answerSteps = meansBy(marks, ({ answer }) => answer, rest);
    beta = added(beta, answerSteps);
    moved = Math.max(0, ...[...steps.values(), ...answerSteps.values()].map(Math.abs));
  }
  const level = mean([...alpha.values()]);
  return {
    reviewers: Object.fromEntries([...alpha].map(([reviewer, value]) => [reviewer, value - level])),
    residuals: marks.map((mark, index) => rest(index, mark)),
  };
}

/**
 * Points by which a mark changes from one display position to the next, after reviewer and answer
 * have been accounted for; negative favours what was read first. The positions are freed of reviewers
 * and answers as well: in a complete design they are already, and when reviews were lost the slope
 * would otherwise shrink. Null when too little is left to estimate it from.
 */
export function positionSlope(marks: readonly Mark[], metric: Metric): number | null {
  if (residualDegrees(marks) < metric.bias.residualDegrees) return null;
  const positions = marks.map(({ position }) => position);
  const moved = fitTwoWay(marks, positions).residuals;
  const scores = marks.map(({ score }) => score);
  const unexplained = fitTwoWay(marks, scores).residuals;
  const variation = sum(moved.map((value) => value * value));
  if (variation < fitTolerance) return null;
  return sum(moved.map((value, index) => value * unexplained[index]!)) / variation;
}

/** Reviewer → points by which it marks above (+) or below (−) the mean reviewer, and their sd. */
export function leniency(
  marks: readonly Mark[],
): Pick<Scores['bias'], 'leniency' | 'leniencySpread'> {
  const scores = marks.map(({ score }) => score);
  const { reviewers } = fitTwoWay(marks, scores);
  const values = Object.values(reviewers);
  // The α sum to 0, so their mean need not be taken off; n − 1 as they are a sample of reviewers.
  const spread =
    values.length < 2
      ? null
      : Math.sqrt(sum(values.map((value) => value ** 2)) / (values.length - 1));
  return { leniency: reviewers, leniencySpread: spread };
}

/**
 * Kendall's τ-b between the length of the answers and q. One run cannot separate length from quality,
 * so it says only whether the longer answers came out better; null with too few answers.
 */
export function verbosityTau(
  answers: readonly { characters: number; q: number | null }[],
  metric: Metric,
): number | null {
  const known = answers.flatMap(({ characters, q }) => (q === null ? [] : [{ characters, q }]));
  if (known.length < metric.bias.verbosityAnswers) return null;
  return kendallTau(
    known.map(({ characters }) => characters),
    // Equal rates may differ in their last digit, and must count as a tie.
    known.map(({ q }) => Math.round(q * 1e9)),
  );
}

// Each round shrinks the error at least four times in the sparsest design (7 answers, 3 reviews).
const fitRounds = 200;
const fitTolerance = 1e-12;

/** Marks less the parameters of the two-way fit. */
function residualDegrees(marks: readonly Mark[]): number {
  const reviewers = new Set(marks.map(({ reviewer }) => reviewer)).size;
  const answers = new Set(marks.map(({ answer }) => answer)).size;
  return marks.length - (reviewers + answers - 1);
}

function meansBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  valueOf: (index: number, item: Item) => number,
): Map<string, number> {
  const groups = Map.groupBy(items.entries(), ([, item]) => keyOf(item));
  return new Map(
    [...groups].map(([key, group]) => [
      key,
      mean(group.map(([index, item]) => valueOf(index, item))),
    ]),
  );
}

function added(
  totals: ReadonlyMap<string, number>,
  steps: ReadonlyMap<string, number>,
): Map<string, number> {
  return new Map([...steps].map(([key, step]) => [key, (totals.get(key) ?? 0) + step]));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}
