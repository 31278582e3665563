import { afterAll, beforeAll, expect, test } from 'vitest';
import { preparedCases } from '#services/sandbox/models/cases.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { withoutRepairLimit } from '#tests/optimizations/prompts/repair-limit.ts';
import { give } from '#tests/support/processes/service.ts';

withoutRepairLimit();

let council: TestCouncil;
beforeAll(async () => {
  council = await createTestCouncil({ personas: { '*': 'sloppy' } });
});
afterAll(async () => council.close());

/** Each question draws a seed of its own. */
const questions = preparedCases().slice(0, 10);

test(
  'a run whose models are all sloppy completes as designed in nine of ten seeds, and says what was repaired',
  { tags: ['long'] },
  async () => {
    const person = await council.signUp();
    await give(council, person.userId, 140);
    expect(questions).toHaveLength(10);
    const runs = await Promise.all(
      questions.map(async ({ question: { title: _title, type, ...question } }) =>
        council.ask(person, { ...question, challenge_type: type, strategy: 'balanced' }),
      ),
    );
    const designed = runs.filter(
      ({ status, result, models, credits }) =>
        status === 'completed' &&
        result !== null &&
        result.heading !== 'best_single_answer' &&
        credits.refunded === 0 &&
        models.every((model) => model.status === 'completed'),
    );
    expect(designed.length).toBeGreaterThanOrEqual(9);
    for (const { models } of designed)
      expect(models.filter(({ repaired }) => repaired.length > 0).length).toBe(models.length);
  },
);
