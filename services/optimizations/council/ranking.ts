import type { Ballot, Rubric, Scores } from '#services/optimizations/run/events.ts';
import { reaches } from './metric.ts';
import type { Metric } from './metric.ts';
import { maximumSeats } from './assignments.ts';

/**
 * From the reviewers' rankings to one order of the answers.
 *
 * The mean of raw scores never decides an order: one hostile reviewer can move it at will, while it
 * can turn each pair only once. Counting pairs also makes it harmless that no reviewer reviews its
 * own answer.
 */

export type Review = { reviewer: string; ballot: Ballot };

/** `wins[a][b]`: reviewers who ranked a above b, ties ½. `compared[a][b]`: who ranked both. */
export type Pairs = {
  answers: readonly string[];
  wins: readonly (readonly number[])[];
  compared: readonly (readonly number[])[];
};

/** Answer → place of its group, 0 is best; without the reviewer's own and without unknown answers. */
export function ranksOf(review: Review, answers: readonly string[]): ReadonlyMap<string, number> {
  const known = new Set(answers);
  known.delete(review.reviewer);
  return new Map(
    review.ballot.ranking.flatMap((group, place) =>
      group.filter((answer) => known.has(answer)).map((answer) => [answer, place] as const),
    ),
  );
}

export function comparePairs(answers: readonly string[], reviews: readonly Review[]): Pairs {
  const ranks = reviews.map((review) => ranksOf(review, answers));
  const matrix = (count: (a: number, b: number) => number) =>
    answers.map((a) =>
      answers.map((b) =>
        ranks.reduce((sum, ranked) => {
          const placeOfA = ranked.get(a);
          const placeOfB = ranked.get(b);
          if (a === b || placeOfA === undefined || placeOfB === undefined) return sum;
          return sum + count(placeOfA, placeOfB);
        }, 0),
      ),
    );
  return {
    answers,
    wins: matrix((a, b) => (a < b ? 1 : a === b ? 0.5 : 0)),
    compared: matrix(() => 1),
  };
}

/**
 * q(a), 0–1: the mean over the other answers b of the share of reviewers who ranked a above b. On
 * complete ballots this is the Borda count, normalised so that a missing ballot does not matter.
 * Pairs that no reviewer compared are left out; an answer without any pair has no q.
 */
export function winRates(pairs: Pairs): (number | null)[] {
  return pairs.wins.map((row, a) => {
    const shares = row.flatMap((wins, b) => {
      const compared = pairs.compared[a]![b]!;
      return compared === 0 ? [] : [wins / compared];
    });
    return meanOrNull(shares);
  });
}

/**
 * Mean over reviewers of the mean rubric figure, 1–10; null for an answer that no reviewer scored.
 */
export function rubricMeans(
  answers: readonly string[],
  reviews: readonly Review[],
): (number | null)[] {
  return answers.map((answer) => {
    const peers = reviews.filter(({ reviewer }) => reviewer !== answer);
    return meanOrNull(
      peers.flatMap(({ ballot }) => {
        const rubric = ballot.scores[answer];
        return rubric ? [rubricMean(rubric)] : [];
      }),
    );
  });
}

export function rubricMean(rubric: Rubric): number {
  const { correctness, relevance, completeness, feasibility, riskAwareness } = rubric;
  return (correctness + relevance + completeness + feasibility + riskAwareness) / 5;
}

export type KemenyOrder = {
  /** Indices of the answers, best first. */
  order: readonly number[];
  /** False when another order agrees with the ballots just as well. */
  unique: boolean;
  /** False when another order that agrees just as well begins with another answer. */
  soleFirst: boolean;
};

/**
 * The order that contradicts the fewest pairwise preferences (Kemeny 1959; as an aggregation of search
 * results Dwork et al. 2001). Exact: the best arrangement of a set of answers below the others does
 * not depend on how the others are arranged, so each of the 2^n sets is solved once, with n choices of
 * its first. `preference` gives each answer's place in case of ties, smaller first; among all optimal
 * orders the one that prefers at the first difference is returned.
 *
 * Throws a RangeError for more answers than a panel may have.
 */
export function kemenyOrder(pairs: Pairs, preference: readonly number[]): KemenyOrder {
  const size = pairs.answers.length;
  if (size > maximumSeats)
    throw new RangeError(`An exact order takes at most ${maximumSeats} answers.`);
  const everything = 2 ** size - 1;
  const support = new Float64Array(everything + 1);
  const optima = new Float64Array(everything + 1);
  const firsts: number[] = [0];
  let soleFirst = true;
  optima[0] = 1;
  for (let set = 1; set <= everything; set += 1) {
    const candidates = membersOf(set, size).map((answer) => ({
      answer,
      support: winsOver(pairs, answer, set) + support[set ^ (1 << answer)]!,
    }));
    // Wins are multiples of ½, so equal support is equal to the bit.
    const most = Math.max(...candidates.map((candidate) => candidate.support));
    const best = candidates.filter((candidate) => candidate.support === most);
    support[set] = most;
    soleFirst = best.length === 1;
    optima[set] = best.reduce((sum, { answer }) => sum + optima[set ^ (1 << answer)]!, 0);
    firsts[set] = best
      .map(({ answer }) => answer)
      .reduce((one, other) => (preference[other]! < preference[one]! ? other : one));
  }
  const order: number[] = [];
  for (let set = everything; set !== 0; set ^= 1 << order.at(-1)!) order.push(firsts[set]!);
  return { order, unique: optima[everything] === 1, soleFirst };
}

