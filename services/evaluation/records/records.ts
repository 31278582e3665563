import * as v from 'valibot';

/** What an evaluation keeps: every answer, every judgment and every call, one a line. */

export const conditions = ['strongest', 'fused', 'council', 'no-reviews'] as const;
export type Condition = (typeof conditions)[number];

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const condition = v.picklist(conditions);

/** Micro-dollars. `isLeast`: some call has no known cost, so the sum is a lower bound. */
const cost = v.strictObject({ micros: count, isLeast: v.boolean() });
export type Cost = v.InferOutput<typeof cost>;

const tokens = v.strictObject({ input: count, output: count });
export type Tokens = v.InferOutput<typeof tokens>;

const shared = {
  /** What was asked of whom, hashed: an equal key is the same work. */
  key: v.string(),
  caseId: v.string(),
  /** ISO 8601 UTC. */
  at: v.string(),
  simulated: v.boolean(),
};

export const answerLine = v.strictObject({
  ...shared,
  seconds: v.number(),
  cost,
  tokens,
  calls: count,
  condition,
  /** Why there is no answer, in the words of the run; null when there is one. */
  failure: v.nullable(v.string()),
  /** As judges read it; empty without an answer. */
  text: v.string(),
  /** What the run published: `recommendation`, `no_majority` and so on; null for a single answer. */
  heading: v.nullable(v.string()),
  /** Words that may reveal how the answer was made. */
  revealing: v.array(v.string()),
});
export type AnswerLine = v.InferOutput<typeof answerLine>;

export const marks = ['no', 'partly', 'yes'] as const;
const mark = v.picklist(marks);
export type Mark = (typeof marks)[number];

export const judgmentLine = v.strictObject({
  ...shared,
  judge: v.string(),
  /** As they were shown. */
  first: condition,
  second: condition,
  failure: v.nullable(v.string()),
  better: v.nullable(v.picklist(['first', 'second', 'equal'])),
  /** By criterion: the marks of the first and of the second answer. */
  marks: v.record(v.string(), v.strictTuple([mark, mark])),
  /** By trap: whether the first and the second answer walk into it. */
  traps: v.record(v.string(), v.strictTuple([v.boolean(), v.boolean()])),
  reason: v.string(),
});
export type JudgmentLine = v.InferOutput<typeof judgmentLine>;

/** One call of a model. A call without a known cost counts with the most that it can have cost. */
export const callLine = v.strictObject({
  at: v.string(),
  model: v.string(),
  provider: v.string(),
  countedMicros: count,
  isKnown: v.boolean(),
});
export type CallLine = v.InferOutput<typeof callLine>;
