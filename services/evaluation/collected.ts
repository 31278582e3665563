import type { EvaluationCase } from './cases.ts';
import type { Judge } from './judging/judges.ts';
import type { EvaluationPlan, PlannedCase } from './plan.ts';
import type { Folder } from './records/folder.ts';
import type { AnswerLine, Condition, JudgmentLine } from './records/records.ts';

/** What a folder holds of what a plan asks. */

export type Pair = { one: Condition; other: Condition };

/** One judge's view of two answers, in both orders. */
export type Judged = {
  pair: Pair;
  judge: Judge;
  /** `one` stands first here and second in the other; null while there is none. */
  oneFirst: JudgmentLine | null;
  otherFirst: JudgmentLine | null;
};

export type CollectedCase = {
  evaluated: EvaluationCase;
  /** By condition; absent while there is none. */
  answers: Partial<Record<Condition, AnswerLine>>;
  judged: Judged[];
  /** Every answer and every judgment is there, and none has failed. */
  isComplete: boolean;
};

export function pairsOf(conditions: readonly Condition[]): Pair[] {
  return conditions.flatMap((one, index) =>
    conditions.slice(index + 1).map((other) => ({ one, other })),
  );
}

export function collectedCase(
  plan: EvaluationPlan,
  folder: Pick<Folder, 'answer' | 'judgment'>,
  { evaluated, council }: PlannedCase,
): CollectedCase {
  const answers: CollectedCase['answers'] = {};
  for (const condition of plan.conditions) {
    const answer = folder.answer(plan.answerKey(evaluated, council, condition));
    if (answer !== null) answers[condition] = answer;
  }
  const judgmentOf = (judge: Judge, first: AnswerLine, second: AnswerLine) =>
    folder.judgment(plan.judgmentKey(evaluated, judge, { first, second }));
  const judged = pairsOf(plan.conditions).flatMap((pair) =>
    plan.judges.map((judge): Judged => {
      const [one, other] = [answers[pair.one], answers[pair.other]];
      const hasBoth = one !== undefined && other !== undefined;
      return {
        pair,
        judge,
        oneFirst: hasBoth ? judgmentOf(judge, one, other) : null,
        otherFirst: hasBoth ? judgmentOf(judge, other, one) : null,
      };
    }),
  );
  return {
    evaluated,
    answers,
    judged,
    isComplete:
      plan.conditions.every((condition) => answers[condition]?.failure === null) &&
      judged.every(
        ({ oneFirst, otherFirst }) => oneFirst?.failure === null && otherFirst?.failure === null,
      ),
  };
}
