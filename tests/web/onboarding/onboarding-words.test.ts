import { describe, expect, test } from 'vitest';
import { wasteOf } from '#services/onboarding/audit.ts';
import { challengeOf, fitOf } from '#services/onboarding/challenges.ts';
import { emptyAudit } from '#services/onboarding/contract.ts';
import type { Bonus } from '#services/onboarding/contract.ts';
import {
  countedAs,
  type NumberField,
  subscriptionsPerMonth,
  toolsPerMonth,
} from '#web/features/onboarding/audit/numbers.ts';
import {
  assumptions,
  bonusWords,
  demoStepOf,
  fitWords,
  formulas,
  missingToCalculate,
  missingToExperience,
  pressureWords,
  riskWords,
  speedWords,
} from '#web/features/onboarding/words.ts';
import { audited } from './story.ts';

test.each<[NumberField, string, number | null, RegExp]>([
  ['lostDeals', '', null, /^none$/],
  ['lostDeals', '0', 0, /^none$/],
  ['lostDeals', 'none', null, /counts as empty/],
  ['orchestrationHours', '', 0, /^none$/],
  ['orchestrationHours', ' 12 ', 12, /^none$/],
  ['orchestrationHours', '168', 168, /^none$/],
  ['orchestrationHours', '169', 168, /A week has 168 hours/],
  ['orchestrationHours', '-3', 0, /negative number counts as 0/],
  ['orchestrationHours', '−3', 0, /negative number counts as 0/],
  ['orchestrationHours', '7.5', 7, /counts as 7/],
  ['orchestrationHours', 'ten', 0, /whole number/],
  ['monthlySpend', '$1,200', 1200, /^none$/],
  ['monthlySpend', '2000000', 1_000_000, /1,000,000, the most/],
  ['lostDeals', '10001', 10_000, /10,000, the most/],
])('in %s the text "%s" counts as %s', (field, text, value, hint) => {
  const counted = countedAs(field, text);
  expect(counted.value).toBe(value);
  expect(counted.hint ?? 'none').toMatch(hint);
});

test('subscriptions add up to the prices in their names', () => {
  const chosen = ['ChatGPT Plus ($20/mo)', 'Midjourney ($30/mo)', 'Other AI subscriptions'];
  expect(subscriptionsPerMonth(chosen)).toBe(50);
});

test('tools cost what was entered, else what the chosen subscriptions cost', () => {
  expect(toolsPerMonth(audited)).toBe(120);
  expect(toolsPerMonth({ ...audited, monthlySpend: 0 })).toBe(20);
});

test('the answer about competitors is shown with the sentence that the risk ignores it', () => {
  expect(pressureWords('no')).toBe(
    '“Do competitors use AI better than you?” You answered “No”. The risk follows the value of the hours alone, not what you say about competitors.',
  );
  expect(pressureWords(null)).toMatch(/^The risk follows/);
});

test.each([
  [emptyAudit, ['hours a week', 'yearly revenue'], ['yearly revenue', 'type of business']],
  [{ ...audited, orchestrationHours: 0 }, ['hours a week'], []],
  [{ ...audited, revenueLevel: null }, ['yearly revenue'], ['yearly revenue']],
  [{ ...audited, businessType: null }, [], ['type of business']],
  [audited, [], []],
])('of %o Calculate misses %j and the next stage %j', (audit, calculate, experience) => {
  expect(missingToCalculate(audit)).toEqual(calculate);
  expect(missingToExperience(audit)).toEqual(experience);
});