/**
 * The order in which answers are shown, as indices. An exact order fits every single comparison, so with
 * few of them it fits the noise; then the win rates order the answers, and Kemeny gives only the verdict.
 * `ordering` is absent where the metric does not choose.
 *
 * @param preference as for `kemenyOrder`
 */
export function shownOrder(
  pairs: Pairs,
  kemeny: KemenyOrder,
  preference: readonly number[],
  { rank: { kemenyCoverage } }: Metric,
): { shown: readonly number[]; ordering?: Scores['ordering'] } {
  if (kemenyCoverage === null) return { shown: kemeny.order };
  if (leastCompared(pairs) >= kemenyCoverage) return { shown: kemeny.order, ordering: 'kemeny' };
  const byRate = pairs.answers.map((_, answer) => answer);
  return {
    shown: byRate.toSorted((a, b) => preference[a]! - preference[b]!),
    ordering: 'win_rate',
  };
}

/** The fewest reviewers that compared a pair; Infinity without a pair. */
function leastCompared({ compared }: Pairs): number {
  return Math.min(...compared.flatMap((row, a) => row.slice(0, a)));
}

/** The answer that a majority of those who compared them prefers to each other answer, if any. */
export function condorcetWinner(pairs: Pairs): string | null {
  if (pairs.answers.length < 2) return null;
  const winner = pairs.answers.findIndex((_, a) =>
    pairs.answers.every((__, b) => a === b || pairs.wins[a]![b]! > pairs.wins[b]![a]!),
  );
  return pairs.answers[winner] ?? null;
}

/**
 * Each answer's place for breaking ties: by q, then by mean rubric, then by the seed's own order.
 * Figures are compared to nine decimals, so that the order in which something was added up cannot
 * decide who wins.
 */
export function tieBreak(
  q: readonly (number | null)[],
  rubric: readonly (number | null)[],
  seeded: readonly number[],
): number[] {
  const best = q
    .map((_, answer) => answer)
    .toSorted(
      (a, b) =>
        comparable(q[b]) - comparable(q[a]) ||
        comparable(rubric[b]) - comparable(rubric[a]) ||
        seeded[a]! - seeded[b]!,
    );
  return q.map((_, answer) => best.indexOf(answer));
}

type WinnerVerdict = Pick<Scores, 'clearWinner' | 'clearWinnerReason'>;

/**
 * Whether the first answer may be called the winner. Too few comparisons are unknown and never "no";
 * below `rankAgreement` the reviewers' orders agree no more than chance would let them. Only a tie for
 * the first place counts as one: with an even number of comparisons most orders are tied somewhere
 * further down, which says nothing about the winner. `shown` is the order that people see: what it does not
 * place first is no winner.
 */
export function judgeWinner(
  pairs: Pairs,
  { order, soleFirst }: KemenyOrder,
  shown: readonly number[],
  rankAgreement: number | null,
  metric: Metric,
): WinnerVerdict {
  const rules = metric.clearWinner;
  const [first, second] = order;
  if (first === undefined || second === undefined || !enoughCompared(pairs, order, metric))
    return { clearWinner: null, clearWinnerReason: 'not_enough_comparisons' };
  const { wins, compared } = pairs;
  const margin = (wins[first]![second]! - wins[second]![first]!) / compared[first]![second]!;
  const no = (clearWinnerReason: WinnerVerdict['clearWinnerReason']): WinnerVerdict => ({
    clearWinner: false,
    clearWinnerReason,
  });
  if (!soleFirst) return no('tied_orders');
  if (shown[0] !== first) return no('orders_differ');
  if (!reaches(margin, rules.margin)) return no('narrow_margin');
  if (rankAgreement !== null && !reaches(rankAgreement, rules.rankAgreement))
    return no('no_rank_agreement');
  return { clearWinner: true, clearWinnerReason: 'clear' };
}

function enoughCompared(pairs: Pairs, order: readonly number[], metric: Metric): boolean {
  const { comparisons, amongFirst } = metric.clearWinner;
  const best = order.slice(0, amongFirst);
  const compared = (a: number, b: number) => pairs.compared[a]![b]!;
  return (
    compared(order[0]!, order[1]!) >= comparisons &&
    best.every((a) => best.every((b) => a === b || compared(a, b) > 0))
  );
}

function comparable(figure: number | null | undefined): number {
  return figure === null || figure === undefined ? -1 : Math.round(figure * 1e9);
}

function winsOver(pairs: Pairs, answer: number, set: number): number {
  return pairs.wins[answer]!.reduce(
    (sum, wins, other) => ((set & (1 << other)) === 0 ? sum : sum + wins),
    0,
  );
}

function membersOf(set: number, size: number): number[] {
  return Array.from({ length: size }, (_, member) => member).filter(
    (member) => (set & (1 << member)) !== 0,
  );
}

function meanOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
