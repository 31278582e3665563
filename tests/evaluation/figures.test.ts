import { expect, test } from 'vitest';
import { loadCases } from '#services/evaluation/cases.ts';
import type { EvaluationCase } from '#services/evaluation/cases.ts';
import type { CollectedCase } from '#services/evaluation/collected.ts';
import type { Judge } from '#services/evaluation/judging/judges.ts';
import { figuresOf } from '#services/evaluation/report/figures.ts';
import type { AnswerLine, Condition, JudgmentLine } from '#services/evaluation/records/records.ts';
import { planHere } from './evaluations.ts';

const plan = await planHere(['--sandbox', '--out', 'unused', '--cases', 'bakery-second-shop']);
const judges: Judge[] = [...plan.judges];
const names = judges.map(({ offer }) => offer.model);

const evaluated: EvaluationCase = {
  ...loadCases()[0]!,
  rubric: [
    { id: 'heavy', weight: 3, criterion: '' },
    { id: 'light', weight: 1, criterion: '' },
  ],
  traps: [
    { id: 'one', description: '' },
    { id: 'two', description: '' },
  ],
};

type Better = JudgmentLine['better'];

/** A judge that sees `council` meet more, and prefers what is given, in each order. */
function judged(judge: Judge, councilFirst: Better, strongestFirst: Better) {
  const line = (first: Condition, second: Condition, better: Better): JudgmentLine => ({
    ...plain,
    judge: judge.offer.model,
    first,
    second,
    failure: null,
    better,
    marks:
      first === 'council'
        ? { heavy: ['yes', 'partly'], light: ['no', 'yes'] }
        : { heavy: ['partly', 'yes'], light: ['yes', 'no'] },
    traps:
      first === 'council'
        ? { one: [false, true], two: [true, true] }
        : { one: [true, false], two: [true, true] },
    reason: '',
  });
  return {
    pair: { one: 'strongest' as const, other: 'council' as const },
    judge,
    oneFirst: line('strongest', 'council', strongestFirst),
    otherFirst: line('council', 'strongest', councilFirst),
  };
}

const plain = { key: '', caseId: '', at: '', simulated: true };

function answer(condition: Condition, more: Partial<AnswerLine>): AnswerLine {
  return {
    ...plain,
    seconds: 2,
    cost: { micros: 10, isLeast: false },
    tokens: { input: 5, output: 7 },
    calls: 1,
    condition,
    failure: null,
    text: 'Three plain words',
    heading: null,
    revealing: [],
    ...more,
  };
}

const [firstJudge, secondJudge] = judges as [Judge, Judge];

function collected(first: [Better, Better], second: [Better, Better]): CollectedCase {
  return {
    evaluated,
    answers: {
      strongest: answer('strongest', { cost: { micros: 10, isLeast: true } }),
      council: answer('council', { heading: 'no_majority', revealing: ['votes'], calls: 18 }),
    },
    judged: [judged(firstJudge, ...first), judged(secondJudge, ...second)],
    isComplete: true,
  };
}

const figures = figuresOf(
  [
    // Both prefer the council in both orders; then one does and the other prefers what stands first.
    collected(['first', 'second'], ['first', 'second']),
    collected(['first', 'second'], ['first', 'first']),
    { ...collected(['second', 'first'], ['second', 'first']), isComplete: false },
  ],
  ['strongest', 'council'],
  names,
  { seed: 1 },
);

test('win rates count a judge that follows the order as a tie, and only complete cases', () => {
  expect(figures.completeCases).toBe(2);
  expect(figures.comparisons).toMatchObject([
    {
      one: 'strongest',
      other: 'council',
      winRate: { mean: 0.125 },
      won: 0,
      tied: 1,
      lost: 3,
      byJudge: { [names[0]!]: 0, [names[1]!]: 0.25 },
    },
  ]);
  expect(figures.judgesAgree).toBe(0.5);
  expect(figures.best).toBeNull();
});

test('the rubric counts weights, half for what is partly met, at either place', () => {
  const [strongest, council] = figures.conditions;
  expect(council?.rubric.mean).toBe(75);
  expect(strongest?.rubric.mean).toBe(62.5);
  expect(council?.traps.mean).toBe(50);
  expect(strongest?.traps.mean).toBe(100);
});

test('costs, lengths and headings are of all answers, complete or not', () => {
  const [strongest, council] = figures.conditions;
  expect(strongest).toMatchObject({ answers: 3, costIsLeast: true, headings: {}, revealing: 0 });
  expect(council).toMatchObject({
    answers: 3,
    medianCostMicros: 10,
    medianSeconds: 2,
    medianCalls: 18,
    medianWords: 3,
    costIsLeast: false,
    headings: { no_majority: 3 },
    revealing: 3,
  });
});

test('a judge is known by how often it stays with its verdict and prefers what stands first', () => {
  expect(figures.judges).toEqual([
    { judge: names[0], judgments: 6, failed: 0, consistency: 1, firstShare: 0.5 },
    { judge: names[1], judgments: 6, failed: 0, consistency: 2 / 3, firstShare: 4 / 6 },
  ]);
});