describe('the results', () => {
  test('each result shows its own multiplication', () => {
    expect(formulas(wasteOf(audited)).map(({ formula }) => formula)).toEqual([
      '12 hours × 52 weeks = 624',
      '624 hours × $500 = $312,000',
      '31 lost deals × $500 × 10 = $155,000',
    ]);
  });

  test('lost deals are called assumed only where the answer is empty', () => {
    expect(assumptions(wasteOf(audited), '1m-3m').join(' ')).toMatch(
      /we assume 1 for every 20 hours, rounded down: 31\./,
    );
    const entered = wasteOf({ ...audited, lostDeals: 4 });
    expect(assumptions(entered, '1m-3m').join(' ')).toMatch(/You entered 4 lost deals\./);
    const none = wasteOf({ ...audited, lostDeals: 0 });
    expect(assumptions(none, '1m-3m').join(' ')).toMatch(/You entered 0 lost deals\./);
    expect(formulas(none)[2]?.formula).toBe('0 lost deals × $500 × 10 = $0');
  });

  test('each risk names its threshold', () => {
    expect((['CRITICAL', 'HIGH', 'MODERATE'] as const).map(riskWords)).toEqual([
      'The hours are worth more than $250,000 a year.',
      'The hours are worth more than $100,000 and at most $250,000 a year.',
      'The hours are worth at most $100,000 a year.',
    ]);
  });
});

test.each([
  [
    'premium-positioning',
    '1m-3m',
    'content',
    'Matches your answers: it is for every type of business, at a yearly revenue of $500K to $5M.',
  ],
  [
    'market-expansion',
    '7m+',
    'saas',
    'Matches your answers: it is for SaaS, e-commerce and consulting businesses, at a yearly revenue of $1M or more.',
  ],
  [
    'premium-positioning',
    '7m+',
    'content',
    'Not a full match, shown to give you a choice: it is for a yearly revenue of $500K to $5M, and yours counts as $10M.',
  ],
  [
    'market-expansion',
    '1m-3m',
    'content',
    'Not a full match, shown to give you a choice: it is for SaaS, e-commerce and consulting businesses.',
  ],
  [
    'market-expansion',
    null,
    'saas',
    'Not a full match, shown to give you a choice: your audit is not complete.',
  ],
] as const)('%s for %s of type %s reads: %s', (id, revenueLevel, businessType, words) => {
  const challenge = challengeOf(id)!;
  const business = { revenueLevel, businessType };
  expect(fitWords(challenge, fitOf(challenge, business), business)).toBe(words);
});

test.each<[Bonus['state'], string | null]>([
  ['off', null],
  [
    'available',
    'Activation adds an onboarding bonus of 50 credits ($25 at the price of Boost 50) to your balance, once.',
  ],
  [
    'granted',
    'We added an onboarding bonus of 50 credits ($25 at the price of Boost 50) to your balance.',
  ],
  [
    'needs-confirmed-email',
    'Confirm your email address to get an onboarding bonus of 50 credits ($25 at the price of Boost 50).',
  ],
  ['already-given', 'Another account with your email address already got the onboarding bonus.'],
])('a bonus that is %s reads: %s', (state, sentence) => {
  expect(bonusWords({ credits: 50, worth_usd: 25, state })).toBe(sentence);
});

test.each([
  [null, '96 times, our default for a run that was not measured'],
  [5.2, '480 minutes ÷ 5.2 minutes = 92 times'],
  [1, '480 minutes ÷ 1 minute = 480 times'],
  [0.49, '480 minutes ÷ 0.5 minutes = 960 times'],
  [0.001, '480 minutes ÷ 0.1 minutes = 4,800 times'],
  [100, '480 minutes ÷ 100 minutes = 4.8 times'],
])('a run of %s minutes reads: %s', (minutes, words) => {
  expect(speedWords(minutes)).toBe(words);
});

test.each([
  [null, 'routing'],
  ['initializing', 'routing'],
  ['querying_models', 'coordinating'],
  ['analyzing_responses', 'collaborating'],
  ['detecting_bias', 'collaborating'],
  ['synthesizing', 'synthesizing'],
  ['completed', 'completed'],
] as const)('a run at %s shows the step %s', (step, shown) => {
  expect(demoStepOf(step)).toBe(shown);
});
