import { expect, test } from 'vitest';
import { blinded } from '#services/evaluation/answers/blind.ts';
import { partsOfOpinion, partsOfResult, rendered } from '#services/evaluation/answers/render.ts';
import type { RunResult } from '#services/optimizations/contract/result.ts';
import type { Opinion } from '#services/optimizations/prompts/reply-schemas.ts';

const headingsIn = (text: string) => text.match(/^[A-Z][a-z ]+:$/gm);

const opinion: Opinion = {
  recommendation: { option_label: 'Raise', one_line: 'Raise prices by 5%.' },
  reasoning: ['Costs rose.'],
  claims: [{ text: 'Demand is steady.', importance: 3, if_false_flips: true }],
  assumptions: [],
  missing_info: ['The churn.'],
  risks: [],
  stated_confidence: 70,
};

const result: RunResult = {
  heading: 'recommendation',
  option_id: 'o1',
  votes_for: 5,
  votes_total: 7,
  tie_break: null,
  decision_option: 'Raise',
  objection: null,
  missing_facts: [],
  flaws: [
    {
      id: 'f1',
      about_seat: 'S1',
      reviewers: ['R1', 'R2'],
      texts: [{ seats: ['R1'], text: 'It ignores contracts.' }],
      voted_for_since: [],
      reply: 'Contracts are renewed in March.',
    },
  ],
  options: [],
  decision: 'Raise prices by 5%.',
  changed: null,
  sections: [{ heading: 'Why', blocks: [{ text: 'Costs rose.', claim_ids: ['c1'] }] }],
  next_steps: [
    {
      action: 'Write to customers.',
      owner: 'you',
      by_days: 14,
      measure: 'Replies.',
      stop_if: 'Ten leave.',
      claim_ids: ['c1'],
      done: false,
    },
  ],
  dissent: [{ claim_id: 'c2', text: 'Some fear churn.' }],
  uncertainties: ['The churn.'],
  verified: 'two',
  seat: null,
};

test('a single answer and a recommendation have the same headings, and no ids or votes', () => {
  const alone = rendered(partsOfOpinion(opinion));
  const council = rendered(partsOfResult(result));
  expect(headingsIn(alone)).toEqual(headingsIn(council));
  expect(alone).toContain('Risks and other views:\n(none)');
  expect(council).toContain(
    '- Write to customers. Within 14 days. Measure: Replies. Stop if: Ten leave.',
  );
  expect(council).not.toMatch(/\b(?:c1|c2|f1|o1|R1|S1|5 of 7)\b/);
});

test('options side by side stand as other options, without their voters', () => {
  const options: RunResult['options'] = [
    {
      option_id: 'o2',
      text: 'Wait',
      voters: ['S1', 'S2'],
      answer: { seat: 'S1', text: 'Wait for the spring.' },
      objection: null,
      settled_by: null,
    },
  ];
  const text = rendered(partsOfResult({ ...result, options }));
  expect(text).toContain('- Another option: Wait. Wait for the spring.');
});

test('names of models and words about a council are taken out of an answer', () => {
  const written =
    'Recommendation:\nThe council recommends to wait. As Claude, made by Anthropic, I agree.\n\nReasons and steps:\n- 5 of 7 models see it so; the experts agree.\n- The council’s vote was close, and the vote counts.';
  const { text, revealing } = blinded(written, [
    { model: 'claude-sonnet-5-5', name: 'Claude Sonnet 5.5', family: 'anthropic' },
  ]);
  expect(text).not.toMatch(/claude|anthropic|council|5 of 7|experts/i);
  expect(text).toContain('This advice recommends to wait.');
  expect(text).toContain('- some see it so; some agree.');
  expect(text).toContain("This advice's vote was close, and the assessment counts.");
  expect(headingsIn(text)).toEqual(['Recommendation:', 'Reasons and steps:']);
  expect(revealing).toEqual([]);
});

test('words that stay and may reveal how an answer was made are listed once', () => {
  const { revealing } = blinded('- Two reviewers dissent, and two reviewers voted.', []);
  expect(revealing).toEqual(['reviewers', 'dissent', 'voted']);
});

test('words of a business that only look like those of a council are left alone', () => {
  const business =
    '- The pricing model needs a solar panel, and a majority of customers pays by card.';
  expect(blinded(business, [])).toEqual({ text: business, revealing: [] });
});
