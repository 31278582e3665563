import { expect, test } from 'vitest';
import { completeRequest } from '#services/cli/runs/run.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type {
  CheckReply,
  CreateOptimizationRequest,
} from '#services/optimizations/contract/requests.ts';
import { Problem } from '#services/platform/problem.ts';

const request: CreateOptimizationRequest = {
  challenge: 'Rent or buy?',
  context: 'A bakery.',
  objectives: [],
  constraints: [],
  files: [],
  strategy: 'fast',
  challenge_type: 'other',
};
const ready: CheckReply = { verdict: 'ready', questions: [], why: null, skipped: false };
const asking: CheckReply = { ...ready, verdict: 'ask', questions: ['Rent?', 'Price?'] };
const undecidable: CheckReply = { ...ready, verdict: 'undecidable', why: 'No options.' };

/** Types the answers in turn, and keeps what it was asked. */
async function complete(reply: CheckReply, answers: readonly string[], asked = request) {
  const left = [...answers];
  const prompts: string[] = [];
  const completed = await completeRequest(asked, reply, async (prompt) => {
    prompts.push(prompt);
    return left.shift() ?? '';
  });
  return { completed, prompts };
}

test.each<[string, CheckReply, string[], CreateOptimizationRequest | null]>([
  ['a ready question starts as it is', ready, [], request],
  [
    'an answer joins the context, and a question left out does not',
    asking,
    ['', ' $200,000 '],
    { ...request, context: 'A bakery.\n\nQ: Price?\nA: $200,000' },
  ],
  ['questions without answers change nothing', asking, ['', ''], request],
  ['a question without an answer starts after a yes', undecidable, ['Yes'], request],
  ['a question without an answer does not start otherwise', undecidable, [''], null],
])('on a terminal %s', async (_title, reply, answers, expected) => {
  const { completed, prompts } = await complete(reply, answers);
  expect(completed).toEqual(expected);
  expect(prompts.join('')).toContain(reply.why ?? reply.questions.at(-1) ?? '');
});

test('answers that are too long for the context are refused with its limit', async () => {
  const full = { ...request, context: 'a'.repeat(optimizationLimits.context) };
  const refusal = await complete(asking, ['100'], full).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(Problem);
  expect((refusal as Problem).extras.errors?.[0]).toMatchObject({ field: 'context' });
});
