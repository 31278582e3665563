import { expect, test } from 'vitest';
import { takenUp, takenUpSummary } from '#services/optimizations/reading/words/taken-up.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { movedStory, refinedStory } from '#tests/web/support/refinement-stories.ts';

/** The view with the reasons that seats wrote in their second votes, on the decision. */
function withReasons(view: RunView, reasons: Readonly<Record<string, string>>): RunView {
  const calls = Object.entries(reasons).map(([seat, decisionReason]) => {
    const notes = { critique: '', flaws: [], reasons: {}, decisionReason };
    return [`review.${seat}`, { ...view.calls[`review.${seat}`]!, notes }] as const;
  });
  return { ...view, calls: { ...view.calls, ...Object.fromEntries(calls) } };
}

const kept = refinedStory.view();
const moved = movedStory.view();

test.each([
  ['names the fact', kept, { S1: 'Half want monthly billing, so the plan stays.' }, ['S1']],
  ['names nothing new and keeps its vote', kept, { S1: 'Clients stay as they are.' }, []],
  ['goes with a changed vote', moved, { S1: 'The other one is safer.' }, ['S1']],
  ['goes with a kept vote', moved, { R2: 'The first one is safer.' }, []],
] as const)('a reason that %s is listed or not', (_what, view, reasons, seats) => {
  expect(takenUp(withReasons(view, reasons)).map(({ seat }) => seat)).toEqual(seats);
});

test.each([
  [
    'kept',
    kept,
    {},
    [
      'You gave “Half of my customers have asked for a monthly plan”.',
      'No model changed its vote on the decision.',
      'No vote changed on the claim that was voted on again.',
      'No reason in the second vote uses words from the changed fact.',
    ],
  ],
  [
    'moved',
    moved,
    { S1: 'The other one is safer.' },
    [
      'openai-s1 (S1), anthropic-s2 (S2), google-s3 (S3) and mistral-r1 (R1) changed their vote on the decision, from “The option o1” to “The option o2”.',
      'Votes changed on the claim that was voted on again.',
      '1 reason goes with a changed vote or uses words from the changed fact.',
    ],
  ],
] as const)(
  'the summary of a refinement with %s votes says what became of the fact',
  (_what, view, reasons, sentences) => {
    const words = takenUpSummary(withReasons(view, reasons));
    for (const sentence of sentences) expect(words).toContain(sentence);
  },
);
