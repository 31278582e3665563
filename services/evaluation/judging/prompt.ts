import * as v from 'valibot';
import type { EvaluationCase } from '#services/evaluation/cases.ts';
import { marks } from '#services/evaluation/records/records.ts';
import type { JudgmentLine } from '#services/evaluation/records/records.ts';
import type { CallTokens } from '#services/models/seating/tokens.ts';
import { challengeBlocks, dataRule, promptOf } from '#services/optimizations/prompts/prompts.ts';
import type { StagePrompt } from '#services/optimizations/prompts/prompts.ts';
import type { ReadReply } from '#services/optimizations/prompts/read-reply.ts';
import {
  malformed,
  parseAs,
  strictJsonSchema,
} from '#services/optimizations/prompts/reply-schemas.ts';
import type { Checked } from '#services/optimizations/prompts/reply-schemas.ts';

/** What a judge is asked, and what counts as its reply. It sees two answers, not which condition wrote them. */

/** Of a usual judgment, for its estimate and for the models that can hold it. */
export const judgmentTokens: CallTokens = { input: 8000, output: 1200 };

const reasonCharacters = 400;
const id = v.pipe(v.string(), v.trim());

const judgmentSchema = v.object({
  criteria: v.pipe(
    v.array(
      v.object({
        criterion_id: v.pipe(id, v.description('The id of a criterion.')),
        first: v.pipe(v.picklist(marks), v.description('Whether the first answer meets it.')),
        second: v.pipe(v.picklist(marks), v.description('Whether the second answer meets it.')),
      }),
    ),
    v.description('One entry for each criterion.'),
  ),
  traps: v.pipe(
    v.array(
      v.object({
        trap_id: v.pipe(id, v.description('The id of a trap.')),
        first: v.pipe(v.boolean(), v.description('Whether the first answer makes this mistake.')),
        second: v.pipe(v.boolean(), v.description('Whether the second answer makes this mistake.')),
      }),
    ),
    v.description('One entry for each trap.'),
  ),
  better: v.pipe(
    v.picklist(['first', 'second', 'equal']),
    v.description('The answer that would serve this person better, or equal.'),
  ),
  reason: v.pipe(
    v.string(),
    v.description('What decides it, in at most 50 words.'),
    v.transform((text) => text.replace(/\s+/g, ' ').trim().slice(0, reasonCharacters)),
  ),
});

const judgmentJson = strictJsonSchema(judgmentSchema);

export function judgmentPrompt(
  evaluated: EvaluationCase,
  answers: { first: string; second: string },
  { delimiter }: { delimiter: string },
): StagePrompt {
  const { type, question: challenge, context, objectives, constraints } = evaluated;
  const prompt = promptOf({
    system: [
      'You compare two answers to the question of one person who runs a small business. You do not know who gave them, and you do not guess.',
      'For each criterion say of each answer whether it meets it: yes, partly or no. A criterion is met by what the answer says, not by what one could add. Check figures yourself before you accept them.',
      'A trap is a plausible but wrong move. Say of each answer whether it makes it. An answer that names the trap and avoids it does not.',
      'Then say which answer would serve this person better if they acted on it. Judge correctness, usefulness within the constraints, and honesty about what is not known. Length, tone, order and confidence count for nothing: a short answer that decides rightly is better than a long one that does not. Say equal where you would be content with either.',
      'Decide before you think about the order in which the answers stand; it was drawn by lot.',
      dataRule,
    ],
    blocks: [
      ...challengeBlocks({ type, challenge, context, objectives, constraints }),
      {
        kind: 'criteria',
        text: evaluated.rubric.map((one) => `${one.id} | ${one.criterion}`).join('\n'),
      },
      {
        kind: 'traps',
        text: evaluated.traps.map((one) => `${one.id} | ${one.description}`).join('\n'),
      },
      { kind: 'first answer', text: answers.first },
      { kind: 'second answer', text: answers.second },
    ],
    ask: 'Compare the two answers.',
    delimiter,
  });
  return { ...prompt, schema: { name: 'judgment', json: judgmentJson } };
}

export type Judgment = Pick<JudgmentLine, 'marks' | 'traps' | 'reason'> & {
  better: NonNullable<JudgmentLine['better']>;
};

/** A judgment that covers each criterion and each trap exactly once; ids of others are left out. */
export function readJudgment(
  evaluated: EvaluationCase,
  reply: ReadReply | undefined,
): Checked<Judgment> {
  const parsed = parseAs(judgmentSchema, judgmentJson, reply);
  if (!parsed.ok) return parsed;
  const { criteria, traps, better, reason } = parsed.value;
  const marked = bothById(
    evaluated.rubric,
    criteria.map(({ criterion_id, first, second }) => [criterion_id, first, second]),
  );
  const trapped = bothById(
    evaluated.traps,
    traps.map(({ trap_id, first, second }) => [trap_id, first, second]),
  );
  if (marked === null) return malformed('criteria: one is missing or occurs twice');
  if (trapped === null) return malformed('traps: one is missing or occurs twice');
  return { ok: true, value: { marks: marked, traps: trapped, better, reason } };
}

/** By id; null unless each item has exactly one entry. */
function bothById<Value>(
  items: readonly { id: string }[],
  entries: readonly (readonly [string, Value, Value])[],
): Record<string, [Value, Value]> | null {
  const pairs: [string, [Value, Value]][] = [];
  for (const item of items) {
    const [found, ...more] = entries.filter(([of]) => of === item.id);
    if (found === undefined || more.length > 0) return null;
    pairs.push([item.id, [found[1], found[2]]]);
  }
  return Object.fromEntries(pairs);
}
