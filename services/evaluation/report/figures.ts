import type { CollectedCase, Pair } from '#services/evaluation/collected.ts';
import { pairsOf } from '#services/evaluation/collected.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { pairScore, shareMet, shareTrapped, verdictsOf } from './scores.ts';
import { bestOf, estimateMeans, meanOf, medianOf } from '#services/evaluation/statistics.ts';
import type { Comparison, Estimate } from '#services/evaluation/statistics.ts';

/**
 * The figures of an evaluation. All comparisons use the same cases, those in which every condition has
 * answered and every judge has judged both orders.
 */
export type Figures = {
  completeCases: number;
  comparisons: (Comparison<Condition> & {
    /** Verdicts for `one`, neither and `other`: one of each judge on each case, so they give the win rate. */
    won: number;
    tied: number;
    lost: number;
    /** Of each judge alone. */
    byJudge: Record<string, number | null>;
  })[];
  best: Condition | null;
  conditions: ConditionFigures[];
  judges: JudgeFigures[];
  /** Share of comparisons in which all judges score a pair of a case alike; null with one judge. */
  judgesAgree: number | null;
};

export type ConditionFigures = {
  condition: Condition;
  /** Share of the rubric's weight that is met, 0–100, and of the traps that are walked into. */
  rubric: Estimate;
  traps: Estimate;
  /** Over all answers there are, complete or not. */
  answers: number;
  medianCostMicros: number | null;
  medianSeconds: number | null;
  medianCalls: number | null;
  medianInputTokens: number | null;
  medianOutputTokens: number | null;
  medianWords: number | null;
  costIsLeast: boolean;
  /** Answers with words that may reveal how they were made. */
  revealing: number;
  headings: Record<string, number>;
};

export type JudgeFigures = {
  judge: string;
  judgments: number;
  failed: number;
  /** Of pairs judged in both orders: the same verdict in both. */
  consistency: number | null;
  /** Of verdicts that name an answer: the one that stood first. */
  firstShare: number | null;
};

export function figuresOf(
  collected: readonly CollectedCase[],
  conditions: readonly Condition[],
  judges: readonly string[],
  { seed }: { seed: number },
): Figures {
  const complete = collected.filter(({ isComplete }) => isComplete);
  const pairs = pairsOf(conditions);
  const rows = complete.map((one) => [
    ...pairs.map((pair) => present(pairScore(one, pair))),
    ...conditions.map((condition) => shareMet(one, condition)),
    ...conditions.map((condition) => shareTrapped(one, condition)),
  ]);
  const estimates = estimateMeans(rows, { seed });
  const at = (index: number): Estimate => estimates[index] ?? { mean: null, interval: null };
  const comparisons = pairs.map(({ one, other }, index) => {
    const verdicts = complete.flatMap((each) =>
      judges.map((judge) => present(pairScore(each, { one, other }, judge))),
    );
    return {
      one,
      other,
      winRate: at(index),
      won: verdicts.filter((score) => score === 1).length,
      tied: verdicts.filter((score) => score === 0.5).length,
      lost: verdicts.filter((score) => score === 0).length,
      byJudge: Object.fromEntries(
        judges.map((judge) => [
          judge,
          meanOf(complete.map((each) => present(pairScore(each, { one, other }, judge)))),
        ]),
      ),
    };
  });
  return {
    completeCases: complete.length,
    comparisons,
    best: bestOf(conditions, comparisons, complete.length),
    conditions: conditions.map((condition, index) => ({
      condition,
      rubric: percent(at(pairs.length + index)),
      traps: percent(at(pairs.length + conditions.length + index)),
      ...answerFigures(collected, condition),
    })),
    judges: judges.map((judge) => judgeFigures(collected, judge)),
    judgesAgree: agreementOf(complete, pairs, judges),
  };
}

function present(score: number | null): number {
  if (score === null) throw new RangeError('A complete case lacks a judgment');
  return score;
}

function answerFigures(
  collected: readonly CollectedCase[],
  condition: Condition,
): Omit<ConditionFigures, 'condition' | 'rubric' | 'traps'> {
  const answers = collected.flatMap(({ answers: given }) => {
    const answer = given[condition];
    return answer === undefined || answer.failure !== null ? [] : [answer];
  });
  const headings: Record<string, number> = {};
  for (const { heading } of answers)
    if (heading !== null) headings[heading] = (headings[heading] ?? 0) + 1;
  return {
    answers: answers.length,
    medianCostMicros: medianOf(answers.map(({ cost }) => cost.micros)),
    medianSeconds: medianOf(answers.map(({ seconds }) => seconds)),
    medianCalls: medianOf(answers.map(({ calls }) => calls)),
    medianInputTokens: medianOf(answers.map(({ tokens }) => tokens.input)),
    medianOutputTokens: medianOf(answers.map(({ tokens }) => tokens.output)),
    medianWords: medianOf(answers.map(({ text }) => wordsIn(text))),
    costIsLeast: answers.some(({ cost }) => cost.isLeast),
    revealing: answers.filter(({ revealing }) => revealing.length > 0).length,
    headings,
  };
}

function wordsIn(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}

function judgeFigures(collected: readonly CollectedCase[], judge: string): JudgeFigures {
  const own = collected.flatMap(({ judged }) =>
    judged.filter(({ judge: by }) => by.offer.model === judge),
  );
  const lines = own.flatMap(({ oneFirst, otherFirst }) =>
    [oneFirst, otherFirst].filter((line) => line !== null),
  );
  const both = own.flatMap((each) => {
    const verdicts = verdictsOf(each);
    return verdicts === null ? [] : [verdicts];
  });
  const named = lines.filter(({ better }) => better === 'first' || better === 'second');
  return {
    judge,
    judgments: lines.filter(({ failure }) => failure === null).length,
    failed: lines.filter(({ failure }) => failure !== null).length,
    consistency: meanOf(both.map(([before, after]) => Number(before === after))),
    firstShare: meanOf(named.map(({ better }) => Number(better === 'first'))),
  };
}

function agreementOf(
  complete: readonly CollectedCase[],
  pairs: readonly Pair[],
  judges: readonly string[],
): number | null {
  if (judges.length < 2) return null;
  const alike = complete.flatMap((each) =>
    pairs.map((pair) => {
      const scores = judges.map((judge) => pairScore(each, pair, judge));
      return Number(new Set(scores).size === 1);
    }),
  );
  return meanOf(alike);
}

function percent({ mean, interval }: Estimate): Estimate {
  return {
    mean: mean === null ? null : mean * 100,
    interval: interval && { low: interval.low * 100, high: interval.high * 100 },
  };
}
